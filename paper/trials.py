"""Trials: independent units of work, computed by joblib, their results kept in one SQLite file.

A trial is a mapping of short texts and whole numbers that names all that its result depends on::

    {"data": "car-good", "method": "SMOTE", "repeat": 0, "fold": 3}

Its result is a mapping that JSON can hold. What the store has is not computed again, so a run can
be stopped at any time and started again. After a method has changed, delete its rows:
``python -m paper forget --method NAME --store FILE``, or ``--ours`` for all of ours.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from counterbalance.errors import CounterbalanceError

Frame = Any  # a frame or a column of pandas: its stubs cannot tell what a cell holds
Trial = dict[str, str | int]
Compute = Callable[[Trial], Mapping[str, Any]]
Outcome = tuple[Trial, str | None, str | None, float]  # trial, result as JSON or error, seconds
# Columns of a frame of trials beside those of the trials and of their results.
ERROR, CLOCK = "error", "clock"
EVERY = 30.0  # seconds between two lines of progress
LONG = 120.0  # seconds, or minutes, from which on the next unit reads better


class Store:
    """Results by trial in an SQLite file, which is made if it is not there."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(path, timeout=60)
        try:
            with self._file as file:
                file.execute(
                    "CREATE TABLE IF NOT EXISTS trial "
                    "(key TEXT PRIMARY KEY, result TEXT, error TEXT, seconds REAL)"
                )
        except sqlite3.DatabaseError as error:
            raise CounterbalanceError(
                f"store must be a file of trials or a new one, got {path} ({error}); name another"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def put(self, trial: Trial, result: str | None, error: str | None, seconds: float) -> None:
        """Keep the result of a trial as JSON, or its error."""
        with self._file as file:
            row = (key_of(trial), result, error, seconds)
            file.execute("REPLACE INTO trial VALUES (?, ?, ?, ?)", row)

    def known(self, *, failed: bool = True) -> set[str]:
        """Return the keys of all trials that are there, with those that failed or without."""
        rows = self._file.execute("SELECT key, error FROM trial")
        return {key for key, error in rows if failed or error is None}

    def frame(self, trials: Iterable[Trial]) -> Frame:
        """Return the trials that are there, in this order, with their results, error and time."""
        rows = {key: rest for key, *rest in self._file.execute("SELECT * FROM trial")}
        found = ((trial, rows[key]) for trial in trials if (key := key_of(trial)) in rows)
        return pd.DataFrame(
            [
                {**trial, **json.loads(result or "{}"), ERROR: error, CLOCK: seconds}
                for trial, (result, error, seconds) in found
            ]
        )

    def forget(self, methods: Iterable[str | None]) -> int:
        """Delete the trials of methods, None those that name no method; return how many."""
        with self._file as file:
            delete = "DELETE FROM trial WHERE json_extract(key, '$.method') IS ?"
            return sum(file.execute(delete, (method,)).rowcount for method in methods)


def key_of(trial: Trial) -> str:
    """Return the key of a trial, the same for any order of its names.

    >>> key_of({"run": 0, "data": "glass"})
    '{"data": "glass", "run": 0}'
    """
    return json.dumps(trial, sort_keys=True, ensure_ascii=False)


def seed_of(*names: str | int) -> int:
    """Return a seed that is a pure function of names, so that no order of work changes a figure.

    >>> seed_of("WBC", "ours", 0, 3)
    1435577967
    """
    return zlib.crc32("/".join(map(str, names)).encode()) >> 1


def run(
    trials: Sequence[Trial],
    compute: Compute,
    path: Path,
    *,
    jobs: int = 1,
    retry_failed: bool = False,
    computing: bool = True,
) -> Frame:
    """Compute what a store does not have yet; return the frame of all trials that it has then.

    trials        what to compute, in this order
    compute       takes a trial and returns its result; what it raises is kept as the trial's error
    path          the file of the store
    jobs          number of processes, of one thread each; -1 is one per core
    retry_failed  whether trials that failed in an earlier run are computed again
    computing     whether anything is computed; without it, the frame is of what the store has
    """
    with closing(Store(path)) as store:
        known = store.known(failed=not retry_failed)
        waiting = [trial for trial in trials if key_of(trial) not in known] if computing else []
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        work = (delayed(attempt)(compute, trial) for trial in waiting)
        for outcome in _shown(parallel(work) if waiting else (), len(waiting)):
            store.put(*outcome)
        return store.frame(trials)


def attempt(compute: Compute, trial: Trial) -> Outcome:
    """Compute a trial in one thread; an error becomes part of the outcome."""
    start = time.perf_counter()
    result = error = None
    try:
        with threadpool_limits(1):
            result = json.dumps(compute(trial))
    except Exception as raised:  # noqa: BLE001 - kept, and the run goes on
        error = f"{type(raised).__name__}: {raised}"
    return trial, result, error, time.perf_counter() - start


def _shown(outcomes: Iterable[Outcome], total: int) -> Iterator[Outcome]:
    """Pass outcomes on and write a line now and then: how many are done, how long it will take."""
    start = latest = time.monotonic()
    failed = 0
    for number, outcome in enumerate(outcomes, start=1):
        yield outcome
        failed += outcome[2] is not None
        now = time.monotonic()
        if now - latest > EVERY or number == total:
            latest = now
            left = duration((now - start) * (total - number) / number)
            line = f"{number:,} of {total:,} trials, {failed:,} failed, about {left} left\n"
            sys.stderr.write(line)


def duration(seconds: float) -> str:
    """Write a time in its natural unit.

    >>> duration(45.2), duration(600), duration(9000)
    ('45 s', '10 min', '2.5 h')
    """
    for unit in ("s", "min"):
        if seconds < LONG:
            return f"{seconds:.0f} {unit}"
        seconds /= 60
    return f"{seconds:.1f} h"
