"""Near inversions of any f, which is asked and never looked into.

    start       a row that f puts into the wanted class: a row of the table, of which the
                factual takes every cell that may change, or what Algorithm 1 found
    take back   give a changed cell its old value, if f still agrees
    bisect      bring a changed number back as far as f agrees, by halves

Every step asks f about all factuals at once, a batch for each feature in turn. The result is
an inversion with few needless changes; it need not be the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.rules import differs
from counterbalance.profile import share_of_distance
from counterbalance.search.inversions import Inversions
from counterbalance.search.nearest import Effort, Judge, Space, rebuild, search

# Rows of the class that are tried as starts, the nearest first.
STARTS = 5
# So many steps of a bisection bring each change back.
HALVES = 8


@dataclass(frozen=True)
class AnyMinimum:
    """Near inversions of any f."""

    space: Space
    effort: Effort
    judge: Judge
    references: list[Floats]  # rows that f puts into each class code

    def nearest(self, x: Floats, target: Integers, ids: Integers) -> tuple[Floats, Mask]:
        """Return a near row of the class ``target`` for each row, and where there is one."""
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        for code in np.unique(target):
            here = np.flatnonzero(target == code)
            rows[here], reached[here] = self._start(x[here], int(code), ids[here])
        some = np.flatnonzero(reached)
        rows[some] = self._refine(x[some], rows[some], target[some], ids[some])
        return rows, reached

    def _start(self, x: Floats, code: int, ids: Integers) -> tuple[Floats, Mask]:
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        pool = self.references[code]
        if len(pool) and len(x):
            nearest = self._nearest_references(x, pool)
            for column in nearest.T:
                left = np.flatnonzero(~reached)
                rows[left] = self._towards(x[left], pool[column[left]])
                reached[left] = self._good(x[left], rows[left], np.full(len(left), code), ids[left])
                if reached.all():
                    break
        left = np.flatnonzero(~reached)
        if left.size:
            drawn = self._draw(x[left], code, ids[left])
            places = np.searchsorted(ids[left], drawn.factual)
            at = left[places]
            rows[at] = rebuild(self.space, x[at], drawn.factual, drawn.draw, drawn.round)
            reached[at] = True
        return rows, reached

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

    def _towards(self, x: Floats, reference: Floats) -> Floats:
        """Give every cell that may change the value of the reference, as near as rules allow."""
        perturbation, order = self.space.perturbation, self.space.order
        profile, nominal = perturbation.profile, perturbation.profile.nominal[order]
        cells, wanted = x[:, order], reference[:, order].copy()
        lower, upper = perturbation.rules.bounds(
            cells, order, profile.lower[order], profile.upper[order]
        )
        inside = np.minimum(np.maximum(wanted, lower), upper)
        wanted = np.where(nominal | (lower > upper), wanted, inside)
        keep = np.isnan(wanted) | (~nominal & (lower > upper))
        if not perturbation.change_missing:
            keep |= np.isnan(cells)
        rows = x.copy()
        rows[:, order] = np.where(keep, cells, wanted)
        return perturbation.rules.complete(rows, x)

    def _draw(self, x: Floats, code: int, ids: Integers) -> Inversions:
        wanted = np.zeros((len(x), len(self.references)), dtype=bool)
        wanted[:, code] = True
        return search(self.space, self.effort, self.judge, x, ids, wanted)[0]

    def _good(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        """Say which rows f puts into the wanted class, and keep every rule."""
        if not len(x):
            return np.zeros(0, dtype=bool)
        rules = self.space.perturbation.rules
        good = np.asarray(self.judge(rows, ids) == target)
        if rules.checked:
            good &= rules.allow(rows, x)
        if rules.most_changed is not None:
            good &= differs(rows, x).sum(axis=1) <= rules.most_changed
        return good

    def _refine(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Floats:
        """Take back, bisect what is left, and take back once more, the largest change first."""
        profile, order = self.space.perturbation.profile, self.space.order
        rows = rows.copy()
        share = share_of_distance(profile, order, x[:, order], rows[:, order])
        ranked = order[np.argsort(-share, axis=1, kind="stable")].T
        for m in ranked:
            self._take_back(x, rows, m, target, ids)
        for m in ranked:
            self._bisect(x, rows, m, target, ids)
        for m in ranked:
            self._take_back(x, rows, m, target, ids)
        return rows

    def _take_back(
        self, x: Floats, rows: Floats, m: Integers, target: Integers, ids: Integers
    ) -> None:
        every = np.arange(len(x))
        at = np.flatnonzero(differs(rows[every, m], x[every, m]))
        self._try(x, rows, at, m[at], x[at, m[at]], target, ids)

    def _bisect(
        self, x: Floats, rows: Floats, m: Integers, target: Integers, ids: Integers
    ) -> None:
        """Bring each row's feature back as far as f agrees, between what it was and what it is."""
        at = np.flatnonzero(~self.space.perturbation.profile.nominal[m])
        refused = x[at, m[at]]
        for _ in range(HALVES):
            good = rows[at, m[at]]
            middle = self._snap(refused + (good - refused) / 2, m[at])
            open_ = (middle != refused) & (np.abs(middle - good) < np.abs(refused - good))
            open_ &= middle != good
            at, refused, middle = at[open_], refused[open_], middle[open_]
            accepted = self._try(x, rows, at, m[at], middle, target, ids)
            refused = np.where(accepted, refused, middle)

    def _snap(self, values: Floats, m: Integers) -> Floats:
        snapped = values.copy()
        for feature in np.unique(m):
            here = m == feature
            column = snapped[here][:, None]
            self.space.perturbation.snap(column, np.array([feature]))
            snapped[here] = column[:, 0]
        return snapped

    def _try(
        self,
        x: Floats,
        rows: Floats,
        at: Integers,
        m: Integers,
        value: Floats,
        target: Integers,
        ids: Integers,
    ) -> Mask:
        """Put values into rows where f then still agrees, in place; say where it does."""
        if not at.size:
            return np.zeros(0, dtype=bool)
        tried = rows[at]
        tried[np.arange(len(at)), m] = value
        tried = self.space.perturbation.rules.complete(tried, x[at])
        good = self._good(x[at], tried, target[at], ids[at])
        rows[at[good]] = tried[good]
        return good
