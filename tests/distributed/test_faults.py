"""Real worker processes, killed for real."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.distributed import balance_files, fit_resample
from counterbalance.distributed.engine import connect
from counterbalance.errors import EngineError
from distributed import Client, LocalCluster
from large_tables import assert_same, in_memory, numeric_table

pytestmark = pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
N_PARTS = 8


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def table():
    return numeric_table(4000)


@pytest.fixture(scope="module")
def source(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    for number, rows in enumerate(np.array_split(np.arange(len(table)), N_PARTS)):
        table.iloc[rows].to_parquet(folder / f"{number}.parquet", index=False)
    return folder


def sampler():
    f = LogisticRegression(class_weight="balanced", max_iter=1000)
    return CounterfactualOverSampler(estimator=f, n_draws=10, random_state=0)


@pytest.fixture(scope="module")
def undisturbed(client, source, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    balance_files(source, "y", out, sampler=sampler(), client=client)
    expected, _ = in_memory(sampler(), table)
    assert_same(pd.read_parquet(out), {}, expected, {})
    return (out / "_manifest.json").read_text()


class Once:
    """Strikes when some tasks of a step are done and others are not."""

    def __init__(self, step, strike):
        self.step, self.strike, self.struck = step, strike, False

    def __call__(self, what, done, total):
        if what == self.step and 0 < done < total and not self.struck:
            self.struck = True
            self.strike()


def worker_pids(client):
    return client.run(os.getpid)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["scan", "search", "write"])
def test_a_killed_worker_changes_no_byte(step, client, source, undisturbed, tmp_path):
    def kill():
        os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)

    strike = Once(step, kill)
    balance_files(source, "y", tmp_path / "out", sampler=sampler(), client=client, progress=strike)
    assert strike.struck
    assert (tmp_path / "out" / "_manifest.json").read_text() == undisturbed
    assert not list((tmp_path / "out").rglob(".*"))


@pytest.fixture(scope="module")
def drawn(client, source, table, tmp_path_factory):
    """What an undisturbed run of the interior sampler writes: the rows of the one in memory."""
    out = tmp_path_factory.mktemp("drawn") / "out"
    balance_files(source, "y", out, sampler=InteriorOverSampler(random_state=0), client=client)
    expected, _ = in_memory(InteriorOverSampler(random_state=0), table)
    assert_same(pd.read_parquet(out), {}, expected, {})
    return (out / "_manifest.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["scan", "write"])
def test_a_killed_worker_changes_no_byte_of_the_interior_sampler(
    step, client, source, drawn, tmp_path
):
    def kill():
        os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)

    strike, sampler = Once(step, kill), InteriorOverSampler(random_state=0)
    balance_files(source, "y", tmp_path / "out", sampler=sampler, client=client, progress=strike)
    assert strike.struck
    assert (tmp_path / "out" / "_manifest.json").read_text() == drawn
    assert not list((tmp_path / "out").rglob(".*"))


@pytest.mark.slow
def test_a_worker_killed_while_it_makes_candidates_of_a_large_class_changes_no_byte(
    client, source, table, tmp_path, monkeypatch
):
    # Only the client decides whether a class is large.
    monkeypatch.setattr("counterbalance.rows.fellows.MOST_FELLOWS", 50)
    expected, _ = in_memory(InteriorOverSampler(random_state=0), table)

    def kill():
        os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)

    strike, sampler = Once("draw", kill), InteriorOverSampler(random_state=0)
    out = tmp_path / "out"
    balance_files(source, "y", out, sampler=sampler, client=client, progress=strike)
    assert strike.struck
    assert_same(pd.read_parquet(out), {}, expected, {})


# A worker cannot import this file: what it shall do is a text.
TAKE_ALL_MEMORY = (
    "[(__import__('numpy').ones(10**7), __import__('time').sleep(0.05)) for _ in range(99)]"
)


@pytest.mark.slow
def test_a_worker_at_its_memory_limit_changes_no_byte(client, source, undisturbed, tmp_path):
    hogs, struck = [], []

    def fill_up():
        address, pid = next(iter(worker_pids(client).items()))
        struck.append(pid)
        hogs.append(client.submit(eval, TAKE_ALL_MEMORY, workers=[address], pure=False))
        deadline = time.monotonic() + 600
        while psutil.pid_exists(pid) and time.monotonic() < deadline:
            time.sleep(0.2)  # until the nanny has ended the worker

    strike = Once("search", fill_up)
    balance_files(source, "y", tmp_path / "out", sampler=sampler(), client=client, progress=strike)
    client.cancel(hogs)
    assert struck
    assert not psutil.pid_exists(struck[0])
    assert (tmp_path / "out" / "_manifest.json").read_text() == undisturbed


def test_the_frame_is_the_same_on_a_cluster(client, table):
    ddf = dd.from_pandas(table, npartitions=5)
    expected = in_memory(sampler(), table)
    resampled = fit_resample(sampler(), ddf, "y", client)
    os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_jobs_on_dask_through_joblib_give_the_same_rows(table):
    X, y = table.drop(columns="y"), table["y"]
    expected = sampler().fit_resample(X, y)[0]
    pd.testing.assert_frame_equal(sampler().set_params(n_jobs=2).fit_resample(X, y)[0], expected)
    with joblib.parallel_backend("dask"):
        got = sampler().set_params(n_jobs=2).fit_resample(X, y)[0]
    pd.testing.assert_frame_equal(got, expected)


@pytest.fixture
def own_scheduler(tmp_path):
    """A scheduler and a worker as processes of their own."""
    address_file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    log = (tmp_path / "log").open("wb")
    scheduler = subprocess.Popen(  # noqa: S603
        [*command, *options, "--scheduler-file", str(address_file)], stdout=log, stderr=log
    )
    while not address_file.exists():
        assert scheduler.poll() is None, (tmp_path / "log").read_text()
        time.sleep(0.1)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard"]
    options = ["--memory-limit", "1GB", "--nthreads", "1", "--death-timeout", "120"]
    worker = subprocess.Popen(  # noqa: S603
        [*command, "--scheduler-file", str(address_file), *options], stdout=log, stderr=log
    )
    with Client(scheduler_file=str(address_file), timeout=600) as connected:
        connected.wait_for_workers(1, timeout=600)
        address = connected.scheduler.address
    yield scheduler, address
    for process in (scheduler, worker):
        process.kill()
        process.wait()
    log.close()


@pytest.mark.slow
def test_a_lost_scheduler_leaves_no_result_and_a_rerun_resumes_it(
    own_scheduler, client, source, undisturbed, tmp_path
):
    scheduler, address = own_scheduler
    out: Path = tmp_path / "out"
    strike = Once("write", scheduler.kill)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        pytest.raises(EngineError, match=r"scheduler is lost .* run the same again"),
    ):
        balance_files(source, "y", out, sampler=sampler(), scheduler=address, progress=strike)
    assert strike.struck
    assert not out.exists()
    written = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "out.partial").glob("*.parquet")
    }
    assert written
    balance_files(source, "y", out, sampler=sampler(), client=client)
    assert (out / "_manifest.json").read_text() == undisturbed
    records = [
        path for path, time_ in written.items() if (out / path.name).stat().st_mtime_ns == time_
    ]
    assert records  # files that were complete are not written again


@pytest.mark.slow
def test_an_address_without_a_scheduler_is_refused():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(EngineError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"),
    ):
        connect_to_nobody()


def connect_to_nobody():
    with connect(None, "tcp://127.0.0.1:9", None, None):
        pass


@pytest.mark.slow
def test_small_workers_of_a_cluster_are_refused(table):
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="500MB",
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as small,
        pytest.raises(EngineError, match=r"has 476\.84 MiB of memory, but needs at least 1 GB"),
    ):
        fit_resample(sampler(), dd.from_pandas(table, npartitions=2), "y", small)
