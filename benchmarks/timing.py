"""What the benchmarks share: the bundled table, a search set up by hand, the best of some times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.classifier.judge import Classifier, judge
from counterbalance.constraints.rules import Rules
from counterbalance.datasets import read_wisconsin
from counterbalance.profile import by_importance, profile_table
from counterbalance.search.compiled import make_search
from counterbalance.search.inversions import Inversions
from counterbalance.search.nearest import Effort, Space, search
from counterbalance.search.perturbation import Perturbation
from counterbalance.table.table import Table, read_table

# Tables of numbers alone, from the development suite of the study.
TEN_TABLES = (
    *("yeast4", "vowel0", "page_blocks0", "segment0", "ecoli1"),
    *("glass1", "pima", "haberman", "vehicle0", "new_thyroid1"),
)


def wisconsin() -> tuple[np.ndarray, np.ndarray]:
    """Return the complete rows of Wisconsin breast cancer; 1 is malignant."""
    X, y, _ = read_wisconsin()
    complete = ~np.isnan(X).any(axis=1)
    return X[complete], (y[complete] == "malignant").astype(int)


def best_of(
    repeats: int, work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the shortest time of some calls, in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = clock()
        result = work()
        times.append(clock() - start)
    return min(times), result


@dataclass(frozen=True)
class Search:
    """A search of all factuals of class 0 for inversions to class 1."""

    space: Space
    effort: Effort
    f: Classifier
    x: np.ndarray
    rows: np.ndarray
    table: Table

    def run_compiled(self) -> tuple[Inversions, int]:
        """Run the search as the sampler does: with the kernel, where it is there and knows f."""
        return make_search(self.space, self.effort, self.f, self.table)(
            self.x, self.rows, self._wanted
        )

    @property
    def _wanted(self) -> np.ndarray:
        wanted = np.zeros((len(self.rows), 2), dtype=bool)
        wanted[:, 1] = True
        return wanted

    def run(
        self, judge_rows: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> tuple[Inversions, int]:
        """Run the search in numpy, by f or by a judge in its place."""
        return search(
            self.space,
            self.effort,
            judge_rows or self.f.on_candidates,
            self.x,
            self.rows,
            self._wanted,
            self.f.insight,
        )


def set_up(f: Any, X: np.ndarray, y: np.ndarray, *, n_draws: int, seed: int = 5) -> Search:
    """Prepare a search with a fitted f."""
    table = read_table(X)
    profile = profile_table(table, y)
    perturbation = Perturbation(profile, table.grid, Rules.none(X.shape[1]))
    rows = np.flatnonzero((y == 0) & (f.predict(X) == 0))
    wrapped = judge(f, table, np.array([0, 1]))
    space = Space(perturbation, by_importance(profile), seed)
    return Search(space, Effort(range(n_draws)), wrapped, X[rows], rows, table)
