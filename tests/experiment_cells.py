"""Cells for the tests of the store and the runner; also a run of its own, to be killed.

Usage: ``python experiment_cells.py STORE CELLS JOBS``. The environment tells how long a
cell takes (CELL_SECONDS) and where every computation is noted (CELL_LOG).
"""

import os
import signal
import sys
import time

import numpy as np

from counterbalance.trials import CellResult, CellStore, Fingerprint, run

FINGERPRINT = Fingerprint({"folds": 10}, "code", {"numpy": "2"})


def make_cells(count):
    return [{"data": f"set {number % 7}", "run": number} for number in range(count)]


def compute(cell):
    """Figures with all their bits in use, from nothing but the cell."""
    if log := os.environ.get("CELL_LOG"):
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 - one write, appended whole
            file.write(f"{cell['run']}\n")
    time.sleep(float(os.environ.get("CELL_SECONDS", "0")))
    rng = np.random.default_rng(cell["run"])
    singular = np.linalg.svd(rng.standard_normal((20, 20)), compute_uv=False)
    figures = {"largest": singular[0], "smallest": singular[-1], "mean": singular.mean()}
    return CellResult(figures, payload={"name": cell["data"], "values": singular[:3].tolist()})


def compute_awkward(cell):
    """Fail in every way there is, depending on the cell; the others are fine."""
    kind = cell["kind"]
    if kind == "raises":
        raise ValueError("no such class")
    if kind == "exits":
        sys.exit(3)
    if kind == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "returns text":
        return {"figure": "many"}
    if kind == "returns an object":
        return CellResult({"figure": 1.0}, payload=object())
    return {"figure": float(cell["run"])}


def compute_once_broken(cell):
    """Fail as long as the file named by the cell is there."""
    if os.path.exists(cell["file"]):  # noqa: PTH110
        raise RuntimeError("not yet")
    return {"figure": 1.0}


def count_threads(_cell):
    """Return the largest number of threads that a numeric library would use."""
    import threadpoolctl  # noqa: PLC0415

    threads = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    return {"threads": max(threads), "OMP": int(os.environ["OMP_NUM_THREADS"])}


if __name__ == "__main__":
    from experiment_cells import compute as importable

    path, count, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with CellStore(path, FINGERPRINT) as store:
        sys.stdout.write("started\n")
        sys.stdout.flush()
        try:
            run(make_cells(count), importable, store, jobs=jobs)
        except KeyboardInterrupt as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(130)
