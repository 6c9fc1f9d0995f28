"""Measure the distributed engine on one machine with workers of 2 GB; tables come from one seed.

    python benchmarks/scale.py [FOLDER] [PART ...]

    data        20 million rows x 20 features as parquet, made once (2.96 GB)
    small       1 million rows on two workers, three times
    workers     5 million rows on two workers and on one, alternately, twice
    large       20 million rows on two workers
    baseline    reading the same 20 million rows, predicting with f once, and writing them
    mixed       KEEL's fars, replicated: the same rows as in memory

All figures go into FOLDER/figures.json with the load of the machine; a part that is already
there is not measured again. Times are wall-clock seconds, beside the CPU seconds of the workers
because the machine may be shared; of repeated runs the median is reported. Starting the workers
and importing the package there is not measured: it takes the same time for any table.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression

from counterbalance import CounterfactualOverSampler
from counterbalance.distributed import balance_files
from counterbalance.distributed.engine import DaskEngine, local_client
from counterbalance.distributed.inputs import FileRows, read_inputs
from counterbalance.errors import ShortfallWarning

ROWS_PER_FILE, N_FILES, N_FEATURES = 250_000, 80, 20
SMALL_FILES, MIDDLE_FILES = 4, 20
MEMORY = "2GB"
N_DRAWS = 5
# f is fitted to a sample of this many rows, so it costs the same for any table.
FIT_ROWS = 100_000
FARS_COPIES = 2


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


def data(folder: Path) -> dict[str, Any]:
    """Make the table."""
    source = folder / "data"
    source.mkdir(parents=True, exist_ok=True)
    for number in range(N_FILES):
        path = source / f"part-{number:05d}.parquet"
        if not path.exists():
            make_file(path, number)
    size = sum(path.stat().st_size for path in source.glob("*.parquet"))
    return {"rows": ROWS_PER_FILE * N_FILES, "gigabytes": size / 1e9}


def files(folder: Path, n: int) -> list[Path]:
    """Return the first files."""
    return sorted((folder / "data").glob("*.parquet"))[:n]


def sampler() -> CounterfactualOverSampler:
    """Return the sampler that is measured: a linear f, fitted to a sample."""
    return CounterfactualOverSampler(
        estimator=LogisticRegression(class_weight="balanced"),
        sampling_strategy=0.25,
        n_draws=N_DRAWS,
        on_shortfall="accept",
        random_state=0,
    )


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


def balance(folder: Path, n_files: int, n_workers: int) -> dict[str, Any]:
    """Balance the first files; return the figures, with the seconds of each step."""
    out = folder / f"out-{n_files}-{n_workers}"
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(out.with_name(out.name + ".partial"), ignore_errors=True)
    stamps: dict[str, float] = {}

    def progress(what: str, done: int, total: int) -> None:
        del done, total
        stamps[what] = time.perf_counter()

    with warm_client(n_workers) as client, watched(client) as figures:
        stamps["start"] = time.perf_counter()
        result = balance_files(
            files(folder, n_files),
            "y",
            out,
            sampler=sampler(),
            client=client,
            statistics="passes",
            fit_rows=FIT_ROWS,
            progress=progress,
        )
    ordered = sorted(stamps.items(), key=lambda item: item[1])
    steps = {name: stamp - ordered[place][1] for place, (name, stamp) in enumerate(ordered[1:])}
    n_rows = ROWS_PER_FILE * n_files
    figures |= {
        "rows": n_rows,
        "new_rows": sum(result.after.values()) - n_rows,
        "steps": steps,
        "rows_per_second": n_rows / figures["seconds"],
        "cpu_microseconds_per_row": figures["cpu_seconds"] / n_rows * 1e6,
    }
    shutil.rmtree(out)
    return figures


def small(folder: Path) -> dict[str, Any]:
    """Balance the first million rows."""
    runs = [balance(folder, SMALL_FILES, 2) for _ in range(3)]
    return {"runs": runs, "rows_per_second": median(run["rows_per_second"] for run in runs)}


def workers(folder: Path) -> dict[str, Any]:
    """Compare two workers with one."""
    pairs = [[balance(folder, MIDDLE_FILES, n) for n in (2, 1)] for _ in range(2)]
    two, one = (median(pair[k]["seconds"] for pair in pairs) for k in (0, 1))
    return {"pairs": pairs, "speed_up": one / two}


def large(folder: Path) -> dict[str, Any]:
    """Balance the whole table."""
    return balance(folder, N_FILES, 2)


def predict_and_write(part: FileRows, f: Any, path: str) -> int:
    """Read a partition, predict once and write it."""
    n = 0
    with parquet.ParquetFile(part.path) as file:
        schema = file.schema_arrow
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in part.batches(150_000):
            n += int(f.predict(part.frame(batch).drop(columns="y")).sum())
            writer.write_table(pa.Table.from_batches([batch]))
    return n


def baseline(folder: Path) -> dict[str, Any]:
    """Read, predict once and write, on the same workers: the small table and the large one."""
    return {"small": _baseline(folder, SMALL_FILES), "large": _baseline(folder, N_FILES)}


def _baseline(folder: Path, n_files: int) -> dict[str, Any]:
    out = folder / "out-baseline"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    parts = read_inputs(files(folder, n_files), "y").partitions
    first = pd.read_parquet(files(folder, 1)[0])
    f = LogisticRegression(class_weight="balanced").fit(first.drop(columns="y"), first["y"])
    with warm_client(2) as client, watched(client) as figures:
        engine = DaskEngine.of(client)
        shared = engine.constant(f)
        tasks = [
            engine.task(predict_and_write, part, shared, str(out / f"{number}.parquet"))
            for number, part in enumerate(parts)
        ]
        engine.compute(tasks, "baseline")
    n_rows = ROWS_PER_FILE * n_files
    figures |= {"rows": n_rows, "cpu_microseconds_per_row": figures["cpu_seconds"] / n_rows * 1e6}
    shutil.rmtree(out)
    return figures


def mixed(folder: Path) -> dict[str, Any]:
    """Balance rows of fars, replicated, in 16 files, and compare with the in-memory sampler."""
    from counterbalance.datasets import load  # noqa: PLC0415  (needs the extra datasets)

    loaded = load("fars")
    table = pd.concat([loaded.X.assign(target=loaded.y)] * FARS_COPIES, ignore_index=True)
    source, out = folder / "fars", folder / "fars-out"
    for path in (source, out, folder / "fars-out.partial"):
        shutil.rmtree(path, ignore_errors=True)
    source.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 16)):
        table.iloc[rows].to_parquet(source / f"{number:02d}.parquet", index=False)
    table = pd.read_parquet(source)  # with the dtypes that parquet knows
    ours = CounterfactualOverSampler(n_draws=2, on_shortfall="accept", random_state=0)
    X, y = ours.fit_resample(table.drop(columns="target"), table["target"])
    with warm_client(2) as client, watched(client) as figures:
        balance_files(source, "target", out, sampler=ours, client=client)
    same = pd.read_parquet(out).equals(X.assign(target=y))
    figures |= {"rows": len(table), "features": X.shape[1], "classes": len(set(y))}
    return figures | {"new_rows": len(X) - len(table), "the_same_as_in_memory": same}


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "data": data,
    "small": small,
    "workers": workers,
    "baseline": baseline,
    "large": large,
    "mixed": mixed,
}


def main(folder: Path, chosen: list[str]) -> None:
    """Measure the chosen parts, or all, that are not measured yet."""
    warnings.simplefilter("ignore", ShortfallWarning)
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "figures.json"
    figures = json.loads(notes.read_text()) if notes.exists() else {}
    for name in chosen or PARTS:
        if name in figures:
            continue
        start = time.perf_counter()
        figures[name] = PARTS[name](folder)
        notes.write_text(json.dumps(figures, indent=1))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        print(json.dumps(figures[name], indent=1), flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    place = Path(given[0]) if given else Path(tempfile.gettempdir()) / "counterbalance-scale"
    main(place, given[1:])
