"""Measure the distributed engine on one machine with workers of 2 GB; tables come from one seed.

    python benchmarks/scale.py [--folder FOLDER] [--millions 1 5 20] [--only NAME ...] [--page FILE]

    floor       read the table, predict with a linear f once, and write it with pyarrow's defaults,
                without waiting for the disk
    linear      CounterfactualOverSampler with a logistic regression
    interior    InteriorOverSampler with its default f
    default     CounterfactualOverSampler with its default f, on the smallest table only

Each row of the page is a run on two workers. --repeats makes all runs again, in turn, and shows the
median run of each, because the floor alone varies by a third. Times are wall-clock seconds and the
CPU seconds of the workers, because the machine may be shared. Starting the workers is not measured.
--page writes the table between the two marks of a document.

Tables take 168 bytes a row, and a run some 250 more while it lasts. Everything but FOLDER/runs.json
is removed at the end. A run whose figures are in that file is not repeated. No run starts after
--most-minutes.
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
N_WORKERS, MEMORY = 2, "2GB"
N_DRAWS = 5
# Profile and f are learned from a sample of this many rows, so they cost the same for any table.
FIT_ROWS = 100_000
# The table and the result, beside a reserve.
BYTES_PER_ROW = 500

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
    n_files = millions * MILLION // ROWS_PER_FILE
    found = [source / f"part-{number:05d}.parquet" for number in range(n_files)]
    for number, path in enumerate(found):
        if not path.exists():
            make_file(path, number)
    return found


@contextmanager
def measured() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Start workers; yield their client, and a dictionary that gets the figures at the end."""
    figures: dict[str, Any] = {}
    with local_client(N_WORKERS, MEMORY) as client:
        client.run(import_module, "counterbalance.distributed")
        processes = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        ended, peak = threading.Event(), [0]

        def watch() -> None:
            while not ended.wait(0.2):
                peak[0] = max(peak[0], *(process.memory_info().rss for process in processes))

        def cpu() -> float:
            return sum(sum(process.cpu_times()[:2]) for process in processes)

        thread, before, start = threading.Thread(target=watch), cpu(), time.perf_counter()
        thread.start()
        try:
            yield client, figures
            figures["seconds"] = time.perf_counter() - start
            figures["cpu_seconds"] = cpu() - before
        finally:
            ended.set()
            thread.join()
        figures |= {"peak_gigabytes_of_a_worker": peak[0] / 1e9, "load": os.getloadavg()[0]}


def balance(folder: Path, name: str, millions: int) -> dict[str, Any]:
    """Balance a table; return the figures, with the seconds of each step."""
    source, out, steps = files(folder, millions), folder / "out", {"start": time.perf_counter()}
    shutil.rmtree(out, ignore_errors=True)

    def progress(what: str, done: int, total: int) -> None:
        del done, total
        steps[what] = time.perf_counter()

    with measured() as (client, figures):
        steps["start"] = time.perf_counter()
        result = balance_files(
            source,
            "y",
            out,
            sampler=SAMPLERS[name](),
            client=client,
            fit_rows=FIT_ROWS,
            progress=progress,
        )
    ends = list(steps.values())
    figures["steps"] = dict(zip(list(steps)[1:], np.diff(ends).tolist(), strict=True))
    figures["new_rows"] = sum(result.after.values()) - millions * MILLION
    shutil.rmtree(out)
    return figures


def predict_and_write(part: FileRows, f: Any, path: str) -> int:
    """Read some rows, predict once and write them."""
    table = part.read()
    parquet.write_table(table, path)
    return int(f.predict(part.as_frame(table).drop(columns="y")).sum())


def floor(folder: Path, millions: int) -> dict[str, Any]:
    """Read, predict once and write."""
    source, out = files(folder, millions), folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    first = pd.read_parquet(source[0])
    f = LogisticRegression(class_weight="balanced").fit(first.drop(columns="y"), first["y"])
    with measured() as (client, figures):
        engine = Engine.from_client(client)
        tasks = [
            dask.delayed(predict_and_write)(part, f, str(out / f"{number}.parquet"))
            for number, part in enumerate(read_inputs(source, "y").parts(engine.memory))
        ]
        engine.compute(tasks, "floor")
    shutil.rmtree(out)
    return figures


def runs(millions: list[int]) -> dict[str, tuple[str, int]]:
    """Return the runs by name: what is run, on how many million rows."""
    planned = [(what, n) for n in millions for what in ("floor", "linear", "interior")]
    planned.append(("default", millions[0]))
    return {f"{what}, {n} million": (what, n) for what, n in planned}


def check_room(folder: Path, millions: int) -> None:
    """Raise if the disk has too little free space."""
    needed, free = BYTES_PER_ROW * millions * MILLION, shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(
            f"{folder} has {free / 1e9:.1f} GB free, and {millions} million rows need "
            f"{needed / 1e9:.1f} GB; give another --folder, or fewer --millions"
        )


def main() -> None:
    """Run what has not been run yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bench-scale")
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, the median counts")
    parser.add_argument("--only", nargs="+", default=["floor", *SAMPLERS])
    parser.add_argument("--page", type=Path, help="document to put the table into")
    parser.add_argument("--most-minutes", type=float, default=60.0, help="no run starts later")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ShortfallWarning)
    folder, millions = given.folder, sorted(given.millions)
    folder.mkdir(parents=True, exist_ok=True)
    check_room(folder, millions[-1])
    notes = folder / "runs.json"
    made: dict[str, list[dict[str, Any]]] = json.loads(notes.read_text()) if notes.exists() else {}
    planned, begin = runs(millions), time.monotonic()
    turns = [(turn, name) for turn in range(1, given.repeats + 1) for name in planned]
    try:
        for turn, name in turns:
            what, n = planned[name]
            if what not in given.only or len(made.setdefault(name, [])) >= turn:
                continue
            if time.monotonic() - begin > 60 * given.most_minutes:
                print(f"{name}: left out, --most-minutes is over", flush=True)
                continue
            one = floor(folder, n) if what == "floor" else balance(folder, what, n)
            made[name].append(one)
            notes.write_text(json.dumps(made, indent=1))
            print(f"{name}: {json.dumps(one)}", flush=True)
    finally:
        for path in (folder / "data", folder / "out", folder / "out.partial"):
            shutil.rmtree(path, ignore_errors=True)
    shown = written(made, planned)
    print(shown)
    if given.page is not None:
        put_into(given.page, shown)


if __name__ == "__main__":
    main()
