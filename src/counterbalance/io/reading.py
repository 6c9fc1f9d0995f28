"""Reading a file: what the user says about it, how much of it is read, and what is a header.

A table is read into memory as a whole. A file that cannot fit is refused with a sentence instead
of exhausting the machine; so is a packed one that unpacks to far more than any table would, and
what is not a regular file: a device may never end, a pipe may never begin.

The first row is a header unless it is a row like those below. Each column is looked at:

    like    the first cell is a number, a date or a boolean, as the cells below are; or it is a
            text that also occurs below
    unlike  the cells below are numbers, dates or booleans, and the first one is not

The first row is not a header if some column is "like" and none is "unlike"; where every column
holds texts, all of them have to be "like". Consecutive numbers (0, 1, 2 or 2019, 2020) are names:
pandas writes such headers, and so do tables with a column for each year.

Invisible characters: a mark that reverses the writing direction makes one name read like another;
a zero-width character makes two names look the same. Wherever a text from a user's table is
shown, such characters are written as their code points. Accents, emoji and letters of every
script are left alone.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.csv_columns import NO_NUMBER, read_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

# Packing shrinks a table to a tenth, sometimes to a hundredth; a bomb to a thousandth.
MOST_TIMES = 200
ALWAYS_FINE = 2**28
UNKNOWN_MEMORY = 2**36
UNITS = ("bytes", "kB", "MB", "GB", "TB")
THOUSAND = 1000


class HeaderError(TableError):
    """It cannot be told whether the first row of a file is a header."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, where the file itself does not say.

    Parameters
    ----------
    header : bool, optional
        Whether the first row holds the names of the columns. ``None`` looks at the rows and
        refuses a first row that looks like those below.
    numbers : tuple of str
        Columns of numbers, whatever they look like; a cell that is not one is missing.
    texts : tuple of str
        Columns of texts, even if all their cells are numbers.
    missing : tuple of str
        Texts that stand for a missing cell, besides the usual ones.
    sheet : str, optional
        Name of a sheet of a spreadsheet, or its number, counted from 1; by default the first.
    labels : tuple of str
        Columns of classes: read as numbers only if they are written as plain ones, and
        ``unknown`` is a class like any other.
    """

    header: bool | None = None
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = sorted(set(self.numbers) & set(self.texts))
        if both:
            raise TableError(
                f"a column holds numbers or texts, but {both[0]!r} is in both --number and --text; "
                "remove it from one of them"
            )

    @property
    def words(self) -> list[str]:
        """The command-line options that say the same."""
        header = {None: [], True: ["--header"], False: ["--no-header"]}[self.header]
        several = {"--number": self.numbers, "--text": self.texts, "--na": self.missing}
        named = [
            word for option, given in several.items() for text in given for word in (option, text)
        ]
        return [*header, *named, *([] if self.sheet is None else ["--sheet", self.sheet])]


AS_IT_IS = Reading()


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file that fits into memory."""
    try:
        # Opening a pipe that nobody writes to would otherwise block for ever.
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except PermissionError:
        raise TableError(f"you may not read {path}; change its permissions") from None
    except OSError as error:  # a socket
        raise TableError(
            f"TABLE must be a file, and {path} cannot be opened ({error.strerror}); save the "
            "table into one"
        ) from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise TableError(
                f"TABLE must be a file, and {path} is a pipe or a device; save the table into one"
            )
        most = memory()
        if status.st_size > most:
            raise too_large(str(path), most)
        return file.read(status.st_size)


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
        f"{what} is larger than the {in_words(most)} that can be read here; give part of it, or "
        "save it as parquet and use --engine dask"
    )


def in_words(size: float) -> str:
    """Return a size as a person would write it.

    >>> in_words(2**28)
    '268 MB'
    """
    for unit in UNITS[:-1]:
        if size < THOUSAND:
            return f"{size:.0f} {unit}"
        size /= THOUSAND
    return f"{size:.0f} {UNITS[-1]}"


# Control and format characters (direction, zero width, byte order), surrogates, private and
# unassigned code points, and separators of lines and paragraphs.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Blanks and joiners that Unicode counts as letters and accents.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")


def is_invisible(character: str) -> bool:
    r"""Whether a character shows nothing, or changes how its neighbours are shown.

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


# How many rows are looked at; how many cells a message lists, and how much of each.
LOOKED_AT = 200
LISTED, LONGEST = 4, 20
DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ].*)?"
)
WHOLE = re.compile(r"\s*\d{1,9}\s*")


def column_names(number: int) -> list[str]:
    """Return the names of the columns of a file without a header.

    >>> column_names(2)
    ['column 1', 'column 2']
    """
    return [f"column {place + 1}" for place in range(number)]


def check_header(first: Sequence[str], below: pd.DataFrame, decimal: str, name: str) -> None:
    """Refuse a first row that looks like those below."""
    if len(below) == 0 or not looks_like_rows(first, below.head(LOOKED_AT), decimal):
        return
    listed = ", ".join(repr(cell[:LONGEST]) for cell in first[:LISTED])
    more = ", ..." if len(first) > LISTED else ""
    raise HeaderError(
        f"{name} seems to have no header: its first row ({listed}{more}) looks like the rows "
        "below it; with --no-header it is a row, and the columns are called 'column 1', 'column 2' "
        "and so on; with --header it holds their names"
    )


def looks_like_rows(first: Sequence[str], below: pd.DataFrame, decimal: str = ".") -> bool:
    """Whether the first row is like those below it."""
    if _is_consecutive(first):
        return False
    series = require("pandas", "reading a table").Series
    texts = []
    special = False
    for m, cell in enumerate(first):
        kind = _kind(below[m], decimal)
        if kind is None:
            texts.append(bool(cell.strip()) and cell in set(below[m]))
        elif cell.strip().casefold() in NO_NUMBER:
            continue
        elif _kind(series([cell], dtype=str), decimal) != kind:
            return False
        else:
            special = True
    return special or (bool(texts) and all(texts))


def _is_consecutive(first: Sequence[str]) -> bool:
    """Whether the numbers in a row are consecutive, such as 0, 1, 2."""
    numbers = [int(cell) for cell in first if WHOLE.fullmatch(cell)]
    steps = {after - before for before, after in pairwise(numbers)}
    return steps == {1}


def _kind(cells: pd.Series[Any], decimal: str) -> str | None:
    """Return what cells hold unless it is text: number, boolean or date."""
    values = read_column(cells, decimal).series
    if values.dtype.kind in "iufb":
        none = values.isna().all()
        return None if none else {"b": "boolean"}.get(values.dtype.kind, "number")
    known = cells[cells.str.strip() != ""]
    return "date" if len(known) and known.str.fullmatch(DATE).all() else None
