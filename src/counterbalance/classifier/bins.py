"""Bins: a table of numbers, each as its place among a few cuts of its feature; see ``boosting``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small

try:
    from counterbalance.classifier import boosting_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# Bins of a feature, without that of missing values.
MOST_BINS = 64


@dataclass(frozen=True)
class Binned:
    """A table as bins."""

    bins: NDArray[np.uint8]
    by_row: NDArray[np.uint8]  # the same, (n, M)
    cuts: list[Floats]  # of each feature: a cell is in the bin of so many cuts as are below it
    n_cuts: Small
    width: int

    @classmethod
    def of(cls, X: Floats) -> Self:
        """Put every cell into a bin of its feature."""
        columns = np.ascontiguousarray(X.T)
        cuts = [_cuts(column) for column in columns]
        width = max(map(len, cuts)) + 2
        bins = np.empty(columns.shape, dtype=np.uint8)
        for cells, column, own in zip(bins, columns, cuts, strict=True):
            kernel.put_in_bins(column, own, width - 1, cells)
        n_cuts = np.array([len(own) for own in cuts], dtype=np.int32)
        return cls(bins, np.ascontiguousarray(bins.T), cuts, n_cuts, width)


def _cuts(column: Floats) -> Floats:
    """Cut between different values, into bins of about as many rows each."""
    ordered = np.sort(column)  # missing values come last
    ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(column))]
    steps = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(steps) >= MOST_BINS:  # the first step at or behind each of so many ranks
        ranks = np.arange(1, MOST_BINS) * len(ordered) // MOST_BINS
        at = np.searchsorted(steps, ranks)
        steps = np.unique(steps[np.minimum(at, len(steps) - 1)])
    below, above = ordered[steps - 1], ordered[steps]
    return np.minimum(below / 2 + above / 2, np.nextafter(above, -np.inf))
