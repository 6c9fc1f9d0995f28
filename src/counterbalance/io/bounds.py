"""Bounds: how much of a file is read before it is refused.

A table is read into memory as a whole. A file that cannot fit is refused with a sentence, not
by the machine; so is a packed one that swells like no table does, and what is no file at all:
a device may never end, a pipe may never begin.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from counterbalance.errors import TableError

# Tables shrink to a tenth when packed, some to a hundredth; a bomb to a thousandth.
MOST_TIMES = 200
ALWAYS_FINE = 2**28
UNKNOWN_MEMORY = 2**36
UNITS = ("bytes", "kB", "MB", "GB", "TB")
THOUSAND = 1000


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file that fits the memory."""
    try:
        # A pipe that nobody writes to would wait for ever to be opened.
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except PermissionError:
        raise TableError(f"{path} may not be read by you; change its permissions") from None
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
    """Return how many bytes so many packed ones may become."""
    return min(memory(), max(ALWAYS_FINE, MOST_TIMES * packed))


def too_large(what: str, most: int) -> TableError:
    """Return the error of a file that is too large."""
    return TableError(
        f"{what} is larger than the {in_words(most)} that can be read here; give a part of it, or "
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
