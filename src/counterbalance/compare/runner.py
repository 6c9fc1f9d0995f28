"""Runner: compute independent trials, and keep each in a file the moment it is done.

    first line    what makes the figures: the table, the settings, versions, the user's own code
    other lines   a finished trial each

A trial is a mapping of short texts and whole numbers that names everything its figures depend on.
Run the same again after Ctrl-C or a kill, and only what is missing is computed. A file whose first
line differs is begun anew. Trials that failed are not kept: they are tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import threadpoolctl
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from counterbalance.errors import CounterbalanceError
from counterbalance.io.atomic import make_folder, written_whole
from counterbalance.safe_path import safe_path_for_children

Trial = Mapping[str, str | int]
# Gets what is done, how many of it, and of how many.
Progress = Callable[[str, int, int], None]


class RunError(CounterbalanceError):
    """A run could not go on; what it has finished is kept."""


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a run; the message says how to go on."""


@dataclass(frozen=True)
class TrialRecord:
    """What came of a trial: figures and anything else that is plain JSON, or an error."""

    trial: Trial
    figures: Mapping[str, float] = field(default_factory=dict)
    payload: Any = None
    seconds: float = 0.0  # of processor time
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether there are figures."""
        return not self.error


def trial_key(trial: Trial) -> str:
    """Return the text of a trial, the same for any order of its names.

    >>> trial_key({"fold": 0, "strategy": "SMOTE"})
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
        What makes the figures, as plain JSON.
    like : Path, optional
        Nobody may read the file who may not read this one.
    """

    def __init__(
        self, path: Path | None, made_by: Mapping[str, Any], like: Path | None = None
    ) -> None:
        self.path = path
        self.done: dict[str, TrialRecord] = {}
        self.replaced = False  # whether there was a file that something else had made
        if path is None:
            return
        head = json.dumps({"made_by": made_by}, sort_keys=True)
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        self.replaced = bool(lines) and lines[0] != head
        kept = [] if self.replaced else [line for line in lines[1:] if self._read(line)]
        make_folder(path.parent, like)
        # Once more as a whole: a kill may have left half a line at the end.
        with written_whole(path, like=like) as part:
            part.write_text("\n".join([head, *kept, ""]), "utf-8")

    def _read(self, line: str) -> bool:
        """Take over a line; say whether it is whole."""
        try:
            record = TrialRecord(**json.loads(line))
        except (ValueError, TypeError):
            return False
        self.done[trial_key(record.trial)] = record
        return True

    def add(self, record: TrialRecord) -> None:
        """Keep a finished trial."""
        self.done[trial_key(record.trial)] = record
        if self.path is not None:
            kept = {name: value for name, value in vars(record).items() if name != "error"}
            with self.path.open("ab", buffering=0) as file:  # one write: whole, or not at all
                file.write(json.dumps(kept).encode() + b"\n")


def run(
    trials: Sequence[Trial],
    compute: Callable[[Trial], tuple[Mapping[str, float], Any]],
    file: TrialFile,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[TrialRecord]:
    """Compute the trials that a file does not have, and return the records of all.

    Parameters
    ----------
    trials : sequence of mapping
        What to compute, in this order.
    compute : callable
        Takes a trial, returns its figures and what else is to be kept of it. It depends on
        nothing but the trial. What it raises is part of the record, and the run goes on.
    file : TrialFile
        Where finished trials are kept.
    jobs : int, default=1
        Number of processes; 1 is this one, -1 one per core. It never changes a figure.
    progress : callable, optional
        Hears after each trial how many are settled.

    Raises
    ------
    RunInterruptedError
        After Ctrl-C. Trials in flight are lost, all others are kept.
    RunError
        If a process was ended from outside, for example for want of memory.
    """
    failed: dict[str, TrialRecord] = {}
    waiting = [trial for trial in trials if trial_key(trial) not in file.done]
    settled = len(trials) - len(waiting)
    try:
        for record in _records(compute, waiting, jobs):
            if record.is_done:
                file.add(record)
            else:
                failed[trial_key(record.trial)] = record
            settled += 1
            if progress is not None:
                progress("trials", settled, len(trials))
    except KeyboardInterrupt as stop:
        raise RunInterruptedError(
            f"stopped by Ctrl-C; {settled} of {len(trials)} trials are done"
            + ("" if file.path is None else " and kept: run the same again to go on")
        ) from stop
    except BrokenProcessPool as error:
        raise RunError(
            "a process that computed trials was ended from outside, often for want of memory; "
            "finished trials are kept: run the same again, with fewer jobs"
        ) from error
    return [file.done.get(trial_key(trial)) or failed[trial_key(trial)] for trial in trials]


def _records(
    compute: Callable[[Trial], tuple[Mapping[str, float], Any]], trials: list[Trial], jobs: int
) -> Iterable[TrialRecord]:
    """Compute trials, and yield each when it is done."""
    if jobs == 1 or len(trials) < 2:  # noqa: PLR2004 - one trial needs no second process
        yield from (_computed(compute, trial) for trial in trials)
        return
    with safe_path_for_children():
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(_computed)(compute, trial, os.getpid()) for trial in trials)


def _computed(
    compute: Callable[[Trial], tuple[Mapping[str, float], Any]], trial: Trial, parent: int = 0
) -> TrialRecord:
    """Compute one trial, here or in a process of its own; an error is part of the record.

    Numeric libraries get one thread: a figure must not depend on how many a machine has.
    """
    if parent not in {0, os.getpid()}:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to decide
    start = time.process_time()
    try:
        with threadpoolctl.threadpool_limits(1):
            figures, payload = compute(trial)
        plain = {str(name): float(value) for name, value in figures.items()}
        json.dumps(payload)  # what is no JSON fails here
    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded, and the run goes on
        text = "".join(traceback.format_exception_only(error)).strip()
        return TrialRecord(trial, error=text, seconds=time.process_time() - start)
    return TrialRecord(trial, plain, payload, time.process_time() - start)


def source_digest(modules: Iterable[str]) -> str:
    """Return a text that changes with the source of modules, such as the user's own."""
    digest = hashlib.sha256()
    for module in modules:
        spec = find_spec(module)
        if spec is not None and spec.origin is not None and Path(spec.origin).is_file():
            digest.update(Path(spec.origin).read_bytes())
    return digest.hexdigest()
