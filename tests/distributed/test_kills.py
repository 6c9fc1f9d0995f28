"""Real worker processes and clients, killed for real."""

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

import counterbalance
from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.distributed import balance_files, fit_resample
from counterbalance.distributed.cluster import connect
from counterbalance.errors import EngineError
from distributed import Client, LocalCluster
from large_tables import assert_same, in_memory, numeric_table, write_parts

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
    return write_parts(table, tmp_path_factory.mktemp("source"), N_PARTS)


def counterfactual():
    f = LogisticRegression(class_weight="balanced", max_iter=1000)
    return CounterfactualOverSampler(estimator=f, n_draws=10, random_state=0)


def interior():
    return InteriorOverSampler(random_state=0)


class Once:
    """Strikes when some tasks of a step are done and others are not."""

    def __init__(self, step, strike):
        self.step, self.strike, self.struck = step, strike, False

    def __call__(self, what, done, total):
        if what == self.step and 0 < done < total and not self.struck:
            self.struck = True
            self.strike()


def kill_a_worker(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "step"),
    [
        (counterfactual, "labels"),
        (counterfactual, "scan"),
        (counterfactual, "search"),
        (counterfactual, "write"),
        (interior, "scan"),
        (interior, "draw"),
        (interior, "write"),
    ],
)
def test_a_killed_worker_changes_nothing(make, step, client, source, table, tmp_path, monkeypatch):
    if step == "draw":  # only the client decides whether a class is large, and worked on in parts
        monkeypatch.setattr("counterbalance.rows.interior.MOST_SAMPLED", 50)
    expected = in_memory(make(), table)
    strike, out = Once(step, lambda: kill_a_worker(client)), tmp_path / "out"
    balance_files(source, "y", out, sampler=make(), client=client, progress=strike)
    assert strike.struck
    assert_same(pd.read_parquet(out), pd.read_parquet(out / "_provenance"), *expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


# A worker cannot import this file: what it shall do is a text.
TAKE_ALL_MEMORY = (
    "[(__import__('numpy').ones(10**7), __import__('time').sleep(0.05)) for _ in range(99)]"
)


@pytest.mark.slow
def test_a_worker_at_its_memory_limit_changes_nothing(client, source, table, tmp_path):
    hogs, struck = [], []

    def fill_up():
        address, pid = next(iter(client.run(os.getpid).items()))
        struck.append(pid)
        hogs.append(client.submit(eval, TAKE_ALL_MEMORY, workers=[address], pure=False))
        deadline = time.monotonic() + 600
        while psutil.pid_exists(pid) and time.monotonic() < deadline:
            time.sleep(0.2)  # until the nanny has ended the worker

    strike, out = Once("search", fill_up), tmp_path / "out"
    balance_files(source, "y", out, sampler=counterfactual(), client=client, progress=strike)
    client.cancel(hogs)
    assert struck
    assert not psutil.pid_exists(struck[0])
    assert_same(pd.read_parquet(out), {}, in_memory(counterfactual(), table)[0], {})


def test_the_frame_is_the_same_on_a_cluster_that_loses_a_worker(client, table):
    ddf = dd.from_pandas(table, npartitions=5)
    expected = in_memory(counterfactual(), table)
    resampled = fit_resample(counterfactual(), ddf, "y", client)
    kill_a_worker(client)
    assert_same(*dask.compute(resampled.frame, resampled.provenance), *expected)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_jobs_on_dask_through_joblib_give_the_same_rows(table):
    X, y = table.drop(columns="y"), table["y"]
    expected = counterfactual().fit_resample(X, y)[0]
    with joblib.parallel_backend("dask"):
        got = counterfactual().set_params(n_jobs=2).fit_resample(X, y)[0]
    pd.testing.assert_frame_equal(got, expected)


CLIENT = """
import sys, time
from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import balance_files

def progress(what, done, total):
    if what == "write" and done > 1:
        print("writing", flush=True)
        time.sleep(600)

if __name__ == "__main__":
    sampler = CounterfactualOverSampler(random_state=0)
    source, out = sys.argv[1:]
    balance_files(source, "y", out, sampler=sampler, memory="1GB", n_workers=1, progress=progress)
"""


@pytest.mark.slow
def test_a_killed_client_leaves_no_half_result_and_the_same_call_starts_over(
    source, table, client, tmp_path
):
    (tmp_path / "client.py").write_text(CLIENT)
    out = tmp_path / "out"
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603
            [sys.executable, str(tmp_path / "client.py"), str(source), str(out)],
            stdout=subprocess.PIPE,
            stderr=log,
            env=os.environ | {"PYTHONPATH": str(Path(counterbalance.__file__).parents[1])},
        ) as process,
    ):
        assert process.stdout.readline() == b"writing\n", (tmp_path / "log").read_text()
        assert not out.exists()
        process.kill()
    assert not out.exists()
    assert list((tmp_path / "out.partial").iterdir())
    sampler = CounterfactualOverSampler(random_state=0)
    balance_files(source, "y", out, sampler=sampler, client=client)
    assert_same(pd.read_parquet(out), {}, in_memory(sampler, table)[0], {})
    assert not (tmp_path / "out.partial").exists()


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
def test_a_lost_scheduler_leaves_no_result_and_says_so(own_scheduler, source, tmp_path):
    scheduler, address = own_scheduler
    out = tmp_path / "out"
    strike = Once("search", scheduler.kill)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        pytest.raises(EngineError, match=r"scheduler is lost .* run the same again"),
    ):
        balance_files(
            source, "y", out, sampler=counterfactual(), scheduler=address, progress=strike
        )
    assert strike.struck
    assert not list(tmp_path.glob("out*"))


@pytest.mark.slow
def test_an_address_without_a_scheduler_is_refused():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(EngineError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"),
        connect(None, "tcp://127.0.0.1:9"),
    ):
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
        fit_resample(counterfactual(), dd.from_pandas(table, npartitions=2), "y", small)


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_reported_with_the_remedy(client, table):
    poison = "__import__('os').kill(__import__('os').getpid(), 9)"
    parts = np.array_split(np.arange(len(table)), 3)
    ddf = dd.from_delayed(
        [dask.delayed(table.iloc[parts[0]]), dask.delayed(eval)(poison)], meta=table.iloc[:0]
    )
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        pytest.raises(EngineError, match=r"workers died repeatedly .*--memory"),
    ):
        fit_resample(counterfactual(), ddf, "y", client)
