"""Table files: read a table from a file, and write it with more rows to another.

What was in the file comes back as it was, cell by cell: a text file keeps its texts, its
separator and its encoding; an arrow file keeps its schema. Only new rows are written by us.
"""

from counterbalance.errors import near_names
from counterbalance.io.reading import HeaderError, Reading
from counterbalance.io.table_file import (
    TableFile,
    check_format,
    check_suffix,
    read_table_file,
    write_table_file,
)

__all__ = [
    "HeaderError",
    "Reading",
    "TableFile",
    "check_format",
    "check_suffix",
    "near_names",
    "read_table_file",
    "write_table_file",
]
