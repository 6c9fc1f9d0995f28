"""Rows: the new rows, found, filled up, built and accounted for."""
