"""Storage: a table in a file, and the same table with more rows in another.

What was in the file comes back as it was, cell by cell: a text file keeps its texts, its
separator, its encoding; an arrow file keeps its schema. Only new rows are written by us.
"""

from counterbalance.io.reading import HeaderError, Reading
from counterbalance.io.table_file import (
    Stored,
    check_format,
    check_suffix,
    near_names,
    read_stored,
)

__all__ = [
    "HeaderError",
    "Reading",
    "Stored",
    "check_format",
    "check_suffix",
    "near_names",
    "read_stored",
]
