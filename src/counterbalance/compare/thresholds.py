"""Thresholds: where the probability of the minority becomes the answer "minority".

    p          probability of the minority, for each row
    y          1 for the minority, 0 for the majority
    threshold  the answer is the minority where p >= threshold
    weights    what each row counts for, or None where all count the same

A threshold is tuned on probabilities of rows that the model was not fitted to, from inside the
training part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats

HALF = 0.5
AS_GOOD = 1e-12


def tuned_thresholds(
    p: Floats, y: NDArray[np.intp], weights: Floats | None = None
) -> dict[str, float]:
    """Return the threshold that is best for each metric that needs one.

    Every cut between two neighbouring probabilities is tried. Where several are best, the
    middle one is taken.

    Examples
    --------
    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0, 0, 1, 1])
    >>> tuned_thresholds(p, y)
    {'g_mean': 0.25, 'f1': 0.25, 'balanced_accuracy': 0.25}
    """
    order = np.argsort(-p, kind="stable")
    p, y = p[order], y[order]
    last = np.append(np.flatnonzero(np.diff(p) < 0), len(p) - 1)  # of a run of equal p
    counts = np.ones_like(y) if weights is None else weights[order]
    minority, rows = np.cumsum(counts * y), np.cumsum(counts)
    hits = minority[last]
    misses = minority[-1] - hits
    false = rows[last] - hits
    cuts = np.append((p[last[:-1]] + p[last[:-1] + 1]) / 2, p[-1] / 2)
    recall = hits / (minority[-1] or 1)
    other = 1 - false / ((rows[-1] - minority[-1]) or 1)
    scores = {
        "g_mean": np.sqrt(recall * other),
        "f1": 2 * hits / (2 * hits + misses + false),
        "balanced_accuracy": (recall + other) / 2,
    }
    return {name: float(cuts[_middle_best(score)]) for name, score in scores.items()}


def _middle_best(score: Floats) -> int:
    best = np.flatnonzero(score >= score.max() - AS_GOOD)
    return int(best[len(best) // 2])
