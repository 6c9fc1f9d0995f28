"""The minimum search beside treecf 0.3.2 on the same random forests, and beside the true minimum.

treecf (an environment of its own) explains one row at a time: by its heuristic, and by its exact
backend, which had so many seconds a row and proves some of the minima. For a linear f the true
minimum is a linear program.

    python benchmarks/against_treecf.py     a line for each table, as docs/minimum.md has them
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from timing import TEN_TABLES

from counterbalance import CounterfactualOverSampler
from counterbalance.samplers.counterfactual import find_references
from counterbalance.search.minimum import Minimum
from counterbalance.search.structure import read_structure
from paper.datasets import load

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / ".venv-treecf"
N_ROWS, N_EXACT, SECONDS = 40, 8, 2.0


class Beside(NamedTuple):
    """What both found on one table: distances and times of the same rows."""

    table: str
    share: float  # of the factuals that ours inverts
    ours: np.ndarray
    heuristic: np.ndarray
    exact: np.ndarray  # of the first rows
    proved: np.ndarray
    our_seconds: float  # a row
    their_seconds: float
    linear_gap: float  # ours over the minimum, mean, of a linear f


def bars() -> list[tuple[str, float, float, bool]]:
    """Return (what, measured, aim, whether at least) over all tables."""
    found = measure()
    distance = float(np.median([np.median(one.ours) / np.median(one.heuristic) for one in found]))
    faster = float(np.median([one.their_seconds / one.our_seconds for one in found]))
    return [
        ("treecf 0.3.2, ten forests: our median distance over its", distance, 1.1, False),
        ("treecf 0.3.2, ten forests: its time a row over ours", faster, 20.0, True),
    ]


def measure() -> list[Beside]:
    """Run both on every table."""
    problems = {name: _problem(name) for name in TEN_TABLES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problems.pickle"
        shown = {name: {k: one[k] for k in ("f", "x", "scale")} for name, one in problems.items()}
        path.write_bytes(pickle.dumps(shown))
        command = [_python(), "-W", "ignore", str(HERE / "treecf_time.py"), str(path)]
        command += [str(N_EXACT), str(SECONDS)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if run.returncode:
        sys.exit(f"treecf failed: {run.stderr.strip().splitlines()[-1]}")
    theirs = json.loads(run.stdout)
    return [
        Beside(
            name,
            one["share"],
            one["ours"],
            np.array(theirs[name]["heuristic"]),
            np.array(theirs[name]["exact"]),
            np.array(theirs[name]["proved"]),
            one["seconds"],
            theirs[name]["seconds"],
            one["linear_gap"],
        )
        for name, one in problems.items()
    ]


def _problem(name: str) -> dict[str, Any]:
    """Solve a table with a forest and with a linear f; pick rows for treecf."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    small = min(np.unique(y), key=lambda label: np.count_nonzero(y == label))
    y = (y == small).astype(int)
    f = RandomForestClassifier(50, class_weight="balanced", random_state=0).fit(X, y)
    prepared, found, seconds = _solve(f, X, y)
    factuals = np.count_nonzero(prepared.problem.right(prepared.judged()) & (y == 0))
    pick = np.linspace(0, len(found) - 1, min(N_ROWS, len(found))).astype(int)
    return {
        "f": f,
        "x": X[found.factual[pick]],
        "scale": prepared.profile.scale,
        "ours": found.distance[pick],
        "share": len(found) / factuals,
        "seconds": seconds / max(1, len(found)),
        "linear_gap": _linear_gap(X, y),
    }


def _solve(f: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any, float]:
    """Solve for every factual, without the draws that say which of them invert."""
    sampler = CounterfactualOverSampler(estimator=FrozenEstimator(f), random_state=0)
    prepared = sampler.prepare(X, y)
    answers, codes = prepared.predict(), prepared.labels.codes
    start = time.process_time()
    structure = read_structure(prepared.space, prepared.f, prepared.table)
    search = Minimum(prepared.space, structure, find_references(prepared, answers, [1]))
    rows = np.flatnonzero((answers == codes) & (codes == 0))
    found = search.find(X[rows], rows, np.tile([False, True], (len(rows), 1)))
    return prepared, found, time.process_time() - start


def _linear_gap(X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of our distance over that of a linear program, of some rows."""
    f = LogisticRegression(class_weight="balanced", max_iter=5000).fit(X, y)
    prepared, found, _ = _solve(f, X, y)
    profile, gaps = prepared.profile, []
    weight, cost = f.coef_[0], np.tile(1 / profile.scale, 2)
    for place in np.linspace(0, len(found) - 1, min(N_ROWS, len(found))).astype(int):
        x = X[found.factual[place]]
        score = float(weight @ x + f.intercept_[0])  # -score is to be made up for
        room = np.concatenate([profile.upper - x, x - profile.lower])
        room[np.tile(~profile.varies, 2)] = 0
        least = linprog(
            cost,
            A_ub=-np.concatenate([weight, -weight])[None],
            b_ub=[score],
            bounds=[(0, most) for most in room],
        )
        if least.success and least.fun > 0:
            gaps.append(found.distance[place] / least.fun)
    return float(np.mean(gaps)) if gaps else float("nan")


def _python() -> str:
    """Return the interpreter of treecf's own environment, made where it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)  # noqa: S603
        wanted = ["treecf==0.3.2", f"scikit-learn=={sklearn.__version__}"]
        wanted += [f"numpy=={np.__version__}"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True)  # noqa: S603
    return str(python)


def main() -> None:
    """Print a line for each table."""
    print(
        "| table | inverted | ours, median | treecf, median | ours / treecf | exact proved "
        "| ours / proved minimum | ms a row, ours | treecf | linear f: ours / minimum |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for one in measure():
        near = one.ours[: len(one.exact)][one.proved] / one.exact[one.proved]
        gap = f"{near.mean():.2f}" if near.size else ""
        print(
            f"| {one.table} | {one.share:.2f} | {np.median(one.ours):.2f} "
            f"| {np.median(one.heuristic):.2f} "
            f"| {np.median(one.ours) / np.median(one.heuristic):.2f} "
            f"| {one.proved.sum()} of {len(one.proved)} | {gap} | {1e3 * one.our_seconds:.2f} "
            f"| {1e3 * one.their_seconds:.1f} | {one.linear_gap:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
