"""Stored: a table as a file holds it, whatever its format."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import DataNotFoundError, TableError
from counterbalance.extras import require
from counterbalance.io.atomic import written_whole
from counterbalance.io.bounds import read_file
from counterbalance.io.reading import AS_IT_IS, Reading

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# A fixed separator, or None where it is looked for.
TEXT: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None}
ARROW = (".parquet", ".pq", ".feather", ".arrow")
SHEET = ".xlsx"
PACKED = ".gz"
KNOWN = ", ".join([*TEXT, SHEET, *ARROW])


class Stored(ABC):
    """A table as a file holds it.

    Attributes
    ----------
    frame : pandas.DataFrame
        Its cells as values. Names of columns are texts and may be there twice.
    notes : tuple of str
        What had to be guessed to read it.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""
        return ()

    @property
    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The cells as values."""

    @abstractmethod
    def read_as(self, reading: Reading) -> Self:
        """Return the same table with its cells read another way."""

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""

    @abstractmethod
    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows of values below; columns that ``new`` lacks are missing."""

    @abstractmethod
    def encode(self, path: Path) -> bytes:
        """Return the bytes of a file of that name: its suffix tells the format."""

    def save(self, path: Path, like: Path | None = None) -> None:
        """Write the table to a file, whole or not at all, as private as the file ``like``."""
        content = self.encode(path)
        with written_whole(path, like=like) as part:
            part.write_bytes(content)


def read_stored(path: Path, reading: Reading = AS_IT_IS) -> Stored:
    """Read a table by the suffix of its file."""
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
        raise TableError(f"--sheet goes with {SHEET} files, and {path.name} is none; leave it out")
    if suffix in TEXT:
        from counterbalance.io.text import TextTable  # noqa: PLC0415 - the format in use

        return TextTable.read(content, path.name, TEXT[suffix], reading)
    if suffix == SHEET:
        from counterbalance.io.spreadsheet import SheetTable  # noqa: PLC0415 - an extra

        return SheetTable.read(content, path.name, reading)
    from counterbalance.io.arrow import ArrowTable  # noqa: PLC0415 - an extra

    return ArrowTable.read(content, path.name, suffix).read_as(reading)


def check_format(path: Path, what: str) -> None:
    """Refuse a file that could not be written for want of a suffix or of a package."""
    suffix = check_suffix(path, what)
    if suffix in ARROW:
        require("pyarrow", f"{what} {path.name}")
    if suffix == SHEET:
        require("openpyxl", f"{what} {path.name}")


def check_suffix(path: Path, what: str = "TABLE") -> str:
    """Return the suffix that tells the format, without that of gzip."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == PACKED
    suffix = next(iter(suffixes[::-1][packed:]), "")
    if suffix in TEXT or (suffix in (*ARROW, SHEET) and not packed):
        return suffix
    raise TableError(
        f"{what} must end in one of {KNOWN} (the first four also with {PACKED}), "
        f"got {path.name!r}; convert or rename the file"
    )


def is_packed(path: Path) -> bool:
    """Whether a file of this name is to be gzipped."""
    return path.suffix.lower() == PACKED


def near_names(name: str, names: Sequence[str]) -> str:
    """Say which names look alike, for an error."""
    folded = {other.strip().casefold(): other for other in names}
    matches = difflib.get_close_matches(name.strip().casefold(), folded, n=3)
    within = [other for other in folded if name.strip().casefold() in other and name.strip()]
    near = [folded[match] for match in dict.fromkeys([*matches, *within][:3])]
    return f" (near: {', '.join(map(repr, near))})" if near else ""


def _siblings(path: Path) -> list[Path]:
    folder = path.absolute().parent
    return sorted(folder.iterdir()) if folder.is_dir() else []
