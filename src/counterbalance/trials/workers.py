"""Worker processes on `concurrent.futures`, each with an executor of its own.

An executor breaks as a whole when one of its processes dies (killed, out of memory). With one
process per executor, a death costs the trial that was being computed and no other, and it is
known which one that was. A worker whose parent dies ends itself. A worker has the import path of
its parent, and nothing of the current folder before that. Numeric libraries get one thread per
worker: `jobs` processes keep `jobs` cores busy, and a result does not depend on how many threads
a machine would use.
"""

import contextlib
import functools
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from typing import Any, Self, cast

import threadpoolctl

from counterbalance.safe_path import safe_path_for_children
from counterbalance.trials.trial import Trial, TrialResult

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
WORKER = "counterbalance-trial"
REMEDY = (
    "compute must be importable in a new process: define it in a module, and start a script's "
    "own work under if __name__ == '__main__'"
)
ORPHANED = 1


@dataclass(frozen=True)
class Outcome:
    """What became of a trial: figures, or an error and its traceback."""

    figures: Mapping[str, float] = field(default_factory=dict)
    payload: Any = None
    error: str = ""
    traceback: str = ""
    seconds: float = 0.0


Compute = Callable[[Trial], Mapping[str, float] | TrialResult]


def compute_trial(compute: Compute, trial: Trial) -> Outcome:
    """Compute a trial; an error becomes part of the outcome."""
    start = time.perf_counter()
    try:
        result = compute(trial)
        if not isinstance(result, TrialResult):
            result = TrialResult(result)
        figures = {str(name): float(value) for name, value in result.figures.items()}
        json.dumps(result.payload)  # so that a payload that is no JSON fails here
    except (Exception, SystemExit) as error:  # noqa: BLE001 - recorded, and the run goes on
        return _failed(error, time.perf_counter() - start)
    return Outcome(figures, result.payload, seconds=time.perf_counter() - start)


def _failed(error: BaseException, seconds: float) -> Outcome:
    return Outcome(
        error="".join(traceback.format_exception_only(error)).strip(),
        traceback="".join(traceback.format_exception(error)),
        seconds=seconds,
    )


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers at once, also those that compute."""
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.close()

    @property
    def running(self) -> list[str]:
        """Keys of the trials that are being computed."""
        return [worker.key for worker in self._workers if worker.key is not None]

    @property
    def has_room(self) -> bool:
        """Whether another trial can be started now."""
        return len(self.running) < self._jobs

    def submit(self, key: str, trial: Trial) -> None:
        """Start a trial on an idle worker, or on a new one."""
        for worker in [worker for worker in self._workers if worker.key is None]:
            try:
                worker.start(key, trial)
            except BrokenProcessPool:  # it died while it was idle
                self._workers.remove(worker)
                worker.close()
            else:
                return
        worker = _Worker(self._compute, self._context)
        self._workers.append(worker)
        try:
            worker.start(key, trial)
        except BrokenProcessPool:
            raise worker.start_error() from None

    def wait(self, timeout: float) -> list[tuple[str, Outcome]]:
        """Return the trials that ended, waiting at most `timeout` seconds for the first."""
        busy = {worker.future: worker for worker in self._workers if worker.future is not None}
        ended = []
        for future in wait(busy, timeout, return_when=FIRST_COMPLETED).done:
            worker = busy[future]
            key, outcome = worker.collect()
            ended.append((key, outcome))
            if worker.is_dead:
                self._workers.remove(worker)
        return ended


class _Worker:
    """One process, with the trial that it computes."""

    def __init__(self, compute: Compute, context: Any) -> None:
        self.key: str | None = None
        self.future: Future[Outcome] | None = None
        self.is_dead = False
        self._since = 0.0
        self._context = _Context(context)
        try:
            with _ctrl_c_held(), safe_path_for_children():
                processes = cast("BaseContext", self._context)
                self._executor = ProcessPoolExecutor(1, processes, _begin, (compute,))
                self._ready = self._executor.submit(os.getpid)
        except (EOFError, ConnectionError, BrokenPipeError) as error:
            raise WorkerStartError(
                f"the process that starts the workers ended before it could start one "
                f"({type(error).__name__}); often memory was short: use fewer jobs, and run the "
                "same again to go on"
            ) from error
        self._context.started()

    def start(self, key: str, trial: Trial) -> None:
        """Compute a trial."""
        self.future = self._executor.submit(_compute_here, trial)
        self.key, self._since = key, time.perf_counter()

    def collect(self) -> tuple[str, Outcome]:
        """Return the trial that ended, and its outcome."""
        key, future, seconds = self.key, self.future, time.perf_counter() - self._since
        assert key is not None and future is not None  # noqa: S101, PT018 - for the type checker
        self.key = self.future = None
        error = future.exception()
        if error is None:
            return key, future.result()
        if not isinstance(error, BrokenProcessPool):
            return key, _failed(error, seconds)
        self.is_dead = True
        if self._ready.exception() is not None:
            raise self.start_error()
        code = self._exit_code()
        said = f"the process that computed this trial ended with code {code}"
        if code is not None and code < 0:
            said += f" ({signal.Signals(-code).name}; SIGKILL is often a lack of memory)"
        return key, Outcome(error=said, seconds=seconds)

    def start_error(self) -> WorkerStartError:
        """Return the error of a process that ended before it could compute."""
        return WorkerStartError(
            f"a worker process ended with code {self._exit_code()} before it could compute; "
            f"{REMEDY}"
        )

    def _exit_code(self) -> int | None:
        self.close()  # the executor reads the code, and only one may
        code: int | None = self._context.process.exitcode
        return code

    def terminate(self) -> None:
        """End the process, whatever it does."""
        self._context.process.terminate()

    def close(self) -> None:
        """Wait for the end of the process and of the executor's threads."""
        self._executor.shutdown(cancel_futures=True)


class _Context:
    """What an executor makes its process and queues with; it knows the process."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.process: Any = None
        self._results: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Process(self, *arguments: Any, **named: Any) -> Any:  # noqa: N802 - the executor's name for it
        """Return a new process under the name of a worker."""
        self.process = self._context.Process(*arguments, name=WORKER, **named)
        return self.process

    def SimpleQueue(self) -> Any:  # noqa: N802 - the executor's name for it
        """Return a queue for the results."""
        self._results = self._context.SimpleQueue()
        return self._results

    def started(self) -> None:
        """Leave the writing end of the results to the worker alone.

        While the parent holds it too, a worker that is killed in the middle of a result never
        ends the pipe, and the executor would wait for the rest of it for ever.
        """
        self._results._writer.close()  # noqa: SLF001 - a queue has no other way to close one end


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


# --- in a worker's own process -------------------------------------------------------

_HERE: dict[str, Compute] = {}


def _begin(compute: Compute) -> None:
    """Set up a worker; its function comes once, because it may hold a whole table."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"  # for libraries that are loaded later
    threadpoolctl.threadpool_limits(1)  # for those that are loaded already
    _HERE["compute"] = compute


def _compute_here(trial: Trial) -> Outcome:
    return compute_trial(_HERE["compute"], trial)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)
