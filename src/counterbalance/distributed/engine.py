"""Engine: runs tasks wherever Dask runs, starts clusters, and explains what goes wrong there.

    task       a function call to be made on a worker
    keep       run tasks and leave their results on the workers
    compute    run tasks and fetch their results
    joined     fetch one result: those of the tasks, joined on the workers, a few at a time

Without a client, tasks run in this process, on Dask's own threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import dask
from dask.utils import format_bytes, parse_bytes
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.security import Security
from distributed.system import MEMORY_LIMIT

from counterbalance.errors import EngineError
from counterbalance.extras import require
from counterbalance.safe_path import safe_path_for_children
from distributed import Client, KilledWorker, LocalCluster, as_completed, get_client

# With less, Dask itself leaves so little that a worker pauses at 80 % and waits for ever.
SMALLEST_WORKER = 10**9
# The share of a worker's memory that a block may take, with all that is computed from it.
SHARE_FOR_BLOCK = 0.1
# The share of a worker's memory that the work on a block may take at a time: f answers many rows
# at once in little more time than a few.
SHARE_FOR_WORK = 0.05
# Bytes that a cell of a block takes: in Arrow's form, in pandas', as code, in copies.
BYTES_PER_CELL = 64
FEWEST_ROWS = 1_000
# How much freed memory a worker keeps. With Dask's default of 64 kB every array goes back to the
# system, which then fills each new one with zeros: that takes a third of the time of a search.
KEPT_MEMORY = 128 * 2**20
# The largest array that uses the kept memory; a larger one goes back when it is freed.
LARGEST_KEPT = 32 * 2**20
# How many results one task joins.
JOINED_AT_ONCE = 16

# Called with what is being done, how many of its tasks are done, and how many there are.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class DaskEngine:
    """Where tasks run."""

    client: Any | None
    memory: int  # bytes of the smallest worker, for each of its threads
    progress: Progress = silent

    @classmethod
    def of(cls, client: Any | None, progress: Progress = silent) -> DaskEngine:
        """Return the engine of a client, of the active one, or of this process."""
        if client is None:
            try:
                client = get_client()
            except ValueError:
                return cls(None, MEMORY_LIMIT // (os.cpu_count() or 1), progress)
        return cls(client, _check_workers(client), progress)

    def block_rows(self, n_columns: int) -> int:
        """Return how many rows a block may have to stay within a worker's memory."""
        rows = int(self.memory * SHARE_FOR_BLOCK) // (BYTES_PER_CELL * n_columns)
        return max(FEWEST_ROWS, rows)

    @property
    def cells_at_once(self) -> int:
        """How many cells of a block may be worked on at a time."""
        return int(self.memory * SHARE_FOR_WORK) // BYTES_PER_CELL

    def task(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return a call to be made on a worker; its arguments may be tasks or lists of them."""
        return dask.delayed(call, pure=False)(*arguments)

    def constant(self, thing: Any) -> Any:
        """Return something that many tasks of one step need, sent to a worker once."""
        return dask.delayed(thing, pure=False, traverse=False)

    def held(self, thing: Any, what: str) -> Any:
        """Return something large that the tasks of many steps need, sent to a worker once.

        It stays on the workers, which pass it on to each other. The scheduler can restore it
        when workers die.
        """
        if self.client is None:
            return self.constant(thing)
        return self.keep([self.task(_itself, self.constant(thing))], what)[0]

    def keep(self, tasks: list[Any], what: str) -> list[Any]:
        """Run the tasks; their results stay on the workers and are restored if one dies."""
        with self._in_words(what):
            return list(dask.persist(*tasks)) if self.client is None else self.client.persist(tasks)

    def compute(self, tasks: list[Any], what: str) -> list[Any]:
        """Run the tasks and return their results, in their order."""
        with self._in_words(what):
            if self.client is None:
                results = list(dask.compute(*tasks))
                self.progress(what, len(tasks), len(tasks))
                return results
            futures = self.client.compute(tasks)
            for done, _ in enumerate(as_completed(futures), 1):
                self.progress(what, done, len(futures))
            return list(self.client.gather(futures))

    def joined(self, tasks: list[Any], join: Callable[[list[Any]], Any], what: str) -> Any:
        """Return the results of the tasks, joined; ``join`` takes a list of them."""
        while len(tasks) > 1:
            tasks = [
                self.task(join, tasks[start : start + JOINED_AT_ONCE])
                for start in range(0, len(tasks), JOINED_AT_ONCE)
            ]
        return self.compute(tasks, what)[0]

    @contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        try:
            # A forest takes 50 MB or more and is sent as part of a task, so that it can be sent
            # again when workers die; Dask would warn of that.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
                yield
        except KilledWorker as error:
            raise EngineError(
                f"{what}: workers died again and again over the same task, as they do when they "
                "run out of memory; give them more (--memory, or memory_limit of the cluster), "
                f"or cut the files into smaller row groups. Dask said: {error}"
            ) from error
        except (CommClosedError, FutureCancelledError, asyncio.CancelledError, OSError) as error:
            if self.client is None or not _is_lost(self.client, error):
                raise
            raise EngineError(
                f"{what}: the scheduler is lost ({type(error).__name__}); start it anew and run "
                "the same again: what is finished is kept and not done again"
            ) from error


def _itself(thing: Any) -> Any:
    return thing


def _is_lost(client: Any, error: BaseException) -> bool:
    gone = client.status != "running" or client.scheduler is None
    return gone or isinstance(
        error, (CommClosedError, FutureCancelledError, asyncio.CancelledError)
    )


def _check_workers(client: Any) -> int:
    """Return the memory of one thread of the smallest worker; refuse one that is too small."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise EngineError(
            "the cluster has no worker; start some, or wait: client.wait_for_workers(1)"
        )
    shares = []
    for address, worker in workers.items():
        limit = worker["memory_limit"] or MEMORY_LIMIT
        check_memory(limit, f"worker {address}")
        shares.append(limit // max(1, worker["nthreads"]))
    return int(min(shares))


def check_memory(limit: int, what: str) -> None:
    """Refuse a worker that would hang."""
    if limit < SMALLEST_WORKER:
        raise EngineError(
            f"{what} has {format_bytes(limit)} of memory, but needs at least 1 GB: below that Dask "
            "stops giving it work at 80 % and waits for ever without an error; give fewer workers "
            "more memory each"
        )


def _bytes(memory: int | str) -> int:
    try:
        return int(parse_bytes(memory))
    except ValueError:
        raise EngineError(f"memory must be a size such as 2GB, got {memory!r}") from None


@contextmanager
def local_client(n_workers: int | None, memory: int | str | None) -> Iterator[Any]:
    """Start a cluster of processes on this machine, and close it at the end.

    Nobody else can use it: it listens on this machine only, and speaks TLS with a key that
    exists only in its processes. Whoever connects must hold that key, because Dask runs whatever
    it is sent. It serves nothing over HTTP, and spills into a folder that only its owner can read.
    """
    if memory is not None:
        check_memory(_bytes(memory), "memory: each worker")
    require("cryptography", "a cluster that only you can use", "dask")
    environment = "distributed.nanny.pre-spawn-environ"
    with (
        safe_path_for_children(),
        TemporaryDirectory(
            prefix="counterbalance-", dir=dask.config.get("temporary-directory", None)
        ) as scratch,
        dask.config.set(
            {
                "distributed.worker.daemon": True,
                "distributed.scheduler.http.routes": [],
                "distributed.worker.http.routes": [],
                f"{environment}.MALLOC_TRIM_THRESHOLD_": KEPT_MEMORY,
                f"{environment}.MALLOC_MMAP_THRESHOLD_": LARGEST_KEPT,
            }
        ),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit="auto" if memory is None else memory,
            host="127.0.0.1",
            protocol="tls://",
            security=Security.temporary(),
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # a server without pages
            local_directory=scratch,
            processes=True,
            silence_logs=logging.ERROR,  # a worker that is slow to end is not worth a warning
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def connect(
    client: Any | None, scheduler: str | None, n_workers: int | None, memory: int | str | None
) -> Iterator[Any]:
    """Give the client, that of a scheduler, or that of a cluster started for the purpose."""
    if client is not None:
        yield client
    elif scheduler is not None:
        try:
            connected = Client(scheduler)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no scheduler answers at {scheduler}; check the address, as in "
                f"tcp://127.0.0.1:8786. Dask said: {error}"
            ) from error
        with connected:
            yield connected
    else:
        with local_client(n_workers, memory) as started:
            yield started
