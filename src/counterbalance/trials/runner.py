"""Compute a list of independent cells into a store, in several processes.

    cells -> those not settled -> claimed one by one -> computed by workers -> stored

Cells that are done are not computed again, cells that another process computes are waited
for, and claims of a process that died are taken over. So a run can be killed at any moment
and started again, or helped by a second process, with the same results.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterbalance.trials.integrity import StoreError
from counterbalance.trials.progress import Progress, QuietProgress, Status, default_progress
from counterbalance.trials.store import Cell, CellStore, cell_key
from counterbalance.trials.workers import Compute, Outcome, WorkerPool, WorkerStartError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import FrameType

TICK = 0.2  # seconds between two looks at Ctrl-C, the display and other processes
BEAT = 20.0  # seconds between two heartbeats


@dataclass(frozen=True)
class RunSummary:
    """How a run ended.

    Parameters
    ----------
    total, done, failed : int
        Cells asked for; of these, done and failed, whoever computed them.
    computed : int
        Cells that this run computed itself.
    seconds : float
        Time the run took.
    """

    total: int
    done: int
    failed: int
    computed: int
    seconds: float


class RunInterruptedError(KeyboardInterrupt):
    """Ctrl-C ended a run; the message says how to go on."""


def run(
    cells: Iterable[Mapping[str, str | int]],
    compute: Compute,
    store: CellStore,
    *,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
) -> RunSummary:
    """Compute every cell that the store does not have yet.

    Parameters
    ----------
    cells : iterable of mapping
        What to compute, in this order: mappings of text to text or whole numbers.
    compute : callable
        Takes a cell, returns a mapping of names to floats or a `CellResult`. It must
        depend on nothing but the cell, and be importable in another process. What it
        raises is recorded with the cell, and the run goes on.
    store : CellStore
        Where the results are kept.
    jobs : int, default=1
        Number of processes; -1 is one per core.
    progress : Progress or bool, optional
        What shows the state of the run. By default a bar if stderr is a terminal and
        rich is installed, else a line on stderr now and then; False shows nothing.
    retry_failed : bool, default=False
        Whether cells that failed in an earlier run are computed again.

    Returns
    -------
    RunSummary
        Counts of the cells asked for. The results are in the store.

    Raises
    ------
    RunInterruptedError
        After Ctrl-C. Cells in flight are given back, all others are kept.
    """
    jobs = _jobs(jobs)
    wanted = _by_key(cells)
    queue = _Queue(wanted, store, retry_failed=retry_failed)
    display = _display(progress=progress)
    pool = WorkerPool(compute, jobs)
    start = beat = time.monotonic()
    store.enlist()
    try:
        with _interruptible() as interrupted:
            while queue.is_open or pool.running:
                while pool.has_room and (key := queue.claim()) is not None:
                    pool.submit(key, wanted[key])
                for key, outcome in _ended(pool, interrupted):
                    queue.settle(key, outcome)
                if time.monotonic() - beat > BEAT:
                    store.beat()
                    beat = time.monotonic()
                running = [_name(wanted[key]) for key in pool.running]
                display.update(queue.status(time.monotonic() - start, running))
                if interrupted.is_set():
                    break
    finally:
        pool.close()
        given_back = store.release()
        display.close()
    status = queue.status(time.monotonic() - start, ())
    if interrupted.is_set():
        raise RunInterruptedError(
            f"stopped by Ctrl-C: {status.done} of {status.total} cells are done, {status.failed} "
            f"failed, {given_back} in flight were given back; run the same again with the store "
            f"{store.path} to go on where it stopped"
        )
    return RunSummary(status.total, status.done, status.failed, status.computed, status.seconds)


class _Queue:
    """Cells of a run that are not settled: open ones, and those that others compute."""

    def __init__(self, wanted: Mapping[str, Cell], store: CellStore, *, retry_failed: bool) -> None:
        states = {key: state for key, state in store.states().items() if key in wanted}
        failed = {key: attempt for key, (state, attempt) in states.items() if state == "failed"}
        self._store = store
        self._retry = failed if retry_failed else {}
        self._done = sum(state == "done" for state, _ in states.values())
        self._failed = len(failed) - len(self._retry)
        self._total = len(wanted)
        self._computed = 0
        settled = {key for key, (state, _) in states.items() if state != "running"}
        self._open = deque(key for key in wanted if key not in settled - set(self._retry))
        self._elsewhere: list[str] = []
        self._looked = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether there are cells that are neither settled nor running here."""
        return bool(self._open or self._elsewhere)

    def claim(self) -> str | None:
        """Claim the next cell that is free; None if there is none now."""
        if not self._open and time.monotonic() - self._looked > TICK:
            self._open.extend(self._elsewhere)
            self._elsewhere.clear()
            self._looked = time.monotonic()
        while self._open:
            key = self._open.popleft()
            state = self._store.claim(key, self._retry.get(key))
            if state is None:
                return key
            if state == "running":
                self._elsewhere.append(key)
            else:
                self._count(done=state == "done")
        return None

    def settle(self, key: str, outcome: Outcome) -> None:
        """Store what became of a cell that was computed here."""
        if outcome.error:
            self._store.fail(key, outcome.error, outcome.traceback, outcome.seconds)
        else:
            self._store.finish(key, outcome.figures, outcome.payload, outcome.seconds)
        self._computed += 1
        self._count(done=not outcome.error)

    def status(self, seconds: float, running: Iterable[str]) -> Status:
        """Return the counts of this moment."""
        counts = (self._total, self._done, self._failed, self._computed)
        return Status(*counts, seconds, tuple(running))

    def _count(self, *, done: bool) -> None:
        self._done += done
        self._failed += not done


def _ended(pool: WorkerPool, interrupted: threading.Event) -> list[tuple[str, Outcome]]:
    """Return the cells that ended within a tick."""
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


def _by_key(cells: Iterable[Mapping[str, str | int]]) -> dict[str, Cell]:
    wanted: dict[str, Cell] = {}
    for cell in cells:
        key = cell_key(cell)
        if key in wanted:
            raise StoreError(f"cells must differ, and {key} is there twice; leave one out")
        wanted[key] = dict(cell)
    return wanted


def _jobs(jobs: int) -> int:
    if jobs == -1:
        return os.cpu_count() or 1
    if not isinstance(jobs, int) or jobs < 1:
        raise StoreError(f"jobs must be a positive whole number or -1 for all cores, got {jobs!r}")
    return jobs


def _display(*, progress: Progress | bool | None) -> Progress:
    if progress is None or progress is True:
        return default_progress()
    return QuietProgress() if progress is False else progress


def _name(cell: Cell) -> str:
    return " ".join(str(value) for value in cell.values())
