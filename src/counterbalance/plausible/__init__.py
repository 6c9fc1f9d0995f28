"""Plausible: what a table itself says about what goes together, kept by every new row."""
