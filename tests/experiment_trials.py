"""Trials for the tests of the store and the runner; also a run of its own, to be killed.

Usage: ``python experiment_trials.py STORE TRIALS JOBS``. The environment tells how long a
trial takes (TRIAL_SECONDS) and where every computation is noted (TRIAL_LOG).
"""

import os
import signal
import sys
import time

import numpy as np

from counterbalance.trials import Fingerprint, TrialResult, TrialStore, run

FINGERPRINT = Fingerprint({"folds": 10}, "code", {"numpy": "2"})


def make_trials(count):
    return [{"data": f"set {number % 7}", "run": number} for number in range(count)]


def compute(trial):
    """Figures with all their bits in use, from nothing but the trial."""
    if log := os.environ.get("TRIAL_LOG"):
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 - one write, appended whole
            file.write(f"{trial['run']}\n")
    time.sleep(float(os.environ.get("TRIAL_SECONDS", "0")))
    rng = np.random.default_rng(trial["run"])
    singular = np.linalg.svd(rng.standard_normal((20, 20)), compute_uv=False)
    figures = {"largest": singular[0], "smallest": singular[-1], "mean": singular.mean()}
    return TrialResult(figures, payload={"name": trial["data"], "values": singular[:3].tolist()})


def compute_awkward(trial):
    """Fail in every way there is, depending on the trial; the others are fine."""
    kind = trial["kind"]
    if kind == "raises":
        raise ValueError("no such class")
    if kind == "exits":
        sys.exit(3)
    if kind == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "returns text":
        return {"figure": "many"}
    if kind == "returns an object":
        return TrialResult({"figure": 1.0}, payload=object())
    return {"figure": float(trial["run"])}


def compute_once_broken(trial):
    """Fail as long as the file named by the trial is there."""
    if os.path.exists(trial["file"]):  # noqa: PTH110
        raise RuntimeError("not yet")
    return {"figure": 1.0}


def count_threads(_cell):
    """Return the largest number of threads that a numeric library would use."""
    import threadpoolctl  # noqa: PLC0415

    threads = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    return {"threads": max(threads), "OMP": int(os.environ["OMP_NUM_THREADS"])}


if __name__ == "__main__":
    from experiment_trials import compute as importable

    path, count, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with TrialStore(path, FINGERPRINT) as store:
        sys.stdout.write("started\n")
        sys.stdout.flush()
        try:
            run(make_trials(count), importable, store, jobs=jobs)
        except KeyboardInterrupt as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(130)
