"""Measure the distributed engine on one machine with workers of 2 GB; tables come from one seed.

    python benchmarks/scale.py [--folder FOLDER] [--millions 1 5 20] [--only NAME ...] [--page FILE]

    floor       read the table, predict with a linear f once, and write it with pyarrow's defaults,
                which are also those of the result; the floor does not wait for the disk
    linear      CounterfactualOverSampler with a logistic regression
    interior    InteriorOverSampler with its default f
    default     CounterfactualOverSampler with its default f, on the smallest table only
    one worker  floor, linear and interior on one worker, on the middle table
    mixed       KEEL's fars, replicated: both samplers, the same rows as in memory

Each row is a run of its own, on two workers; --repeats makes all of them again, in turn, and a row
is the median one, because the floor alone varies by a third. Times are wall-clock seconds, beside
the CPU seconds of the workers, because the machine may be shared: both have their ratio to the
floor of the same size. Starting the workers and importing the package there is not measured: it
takes the same time for any table. Below the figures stands whether the aims are met. --page puts
both between the two marks of a document.

Tables take 148 bytes a row, and a run some 350 more while it lasts: 10 GB for 20 million rows. What
is free is checked first, and everything but FOLDER/runs.json is removed at the end. A run whose
figures are there is not made again, so a stopped benchmark goes on; --most-minutes stops it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
from pyarrow import parquet
from scale_page import MILLION, put_into, written
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.distributed import balance_files
from counterbalance.distributed.cluster import Engine, local_client
from counterbalance.distributed.inputs import FileRows, read_inputs
from counterbalance.errors import ShortfallWarning

ROWS_PER_FILE, N_FEATURES = 250_000, 20
MILLIONS = (1, 5, 20)
MEMORY = "2GB"
N_DRAWS = 5
# f is fitted to a sample of this many rows, so it costs the same for any table.
FIT_ROWS = 100_000
FARS_COPIES = 2
# All folders that the runs make.
MADE = ("data", "out", "out.partial", "out-floor", "fars", "fars-out", "fars-out.partial")
# The table, its copy in Arrow's form, and the result, beside a reserve.
BYTES_PER_ROW = 600


def make_file(path: Path, number: int) -> None:
    """Write one file; its rows depend on its number only."""
    rng = np.random.default_rng([0, number])
    weight = np.random.default_rng(0).normal(size=N_FEATURES)
    X = rng.normal(size=(ROWS_PER_FILE, N_FEATURES))
    X[:, -4:] = np.rint(3 * X[:, -4:])  # whole numbers, as floats
    score = X @ weight + 2 * rng.normal(size=ROWS_PER_FILE)
    columns = {f"x{m}": X[:, m] for m in range(N_FEATURES)}
    columns["y"] = (score > 16).astype(np.int64)
    parquet.write_table(pa.table(columns), f"{path}.unfinished", compression="none")
    Path(f"{path}.unfinished").replace(path)


def files(folder: Path, millions: int) -> list[Path]:
    """Return the files of a table, made where they are not there yet."""
    source = folder / "data"
    source.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(millions * MILLION // ROWS_PER_FILE):
        found.append(source / f"part-{number:05d}.parquet")
        if not found[-1].exists():
            make_file(found[-1], number)
    return found


SAMPLERS: dict[str, Callable[[], Any]] = {
    "linear": lambda: CounterfactualOverSampler(
        estimator=LogisticRegression(class_weight="balanced"),
        sampling_strategy=0.25,
        n_draws=N_DRAWS,
        on_shortfall="accept",
        random_state=0,
    ),
    "interior": lambda: InteriorOverSampler(sampling_strategy=0.25, random_state=0),
    "default": lambda: CounterfactualOverSampler(
        sampling_strategy=0.25, n_draws=N_DRAWS, on_shortfall="accept", random_state=0
    ),
}


@dataclass
class Watch:
    """Watches the worker processes: their memory and their CPU time."""

    processes: list[psutil.Process]
    peak: int = 0
    going: bool = True
    cpu: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Look once."""
        for process in self.processes:
            try:
                self.peak = max(self.peak, process.memory_info().rss)
                times = process.cpu_times()
                self.cpu[process.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue

    def run(self) -> None:
        """Look again and again."""
        while self.going:
            self.look()
            time.sleep(0.2)


@contextmanager
def watched(client: Any) -> Iterator[dict[str, Any]]:
    """Measure what the workers do in the meantime."""
    pids = client.run(os.getpid).values()
    watch = Watch([psutil.Process(pid) for pid in pids])
    watch.look()
    before = sum(watch.cpu.values())
    figures: dict[str, Any] = {"workers": len(watch.processes)}
    thread = threading.Thread(target=watch.run)
    thread.start()
    start = time.perf_counter()
    try:
        yield figures
    finally:
        figures["seconds"] = time.perf_counter() - start
        watch.going = False
        thread.join()
        watch.look()
        figures["cpu_seconds"] = sum(watch.cpu.values()) - before
        figures["peak_gigabytes_of_a_worker"] = watch.peak / 1e9
        figures["load"] = os.getloadavg()[0]


@contextmanager
def warm_client(n_workers: int) -> Iterator[Any]:
    """Start workers that have the package imported."""
    with local_client(n_workers, MEMORY) as client:
        client.run(import_module, "counterbalance.distributed")
        yield client


def balance(folder: Path, name: str, millions: int, n_workers: int) -> dict[str, Any]:
    """Balance a table; return the figures, with the seconds of each step."""
    source, out = files(folder, millions), folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(out.with_name(out.name + ".partial"), ignore_errors=True)
    stamps: dict[str, float] = {}

    def progress(what: str, done: int, total: int) -> None:
        del done, total
        stamps[what] = time.perf_counter()

    with warm_client(n_workers) as client, watched(client) as figures:
        stamps["start"] = time.perf_counter()
        result = balance_files(
            source,
            "y",
            out,
            sampler=SAMPLERS[name](),
            client=client,
            fit_rows=FIT_ROWS,
            progress=progress,
        )
    ordered = sorted(stamps.items(), key=lambda item: item[1])
    steps = {name: stamp - ordered[place][1] for place, (name, stamp) in enumerate(ordered[1:])}
    figures |= {"new_rows": sum(result.after.values()) - millions * MILLION, "steps": steps}
    shutil.rmtree(out)
    return figures


def predict_and_write(part: FileRows, f: Any, path: str) -> int:
    """Read a partition, predict once and write it."""
    n = 0
    with parquet.ParquetFile(part.path) as file:
        schema = file.schema_arrow
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in part.batches():
            rows = pa.Table.from_batches([batch])
            n += int(f.predict(part.as_frame(rows).drop(columns="y")).sum())
            writer.write_table(rows)
    return n


def floor(folder: Path, millions: int, n_workers: int) -> dict[str, Any]:
    """Read, predict once and write."""
    source, out = files(folder, millions), folder / "out-floor"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    inputs = read_inputs(source, "y")
    first = pd.read_parquet(source[0])
    f = LogisticRegression(class_weight="balanced").fit(first.drop(columns="y"), first["y"])
    with warm_client(n_workers) as client, watched(client) as figures:
        engine = Engine.of(client)
        tasks = [
            dask.delayed(predict_and_write)(part, f, str(out / f"{number}.parquet"))
            for number, part in enumerate(inputs.parts(engine.memory))
        ]
        engine.compute(tasks, "floor")
    shutil.rmtree(out)
    return figures


def mixed(folder: Path) -> dict[str, Any]:
    """Balance rows of fars, replicated, in 16 files, and compare with the in-memory sampler."""
    from paper.datasets import load  # noqa: PLC0415  (needs what paper/ needs)

    loaded = load("fars")
    table = pd.concat([loaded.X.assign(target=loaded.y)] * FARS_COPIES, ignore_index=True)
    source, out = folder / "fars", folder / "fars-out"
    for path in (source, out, folder / "fars-out.partial"):
        shutil.rmtree(path, ignore_errors=True)
    source.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 16)):
        table.iloc[rows].to_parquet(source / f"{number:02d}.parquet", index=False)
    table = pd.read_parquet(source)  # with the dtypes that parquet knows
    found: dict[str, Any] = {"rows": len(table), "features": table.shape[1] - 1}
    for ours in (
        CounterfactualOverSampler(n_draws=2, on_shortfall="accept", random_state=0),
        InteriorOverSampler(random_state=0),
    ):
        X, y = ours.fit_resample(table.drop(columns="target"), table["target"])
        with warm_client(2) as client, watched(client) as figures:
            balance_files(source, "target", out, sampler=ours, client=client)
        same = pd.read_parquet(out).equals(X.assign(target=y))
        shutil.rmtree(out)
        figures |= {"new_rows": len(X) - len(table), "the_same_as_in_memory": same}
        found[type(ours).__name__] = figures
    return found


def runs(millions: list[int]) -> dict[str, tuple[str, int, int]]:
    """Return the runs by name: what is run, on how many million rows, on how many workers."""
    middle = millions[len(millions) // 2]
    planned = [(what, n, 2) for n in millions for what in ("floor", "linear", "interior")]
    planned += [(what, middle, 1) for what in ("floor", "linear", "interior")]
    planned.append(("default", millions[0], 2))
    return {f"{what}, {n} million, {k}": (what, n, k) for what, n, k in planned}


def check_room(folder: Path, millions: int) -> None:
    """Refuse to start if the disk has too little room."""
    needed, free = BYTES_PER_ROW * millions * MILLION, shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(
            f"{folder} has {free / 1e9:.1f} GB free, and {millions} million rows need "
            f"{needed / 1e9:.1f} GB; give another --folder, or fewer --millions"
        )


def clean(folder: Path) -> None:
    """Remove what the runs made, but for the figures."""
    for name in MADE:
        shutil.rmtree(folder / name, ignore_errors=True)


def main() -> None:
    """Make the runs that are not made yet, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bench-scale")
    parser.add_argument("--millions", type=int, nargs="+", default=list(MILLIONS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, the median counts")
    parser.add_argument("--only", nargs="+", default=["floor", *SAMPLERS, "mixed"])
    parser.add_argument("--page", type=Path, help="document to put the table into")
    parser.add_argument("--most-minutes", type=float, default=60.0, help="no run starts later")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ShortfallWarning)
    given.folder.mkdir(parents=True, exist_ok=True)
    millions = sorted(given.millions)
    check_room(given.folder, millions[-1])
    notes = given.folder / "runs.json"
    made: dict[str, list[dict[str, Any]]] = json.loads(notes.read_text()) if notes.exists() else {}
    planned, begin = runs(millions), time.monotonic()

    def run(name: str, times: int, call: Callable[[], dict[str, Any]]) -> None:
        if len(made.setdefault(name, [])) >= times:
            return
        if time.monotonic() - begin > 60 * given.most_minutes:
            print(f"{name}: left out, --most-minutes is over", flush=True)
            return
        made[name].append(call())
        notes.write_text(json.dumps(made, indent=1))
        print(f"{name}: {json.dumps(made[name][-1])}", flush=True)

    try:
        for turn in range(1, given.repeats + 1):
            for name, (what, n, k) in planned.items():
                if what == "floor" and what in given.only:
                    run(name, turn, partial(floor, given.folder, n, k))
                elif what in given.only:
                    run(name, turn, partial(balance, given.folder, what, n, k))
        if "mixed" in given.only:
            run("mixed", 1, partial(mixed, given.folder))
    finally:
        clean(given.folder)
    shown = written(made, planned, millions)
    print(shown)
    if given.page is not None:
        put_into(given.page, shown)


if __name__ == "__main__":
    main()
