"""The cluster that is started on this machine: who can use it, and what it imports."""

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import dask
import psutil
import pytest
from distributed.security import Security

import counterbalance
from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import balance_files
from counterbalance.distributed.cluster import Engine, local_client
from counterbalance.safe_path import VARIABLE as SAFE_PATH
from distributed import Client
from large_tables import numeric_table, write_parts

WITHOUT_KEY = {"distributed.comm.timeouts.connect": "3s"}


@pytest.fixture(scope="module")
def client():
    with local_client(1, "1GB") as connected:
        yield connected


def addresses(client):
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return [client.scheduler.address, *workers]


def test_the_cluster_listens_on_this_machine_only_and_speaks_tls(client):
    for address in addresses(client):
        assert address.startswith("tls://127.0.0.1:")
    pids = {os.getpid(), *client.run(os.getpid).values()}
    listening = [
        connection.laddr.ip
        for pid in pids
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("protocol", "security"), [("tcp://", lambda: None), ("tls://", Security.temporary)]
)
def test_nobody_can_connect_without_the_key(client, protocol, security):
    for address in addresses(client):
        stranger = {"address": address.replace("tls://", protocol), "security": security()}
        with dask.config.set(WITHOUT_KEY), pytest.raises((OSError, ValueError)):
            Client(**stranger, timeout="3s")


PAGES = ["status", "info/main/workers.html", "metrics", "json/identity.json"]


@pytest.mark.parametrize("page", PAGES)
def test_the_cluster_serves_nothing_over_http(client, page):
    port = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.http_server.port)
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://127.0.0.1:{port}/{page}", timeout=600)


def test_workers_spill_into_a_folder_that_only_the_owner_can_read(client):
    for folder in client.run(lambda dask_worker: dask_worker.local_directory).values():
        top = next(one for one in Path(folder).parents if one.name.startswith("counterbalance-"))
        assert top.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.delenv(SAFE_PATH, raising=False)
    with local_client(1, "1GB"):
        assert os.environ[SAFE_PATH] == "1"
    assert SAFE_PATH not in os.environ


SCRIPT = """
from counterbalance.distributed.cluster import local_client
if __name__ == "__main__":
    with local_client(1, "1GB") as client:
        assert client.submit(sum, [1, 2]).result(60) == 3
"""


@pytest.mark.slow
def test_python_files_of_the_current_folder_are_not_imported(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    here = tmp_path / "here"
    here.mkdir()
    for name in ("random", "numpy", "socket", "tornado", "pandas", "dask"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    environment = {name: value for name, value in os.environ.items() if name != SAFE_PATH}
    environment["PYTHONPATH"] = str(Path(counterbalance.__file__).parents[1])
    run = subprocess.run(  # noqa: S603
        [sys.executable, str(tmp_path / "script.py")],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "imported").exists()


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_progress_tells_the_steps_in_their_order(client, tmp_path):
    source, calls = write_parts(numeric_table(200), tmp_path / "in", 2), []
    sampler = CounterfactualOverSampler(random_state=0, n_draws=1)
    balance_files(
        source,
        "y",
        tmp_path / "out",
        sampler=sampler,
        client=client,
        progress=lambda *one: calls.append(one),
    )
    steps = list(dict.fromkeys(what for what, *_ in calls))
    assert steps == ["columns", "labels", "scan", "fit f", "search", "fill", "write"]
    assert all(0 < done <= total for _, done, total in calls)
    assert [one for one in calls if one[0] == "write"][-1] == ("write", 5, 5)


def test_an_error_of_a_task_is_raised_before_the_others_are_done(client):
    others = [dask.delayed(time.sleep, pure=False)(1) for _ in range(60)]
    start = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        Engine.from_client(client).compute([dask.delayed(eval)("1 / 0"), *others], "search")
    assert time.monotonic() - start < 50


@pytest.mark.slow
def test_a_dashboard_is_there_if_it_is_asked_for():
    with local_client(1, "1GB", "127.0.0.1:0") as connected:
        port = connected.run_on_scheduler(lambda dask_scheduler: dask_scheduler.http_server.port)
        with urlopen(f"http://127.0.0.1:{port}/status", timeout=600) as page:
            assert page.status == 200


@pytest.mark.slow
def test_the_memory_of_the_smallest_worker_counts_for_each_of_its_threads(client):
    assert Engine.from_client(client).memory == 10**9
