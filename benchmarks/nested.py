"""Measure what nested draws cost in yield, and how many of them make up for it.

    independent   T fresh perturbations in every round, as the paper prints it: M T candidates
                  of M T draws
    nested        T perturbations of every feature, round m uses the first m: M T candidates
                  of T draws

Each candidate has the same distribution in both. The candidates of a nested draw resemble
each other, so together they find fewer inversions.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance import CounterfactualOverSampler
from counterbalance.search.nearest import rebuild, search
from paper.datasets import load

TABLES = ("yeast4", "vehicle1", "ecoli3", "glass2")
N_DRAWS = 10
TRIED = (10, 15, 20, 30, 40, 60, 80)
SEEDS = range(3)
# Draws of the independent rounds are numbered from here, apart from every nested one.
FAR = 1_000_000


def main() -> None:
    """Print the yields of both, and the smallest T that makes up for nesting."""
    print(f"Yield of T = {N_DRAWS} independent draws a round, and of T nested ones (mean of")
    print(f"{len(SEEDS)} seeds); time of the nested search as a ratio to T = {N_DRAWS}")
    print(f"{'table':14}{'f':22}{'independent':>12}" + "".join(f"{t:>13}" for t in TRIED))
    linear = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    for name in TABLES:
        for label, f in {"trees": None, "logistic regression": linear}.items():
            independent, nested, spent = measure(name, f)
            cells = [f"{y:.2f} ({s / spent[0]:.1f}x)" for y, s in zip(nested, spent, strict=True)]
            line = "".join(f"{cell:>13}" for cell in cells)
            print(f"{name:14}{label:22}{independent:>12.2f}{line}", flush=True)


def measure(name: str, estimator: Any) -> tuple[float, list[float], list[float]]:
    """Return the yield of independent draws, those of nested ones, and their seconds."""
    data = load(name)
    found: list[float] = []
    nested = np.zeros((len(SEEDS), len(TRIED)))
    spent = np.zeros_like(nested)
    for seed in SEEDS:
        sampler = CounterfactualOverSampler(estimator=estimator, random_state=seed)
        prepared = sampler.prepare(data.X, data.y)
        problem, f, labels = prepared.problem, prepared.f, prepared.problem.labels
        small = int(np.argmin(labels.counts))
        rows = np.flatnonzero(problem.right(prepared.judged()) & (labels.codes != small))
        x = problem.table.rows(rows)
        found.append(_independent(problem.space, f, x, rows, small))
        wanted = np.zeros((len(rows), len(labels.classes)), dtype=bool)
        wanted[:, small] = True
        for place, n_draws in enumerate(TRIED):
            effort = replace(problem.effort, draws=range(n_draws))
            start = time.process_time()
            inversions, _ = search(
                problem.space, effort, f.on_candidates, x, rows, wanted, f.insight
            )
            spent[seed, place] = time.process_time() - start
            nested[seed, place] = len(inversions) / len(rows)
    return float(np.mean(found)), nested.mean(axis=0).tolist(), spent.sum(axis=0).tolist()


def _independent(space: Any, f: Any, x: Any, rows: Any, target: int) -> float:
    """Return the share of rows that invert when every round draws anew."""
    inverted = np.zeros(len(rows), dtype=bool)
    for m in range(1, len(space.order) + 1):
        for t in range(N_DRAWS):
            left = np.flatnonzero(~inverted)
            draw = np.full(len(left), FAR + m * N_DRAWS + t, dtype=np.int32)
            candidates = rebuild(space, x[left], rows[left], draw, np.full(len(left), m, np.int32))
            inverted[left] = f.on_candidates(candidates, rows[left]) == target
    return float(inverted.mean())


if __name__ == "__main__":
    main()
