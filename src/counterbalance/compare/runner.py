"""Runner: compute independent trials, and append each to a file when it is done.

    first line    what the scores depend on: table, settings, versions, the user's own code
    other lines   a finished trial each

A trial is a mapping of short texts and whole numbers that holds everything its scores depend on.
A second run after Ctrl-C or a kill computes only the missing trials. A file whose first line
differs is overwritten. Failed trials are not kept; they are computed again.
"""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import threadpoolctl
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from counterbalance.errors import CounterbalanceError
from counterbalance.io.atomic import make_folder, written_whole
from counterbalance.safe_path import safe_path_for_children

Trial = Mapping[str, str | int]
Compute = Callable[[Trial], Mapping[str, float]]  # takes a trial, returns its figures
# Called with the name of the step, the number that is done, and the total.
Progress = Callable[[str, int, int], None]


class RunError(CounterbalanceError):
    """A run failed; its finished trials are kept."""


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a run; the message says how to resume."""


@dataclass(frozen=True)
class TrialRecord:
    """The result of a trial: scores, or an error."""

    trial: Trial
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0  # of processor time
    error: str = ""


def key_of(trial: Trial) -> str:
    """Return a trial as a text, the same for any order of its names.

    >>> key_of({"strategy": "SMOTE", "fold": 0})
    '{"fold": 0, "strategy": "SMOTE"}'
    """
    return json.dumps(dict(trial), sort_keys=True)


class TrialFile:
    """The finished trials of one table with one set of settings.

    Parameters
    ----------
    path : Path or None
        The file; its folder is made if it is not there. None keeps them in memory only.
    made_by : mapping
        What the scores depend on, as plain JSON.
    like : Path, optional
        Users who may not read this file may not read the trials.
    """

    def __init__(
        self, path: Path | None, made_by: Mapping[str, Any], like: Path | None = None
    ) -> None:
        self.path = path
        self.done: dict[str, TrialRecord] = {}
        self.replaced = False  # whether there was a file of another table or other settings
        if path is None:
            return
        head = json.dumps({"made_by": made_by}, sort_keys=True)
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        self.replaced = bool(lines) and lines[0] != head
        kept = [] if self.replaced else [line for line in lines[1:] if self._read(line)]
        make_folder(path.parent, like)
        # Rewrite the file: a kill may have left half a line at its end.
        with written_whole(path, like=like) as part:
            part.write_text("\n".join([head, *kept, ""]), "utf-8")

    def _read(self, line: str) -> bool:
        """Read a trial from a line; return whether the line is complete."""
        try:
            record = TrialRecord(**json.loads(line))
        except (ValueError, TypeError):
            return False
        self.done[key_of(record.trial)] = record
        return True

    def add(self, record: TrialRecord) -> None:
        """Keep a finished trial."""
        self.done[key_of(record.trial)] = record
        if self.path is not None:
            with self.path.open("ab", buffering=0) as file:  # one write: whole, or not at all
                file.write(json.dumps(asdict(record)).encode() + b"\n")


def run(
    trials: Sequence[Trial],
    compute: Compute,
    file: TrialFile,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    what: str = "trials",
) -> list[TrialRecord]:
    """Compute the trials that a file does not have, and return the records of all.

    An exception of ``compute`` becomes part of the record, and the run continues. One job is this
    process, -1 is one per core; it never changes a score. ``progress`` is called after each trial
    with ``what``, the number that is done, and the total. After Ctrl-C, running trials are lost
    and all others are kept.
    """
    found = {key_of(trial): file.done.get(key_of(trial)) for trial in trials}
    waiting = [trial for trial in trials if found[key_of(trial)] is None]
    settled = len(trials) - len(waiting)
    try:
        for record in _records(compute, waiting, jobs):
            found[key_of(record.trial)] = record
            if not record.error:
                file.add(record)
            settled += 1
            if progress is not None:
                progress(what, settled, len(trials))
    except KeyboardInterrupt as stop:
        kept = "" if file.path is None else " and kept: run the same again to go on"
        raise RunInterruptedError(
            f"stopped by Ctrl-C; {settled} of {len(trials)} trials are done{kept}"
        ) from stop
    except BrokenProcessPool as error:
        raise RunError(
            "a process that computed trials was ended from outside, often for want of memory; "
            "finished trials are kept: run the same again, with fewer jobs"
        ) from error
    return [record for record in found.values() if record is not None]


def _records(compute: Compute, trials: list[Trial], jobs: int) -> Iterable[TrialRecord]:
    """Compute trials, and yield each when it is done."""
    if jobs == 1 or len(trials) == 1:
        yield from (_computed(compute, trial) for trial in trials)
        return
    with safe_path_for_children():
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(_computed)(compute, trial, os.getpid()) for trial in trials)


def _computed(compute: Compute, trial: Trial, parent: int = 0) -> TrialRecord:
    """Compute one trial, here or in a process of its own; an error is part of the record.

    Numeric libraries get one thread: a score must not depend on the number of cores. Warnings are
    not shown.
    """
    if parent not in {0, os.getpid()}:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    start, figures, error = time.process_time(), {}, ""
    try:
        with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figures = {name: float(value) for name, value in compute(trial).items()}
    except CounterbalanceError as raised:
        error = str(raised)  # our own messages need no type
    except (Exception, SystemExit) as raised:  # noqa: BLE001 - recorded, and the run goes on
        error = f"{type(raised).__name__}: {raised}"
    return TrialRecord(trial, figures, time.process_time() - start, error)
