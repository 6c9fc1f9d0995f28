"""What the benchmarks share: tables, and the best of some times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from counterbalance.datasets import read_wisconsin

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
