"""Table: what came in, recognised column by column, as floats, and back."""
