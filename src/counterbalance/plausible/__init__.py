"""Plausible: regularities learned from a table, which every new row keeps."""
