"""Integrity of a store: an edited or damaged record is noticed, and the file is named.

    checksum    SHA-256 over what makes a settled record: the section's digest, the key, the
                state and every column of the result

It guards against accidents and careless edits, not against somebody who computes it anew.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterbalance.errors import CounterbalanceError

# what SQLite says of a file that is not as it wrote it; SQLITE_ERROR is a table that is missing
DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
}
PRIMARY = 0xFF  # an extended error code has the primary one in its last byte


class StoreError(CounterbalanceError):
    """The store cannot be used: not a store, damaged, of another version, or a cell is no cell."""


def checksum(section: str, key: str, state: str, parts: tuple[Any, ...]) -> str:
    """Return the checksum of a settled record.

    Parameters
    ----------
    section : str
        Digest of the fingerprint that the record belongs to.
    key, state : str
        The cell, and done or failed.
    parts : tuple
        Figures, payload, error, traceback and seconds, as they are stored.
    """
    text = json.dumps([section, key, state, *parts], default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def damaged(path: Path, why: object) -> StoreError:
    """Return the error of a store that is not as it was written."""
    reason = " ".join(str(why).split())  # SQLite writes several lines
    return StoreError(
        f"the store {path} is damaged: {reason}; remove it (with {path.name}-wal and "
        f"{path.name}-shm, if they are there) and run the same again: its cells are computed anew"
    )


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Name the store and the remedy in whatever SQLite raises."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a fault of ours, not of the file
    except UnicodeDecodeError as error:  # SQLite names in its message what it cannot read
        raise damaged(path, error) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & PRIMARY in DAMAGED:  # without a code: text that is no UTF-8
            raise damaged(path, error) from error
        raise StoreError(
            f"the store {path} cannot be read or written: {error}; see that the disk has room, "
            "that the file may be written and that no other program holds it, then run the same "
            "again"
        ) from error
