"""The examples of docs/scaling.md: a cluster of one's own, with a key."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml
from distributed.security import Security

import counterbalance
from distributed import Client
from large_tables import numeric_table

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text("utf-8")
DASK = {"scheduler": "distributed.cli.dask_scheduler", "worker": "distributed.cli.dask_worker"}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def compose():
    return next(doc for doc in map(yaml.safe_load, blocks("yaml")[:1]))["services"]


@pytest.fixture
def environment(tmp_path):
    """The settings of the image, with the key where this test has it."""
    key = Security.temporary()
    (tmp_path / "tls").mkdir()
    (tmp_path / "tls" / "key.pem").write_text(key.tls_client_key)
    (tmp_path / "tls" / "cert.pem").write_text(key.tls_ca_file)
    settings = re.findall(r"(DASK_\w+|PYTHONSAFEPATH)=(\S+)", blocks("dockerfile")[0])
    named = {name: value.replace("/tls/", f"{tmp_path}/tls/") for name, value in settings}
    source = str(Path(counterbalance.__file__).parents[1])
    return {**os.environ, **named, "PYTHONPATH": source}


def test_every_scheduler_in_the_examples_is_reached_by_tls():
    for address in re.findall(r"\w+://scheduler\S*", PAGE):
        assert address.startswith("tls://"), address
    for document in blocks("yaml")[1:]:
        for item in yaml.safe_load_all(document):
            assert item["kind"] in {"Service", "Deployment", "Job"}


def test_the_commands_of_the_examples_balance_files_over_tls(compose, environment, tmp_path):
    (tmp_path / "in").mkdir()
    table = numeric_table(200)
    table.to_parquet(tmp_path / "in" / "0.parquet", index=False)
    address_file = tmp_path / "scheduler.json"
    processes = []
    log = (tmp_path / "log").open("wb")

    def start(service, *more):
        words = shlex.split(compose[service]["command"])[2:]
        words = [word for word in words if "://" not in word]
        command = [sys.executable, "-m", DASK[service], *words, *more]
        processes.append(
            subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path)  # noqa: S603
        )

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", address_file)
        deadline = time.monotonic() + 600
        while not address_file.exists():
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.2)
        start("worker", "--host", "127.0.0.1", "--scheduler-file", address_file)
        address = yaml.safe_load(address_file.read_text())["address"]
        assert address.startswith("tls://")
        with pytest.raises((OSError, ValueError)):
            Client(address.replace("tls://", "tcp://"), timeout="3s")
        security = Security(
            tls_ca_file=str(tmp_path / "tls" / "cert.pem"),
            tls_client_cert=str(tmp_path / "tls" / "cert.pem"),
            tls_client_key=str(tmp_path / "tls" / "key.pem"),
        )
        with Client(address, security=security, timeout="600s") as client:
            client.wait_for_workers(1, timeout=600)
        command = "balance in/0.parquet --target y --out out --engine dask --scheduler"
        run = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "counterbalance", *command.split(), address],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert pd.read_parquet(tmp_path / "out")["y"].value_counts().to_dict() == {0: 180, 1: 180}
    finally:
        for process in processes:
            process.kill()
            process.wait()
        log.close()
