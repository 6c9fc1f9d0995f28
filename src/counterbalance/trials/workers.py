"""Processes that compute cells, one cell at a time each.

Every worker has its own pipe, so a worker that dies (killed, out of memory) costs its own
cell and no other. A worker whose parent dies ends itself. A worker has the import path of
its parent, and nothing of the current folder before that. Numeric libraries get one
thread per worker: `jobs` processes keep `jobs` cores busy, and a result does not depend
on how many threads a machine would use.
"""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import connection as pipes
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

import threadpoolctl

from counterbalance.safe_path import safe_path_for_children
from counterbalance.trials.store import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
READY = "ready"
WORKER = "counterbalance-cell"
REMEDY = (
    "compute must be importable in a new process: define it in a module, and start a script's "
    "own work under if __name__ == '__main__'"
)
ORPHANED = 1


@dataclass(frozen=True)
class CellResult:
    """Figures of a cell, with anything else that is plain JSON."""

    figures: Mapping[str, float]
    payload: Any = None


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: figures, or an error and its traceback."""

    figures: Mapping[str, float] = field(default_factory=dict)
    payload: Any = None
    error: str = ""
    traceback: str = ""
    seconds: float = 0.0


Compute = Callable[[Cell], Mapping[str, float] | CellResult]


def compute_cell(compute: Compute, cell: Cell) -> Outcome:
    """Compute a cell; an error becomes part of the outcome."""
    start = time.perf_counter()
    try:
        result = compute(cell)
        if not isinstance(result, CellResult):
            result = CellResult(result)
        figures = {str(name): float(value) for name, value in result.figures.items()}
        json.dumps(result.payload)  # so that a payload that is no JSON fails here
    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded, and the run goes on
        return Outcome(
            error="".join(traceback.format_exception_only(error)).strip(),
            traceback="".join(traceback.format_exception(error)),
            seconds=time.perf_counter() - start,
        )
    return Outcome(figures, result.payload, seconds=time.perf_counter() - start)


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    key: str | None = None
    ready: bool = False
    since: float = 0.0


class WorkerStartError(RuntimeError):
    """A worker process ended before it could compute anything."""


class WorkerPool:
    """At most `jobs` worker processes, started when there is work for them."""

    def __init__(self, compute: Compute, jobs: int) -> None:
        if multiprocessing.current_process().name == WORKER:
            raise WorkerStartError(f"a worker process must not start a run of its own; {REMEDY}")
        self._compute = compute
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._context = _context(compute)

    @property
    def running(self) -> list[str]:
        """Keys of the cells that are being computed."""
        return [worker.key for worker in self._workers if worker.key is not None]

    @property
    def has_room(self) -> bool:
        """Whether another cell can be started now."""
        return len(self.running) < self._jobs

    def submit(self, key: str, cell: Cell) -> None:
        """Start a cell on an idle worker, or on a new one."""
        worker = next((w for w in self._workers if w.key is None), None) or self._start()
        worker.key, worker.since = key, time.perf_counter()
        with contextlib.suppress(OSError):  # it died while it was idle: wait() will see that
            worker.pipe.send(cell)

    def wait(self, timeout: float) -> list[tuple[str, Outcome]]:
        """Return the cells that ended, waiting at most `timeout` seconds for the first."""
        if not self._workers:
            time.sleep(timeout)
            return []
        ended = []
        by_pipe = {id(worker.pipe): worker for worker in self._workers}
        for pipe in pipes.wait([worker.pipe for worker in self._workers], timeout):
            worker = by_pipe[id(pipe)]
            try:
                message = worker.pipe.recv()
            except (EOFError, OSError):
                ended.extend(self._bury(worker))
                continue
            if message == READY:
                worker.ready = True
            elif worker.key is not None:
                ended.append((worker.key, message))
                worker.key = None
        return ended

    def close(self) -> None:
        """End all workers at once, also those that compute."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    def _start(self) -> _Worker:
        mine, its = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(its, self._compute), name=WORKER, daemon=True
        )
        try:
            with _ctrl_c_held(), safe_path_for_children():
                process.start()
        except (EOFError, ConnectionError, BrokenPipeError) as error:
            mine.close()
            raise WorkerStartError(
                f"the process that starts the workers ended before it could start one "
                f"({type(error).__name__}); often memory was short: use fewer jobs, and run the "
                "same again to go on"
            ) from error
        finally:
            its.close()
        worker = _Worker(process, mine)
        self._workers.append(worker)
        return worker

    def _bury(self, worker: _Worker) -> list[tuple[str, Outcome]]:
        """Forget a worker that died; its cell, if it had one, has failed."""
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        code = worker.process.exitcode
        if not worker.ready:
            raise WorkerStartError(
                f"a worker process ended with code {code} before it could compute; {REMEDY}"
            )
        if worker.key is None:
            return []
        error = f"the process that computed this cell ended with code {code}"
        if code is not None and code < 0:
            error += f" ({signal.Signals(-code).name}; SIGKILL is often a lack of memory)"
        return [(worker.key, Outcome(error=error, seconds=time.perf_counter() - worker.since))]


@contextlib.contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Hold Ctrl-C back while a process starts: it inherits the mask and never sees one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would lift the mask if it were started below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context(compute: Callable[..., Any]) -> Any:
    """Return a way to start processes that copies no threads and no locks."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    function = compute.func if isinstance(compute, functools.partial) else compute
    module = getattr(function, "__module__", None)
    # imported once by the server; "__main__" would run the user's script again
    preload = {__name__, module} - {None, "__main__"}
    context.set_forkserver_preload(sorted(str(name) for name in preload))
    return context


def _work(pipe: Connection, compute: Compute) -> None:
    """Compute cells from the pipe until it closes. Runs in the worker's own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"  # for libraries that are loaded later
    threadpoolctl.threadpool_limits(1)  # for those that are loaded already
    pipe.send(READY)
    while True:
        try:
            cell = pipe.recv()
            pipe.send(compute_cell(compute, cell))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)
