"""Table: detect the kind of each column, encode the table as floats, and decode it."""
