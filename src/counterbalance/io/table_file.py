"""Table files: a table as a file holds it, read and written in the format of its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from counterbalance.errors import DataNotFoundError, TableError, near_names
from counterbalance.extras import require
from counterbalance.io.arrow import PARQUET, ArrowTable
from counterbalance.io.atomic import written_whole
from counterbalance.io.csv import CsvTable
from counterbalance.io.reading import AS_IT_IS, Reading, read_file
from counterbalance.io.spreadsheet import SheetTable

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# The separator of each text format, or None where it has to be detected.
TEXT: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None}
ARROW = (*PARQUET, ".feather", ".arrow")
SHEET = ".xlsx"
PACKED = ".gz"
KNOWN = ", ".join([*TEXT, SHEET, *ARROW])


class TableFile(Protocol):
    """A table as a file of some format holds it.

    Attributes
    ----------
    frame : pandas.DataFrame
        Its cells as values. Column names are texts and may occur more than once.
    notes : tuple of str
        What had to be guessed to read it.
    has_header : bool
        Whether the names of the columns are part of the file.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values."""

    @property
    def has_header(self) -> bool:
        """Whether the names of the columns are part of the file."""

    def read_as(self, reading: Reading) -> Self:
        """Return the same table with its cells read another way."""

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows of values below; columns that ``new`` lacks are missing."""

    def as_csv(self) -> CsvTable:
        """Return the same table as a text file has it."""


def read_table_file(path: Path, reading: Reading = AS_IT_IS) -> TableFile:
    """Read a table in the format that the suffix of its file names."""
    if path.is_dir():
        raise DataNotFoundError(f"TABLE must be a file, and {path} is a folder; name a file in it")
    if not path.exists():
        near = near_names(path.name, [other.name for other in _siblings(path)])
        raise DataNotFoundError(
            f"TABLE must be a file, and there is none at {path}{near}; give the path of a csv, "
            "tsv, xlsx, parquet or feather file"
        )
    suffix = check_suffix(path)
    content = read_file(path)
    if reading.sheet is not None and suffix != SHEET:
        raise TableError(
            f"--sheet goes with {SHEET} files, and {path.name} is not one; leave it out"
        )
    if suffix in TEXT:
        return CsvTable.read(content, path.name, TEXT[suffix], reading)
    if suffix == SHEET:
        return SheetTable.read(content, path.name, reading)
    return ArrowTable.read(content, path.name, suffix).read_as(reading)


def write_table_file(table: TableFile, path: Path, like: Path | None = None) -> None:
    """Write a table in the format that the suffix names, whole or not at all.

    The new file is as private as the file ``like``.
    """
    content = encode(table, path)
    with written_whole(path, like=like) as part:
        part.write_bytes(content)


def encode(table: TableFile, path: Path) -> bytes:
    """Return the bytes of a file of that name."""
    suffix = check_suffix(path, "path")
    if suffix in ARROW:
        arrow = table if isinstance(table, ArrowTable) else ArrowTable.from_frame(table.frame)
        return arrow.encode(suffix)
    if suffix == SHEET:
        if not isinstance(table, SheetTable):
            table = SheetTable.from_frame(table.frame, header=table.has_header)
        return table.encode()
    text = table.as_csv()
    separator = TEXT[suffix] or text.dialect.separator
    if suffix == ".csv" and separator == "\t":
        separator = ","
    return text.encode(separator, packed=path.suffix.lower() == PACKED)


def check_format(path: Path, what: str) -> None:
    """Refuse a file that could not be written for want of a suffix or of a package."""
    suffix = check_suffix(path, what)
    if suffix in ARROW:
        require("pyarrow", f"{what} {path.name}")
    if suffix == SHEET:
        require("openpyxl", f"{what} {path.name}")


def check_suffix(path: Path, what: str = "TABLE") -> str:
    """Return the suffix that names the format, without that of gzip."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == PACKED
    suffix = next(iter(suffixes[::-1][packed:]), "")
    if suffix in TEXT or (suffix in (*ARROW, SHEET) and not packed):
        return suffix
    raise TableError(
        f"{what} must end in one of {KNOWN} (the first four also with {PACKED}), "
        f"got {path.name!r}; convert or rename the file"
    )


def _siblings(path: Path) -> list[Path]:
    folder = path.absolute().parent
    return sorted(folder.iterdir()) if folder.is_dir() else []
