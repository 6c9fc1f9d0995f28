"""Reading a file: its options, the limits of its size, and the names of its columns.

A table is read into memory as a whole. A file that does not fit, a packed file that unpacks to
far more than a table would, and anything but a regular file raise a TableError.

The first row is a header unless it holds numbers wherever the rows below hold numbers.
Consecutive numbers (0, 1, 2 or 2019, 2020) are names: pandas writes such headers, and so do
tables with a column for each year.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from counterbalance.errors import TableError
from counterbalance.extras import require_pandas
from counterbalance.io.number_style import NO_NUMBER, read_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

# Compression shrinks a table to a tenth, sometimes a hundredth; a zip bomb to a thousandth.
MOST_TIMES, ALWAYS_FINE = 200, 2**28
UNKNOWN_MEMORY = 2**36
GIGABYTE = 1e9


class HeaderError(TableError):
    """The first row of a file may be a header or a row of the table."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, where the file itself does not say.

    Parameters
    ----------
    header : bool, optional
        Whether the first row holds the names of the columns. ``None`` detects it, and raises if
        the first row looks like those below.
    numbers : tuple of str
        Columns to read as numbers; a cell that is not a number becomes missing.
    texts : tuple of str
        Columns to read as text, even if all their cells are numbers.
    missing : tuple of str
        Texts that stand for a missing cell, besides the usual ones.
    sheet : str, optional
        Name of a sheet of a spreadsheet, or its number, counted from 1; by default the first one
        that has the target.
    target : str, optional
        Column of classes: read as numbers only if they are written as plain ones, and ``unknown``
        is a class like any other.
    """

    header: bool | None = None
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        both = sorted(set(self.numbers) & set(self.texts))
        if both:
            raise TableError(
                f"a column holds numbers or texts, but {both[0]!r} is in both --number and --text; "
                "remove it from one of them"
            )

    @property
    def options(self) -> list[str]:
        """The command-line options that were given."""
        given = {
            "--no-header": self.header is False,
            "--number": self.numbers,
            "--text": self.texts,
            "--na": self.missing,
            "--sheet": self.sheet,
        }
        return [option for option, value in given.items() if value]


AS_IT_IS = Reading()


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file that fits into memory."""
    if not path.is_file():  # opening a pipe that nobody writes to would block for ever
        raise TableError(
            f"TABLE must be a file, and {path} is a pipe or a device; save the table into one"
        )
    if path.stat().st_size > memory():
        raise too_large(str(path), memory())
    try:
        return path.read_bytes()
    except PermissionError:
        raise TableError(f"you may not read {path}; change its permissions") from None


def memory() -> int:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN_MEMORY


def most_unpacked(packed: int) -> int:
    """Return how many bytes this many packed ones may become."""
    return min(memory(), max(ALWAYS_FINE, MOST_TIMES * packed))


def too_large(what: str, most: int) -> TableError:
    """Return the error for a file that is too large."""
    return TableError(
        f"{what} is larger than the {most / GIGABYTE:.1f} GB that can be read here; give part of "
        "it, or save it as parquet and use --engine dask"
    )


def name_columns(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the columns as pandas makes them, and notes about repeated ones.

    >>> name_columns([" age", "dose", "dose", ""])[0]
    ['age', 'dose', 'dose.1', 'Unnamed: 3']
    """
    given = [cell.strip() or f"Unnamed: {m}" for m, cell in enumerate(cells)]
    names: list[str] = []
    notes = []
    for name in given:
        number, unique = 0, name
        while unique in names or (number and unique in given):
            number += 1
            unique = f"{name}.{number}"
        names.append(unique)
        if number:
            notes.append(f"{number + 1} columns are called {name!r}; this one is {unique!r} here")
    return names, notes


def check_header(first: Sequence[str], below: pd.DataFrame, decimal: str, name: str) -> None:
    """Raise if the first row looks like those below."""
    if len(below) and looks_like_rows(first, below.head(200), decimal):
        listed = ", ".join(repr(cell[:20]) for cell in first[:4])
        more = ", ..." if len(first) > 4 else ""  # noqa: PLR2004
        raise HeaderError(
            f"{name} seems to have no header: its first row ({listed}{more}) looks like the rows "
            "below it; with --no-header it is a row, and the columns are called 'column 1', "
            "'column 2' and so on; with --header it holds their names"
        )


def looks_like_rows(first: Sequence[str], below: pd.DataFrame, decimal: str = ".") -> bool:
    """Whether the first row holds numbers wherever the rows below do."""
    series, alike = require_pandas().Series, False
    for cell, (_, column) in zip(first, below.items(), strict=True):
        if cell.strip().casefold() in NO_NUMBER or not _holds_numbers(column, decimal):
            continue
        if not any(map(str.isdigit, cell)):  # decided quickly for nearly every file
            return False
        if not _holds_numbers(series([cell], dtype=str), decimal):
            return False
        alike = True
    whole = [int(cell) for cell in first if cell.strip().isdecimal()]
    return alike and {after - before for before, after in pairwise(whole)} != {1}


def _holds_numbers(cells: pd.Series[str], decimal: str) -> bool:
    values = read_column(cells, decimal).series
    return values.dtype.kind in "iuf" and bool(values.notna().any())


# Control and format characters (direction, zero width, byte order), surrogates, private and
# unassigned code points, and separators of lines and paragraphs.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Blanks and joiners that Unicode counts as letters and accents.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")


def is_invisible(character: str) -> bool:
    r"""Whether a character shows nothing, or changes how its neighbours are shown.

    A mark that reverses the writing direction makes one name read like another, a zero-width
    character makes two names look the same: they are shown as code points.

    >>> [is_invisible(character) for character in ("a", " ", "\u0301", "\u202e", "\u200b")]
    [False, False, False, True, True]
    """
    return unicodedata.category(character) in UNSEEN or character in BLANK


def by_number(character: str) -> str:
    r"""Write a character as its code point.

    >>> by_number("\u202e")
    '[U+202E]'
    """
    return f"[U+{ord(character):04X}]"
