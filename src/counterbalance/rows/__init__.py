"""Rows: build the new rows, fill up classes, and record where each row comes from."""
