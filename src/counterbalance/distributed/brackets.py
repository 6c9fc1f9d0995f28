"""Brackets: an exact order statistic of a column that nobody holds as a whole.

    bracket    [low, high]: where a sample says that the wanted value lies, almost surely
    below      how many cells lie below the bracket
    inside     the different values within it, and how often each occurs

One pass counts what lies below and keeps what lies inside: the wanted value is then known
exactly. If the sample misled, the pass is made again with a wider bracket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Integers

# Half the width of a bracket in standard errors of the sample's median.
STANDARD_ERRORS = 5.0


@dataclass(frozen=True)
class Bracket:
    """Where to look for the median."""

    low: float
    high: float

    @classmethod
    def around_median(cls, sample: Floats, wider: float = 1.0) -> Bracket:
        """Return where the median of a column lies, judging by a sorted sample of it."""
        n = len(sample)
        half = STANDARD_ERRORS * wider * np.sqrt(n) / 2 + 1
        low, high = int(np.floor((n - 1) / 2 - half)), int(np.ceil((n - 1) / 2 + half))
        return cls(
            float(sample[low]) if low >= 0 else -np.inf,
            float(sample[high]) if high < n else np.inf,
        )


@dataclass(frozen=True)
class Inside:
    """What some cells tell about the bracket."""

    n: int
    below: int
    values: Floats
    counts: Integers

    @classmethod
    def of(cls, cells: Floats, bracket: Bracket) -> Inside:
        """Sort cells, none of them missing, into the bracket."""
        inside = cells[(cells >= bracket.low) & (cells <= bracket.high)]
        values, counts = np.unique(inside, return_counts=True)
        below = int(np.count_nonzero(cells < bracket.low))
        return cls(len(cells), below, values, counts.astype(np.int64))

    @classmethod
    def join(cls, parts: list[Inside]) -> Inside:
        """Return what all cells tell."""
        values, place = np.unique(
            np.concatenate([part.values for part in parts]), return_inverse=True
        )
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        n, below = (sum(getattr(part, name) for part in parts) for name in ("n", "below"))
        return cls(n, below, values, counts)

    @property
    def median(self) -> float | None:
        """The median of all cells, as numpy gives it; None if it lies outside the bracket."""
        ends = self.below + np.cumsum(self.counts)
        middle = []
        for rank in {(self.n - 1) // 2, self.n // 2}:
            if not (self.below <= rank < (ends[-1] if len(ends) else self.below)):
                return None
            middle.append(self.values[np.searchsorted(ends, rank, side="right")])
        return float(np.mean(np.sort(middle)))
