"""Compute a list of independent trials into a store, in several processes.

    trials -> those not settled -> computed by workers -> stored

Trials that are done are not computed again. So a run can be killed at any moment and started
again, with the same results. One run at a time holds the store's lock; a second one is told who
holds it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from os import PathLike
from pathlib import Path
from types import FrameType

from counterbalance.trials.fingerprint import Fingerprint
from counterbalance.trials.progress import Progress, QuietProgress, Status, default_progress
from counterbalance.trials.store import TrialStore
from counterbalance.trials.store_file import StoreError
from counterbalance.trials.trial import Trial, TrialRecord, trial_key
from counterbalance.trials.workers import Compute, Outcome, WorkerPool, WorkerStartError

Cost = Callable[[Trial], float]
TICK = 0.2  # seconds between two looks at Ctrl-C and the display


@dataclass(frozen=True)
class RunSummary:
    """How a run ended.

    Parameters
    ----------
    total, done, failed : int
        Trials asked for; of these, done and failed, in this run or an earlier one.
    computed : int
        Trials that this run computed itself.
    seconds : float
        Time the run took.
    """

    total: int
    done: int
    failed: int
    computed: int
    seconds: float

    def __add__(self, other: RunSummary) -> RunSummary:
        """Return the summary of two runs together."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return RunSummary(*(mine + theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class ExperimentRun:
    """What came out of an experiment: the records of its trials, and how the run went.

    Parameters
    ----------
    records : list of TrialRecord
        One for each trial, in the order of the trials.
    summary : RunSummary
        How the run ended.
    made_by_others : int
        Finished trials in the same file that other code, settings or versions made.
    """

    records: list[TrialRecord]
    summary: RunSummary
    made_by_others: int


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a run; the message says how to go on."""


def run_experiment(
    trials: Sequence[Mapping[str, str | int]],
    compute: Compute,
    *,
    store: str | PathLike[str],
    fingerprint: Fingerprint,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    before: Callable[[list[Trial]], None] | None = None,
    cost: Cost | None = None,
) -> ExperimentRun:
    """Compute what a store file does not have yet, and read the records of all trials.

    Parameters
    ----------
    trials, compute, jobs, progress, retry_failed, cost
        See `run`.
    store : path-like
        The file of the store; it and its folder are made if they are not there.
    fingerprint : Fingerprint
        What makes the results.
    before : callable, optional
        Gets the trials that the store does not have, before the first of them is computed.
    """
    path = Path(store)
    path.parent.mkdir(parents=True, exist_ok=True)
    with TrialStore(path, fingerprint) as opened:
        if before is not None:
            known = opened.states()
            before([dict(trial) for trial in trials if trial_key(trial) not in known])
        summary = run(
            trials,
            compute,
            opened,
            jobs=jobs,
            progress=progress,
            retry_failed=retry_failed,
            cost=cost,
        )
        return _read(trials, opened, summary)


def stored_experiment(
    trials: Sequence[Mapping[str, str | int]],
    *,
    store: str | PathLike[str],
    fingerprint: Fingerprint,
) -> ExperimentRun:
    """Read the records that a store file has of trials, and compute nothing.

    It takes no lock, so it works while another process computes.
    """
    with TrialStore(Path(store), fingerprint) as opened:
        records = opened.results(trials)
        failed = sum(record.state == "failed" for record in records)
        summary = RunSummary(len(trials), len(records) - failed, failed, 0, 0.0)
        return _read(trials, opened, summary)


def _read(
    trials: Sequence[Mapping[str, str | int]], opened: TrialStore, summary: RunSummary
) -> ExperimentRun:
    others = sum(section.done for section in opened.others())
    return ExperimentRun(opened.results(trials), summary, others)


def run(
    trials: Iterable[Mapping[str, str | int]],
    compute: Compute,
    store: TrialStore,
    *,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    cost: Cost | None = None,
) -> RunSummary:
    """Compute every trial that the store does not have yet.

    Parameters
    ----------
    trials : iterable of mapping
        What to compute, in this order: mappings of text to text or whole numbers.
    compute : callable
        Takes a trial, returns a mapping of names to floats or a `TrialResult`. It must
        depend on nothing but the trial, and be importable in another process. What it
        raises is recorded with the trial, and the run goes on.
    store : TrialStore
        Where the results are kept. It is locked while the run lasts.
    jobs : int, default=1
        Number of processes; -1 is one per core.
    progress : Progress or bool, optional
        What shows the state of the run. By default a bar if stderr is a terminal and
        rich is installed, else a line on stderr now and then; False shows nothing.
    retry_failed : bool, default=False
        Whether trials that failed in an earlier run are computed again.
    cost : callable, optional
        Takes a trial, returns about how long it takes, in any unit; the time left is reckoned
        with it. By default all trials count alike.

    Returns
    -------
    RunSummary
        Counts of the trials asked for. The results are in the store.

    Raises
    ------
    RunInterruptedError
        After Ctrl-C. Trials in flight are dropped, all others are kept.
    StoreError
        If another run holds the store; the message says which process.
    """
    jobs = _jobs(jobs)
    wanted = _by_key(trials)
    start = time.monotonic()
    with (
        store.locked(),
        _shown(progress=progress) as display,
        _interruptible() as interrupted,
        WorkerPool(compute, jobs) as pool,
    ):
        state = _State(wanted, store, cost or (lambda _: 1.0), retry_failed=retry_failed)
        while state.waiting or pool.running:
            while state.waiting and pool.has_room:
                key = state.waiting.popleft()
                pool.submit(key, wanted[key])
            for key, outcome in _ended(pool, interrupted):
                state.settle(key, outcome)
            running = [" ".join(map(str, wanted[key].values())) for key in pool.running]
            display.update(state.status(time.monotonic() - start, running))
            if interrupted.is_set():
                break
        dropped = len(pool.running)
    status = state.status(time.monotonic() - start, ())
    if interrupted.is_set():
        raise RunInterruptedError(
            f"stopped by Ctrl-C: {status.done} of {status.total} trials are done, {status.failed} "
            f"failed, {dropped} in flight were dropped; run the same again with the store "
            f"{store.path} to go on where it stopped"
        )
    return RunSummary(status.total, status.done, status.failed, status.computed, status.seconds)


class _State:
    """Which trials of a run wait, and how many are settled."""

    def __init__(
        self, wanted: Mapping[str, Trial], store: TrialStore, cost: Cost, *, retry_failed: bool
    ) -> None:
        settled = {key: state for key, state in store.states().items() if key in wanted}
        if retry_failed:
            settled = {key: state for key, state in settled.items() if state == "done"}
        self.waiting = deque(key for key in wanted if key not in settled)
        self._store = store
        self._total = len(wanted)
        self._done = sum(state == "done" for state in settled.values())
        self._failed = len(settled) - self._done
        self._computed = 0
        self._costs = {key: cost(wanted[key]) for key in self.waiting}
        self._work_left, self._work_done = sum(self._costs.values()), 0.0

    def settle(self, key: str, outcome: Outcome) -> None:
        """Store what became of a trial."""
        if outcome.error:
            self._store.fail(key, outcome.error, outcome.traceback, outcome.seconds)
        else:
            self._store.finish(key, outcome.figures, outcome.payload, outcome.seconds)
        self._computed += 1
        self._work_done += self._costs[key]
        self._work_left -= self._costs[key]
        self._done += not outcome.error
        self._failed += bool(outcome.error)

    def status(self, seconds: float, running: Iterable[str]) -> Status:
        """Return the counts of this moment."""
        counts = (self._total, self._done, self._failed, self._computed)
        ratio = self._work_left / self._work_done if self._work_done else None
        return Status(*counts, seconds, tuple(running), ratio)


def _ended(pool: WorkerPool, interrupted: threading.Event) -> list[tuple[str, Outcome]]:
    """Return the trials that ended within a tick."""
    try:
        return pool.wait(TICK)
    except WorkerStartError:
        if interrupted.is_set():  # the same Ctrl-C ended the worker too
            return []
        raise


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that nothing is torn; a second one breaks off."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            signal.default_int_handler(number, frame)
        interrupted.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _by_key(trials: Iterable[Mapping[str, str | int]]) -> dict[str, Trial]:
    wanted: dict[str, Trial] = {}
    for trial in trials:
        key = trial_key(trial)
        if key in wanted:
            raise StoreError(f"trials must differ, and {key} is there twice; leave one out")
        wanted[key] = dict(trial)
    return wanted


def _jobs(jobs: int) -> int:
    if jobs == -1:
        return os.cpu_count() or 1
    if not isinstance(jobs, int) or jobs < 1:
        raise StoreError(f"jobs must be a positive whole number or -1 for all cores, got {jobs!r}")
    return jobs


@contextmanager
def _shown(*, progress: Progress | bool | None) -> Iterator[Progress]:
    if progress is None or progress is True:
        display = default_progress()
    else:
        display = QuietProgress() if progress is False else progress
    try:
        yield display
    finally:
        display.close()
