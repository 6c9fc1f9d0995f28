"""Reading a file: what the user says about it, and how much of it is read.

A table is read into memory as a whole. A file that cannot fit is refused with a sentence instead
of exhausting the machine; so is a packed one that unpacks to far more than any table would, and
what is not a regular file: a device may never end, a pipe may never begin.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from counterbalance.errors import TableError

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
