"""Minimum: for each factual the nearest row that f puts into the wanted class.

This is the objective itself (Section IV-A of the paper), of which the draws of Algorithm 1
are an approximate optimiser. The structure of f says how it is solved:

    trees      forests, decision trees and boosting        ``minimum_trees``, near the minimum
    linear     two classes, numbers                        ``minimum_linear``, the minimum
    any other  is only asked                               ``minimum_any``

A relation between columns, or a limit on how many of them change, concerns a row as a whole; under
those f is only asked. Whatever is found, f itself is asked about it in the end. No change of what
comes out can be undone, and none shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.rules import differs
from counterbalance.profile import distance
from counterbalance.search.algorithm_1 import agrees, farthest_first
from counterbalance.search.draws import first_in_sample, sample_number
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum_any import AnyMinimum
from counterbalance.search.minimum_linear import LinearMinimum
from counterbalance.search.minimum_trees import TreeMinimum, is_compiled
from counterbalance.search.space import Space
from counterbalance.search.structure import Structure

# So many times a row is searched again without the features that made it unlike the table.
MOST_RETRIES = 5
# Rows of a class that searches may start from. They are looked for among so many rows of each
# class and so many of all: a table that is too large for a memory shows these, too.
MOST_REFERENCES = 2048
MOST_CANDIDATES = 20_000
# A row is searched for once more without each of so many of its changes, the farthest first.
N_LEFT_OUT = 2


def choose_references(ids: Integers) -> Mask:
    """Choose rows that searches for a class may start from, given the ids of those of the class.

    Any cut of the table gives the same ones, and no seed changes them.
    """
    return first_in_sample(sample_number(ids), MOST_REFERENCES)


@dataclass(frozen=True, eq=False)
class Minimum:
    """Finds the nearest inversion of rows, each by itself."""

    space: Space
    structure: Structure
    references: list[Floats]  # rows that f puts into each class code

    @cached_property
    def by_asking(self) -> AnyMinimum:
        """The search that only asks f."""
        return AnyMinimum(self.space, self.structure, self.references)

    @cached_property
    def by_trees(self) -> TreeMinimum | None:
        """The search in trees, where f is made of such and no rule concerns whole rows."""
        land = self.structure.land
        if land is None or not is_compiled() or not self._cell_by_cell:
            return None
        nothing = np.zeros((0, len(self.space.changes)))
        of_f = [self.references[c] if c >= 0 else nothing for c in self.structure.codes]
        return TreeMinimum(self.space, land, of_f)

    @cached_property
    def by_weights(self) -> LinearMinimum | None:
        """The search in closed form, where f is linear and knows two classes."""
        rules, screen = self.space.perturbation.rules, self.structure.screen
        usable = self._cell_by_cell and rules.only_steered and not rules.followers
        two = len(self.structure.f.classes) == 2  # noqa: PLR2004
        return LinearMinimum(self.space, screen) if screen is not None and usable and two else None

    @property
    def _cell_by_cell(self) -> bool:
        rules = self.space.perturbation.rules
        return not rules.relations and rules.most_changed is None

    def find(self, x: Floats, ids: Integers, wanted: Mask) -> Inversions:
        """Find the nearest inversion of every row to every class it is wanted for."""
        row, target = np.nonzero(wanted)
        rows, far = self.nearest(x[row], target, ids[row])
        good = far < self.space.epsilon
        if good.any():
            good[good] = self.structure.f.on_candidates(rows[good], ids[row[good]]) == target[good]
        row, target = row[good], target[good]
        return Inversions.of_rows(ids[row], target, far[good], x[row], rows[good])

    def nearest(self, x: Floats, target: Integers, ids: Integers) -> tuple[Floats, Floats]:
        """Return the nearest row of class ``target`` for each row, and how far it is.

        Where there is no row the distance is infinite. A row that is bound by rules of the table,
        or by a grid, is searched for once more without some of its changes, as long as that
        leads nearer. The kernel does so itself for all others.
        """
        no_cells = np.zeros(x.shape, dtype=bool)
        rows, far, bound = self._solve(x, target, ids, no_cells, N_LEFT_OUT)
        going = np.flatnonzero(bound)
        while going.size:
            nearer = np.zeros(len(going), dtype=bool)
            for some, frozen in self.left_out(x[going], rows[going]):
                at = going[some]
                again, least, _ = self._solve(x[at], target[at], ids[at], frozen)
                better = least < far[at]
                rows[at[better]], far[at[better]] = again[better], least[better]
                nearer[some] |= better
            going = going[nearer]
        return self._at_thresholds(x, rows, far, target, ids)

    def _at_thresholds(
        self, x: Floats, rows: Floats, far: Floats, target: Integers, ids: Integers
    ) -> tuple[Floats, Floats]:
        """Shorten to thresholds the rows for which the search in trees did not do so.

        Those are rows with followers, which the kernel does not know, and rows of a search that
        only asks f.
        """
        if self.structure.land is None:
            return rows, far
        at = np.isfinite(far)
        if self.by_trees is not None:
            rules = self.space.perturbation.rules
            sources = [source for follower in rules.followers for source in follower.sources]
            at &= differs(rows, x)[:, sources].any(axis=1)
        at = np.flatnonzero(at)
        if at.size:
            some = self.by_asking.refine(x[at], rows[at], target[at], ids[at], exact=True)
            profile, order = self.space.perturbation.profile, self.space.order
            rows[at], far[at] = some, distance(profile, order, x[at], some)
        return rows, far

    def left_out(self, x: Floats, rows: Floats) -> Iterator[tuple[Integers, Mask]]:
        """Give cells that are to stay, for some rows: one of their farthest changes, then all."""
        ranked, changed = farthest_first(self.space, x, rows), differs(rows, x)
        count = changed[:, self.space.order].sum(axis=1)
        for place in range(min(N_LEFT_OUT, ranked.shape[1])):
            some = np.flatnonzero(count > place)
            frozen = np.zeros((len(some), x.shape[1]), dtype=bool)
            frozen[np.arange(len(some)), ranked[some, place]] = True
            yield some, frozen
        some = np.flatnonzero(count > 1)
        if some.size:
            yield some, changed[some]

    def solve(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Floats]:
        """Return a near row for each row, and how far it is; ``frozen`` cells stay."""
        rows, far, _ = self._solve(x, target, ids, frozen)
        return self._at_thresholds(x, rows, far, target, ids)

    def _solve(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask, n_left_out: int = 0
    ) -> tuple[Floats, Floats, Mask]:
        """Return a near row for each row, how far it is, and whether rules or a grid bound it.

        ``frozen`` cells stay; ``n_left_out`` is as in the kernel.
        """
        rows, reached, bound = x.copy(), *np.zeros((2, len(x)), dtype=bool)
        if self.by_trees is not None:
            rows, reached, bound = self._in_trees(x, target, ids, frozen, n_left_out)
        elif self.by_weights is not None:
            rows, reached = self.by_weights.nearest(
                x, target, lambda at, new: self._agrees(x[at], new, target[at], ids[at]), frozen
            )
            grid, rules = self.space.perturbation.grid, self.space.perturbation.rules
            bound = reached & bool(grid.resolution.any() or rules.levels)
        left = np.flatnonzero(~reached)
        known = self.by_trees is not None or self.by_weights is not None
        if left.size and not (known and frozen.any()):
            found = self.by_asking.nearest(x[left], target[left], ids[left], frozen[left])
            rows[left], reached[left] = found
            for r in left[reached[left]] if self.by_trees is not None else ():
                rows[r] = self._walk_on(x[[r]], rows[[r]], target[[r]], ids[[r]], frozen[[r]])[0]
            if self.by_trees is not None:
                at = left[reached[left]]
                rows[at] = self.by_asking.refine(x[at], rows[at], target[at], ids[at], exact=True)
        far = distance(self.space.perturbation.profile, self.space.order, x, rows)
        return rows, np.where(reached, far, np.inf), bound

    def _in_trees(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask, n_left_out: int
    ) -> tuple[Floats, Mask, Mask]:
        trees, rules = self.by_trees, self.space.perturbation.rules
        assert trees is not None  # noqa: S101  (the caller looked)
        of_f, frozen = self.structure.places[target], frozen.copy()
        plain, far = trees.nearest(x, of_f, frozen, n_left_out)
        rows, bound = rules.complete(plain, x), np.zeros(len(x), dtype=bool)
        left = np.flatnonzero(np.isfinite(far)) if rules.of_the_table else np.zeros(0, np.intp)
        for _ in range(MOST_RETRIES):
            left = left[np.isfinite(far[left]) & ~rules.allow(rows[left], x[left])]
            if not left.size:
                break
            bound[left] = True
            # What is unlike the table stays as it was, and the rest moves.
            frozen[left] |= rules.faults(rows[left], x[left]) & differs(rows[left], x[left])
            plain[left], far[left] = trees.nearest(x[left], of_f[left], frozen[left])
            rows[left] = rules.complete(plain[left], x[left])
        reached = np.isfinite(far)
        some = np.flatnonzero(reached)
        reached[some] = self._agrees(x[some], rows[some], target[some], ids[some])
        # The kernel does not know the followers of what it moved. With them other changes may be
        # undone or shortened.
        sources = sorted({source for follower in rules.followers for source in follower.sources})
        moved = np.flatnonzero(reached & differs(rows, x)[:, sources].any(axis=1))
        if moved.size:
            rows[moved] = self.by_asking.refine(x[moved], rows[moved], target[moved], ids[moved])
            bound[moved] = True
        return rows, reached, bound & reached

    def _walk_on(
        self, x: Floats, row: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> Floats:
        """Bring a row that was found by asking nearer by the structure of the trees."""
        trees, of_f = self.by_trees, self.structure.places[target]
        assert trees is not None  # noqa: S101  (the caller looked)
        cells = [row if c == of_f[0] else row[:0] for c in range(len(trees.references))]
        nearer, _ = replace(trees, references=cells).nearest(x, of_f, frozen)
        nearer = self.space.perturbation.rules.complete(nearer, x)
        return nearer if self._agrees(x, nearer, target, ids)[0] else row

    def _agrees(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        """Say which rows f puts into the class, and keep every rule."""
        rules = self.space.perturbation.rules
        return agrees(self.structure.predict, rules, x, rows, target, ids)
