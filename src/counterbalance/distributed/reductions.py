"""Reductions: exact sums and medians of columns that are spread over partitions.

    fold k     the part of each value that is a multiple of 2**-(26 + 27 k)
    bracket    [low, high]: where a sample says that the median lies, almost surely
    below      how many cells lie below the bracket
    inside     the different values within it, and how often each occurs

Sums: each value within [-1, 1] is split into folds, exactly. All values of a fold are multiples of
one grid and few enough to be added without rounding, in any order. A sum is a Python integer that
counts units; what lies below the last fold, 2**-108 of a value, is dropped. So neither the order
nor the partitioning shows, not even in the last bit.

Medians: one pass counts what lies below the bracket and keeps what lies inside; then the median is
known exactly. If the sample was misleading, the pass is repeated with a wider bracket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterbalance.arrays import Floats, Integers

FOLDS = 4
FIRST_GRID = 26
DIGITS_PER_FOLD = 27
UNIT = FIRST_GRID + DIGITS_PER_FOLD * (FOLDS - 1)
# Few enough values to stay in a cache; up to 2**25 add up to less than 2**53 points of the grid.
AT_ONCE = 2**14
# Half the width of a bracket in standard errors of the sample's median.
STANDARD_ERRORS = 5.0


def exact_sum(values: Floats) -> int:
    """Return the sum of values within [-1, 1], in units of ``2**-UNIT``."""
    total = 0
    for start in range(0, len(values), AT_ONCE):
        rest = values[start : start + AT_ONCE].copy()
        on_grid = np.empty_like(rest)
        for fold in range(FOLDS):
            digits = FIRST_GRID + DIGITS_PER_FOLD * fold
            # Adding a number this large rounds to the grid; subtracting it leaves the multiple.
            large = 1.5 * 2.0 ** (52 - digits)
            np.add(rest, large, out=on_grid)
            on_grid -= large
            total += int(np.ldexp(on_grid.sum(), digits)) << (UNIT - digits)
            rest -= on_grid
            if not rest.any():
                break
    return total


def mean_of(total: int, n: int) -> float:
    """Return the mean, rounded once."""
    return total / (n << UNIT)


class Bracket(NamedTuple):
    """Where to look for the median."""

    low: float
    high: float

    @classmethod
    def around_median(cls, sample: Floats, wider: float = 1.0) -> Bracket:
        """Return a bracket for the median of a column, given a sorted sample of it."""
        n = len(sample)
        half = STANDARD_ERRORS * wider * np.sqrt(n) / 2 + 1
        low, high = int(np.floor((n - 1) / 2 - half)), int(np.ceil((n - 1) / 2 + half))
        return cls(
            float(sample[low]) if low >= 0 else -np.inf,
            float(sample[high]) if high < n else np.inf,
        )


@dataclass(frozen=True)
class BracketCounts:
    """How some cells lie around a bracket."""

    n: int
    below: int
    values: Floats
    counts: Integers

    @classmethod
    def of(cls, cells: Floats, bracket: Bracket) -> BracketCounts:
        """Count cells, none of them missing, below the bracket and inside it."""
        inside = cells[(cells >= bracket.low) & (cells <= bracket.high)]
        return cls.counted(len(cells), int(np.count_nonzero(cells < bracket.low)), inside)

    @classmethod
    def counted(cls, n: int, below: int, inside: Floats) -> BracketCounts:
        """Count the cells ``inside`` a bracket, of ``n`` in all."""
        values, counts = np.unique(inside, return_counts=True)
        return cls(n, below, values, counts.astype(np.int64))

    @classmethod
    def join(cls, parts: list[BracketCounts]) -> BracketCounts:
        """Return the counts of all parts together."""
        values, place = np.unique(
            np.concatenate([part.values for part in parts]), return_inverse=True
        )
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        n, below = (sum(getattr(part, name) for part in parts) for name in ("n", "below"))
        return cls(n, below, values, counts)

    @property
    def median(self) -> float | None:
        """The median of all cells as numpy computes it; None if it lies outside the bracket."""
        ends = self.below + np.cumsum(self.counts)
        middle = []
        for rank in {(self.n - 1) // 2, self.n // 2}:
            if not (self.below <= rank < (ends[-1] if len(ends) else self.below)):
                return None
            middle.append(self.values[np.searchsorted(ends, rank, side="right")])
        return float(np.mean(np.sort(middle)))
