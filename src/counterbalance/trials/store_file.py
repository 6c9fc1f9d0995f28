"""The file of a store: its tables and version, its checksums, its lock, and its error messages.

    checksum    SHA-256 over what makes up a record: the section's digest, the key, the state and
                every column of the result
    lock        held by a run from start to end, and released by the operating system when the
                process ends, however it ends

A checksum guards against accidents and careless edits, not against somebody who recomputes it.
"""

import errno
import hashlib
import json
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from counterbalance.errors import CounterbalanceError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


APPLICATION = 0x43424353  # "CBCS", so that a file of another program is recognised
VERSION = 3
WITHOUT_CHECKSUMS, WITH_CELLS = 1, 2  # earlier versions, which called a trial a cell
PATIENCE = 60.0  # seconds to wait for another process's transaction
SCHEMA = """
CREATE TABLE section (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL);
"""
TRIALS = """
CREATE TABLE trial (
    section INTEGER NOT NULL REFERENCES section, key TEXT NOT NULL, state TEXT NOT NULL,
    figures TEXT, payload TEXT, error TEXT, traceback TEXT, seconds REAL, checksum TEXT,
    PRIMARY KEY (section, key)) WITHOUT ROWID;
"""
PARTS = "figures, payload, error, traceback, seconds"  # of a result, as the checksum takes them
# What SQLite says of a file that is not as it wrote it; SQLITE_ERROR is a missing table.
DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
}
PRIMARY = 0xFF  # an extended error code has the primary one in its last byte
TAKEN = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}
LONGEST_HOLDER = 1000  # bytes of a lock file that are read


class StoreError(CounterbalanceError):
    """The store cannot be used: no store, damaged, of another version, in use, or a bad trial."""


# --- integrity -----------------------------------------------------------------------


def checksum(section: str, key: str, state: str, parts: tuple[Any, ...]) -> str:
    """Return the checksum of a record: the digest of its section, key, state and ``PARTS``."""
    text = json.dumps([section, key, state, *parts], default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def damaged(path: Path, why: object) -> StoreError:
    """Return the error of a store that is not as it was written."""
    reason = " ".join(str(why).split())  # SQLite writes several lines
    return StoreError(
        f"the store {path} is damaged: {reason}; remove it (with {path.name}-wal and "
        f"{path.name}-shm, if they are there) and run the same again: its trials are computed anew"
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
        if code is None or code & PRIMARY in DAMAGED:  # without a code: text that is not UTF-8
            raise damaged(path, error) from error
        raise StoreError(
            f"the store {path} cannot be read or written: {error}; see that the disk has room, "
            "that the file may be written and that no other program holds it, then run the same "
            "again"
        ) from error


# --- opening -------------------------------------------------------------------------


def open_store(path: Path) -> sqlite3.Connection:
    """Open the file and make its tables; two processes may do so at the same time."""
    try:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"path must be a file in a folder that can be written, got {path}: {error}; "
            "make the folder or give another path"
        ) from error
    try:
        _prepare(connection, path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        connection.close()
        raise StoreError(
            f"path must be a store of counterbalance, got {path}: {error}; give another path, this "
            "file is left as it is, or if it was a store, it is damaged: remove it and run the "
            "same again"
        ) from error
    except StoreError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.execute(SCHEMA)
            connection.execute(TRIALS)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif application == APPLICATION and version in {WITHOUT_CHECKSUMS, WITH_CELLS}:
            _upgrade(connection, version)
        elif (application, version) != (APPLICATION, VERSION):
            raise StoreError(
                f"path must be a store of counterbalance of version {VERSION}, got {path} of "
                f"application {application:#x}, version {version}; give another path, this file "
                "is left as it is"
            )
    if (state := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise damaged(path, state)
    # A write-ahead log lets readers and one writer work at once. The switch needs the file
    # for itself for a moment, so whoever comes second finds it switched or tries next time.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            break
    connection.execute("PRAGMA synchronous = NORMAL")


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring a store of an earlier version up to date: its records are taken as they are."""
    kept = "NULL" if version == WITHOUT_CHECKSUMS else "checksum"
    rows = connection.execute(
        f"SELECT section, digest, key, state, {kept}, {PARTS} FROM cell JOIN section "  # noqa: S608
        "ON section.id = cell.section WHERE state <> 'running'"
    ).fetchall()
    connection.execute(TRIALS)
    connection.executemany(
        f"INSERT INTO trial (section, key, state, checksum, {PARTS}) "  # noqa: S608 - our own
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(section, key, state),
                checksum(digest, key, state, tuple(parts))
                if version == WITHOUT_CHECKSUMS
                else known,
                *parts,
            )
            for section, digest, key, state, known, *parts in rows
        ],
    )
    connection.execute("DROP TABLE cell")
    connection.execute("DROP TABLE worker")
    connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the file's write lock from the first read to the commit."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        with suppress(sqlite3.Error):  # the error that led here says more
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# --- the lock of a run ---------------------------------------------------------------


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a store, or say at once who holds it.

    The lock is that of a file beside the store. A lock file that a killed process left behind
    is nobody's lock. On a file system without locks there is none: a trial that two runs compute
    has the same result.
    """
    lock = path.with_name(f"{path.name}.lock")
    descriptor = _take(lock, path)
    try:
        holder = {
            "process": os.getpid(),
            "machine": platform.node(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps(holder).encode())
        yield
    finally:
        with suppress(OSError):  # another system than POSIX keeps a file that is open
            lock.unlink()
        os.close(descriptor)


def _take(lock: Path, path: Path) -> int:
    """Open and lock a file that is still there once it is locked; return its descriptor."""
    while True:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(lock, flags, 0o644)
        except OSError as error:
            raise StoreError(
                f"the store {path} cannot be locked: {error}; see that files can be made in its "
                f"folder and that {lock.name} is a plain file"
            ) from error
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in TAKEN:
                holder = os.read(descriptor, LONGEST_HOLDER)
                os.close(descriptor)
                raise StoreError(
                    f"the store {path} is in use by {_holder(holder)}; wait until that run has "
                    "ended or stop it, then run the same again, or give another store"
                ) from None
            return descriptor  # the file system knows no locks
        # whoever held it before may have removed the file since it was opened here
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        os.lseek(descriptor, LONGEST_HOLDER, os.SEEK_SET)  # a locked byte cannot be read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(content: bytes) -> str:
    try:
        holder = json.loads(content)
        return f"process {holder['process']} on {holder['machine']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
