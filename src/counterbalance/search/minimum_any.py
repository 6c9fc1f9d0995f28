"""Near inversions of any f, which is asked and never looked into.

    start      a row that f puts into the wanted class: a row of the table, of which the factual
               takes every cell that may change, or what a draw of Algorithm 1 inverts
    prune      give a changed cell its old value, if f still agrees
    shorten    bring a changed number back as far as f agrees

Every step asks f about all factuals at once, a batch for each feature in turn. The result is
an inversion without needless changes; it need not be the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.rules import differs
from counterbalance.search.algorithm_1 import (
    agrees,
    build,
    farthest_first,
    first_inversions,
    prune,
)
from counterbalance.search.shorten import shorten
from counterbalance.search.space import Space
from counterbalance.search.structure import Structure

# Rows of the class that are tried as starts, the nearest first.
STARTS = 5
# So often all changes are gone through.
MOST_SWEEPS = 20


@dataclass(frozen=True)
class AnyMinimum:
    """Near inversions of any f."""

    space: Space
    structure: Structure
    references: list[Floats]  # rows that f puts into each class code

    def nearest(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Mask]:
        """Return a near row of the class ``target`` for each row, and where there is one."""
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        for code in np.unique(target):
            here = np.flatnonzero(target == code)
            rows[here], reached[here] = self._start(x[here], int(code), ids[here], frozen[here])
        some = np.flatnonzero(reached)
        rows[some] = self.refine(x[some], rows[some], target[some], ids[some])
        return rows, reached

    def _start(self, x: Floats, code: int, ids: Integers, frozen: Mask) -> tuple[Floats, Mask]:
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        pool, target = self.references[code], np.full(len(x), code)
        pool = pool[self.space.perturbation.rules.allow(pool)]
        if len(pool) and len(x):
            for column in self._nearest_references(x, pool).T:
                left = np.flatnonzero(~reached)
                rows[left] = self._towards(x[left], pool[column[left]], frozen[left])
                reached[left] = self._agrees(x[left], rows[left], target[left], ids[left])
                if reached.all():
                    break
        left = np.flatnonzero(~reached)
        if left.size:
            rows[left], reached[left] = self._drawn(x[left], code, ids[left], frozen[left])
        return rows, reached

    def _drawn(self, x: Floats, code: int, ids: Integers, frozen: Mask) -> tuple[Floats, Mask]:
        """Return the first inversion of any draw, where the cells that are frozen permit it."""
        rules = self.space.perturbation.rules
        wanted = np.zeros((len(x), len(self.references)), dtype=bool)
        wanted[:, code] = True
        rounds = first_inversions(
            self.space, self.structure, x, ids, wanted, any_draw=True, checked=rules.checked
        )[:, :, code]
        some = np.flatnonzero((rounds > 0).any(axis=1))
        draw = (rounds[some] > 0).argmax(axis=1)
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        new = build(self.space, x, ids, some, draw, rounds[some, draw].astype(np.intp))
        new = rules.complete(np.where(frozen[some], x[some], new), x[some])
        rows[some] = new
        reached[some] = self._agrees(x[some], new, np.full(len(some), code), ids[some])
        return rows, reached

    def _agrees(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        rules = self.space.perturbation.rules
        return agrees(self.structure.predict, rules, x, rows, target, ids)

    def _nearest_references(self, x: Floats, pool: Floats) -> Integers:
        profile, order = self.space.perturbation.profile, self.space.order
        median = np.where(profile.nominal, 0.0, profile.median)[order]

        def scaled(rows: Floats) -> Floats:
            cells = rows[:, order]
            return np.where(np.isnan(cells), median, cells) / profile.scale[order]

        n = min(STARTS, len(pool))
        # A tree is asked row by row, so that equally near ones come in the same order in any batch.
        neighbours = NearestNeighbors(n_neighbors=n, algorithm="kd_tree", metric="manhattan")
        neighbours.fit(scaled(pool))
        return np.asarray(neighbours.kneighbors(scaled(x), return_distance=False))

    def _towards(self, x: Floats, reference: Floats, frozen: Mask) -> Floats:
        """Give every cell that may change the value of the reference, as near as rules allow."""
        perturbation, order = self.space.perturbation, self.space.order
        nominal = perturbation.profile.nominal[order]
        cells, wanted = x[:, order], reference[:, order].copy()
        lower, upper = perturbation.bounds(cells, order)
        inside = np.minimum(np.maximum(wanted, lower), upper)
        wanted = np.where(nominal | (lower > upper), wanted, inside)
        keep = np.isnan(wanted) | np.isnan(cells) | frozen[:, order] | (~nominal & (lower > upper))
        rows = x.copy()
        rows[:, order] = np.where(keep, cells, wanted)
        return perturbation.rules.complete(rows, x)

    def refine(
        self, x: Floats, rows: Floats, target: Integers, ids: Integers, *, exact: bool = False
    ) -> Floats:
        """Prune, shorten what is left, and so on until nothing is gained."""
        rows = prune(self.space, self.structure, x, rows, target, ids)
        going = np.arange(len(rows))
        for _ in range(MOST_SWEEPS):
            if not going.size:
                break
            before = rows[going].copy()
            some, old = before.copy(), x[going]
            for m in farthest_first(self.space, old, some).T:
                some_ids = ids[going]
                shorten(
                    self.space, self.structure, old, some, m, target[going], some_ids, exact=exact
                )
            some = prune(self.space, self.structure, old, some, target[going], ids[going])
            rows[going] = some
            going = going[differs(some, before).any(axis=1)]
        return rows
