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
stay in the file and are never mixed in. A settled row carries a checksum, so a figure that was
edited or damaged is never read as a result. A **worker** is a process that runs cells. Its
claims hold as long as it lives, which is asked of the operating system on the same
machine, and of its heartbeat on any other.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from counterbalance.trials.fingerprint import Fingerprint
from counterbalance.trials.integrity import StoreError, checksum, damaged, named
from counterbalance.trials.liveness import Life, is_alive, this_life
from counterbalance.trials.store_file import PARTS, open_store, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike
    from types import TracebackType

    import pandas as pd

Cell = dict[str, str | int]
State = Literal["running", "done", "failed"]
STATES = ("running", "done", "failed")


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
        self._connection = open_store(self.path)
        self._worker: int | None = None
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO section (digest, fingerprint) VALUES (?, ?)",
                (fingerprint.digest, fingerprint.text),
            )
        query = "SELECT id FROM section WHERE digest = ?"
        self._section = int(self._read(query, fingerprint.digest)[0][0])

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
        records = {
            row[0]: _record(row[0], row[1], row[3:]) for row in self._rows() if row[1] != "running"
        }
        if cells is None:
            return list(records.values())
        keys = (cell_key(cell) for cell in cells)
        return [records[key] for key in keys if key in records]

    def frame(self, cells: Iterable[Mapping[str, str | int]] | None = None) -> pd.DataFrame:
        """Return the results as a pandas table: names of the cell, figures, state, error."""
        from counterbalance.extras import require_pandas  # noqa: PLC0415 - an extra

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
        rows = self._read(
            "SELECT state, count(*) FROM cell WHERE section = ? GROUP BY state", self._section
        )
        return {"done": 0, "failed": 0, "running": 0, **dict(rows)}

    def others(self) -> list[Section]:
        """Return the other sections of the file, made by other code, settings or versions."""
        rows = self._read(
            "SELECT fingerprint, coalesce(sum(state = 'done'), 0), "
            "coalesce(sum(state = 'failed'), 0) FROM section LEFT JOIN cell "
            "ON cell.section = section.id WHERE section.id <> ? GROUP BY section.id",
            self._section,
        )
        sections = []
        for text, done, failed in rows:
            try:
                theirs = Fingerprint.from_text(text)
            except (ValueError, KeyError, TypeError) as error:
                raise damaged(self.path, f"a fingerprint cannot be read ({error})") from error
            differences = tuple(self.fingerprint.differences(theirs))
            sections.append(Section(theirs, done, failed, differences))
        return sections

    def states(self) -> dict[str, tuple[State, int]]:
        """Return the state and the attempt of every cell that has a row, by key."""
        return {key: (state, attempt) for key, state, attempt, *_ in self._rows()}

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Give the rows of the section: key, state, attempt, parts; each as it was written."""
        query = (
            f"SELECT key, state, attempt, checksum, {PARTS} FROM cell "  # noqa: S608 - our own
            "WHERE section = ? ORDER BY key"
        )
        for key, state, attempt, kept, *parts in self._read(query, self._section):
            is_known = state in STATES and isinstance(key, str) and isinstance(attempt, int)
            found = None if state == "running" else self._checksum(key, state, tuple(parts))
            if not is_known or (state != "running" and kept != found):
                raise damaged(self.path, f"the record of {key} does not match its checksum")
            yield key, state, attempt, *parts

    def _checksum(self, key: str, state: str, parts: tuple[Any, ...]) -> str:
        return checksum(self.fingerprint.digest, key, state, parts)

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with named(self.path):
            return self._connection.execute(query, values).fetchall()

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
            if not isinstance(attempt, int):
                raise damaged(self.path, f"the attempt of {key} is {attempt!r}")
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
                f"UPDATE cell SET (state, checksum, {PARTS}) = (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
                "WHERE section = ? AND key = ? AND worker = ? AND state = 'running'",
                (
                    *(state, self._checksum(key, state, parts), *parts),
                    *(self._section, key, self._worker),
                ),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with named(self.path), transaction(self._connection) as connection:
            yield connection


def _record(key: str, state: State, parts: tuple[Any, ...]) -> CellRecord:
    figures, payload, error, traceback, seconds = parts
    return CellRecord(
        cell=json.loads(key),
        state=state,
        figures=json.loads(figures or "{}"),
        payload=json.loads(payload or "null"),
        error=error or "",
        traceback=traceback or "",
        seconds=seconds,
    )
