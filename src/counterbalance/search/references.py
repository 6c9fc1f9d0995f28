"""References: rows that f puts into a class, where a search for the class may start.

Of many such rows a few serve as well. Those are taken whose ids have the smallest lots, and a
lot depends on nothing but the id: so any cut of the table gives the same ones, and no seed
changes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Integers, Small
from counterbalance.search.draws import stream, uniform

# So many of each class.
MOST_REFERENCES = 2048
# Draws 0, 1, ... belong to the perturbations of a row.
REFERENCE_DRAW = 2**42


@dataclass(frozen=True)
class References:
    """Which rows are references of which class, in the order of (class, row)."""

    row: Integers  # ids
    target: Small

    @classmethod
    def none(cls) -> References:
        """Return no references."""
        return cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int32))

    @classmethod
    def of(cls, row: Integers, target: Integers) -> References:
        """Choose from rows, given their ids and the classes that f puts them into."""
        lot = uniform(stream(0, row, REFERENCE_DRAW), 0)
        ranked = np.lexsort((row, lot, target))
        first = np.searchsorted(target[ranked], target[ranked])
        chosen = ranked[np.arange(len(ranked)) - first < MOST_REFERENCES]
        chosen = chosen[np.lexsort((row[chosen], target[chosen]))]
        return cls(row[chosen], target[chosen].astype(np.int32))

    @classmethod
    def join(cls, parts: list[References]) -> References:
        """Choose from the references of the parts of a table."""
        parts = [cls.none(), *parts]
        return cls.of(*(np.concatenate([getattr(p, n) for p in parts]) for n in ("row", "target")))

    def of_class(self, target: int) -> Integers:
        """Return the ids of the references of one class."""
        return np.asarray(self.row[self.target == target])
