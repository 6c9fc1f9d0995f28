"""The cell store: every result of a run in one SQLite file that survives a kill.

A **cell** is a unit of work, a mapping of short text and whole numbers::

    {"data": "car-good", "method": "SMOTE", "classifier": "SVM", "run": 0, "fold": 3}

Its row passes through these states; there is no row before a worker claims the cell::

                 claim            finish
    (no row) ------------> running ------> done
                  ^           |    fail
                  |           +----------> failed
                  +-- release, or the worker is dead

Rows belong to a **section**, one per fingerprint, so results of other code or settings
stay in the file and are never mixed in. A **worker** is a process that runs cells. Its
claims hold as long as it lives, which is asked of the operating system on the same
machine, and of its heartbeat on any other.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from counterbalance.errors import CounterbalanceError
from counterbalance.experiments.fingerprint import Fingerprint
from counterbalance.experiments.liveness import Life, is_alive, this_life

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike
    from types import TracebackType

    import pandas as pd

Cell = dict[str, str | int]
State = Literal["running", "done", "failed"]
APPLICATION = 0x43424353  # "CBCS", so that a file of another program is recognised
VERSION = 1
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
    payload TEXT, error TEXT, traceback TEXT, seconds REAL,
    PRIMARY KEY (section, key)) WITHOUT ROWID;
"""


class StoreError(CounterbalanceError):
    """The store cannot be used: not a store, of another version, or a cell is no cell."""


@dataclass(frozen=True)
class CellRecord:
    """What the store knows of a cell."""

    cell: Cell
    state: State
    figures: Mapping[str, float]
    payload: Any
    error: str
    traceback: str
    seconds: float


@dataclass(frozen=True)
class Section:
    """Another section of the same file: what made it, what it holds, how it differs."""

    fingerprint: Fingerprint
    done: int
    failed: int
    differences: tuple[str, ...]


def cell_key(cell: Mapping[str, str | int]) -> str:
    """Return the canonical text of a cell, the same for any order of its names.

    Examples
    --------
    >>> cell_key({"run": 0, "data": "glass"})
    '{"data": "glass", "run": 0}'
    """
    for name, value in cell.items():
        if not isinstance(name, str) or type(value) not in {str, int}:
            raise StoreError(
                f"a cell must map text to text or whole numbers, got {name!r}: {value!r}; "
                "write other settings as text"
            )
    return json.dumps(dict(cell), sort_keys=True, ensure_ascii=False)


class CellStore:
    """The section of a store file that belongs to one fingerprint.

    Parameters
    ----------
    path : path-like
        The SQLite file; it is made if it is not there.
    fingerprint : Fingerprint
        What makes the results. Only results with the same one are seen.
    """

    def __init__(self, path: str | PathLike[str], fingerprint: Fingerprint) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self._connection = _open(self.path)
        self._worker: int | None = None
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO section (digest, fingerprint) VALUES (?, ?)",
                (fingerprint.digest, fingerprint.text),
            )
        query = "SELECT id FROM section WHERE digest = ?"
        self._section = int(self._connection.execute(query, (fingerprint.digest,)).fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- reading ---------------------------------------------------------------------

    def results(self, cells: Iterable[Mapping[str, str | int]] | None = None) -> list[CellRecord]:
        """Return the records of the cells that are done or failed.

        Parameters
        ----------
        cells : iterable of mapping, optional
            Only these cells, in this order. By default all, ordered by their keys.
        """
        rows = self._connection.execute(
            "SELECT key, state, figures, payload, error, traceback, seconds FROM cell "
            "WHERE section = ? AND state IN ('done', 'failed') ORDER BY key",
            (self._section,),
        )
        records = {row[0]: _record(row) for row in rows}
        if cells is None:
            return list(records.values())
        keys = (cell_key(cell) for cell in cells)
        return [records[key] for key in keys if key in records]

    def frame(self, cells: Iterable[Mapping[str, str | int]] | None = None) -> pd.DataFrame:
        """Return the results as a pandas table: names of the cell, figures, state, error."""
        from counterbalance.datasets.record import require_pandas  # noqa: PLC0415 - an extra

        rows = [
            {
                **record.cell,
                **record.figures,
                "state": record.state,
                "error": record.error,
                "seconds": record.seconds,
            }
            for record in self.results(cells)
        ]
        table: pd.DataFrame = require_pandas().DataFrame(rows)
        return table

    def counts(self) -> dict[str, int]:
        """Return how many cells are done, failed and running."""
        rows = self._connection.execute(
            "SELECT state, count(*) FROM cell WHERE section = ? GROUP BY state", (self._section,)
        )
        return {"done": 0, "failed": 0, "running": 0, **dict(rows)}

    def others(self) -> list[Section]:
        """Return the other sections of the file, made by other code, settings or versions."""
        rows = self._connection.execute(
            "SELECT fingerprint, coalesce(sum(state = 'done'), 0), "
            "coalesce(sum(state = 'failed'), 0) FROM section LEFT JOIN cell "
            "ON cell.section = section.id WHERE section.id <> ? GROUP BY section.id",
            (self._section,),
        )
        sections = []
        for text, done, failed in rows:
            theirs = Fingerprint.from_text(text)
            differences = tuple(self.fingerprint.differences(theirs))
            sections.append(Section(theirs, done, failed, differences))
        return sections

    def states(self) -> dict[str, tuple[State, int]]:
        """Return the state and the attempt of every cell that has a row, by key."""
        rows = self._connection.execute(
            "SELECT key, state, attempt FROM cell WHERE section = ?", (self._section,)
        )
        return {key: (state, attempt) for key, state, attempt in rows}

    # --- working ---------------------------------------------------------------------

    def enlist(self) -> None:
        """Register this process as a worker; its claims hold as long as it lives."""
        life = this_life()
        with self._transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO worker (host, pid, started, beat) VALUES (?, ?, ?, ?)",
                (life.host, life.pid, life.started, time.time()),
            )
            self._worker = cursor.lastrowid

    def beat(self) -> None:
        """Renew the heartbeat, for processes on other machines."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE worker SET beat = ? WHERE id = ?", (time.time(), self._worker)
            )

    def claim(self, key: str, retry: int | None = None) -> State | None:
        """Claim a cell for this worker.

        Parameters
        ----------
        key : str
            Key of the cell.
        retry : int, optional
            Claim the cell also if it failed, if that was at this attempt.

        Returns
        -------
        state : str or None
            None if the cell is now claimed, else the state that forbids it.
        """
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT state, attempt, host, pid, started, beat FROM cell JOIN worker "
                "ON worker.id = cell.worker WHERE section = ? AND key = ?",
                (self._section, key),
            ).fetchone()
            state: State | None = None if row is None else row[0]
            attempt = 0 if row is None else row[1]
            if state == "running" and is_alive(Life(*row[2:5]), beat=row[5]):
                return "running"
            if state == "done" or (state == "failed" and attempt != retry):
                return state
            connection.execute(
                "REPLACE INTO cell (section, key, state, worker, attempt) "
                "VALUES (?, ?, 'running', ?, ?)",
                (self._section, key, self._worker, attempt + 1),
            )
        return None

    def finish(self, key: str, figures: Mapping[str, float], payload: Any, seconds: float) -> None:
        """Record a result. A cell that another worker took over meanwhile is left alone."""
        # json writes a float as its shortest text that reads back to the same bits
        parts = (json.dumps(dict(figures)), json.dumps(payload))
        self._settle("done", key, (*parts, None, None, seconds))

    def fail(self, key: str, error: str, traceback: str, seconds: float) -> None:
        """Record that a cell cannot be computed, and why."""
        self._settle("failed", key, (None, None, error, traceback, seconds))

    def release(self) -> int:
        """Give back this worker's unfinished cells; return how many."""
        with self._transaction() as connection:
            return connection.execute(
                "DELETE FROM cell WHERE section = ? AND worker = ? AND state = 'running'",
                (self._section, self._worker),
            ).rowcount

    def _settle(self, state: State, key: str, parts: tuple[Any, ...]) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE cell SET state = ?, figures = ?, payload = ?, error = ?, traceback = ?, "
                "seconds = ? WHERE section = ? AND key = ? AND worker = ? AND state = 'running'",
                (state, *parts, self._section, key, self._worker),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _transaction(self._connection) as connection:
            yield connection


def _open(path: Path) -> sqlite3.Connection:
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
    except sqlite3.DatabaseError as error:
        connection.close()
        raise StoreError(
            f"path must be a store of counterbalance, got {path}: {error}; give another path, "
            "this file is left as it is"
        ) from error
    except StoreError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    with _transaction(connection):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif (application, version) != (APPLICATION, VERSION):
            raise StoreError(
                f"path must be a store of counterbalance of version {VERSION}, got {path} of "
                f"application {application:#x}, version {version}; give another path, this file "
                "is left as it is"
            )
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


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the file's write lock from the first read to the commit."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _record(row: tuple[Any, ...]) -> CellRecord:
    key, state, figures, payload, error, traceback, seconds = row
    return CellRecord(
        cell=json.loads(key),
        state=state,
        figures=json.loads(figures or "{}"),
        payload=json.loads(payload or "null"),
        error=error or "",
        traceback=traceback or "",
        seconds=seconds,
    )
