"""Shares into whole numbers."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


def allocate(weights: Floats, total: int) -> Integers:
    """Split ``total`` over ``weights``: whole numbers that add up exactly.

    Each weight gets the floor of its share, and what is left goes to the largest remainders
    (the earlier one on a tie). Weights that add up to zero count as equal.

    >>> allocate(np.array([1.0, 1.0, 2.0]), 5)
    array([1, 1, 3])
    """
    weights = np.asarray(weights, dtype=float)
    if not weights.sum() > 0:
        weights = np.ones_like(weights)
    shares = weights / weights.sum() * total
    counts: Integers = np.floor(shares).astype(np.intp)
    left = total - int(counts.sum())
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[:left]] += 1
    return counts


def repeated(counts: Integers) -> Integers:
    """Index of each item, as often as its count says.

    >>> repeated(np.array([2, 0, 1]))
    array([0, 0, 2])
    """
    index: Integers = np.repeat(np.arange(len(counts)), counts)
    return index
