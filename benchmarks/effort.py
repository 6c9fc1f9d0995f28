"""Count the calls of f, and the time outside of f."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from timing import Search, set_up, wisconsin

from counterbalance.search.nearest import _Candidates, _Window


def main() -> None:
    """Print both for the bundled table and for a generated one."""
    X, y = wisconsin()
    large = make_classification(
        20_000, 20, n_informative=8, weights=[0.9], class_sep=1.5, random_state=0
    )
    print("Candidates shown to f, against those that are nearer than the winner (bar: 1.5 times);")
    print("share of the search outside of f's predict (bar with a forest: 25 %)")
    print(f"{'table':22}{'f':22}{'shown / nearer':>15}{'outside f':>11}")
    for name, (rows, labels) in {"wisconsin": (X, y), "20,000 x 20": large}.items():
        for f in (
            LogisticRegression(max_iter=1000, class_weight="balanced"),
            RandomForestClassifier(min_samples_leaf=3, class_weight="balanced", random_state=0),
        ):
            search = set_up(f.fit(rows, labels), rows, labels, n_draws=20)
            ratio, outside = measure(search)
            print(f"{name:22}{type(f).__name__:22}{ratio:>15.2f}{outside:>11.0%}")


def measure(search: Search) -> tuple[float, float]:
    """Return candidates shown / needed, and the share of the time that is not f's."""
    spent = 0.0

    def timed(rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
        nonlocal spent
        start = time.perf_counter()
        answer = search.f.on_candidates(rows, ids)
        spent += time.perf_counter() - start
        return answer

    start = time.perf_counter()
    found, judged = search.run(timed)
    total = time.perf_counter() - start
    limit = np.full(search.rows.max() + 1, np.inf)
    limit[found.factual] = found.distance
    nearer = 0
    space, effort = search.space, search.effort
    for part in np.array_split(np.arange(len(search.rows)), 1 + len(search.rows) // 1000):
        window = _Window.of(space.order)
        candidates = _Candidates.draw(
            space, effort.draws, search.x[part], search.rows[part], window
        )
        near = candidates.distance < limit[search.rows[part], None, None]
        nearer += np.count_nonzero(near & candidates.worthy)
    return judged / nearer, 1 - spent / total
