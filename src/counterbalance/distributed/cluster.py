"""Cluster: run tasks, start a cluster on this machine, and report failures.

A task is a ``dask.delayed`` call. Without a client, tasks run in this process, by Dask's own
scheduler for threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask
from dask.utils import format_bytes, parse_bytes
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.system import MEMORY_LIMIT

from counterbalance.errors import EngineError
from counterbalance.extras import require
from counterbalance.io.atomic import scratch_folder
from counterbalance.safe_path import safe_path_for_children
from distributed import Client, KilledWorker, LocalCluster, as_completed, get_client

# With less, Dask itself uses so much that a worker pauses at 80 % and waits forever.
SMALLEST_WORKER = 10**9
# How much freed memory a worker keeps, and the largest array that uses it. By Dask's default every
# array is returned to the system, which zeroes each new one: a third of the time of a search.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 128 * 2**20, "MALLOC_MMAP_THRESHOLD_": 32 * 2**20}
# The plan takes up to about 50 MB and is sent as part of a task, so that it can be sent again when
# a worker dies; Dask would warn of that.
LARGE_GRAPH = {"distributed.admin.large-graph-warning-threshold": "1GB"}

# Called with the name of a step, the number of its finished tasks, and their total number.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Engine:
    """Where tasks run."""

    client: Any | None
    memory: int  # bytes of the smallest worker, for each of its threads
    progress: Progress | None = None

    @classmethod
    def from_client(cls, client: Any | None, progress: Progress | None = None) -> Engine:
        """Return the engine of a client, of the active one, or of this process."""
        if client is None:
            try:
                client = get_client()
            except ValueError:
                return cls(None, MEMORY_LIMIT // (os.cpu_count() or 1), progress)
        return cls(client, _check_workers(client), progress)

    def keep(self, tasks: list[Any], what: str) -> list[Any]:
        """Start tasks; their results stay on the workers and are recomputed if one dies."""
        with self._in_words(what):
            return list(dask.persist(*tasks)) if self.client is None else self.client.persist(tasks)

    def compute(self, tasks: list[Any], what: str) -> list[Any]:
        """Run tasks and return their results, in their order."""
        with self._in_words(what):
            if self.client is None:
                return list(dask.compute(*tasks))
            futures = self.client.compute(tasks)
            for done, future in enumerate(as_completed(futures), 1):
                if future.status == "error":
                    break
                if self.progress is not None:
                    self.progress(what, done, len(futures))
            return list(self.client.gather(futures))

    @contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        try:
            with dask.config.set(LARGE_GRAPH):
                yield
        except KilledWorker as error:
            raise EngineError(
                f"{what}: workers died repeatedly on the same task, usually because they "
                "ran out of memory; give them more (--memory, or memory_limit of the cluster), or "
                f"make the partitions or row groups smaller. Dask's error: {error}"
            ) from error
        except (CommClosedError, FutureCancelledError, asyncio.CancelledError) as error:
            raise EngineError(
                f"{what}: the scheduler is lost ({type(error).__name__}); start it and run the "
                "same again, from the beginning"
            ) from error


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
        _check_memory(limit, f"worker {address}")
        shares.append(limit // max(1, worker["nthreads"]))
    return int(min(shares))


def _check_memory(limit: int | str, what: str) -> None:
    """Raise for a worker that would hang, and for an invalid size."""
    try:
        size = int(parse_bytes(limit))
    except ValueError:
        raise EngineError(f"memory must be a size such as 2GB, got {limit!r}") from None
    if size < SMALLEST_WORKER:
        raise EngineError(
            f"{what} has {format_bytes(size)} of memory, but needs at least 1 GB: below that Dask "
            "stops giving it work at 80 % and waits forever without an error; give fewer workers "
            "more memory each"
        )


@contextmanager
def local_client(
    n_workers: int | None = None, memory: int | str | None = None, dashboard: str | None = None
) -> Iterator[Any]:
    """Start a cluster of processes on this machine, and close it at the end.

    It listens on this machine only, with TLS and a key that Dask makes for it: clients must hold
    that key, because Dask runs any code that it is sent. Without a ``dashboard`` (an address such
    as 127.0.0.1:8787) it serves nothing over HTTP. It spills to a folder that only its owner can
    read.
    """
    if memory is not None:
        _check_memory(memory, "memory: each worker")
    require("cryptography", "a cluster that only you can use", "dask")
    settings: dict[str, Any] = {
        f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in MALLOC.items()
    }
    if dashboard is None:
        settings |= {f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")}
    with (
        safe_path_for_children(),
        scratch_folder(dask.config.get("temporary-directory", None)) as scratch,
        dask.config.set(settings),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit="auto" if memory is None else memory,
            host="127.0.0.1",
            security=True,
            dashboard_address=dashboard,
            # Dask's server for HTTP is there even if it has no page: on this machine only.
            scheduler_kwargs={"dashboard_address": dashboard or "127.0.0.1:0"},
            local_directory=str(scratch),
            silence_logs=logging.ERROR,  # no warning of a worker that ends slowly
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(len(cluster.workers))
        yield client


@contextmanager
def connect(client: Any | None, scheduler: str | None, *settings: Any) -> Iterator[Any]:
    """Yield the client, that of a scheduler, or that of a cluster started with these settings."""
    if client is not None:
        yield client
    elif scheduler is not None:
        try:
            connected = Client(scheduler)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no scheduler answers at {scheduler}; check the address, as in "
                f"tcp://127.0.0.1:8786. Dask's error: {error}"
            ) from error
        with connected:
            yield connected
    else:
        with local_client(*settings) as started:
            yield started
