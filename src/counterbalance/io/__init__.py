"""Table files: read a table from a file, and write it again with more rows.

The result is the file itself with new rows below, written as the file writes its own.
"""

from counterbalance.errors import near_names
from counterbalance.io.reading import HeaderError, Reading
from counterbalance.io.table_file import (
    TableFile,
    check_format,
    check_suffix,
    encode_frame,
    encode_with_rows,
    read_table_file,
    write_table_file,
)

__all__ = [
    "HeaderError",
    "Reading",
    "TableFile",
    "check_format",
    "check_suffix",
    "encode_frame",
    "encode_with_rows",
    "near_names",
    "read_table_file",
    "write_table_file",
]
