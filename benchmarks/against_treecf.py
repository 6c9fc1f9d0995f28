"""The minimum search and its bound beside treecf 0.3.2 on the same random forests of 100 trees.

treecf (an environment of its own) explains one row at a time: by its heuristic, and by its exact
backend, which has a time limit for each row and proves some of the minima. For a linear f the true
minimum is a linear program. The bound is that of ``explain``, with the default budget and with
``certify=True``.

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
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from timing import TEN_TABLES

from counterbalance import CounterfactualOverSampler
from counterbalance.explain.bound import MANY_BOXES, N_BOXES, prove
from counterbalance.samplers.counterfactual import find_references
from counterbalance.search.minimum import Minimum
from counterbalance.search.structure import read_structure
from paper.datasets import load

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / ".venv-treecf"
N_ROWS, N_EXACT, SECONDS, N_TREES = 40, 8, 2.0, 100
NEAR = 0.05
NOISE = 1e-7


class Proved(NamedTuple):
    """Answers with their bounds."""

    distance: np.ndarray
    gap: np.ndarray
    seconds: float  # a row

    @property
    def share(self) -> float:
        """The share of the rows that are proved to be within 5 % of the minimum."""
        return float((self.gap <= NEAR).mean())


class Beside(NamedTuple):
    """The results of both on one table: distances and times of the same rows."""

    table: str
    share: float  # of the factuals that ours inverts
    ours: np.ndarray
    heuristic: np.ndarray
    exact: np.ndarray  # of the first rows
    proved: np.ndarray
    our_seconds: float  # a row
    their_seconds: float
    linear_gap: float  # ours over the minimum, mean, of a linear f
    proof: Proved  # with the default budget
    certified: np.ndarray  # distances with ``certify=True``, of the first rows
    own: Proved  # of the default f


def bars() -> list[tuple[str, float, float, bool]]:
    """Return (what, measured, aim, whether at least) over all tables."""
    found = measure()
    distance = float(np.median([np.median(one.ours) / np.median(one.heuristic) for one in found]))
    faster = float(np.median([one.their_seconds / one.our_seconds for one in found]))
    gaps = [float(np.median(one.proof.gap)) for one in found]
    share = float(np.mean([one.proof.share for one in found]))
    milliseconds = float(np.median([1e3 * one.proof.seconds for one in found]))
    return [
        ("bound, ten forests of 100 trees: largest median gap", max(gaps), 0.1, False),
        ("bound, ten forests of 100 trees: share of rows proved within 5 %", share, 0.6, True),
        ("bound, ten forests of 100 trees: ms a row", milliseconds, 60.0, False),
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
            one["proof"],
            one["certified"],
            one["own"],
        )
        for name, one in problems.items()
    ]


def _problem(name: str) -> dict[str, Any]:
    """Solve a table with a forest and with a linear f; pick rows for treecf."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    small = min(np.unique(y), key=lambda label: np.count_nonzero(y == label))
    y = (y == small).astype(int)
    forest = RandomForestClassifier(N_TREES, class_weight="balanced", random_state=0)
    real = _solve(FrozenEstimator(forest.fit(X, y)), X, y)
    real_pick = np.linspace(0, len(real.rows) - 1, min(N_ROWS, len(real.rows))).astype(int)
    proof = _prove(real, real_pick, N_BOXES)
    own = _solve(None, X, y)
    own_pick = np.linspace(0, len(own.rows) - 1, min(N_ROWS, len(own.rows))).astype(int)
    # treecf has no grids, so no column gets one here.
    X = X + NOISE * np.ptp(X, axis=0) * np.random.default_rng(0).normal(size=X.shape)
    f = clone(forest).fit(X, y)
    one = _solve(FrozenEstimator(f), X, y)
    pick = np.linspace(0, len(one.rows) - 1, min(N_ROWS, len(one.rows))).astype(int)
    few = pick[:N_EXACT]
    return {
        "f": f,
        "x": X[one.rows[pick]],
        "scale": one.search.space.profile.scale,
        "ours": one.far[pick],
        "share": len(one.rows) / one.factuals,
        "seconds": one.seconds,
        "linear_gap": _linear_gap(X, y),
        "proof": proof,
        "certified": _prove(one, few, MANY_BOXES).distance,
        "own": _prove(own, own_pick, N_BOXES),
    }


class Solved(NamedTuple):
    """What the search found for the factuals of a table."""

    search: Minimum
    rows: np.ndarray  # that have an answer
    old: np.ndarray
    new: np.ndarray
    far: np.ndarray
    seconds: float  # a row
    factuals: int


def _solve(f: Any, X: np.ndarray, y: np.ndarray) -> Solved:
    """Solve for every factual, without the draws that say which of them invert."""
    sampler = CounterfactualOverSampler(estimator=f, random_state=0)
    prepared = sampler.prepare(X, y)
    answers, codes = prepared.predict(), prepared.labels.codes
    structure = read_structure(prepared.space, prepared.f, prepared.table)
    search = Minimum(prepared.space, structure, find_references(prepared, answers, [1]))
    rows = np.flatnonzero((answers == codes) & (codes == 0))
    old, target = prepared.table.rows(rows), np.ones(len(rows), dtype=np.intp)
    start = time.process_time()
    new, far = search.nearest(old, target, rows)
    seconds = (time.process_time() - start) / len(rows)
    good = np.isfinite(far)
    return Solved(search, rows[good], old[good], new[good], far[good], seconds, len(rows))


def _prove(one: Solved, pick: np.ndarray, n_boxes: int) -> Proved:
    start = time.process_time()
    target = np.ones(len(pick), dtype=np.intp)
    found = prove(
        one.search, one.old[pick], target, one.rows[pick], one.new[pick], one.far[pick], n_boxes
    )
    seconds = (time.process_time() - start) / len(pick)
    return Proved(found.distance, found.distance / found.bound - 1, seconds)


def _linear_gap(X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of our distance over that of a linear program, of some rows."""
    f = LogisticRegression(class_weight="balanced", max_iter=5000).fit(X, y)
    found = _solve(FrozenEstimator(f), X, y)
    profile, gaps = found.search.space.profile, []
    weight, cost = f.coef_[0], np.tile(1 / profile.scale, 2)
    for place in np.linspace(0, len(found.rows) - 1, min(N_ROWS, len(found.rows))).astype(int):
        x = found.old[place]
        score = float(weight @ x + f.intercept_[0])  # the score must rise by -score
        slack = np.concatenate([profile.upper - x, x - profile.lower])
        slack[np.tile(~profile.varies, 2)] = 0
        least = linprog(
            cost,
            A_ub=-np.concatenate([weight, -weight])[None],
            b_ub=[score],
            bounds=[(0, most) for most in slack],
        )
        if least.success and least.fun > 0:
            gaps.append(found.far[place] / least.fun)
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
    found = measure()
    print(
        "| table | inverted | ours / treecf | exact proved | certified / proved minimum "
        "| ms a row, search | treecf | linear f: ours / minimum |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for one in found:
        near = one.certified[one.proved] / one.exact[one.proved]
        gap = f"{near.min():.3f} to {near.max():.3f}" if near.size else ""
        print(
            f"| {one.table} | {one.share:.2f} "
            f"| {np.median(one.ours) / np.median(one.heuristic):.2f} "
            f"| {one.proved.sum()} of {len(one.proved)} | {gap} | {1e3 * one.our_seconds:.3f} "
            f"| {1e3 * one.their_seconds:.1f} | {one.linear_gap:.3f} |",
            flush=True,
        )
    print(
        "\n| table | forest of 100 trees: median gap | within 5 % | proved | ms a row "
        "| default f: median gap | within 5 % | proved | ms a row |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for one in found:
        cells = [
            f"{np.median(part.gap):.3f} | {part.share:.2f} | {(part.gap == 0).mean():.2f} "
            f"| {1e3 * part.seconds:.1f}"
            for part in (one.proof, one.own)
        ]
        print(f"| {one.table} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
