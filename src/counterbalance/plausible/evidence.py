"""Evidence: what the rows of a table tell of what goes together.

    sample      a few rows of every class, as codes: those with the smallest lots, where a lot
                depends on nothing but a row's id; so any cut of the table gives the same ones
    together    the levels that real rows have beside each other, of all rows

The parts of a table are looked at one by one and joined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.together import ROWS_AT_ONCE, Levels, Together
from counterbalance.search.draws import sample_number
from counterbalance.table.table import Table

# So many rows of a class at most, and so many of all classes together, but some of each.
MOST_OF_CLASS = 1000
MOST_ROWS = 20_000
FEWEST_OF_CLASS = 20
# What is learned of fewer rows, or kept by a smaller share of them, counts as nothing.
FEWEST_ROWS = 50
KEPT = 0.99


@dataclass(frozen=True)
class Evidence:
    """What some rows of a table tell."""

    ids: Integers  # of the sampled rows, by class and then in their order
    classes: Integers
    sample: Floats
    n_classes: int
    together: Together | None = None

    @classmethod
    def none(cls, n_features: int, n_classes: int, levels: Levels | None = None) -> Evidence:
        """Return what no row tells; with ``levels``, pairs of them are to be looked for."""
        nobody = np.zeros(0, dtype=np.intp)
        together = None if levels is None else Together.none(levels)
        return cls(nobody, nobody, np.zeros((0, n_features)), n_classes, together)

    def with_rows(self, ids: Integers, classes: Integers, x: Floats) -> Evidence:
        """Return what is told with some more rows."""
        together = None if self.together is None else self.together.with_rows(x)
        return self._with_sample(ids, classes, x, together)

    def may_join(self, ids: Integers, classes: Integers) -> Mask:
        """Say which of some more rows may come into the sample: all that do, and few others."""
        lot, most, known = sample_number(ids), self.most_of_class, sample_number(self.ids)
        least = np.full(self.n_classes, np.inf)
        for code in np.flatnonzero(np.bincount(self.classes, minlength=self.n_classes) >= most):
            least[code] = known[self.classes == code].max()
        for code in np.flatnonzero(np.bincount(classes, minlength=self.n_classes) > most):
            own = lot[classes == code]
            # Lots are uniform, so few of many are below twice the share that is sought.
            few = own[own < min(2 * most / len(own), least[code])]
            if len(few) > most:
                least[code] = np.partition(few, most)[most]
        return np.asarray(lot <= least[classes])

    def join(self, other: Evidence) -> Evidence:
        """Return what the rows of both tell."""
        together = self.together
        if together is not None and other.together is not None:
            together = together.join(other.together)
        return self._with_sample(other.ids, other.classes, other.sample, together)

    @classmethod
    def joined(cls, parts: list[Evidence]) -> Evidence:
        """Return what the rows of all parts tell."""
        return reduce(cls.join, parts)

    def _with_sample(
        self, ids: Integers, classes: Integers, x: Floats, together: Together | None
    ) -> Evidence:
        """Keep of the sample and some more rows those with the smallest lots of each class."""
        n_own = len(self.ids)
        ids = np.concatenate([self.ids, ids])
        classes = np.concatenate([self.classes, classes])
        lot = sample_number(ids)
        ranked = np.lexsort((ids, lot, classes))
        first = np.searchsorted(classes[ranked], classes[ranked])
        chosen = ranked[np.arange(len(ranked)) - first < self.most_of_class]
        chosen = chosen[np.lexsort((ids[chosen], classes[chosen]))]
        own = chosen < n_own
        sample = np.empty((len(chosen), self.sample.shape[1]))
        sample[own], sample[~own] = self.sample[chosen[own]], x[chosen[~own] - n_own]
        return replace(
            self, ids=ids[chosen], classes=classes[chosen], sample=sample, together=together
        )

    @property
    def most_of_class(self) -> int:
        """How many rows of a class are sampled at most."""
        share = MOST_ROWS // max(1, self.n_classes)
        return min(MOST_OF_CLASS, max(FEWEST_OF_CLASS, share))


def gather(
    table: Table,
    classes: Integers,
    n_classes: int,
    *,
    pairs: bool,
    ids: Integers | None = None,
) -> Evidence:
    """Look at all rows of a table in memory; ``ids`` are given if it is a sample of another."""
    n = len(classes)
    ids = np.arange(n) if ids is None else ids
    if not pairs:
        nobody = Evidence.none(len(table.names), n_classes)
        rows = np.flatnonzero(nobody.may_join(ids, classes))
        return nobody.with_rows(ids[rows], classes[rows], table.rows(rows))
    found = Evidence.none(len(table.names), n_classes, make_levels(table, n))
    for start in range(0, n, ROWS_AT_ONCE):
        rows = np.arange(start, min(n, start + ROWS_AT_ONCE))
        found = found.with_rows(ids[rows], classes[rows], table.rows(rows))
    return found


def make_levels(table: Table, n_rows: int) -> Levels:
    """Return the numbering of the levels of a table that shows all of them."""
    n_levels = [
        int(np.nanmax(table.column(m), initial=-1.0)) + 1 if kind.has_levels else 0
        for m, kind in enumerate(table.kinds)
    ]
    return Levels.of(table.kinds, n_levels, n_rows)
