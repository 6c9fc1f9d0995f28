"""The file of a store: its tables, its version, and transactions on it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.trials.integrity import StoreError, checksum, damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION = 0x43424353  # "CBCS", so that a file of another program is recognised
VERSION = 2
WITHOUT_CHECKSUMS = 1  # the version before
PATIENCE = 60.0  # seconds to wait for another process's transaction
SCHEMA = """
CREATE TABLE section (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL);
CREATE TABLE worker (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    beat REAL NOT NULL);
CREATE TABLE cell (
    section INTEGER NOT NULL REFERENCES section, key TEXT NOT NULL, state TEXT NOT NULL,
    worker INTEGER NOT NULL REFERENCES worker, attempt INTEGER NOT NULL, figures TEXT,
    payload TEXT, error TEXT, traceback TEXT, seconds REAL, checksum TEXT,
    PRIMARY KEY (section, key)) WITHOUT ROWID;
"""
PARTS = "figures, payload, error, traceback, seconds"  # of a result, as the checksum takes them


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
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif (application, version) == (APPLICATION, WITHOUT_CHECKSUMS):
            _add_checksums(connection)
        elif (application, version) != (APPLICATION, VERSION):
            raise StoreError(
                f"path must be a store of counterbalance of version {VERSION}, got {path} of "
                f"application {application:#x}, version {version}; give another path, this file "
                "is left as it is"
            )
    if (state := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise damaged(path, state)
    # a write-ahead log lets readers and one writer work at once; the switch needs the file
    # for itself for a moment, so whoever comes second finds it switched or tries next time
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


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Bring a store of the version before up to date: its records are taken as they are."""
    connection.execute("ALTER TABLE cell ADD COLUMN checksum TEXT")
    rows = connection.execute(
        f"SELECT section, digest, key, state, {PARTS} FROM cell JOIN section "  # noqa: S608
        "ON section.id = cell.section WHERE state <> 'running'"
    ).fetchall()
    connection.executemany(
        "UPDATE cell SET checksum = ? WHERE section = ? AND key = ?",
        [
            (checksum(digest, key, state, tuple(parts)), section, key)
            for section, digest, key, state, *parts in rows
        ],
    )
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
