"""The store of trials: every result of an experiment in one SQLite file that survives a kill.

A trial has no row before it is settled, and then it is done or failed. Rows belong to a
**section**, one per fingerprint, so results of other code or settings stay in the file and are
never mixed in. A row carries a checksum, so a figure that was edited or damaged is never read as
a result. Any number of processes may read; the one that computes holds the store's lock.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from counterbalance.trials.fingerprint import Fingerprint
from counterbalance.trials.store_file import (
    PARTS,
    checksum,
    damaged,
    locked,
    named,
    open_store,
    transaction,
)
from counterbalance.trials.trial import State, TrialRecord, trial_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from os import PathLike

    import pandas as pd

STATES = get_args(State)


@dataclass(frozen=True)
class Section:
    """Another section of the same file: what made it, what it holds, how it differs."""

    fingerprint: Fingerprint
    done: int
    failed: int
    differences: tuple[str, ...]


class TrialStore:
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
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO section (digest, fingerprint) VALUES (?, ?)",
                (fingerprint.digest, fingerprint.text),
            )
        query = "SELECT id FROM section WHERE digest = ?"
        self._section = int(self._read(query, fingerprint.digest)[0][0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- reading ---------------------------------------------------------------------

    def results(self, trials: Iterable[Mapping[str, str | int]] | None = None) -> list[TrialRecord]:
        """Return the records of the trials that are done or failed.

        Parameters
        ----------
        trials : iterable of mapping, optional
            Only these trials, in this order. By default all, ordered by their keys.
        """
        records = {key: _record(key, state, tuple(parts)) for key, state, *parts in self._rows()}
        if trials is None:
            return list(records.values())
        keys = (trial_key(trial) for trial in trials)
        return [records[key] for key in keys if key in records]

    def frame(self, trials: Iterable[Mapping[str, str | int]] | None = None) -> pd.DataFrame:
        """Return the results as a pandas table: names of the trial, figures, state, error."""
        from counterbalance.extras import require_pandas  # noqa: PLC0415 - an extra

        rows = [
            {
                **record.trial,
                **record.figures,
                "state": record.state,
                "error": record.error,
                "seconds": record.seconds,
            }
            for record in self.results(trials)
        ]
        table: pd.DataFrame = require_pandas().DataFrame(rows)
        return table

    def counts(self) -> dict[str, int]:
        """Return how many trials are done and failed."""
        rows = self._read(
            "SELECT state, count(*) FROM trial WHERE section = ? GROUP BY state", self._section
        )
        return {"done": 0, "failed": 0, **dict(rows)}

    def others(self) -> list[Section]:
        """Return the other sections of the file, made by other code, settings or versions."""
        rows = self._read(
            "SELECT fingerprint, coalesce(sum(state = 'done'), 0), "
            "coalesce(sum(state = 'failed'), 0) FROM section LEFT JOIN trial "
            "ON trial.section = section.id WHERE section.id <> ? GROUP BY section.id",
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

    def states(self) -> dict[str, State]:
        """Return the state of every trial that is settled, by key."""
        return {key: state for key, state, *_ in self._rows()}

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Give the rows of the section: key, state, parts; each as it was written."""
        query = (
            f"SELECT key, state, checksum, {PARTS} FROM trial "  # noqa: S608 - our own
            "WHERE section = ? ORDER BY key"
        )
        for key, state, kept, *parts in self._read(query, self._section):
            is_known = state in STATES and isinstance(key, str)
            if not is_known or kept != self._checksum(key, state, tuple(parts)):
                raise damaged(self.path, f"the record of {key} does not match its checksum")
            yield key, state, *parts

    def _checksum(self, key: str, state: str, parts: tuple[Any, ...]) -> str:
        return checksum(self.fingerprint.digest, key, state, parts)

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with named(self.path):
            return self._connection.execute(query, values).fetchall()

    # --- writing ---------------------------------------------------------------------

    def locked(self) -> AbstractContextManager[None]:
        """Keep other runs away from the store; raise `StoreError` if one is at work."""
        return locked(self.path)

    def finish(self, key: str, figures: Mapping[str, float], payload: Any, seconds: float) -> None:
        """Record the result of a trial."""
        # json writes a float as its shortest text that reads back to the same bits
        parts = (json.dumps(dict(figures)), json.dumps(payload))
        self._settle("done", key, (*parts, None, None, seconds))

    def fail(self, key: str, error: str, traceback: str, seconds: float) -> None:
        """Record that a trial cannot be computed, and why."""
        self._settle("failed", key, (None, None, error, traceback, seconds))

    def _settle(self, state: State, key: str, parts: tuple[Any, ...]) -> None:
        with self._transaction() as connection:
            connection.execute(
                f"REPLACE INTO trial (section, key, state, checksum, {PARTS}) "  # noqa: S608
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._section, key, state, self._checksum(key, state, parts), *parts),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with named(self.path), transaction(self._connection) as connection:
            yield connection


def _record(key: str, state: State, parts: tuple[Any, ...]) -> TrialRecord:
    figures, payload, error, traceback, seconds = parts
    return TrialRecord(
        trial=json.loads(key),
        state=state,
        figures=json.loads(figures or "{}"),
        payload=json.loads(payload or "null"),
        error=error or "",
        traceback=traceback or "",
        seconds=seconds,
    )
