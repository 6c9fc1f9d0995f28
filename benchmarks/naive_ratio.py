"""Compare with the algorithm as printed: how much faster, and are the answers the same."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from timing import best_of, set_up, wisconsin

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import naive

N_DRAWS = 10
BARS = {"logistic regression": 2000, "forest of 100 trees": 20_000}
ROWS = {"logistic regression": 20, "forest of 100 trees": 4}


def main() -> None:
    """Print both times, their ratio and its bar."""
    print(f"Search against tests/naive.py, Wisconsin breast cancer, 9 features, T = {N_DRAWS}")
    print(f"{'f':24}{'ratio':>9}{'bar':>8}  same answers")
    for name, ratio, bar, same in ratios():
        print(f"{name:24}{ratio:>9,.0f}{bar:>8,}  {'yes' if same else 'NO'}")


def ratios() -> Iterator[tuple[str, float, int, bool]]:
    """Time both on Wisconsin breast cancer; the naive one on a few rows, scaled up.

    Each f gives its name, the ratio, its bar, and whether the answers were the same.
    """
    X, y = wisconsin()
    models = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "forest of 100 trees": RandomForestClassifier(random_state=0),
    }
    for name, f in models.items():
        search = set_up(f.fit(X, y), X, y, n_draws=N_DRAWS)
        seconds, (found, _) = best_of(7, search.run_compiled, clock=time.process_time)
        some = search.rows[:: len(search.rows) // ROWS[name]][: ROWS[name]]
        statistics = [naive.feature_statistics(column) for column in X.T]

        def loops(f=f, search=search, some=some, statistics=statistics):  # noqa: ANN001, ANN202
            space = search.space
            return [
                naive.minimum_inversion(
                    f.predict,
                    X[row],
                    int(row),
                    0,
                    1,
                    space.order,
                    statistics,
                    space.perturbation.profile.deviation,
                    space.seed,
                    N_DRAWS,
                )
                for row in some
            ]

        slow, winners = best_of(1, loops, clock=time.process_time)
        slow *= len(search.rows) / len(some)
        agree = all(_same(found, row, winner) for row, winner in zip(some, winners, strict=True))
        yield name, slow / seconds, BARS[name], agree


def _same(found, row, winner) -> bool:  # noqa: ANN001
    at = np.flatnonzero(found.factual == row)
    if winner is None:
        return not at.size
    distance, rounds, draw, _ = winner
    return (found.distance[at], found.round[at], found.draw[at]) == ([distance], [rounds], [draw])
