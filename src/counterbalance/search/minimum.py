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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.tree_readers import is_boosting
from counterbalance.constraints.rules import differs
from counterbalance.profile import distance, share_of_distance
from counterbalance.search.algorithm_1 import agrees
from counterbalance.search.draws import stream, uniform
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum_any import AnyMinimum
from counterbalance.search.minimum_linear import LinearMinimum
from counterbalance.search.minimum_trees import TreeMinimum
from counterbalance.search.minimum_trees import kernel as tree_kernel
from counterbalance.search.space import Space
from counterbalance.search.structure import Structure

# So many times a row is searched again without the features that made it unlike the table.
MOST_RETRIES = 5
# Rows of a class that searches may start from.
MOST_REFERENCES = 2048
# Draws 0, 1, ... belong to the perturbations of a row.
REFERENCE_DRAW = 2**42
# A row is searched for once more without each of so many of its changes, the farthest first.
N_LEFT_OUT = 2


def choose_references(ids: Integers) -> Mask:
    """Choose rows that searches for a class may start from, given the ids of all that f puts there.

    Those of the smallest random numbers are taken, and a number depends on nothing but the id: so
    any cut of the table gives the same ones, and no seed changes them.
    """
    number = uniform(stream(0, ids, REFERENCE_DRAW), 0)
    if len(ids) <= MOST_REFERENCES:
        return np.ones(len(ids), dtype=bool)
    return np.asarray(number <= np.partition(number, MOST_REFERENCES - 1)[MOST_REFERENCES - 1])


@dataclass(frozen=True, eq=False)
class Minimum:
    """Finds the nearest inversion of rows, each by itself."""

    space: Space
    structure: Structure
    references: list[Floats]  # rows that f puts into each class code
    n_left_out: int = N_LEFT_OUT

    @cached_property
    def by_asking(self) -> AnyMinimum:
        """The search that only asks f."""
        return AnyMinimum(self.space, self.structure, self.references)

    @cached_property
    def by_trees(self) -> TreeMinimum | None:
        """The search in trees, where f is made of such and no rule concerns whole rows."""
        land, f = self.structure.land, self.structure.f.f
        if land is None or tree_kernel is None or not self._cell_by_cell:
            return None
        nothing = np.zeros((0, len(self.space.changes)))
        of_f = [self.references[c] if c >= 0 else nothing for c in self.structure.codes]
        twice = is_boosting(getattr(f, "estimator", f))
        return TreeMinimum(self.space, land, of_f, self.n_left_out, twice)

    @cached_property
    def by_weights(self) -> LinearMinimum | None:
        """The search in closed form, where f is linear and knows two classes."""
        rules, screen = self.space.perturbation.rules, self.structure.screen
        usable = self._cell_by_cell and not rules.levels and not rules.followers
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

        Where there is no row the distance is infinite. Rows that are bound by rules of the table,
        or by a grid, are searched for once more without some of their changes, as long as that
        leads nearer. The kernel does so itself for all others.
        """
        rows, far = self.solve(x, target, ids, np.zeros(x.shape, dtype=bool))
        known = self.by_trees is not None and self.space.perturbation.rules.of_the_table
        known |= self.by_weights is not None and bool(self.space.perturbation.grid.resolution.any())
        going = np.flatnonzero(np.isfinite(far) & known)
        while going.size:
            nearer = np.zeros(len(going), dtype=bool)
            for some, frozen in self.left_out(x[going], rows[going]):
                at = going[some]
                again, least = self.solve(x[at], target[at], ids[at], frozen)
                better = least < far[at]
                rows[at[better]], far[at[better]] = again[better], least[better]
                nearer[some] |= better
            going = going[nearer]
        return rows, far

    def left_out(self, x: Floats, rows: Floats) -> Iterator[tuple[Integers, Mask]]:
        """Give cells that are to stay, for some rows: one of their farthest changes, then all."""
        profile, order = self.space.perturbation.profile, self.space.order
        share = share_of_distance(profile, order, x[:, order], rows[:, order])
        ranked = order[np.argsort(-share, axis=1, kind="stable")]
        changed, count = differs(rows, x), (share > 0).sum(axis=1)
        for place in range(N_LEFT_OUT):
            some = np.flatnonzero(count > place)
            if some.size:
                frozen = np.zeros((len(some), x.shape[1]), dtype=bool)
                frozen[np.arange(len(some)), ranked[some, place]] = True
                yield some, frozen
        some = np.flatnonzero(count > 1)
        if some.size:
            yield some, changed[some]

    def solve(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Floats]:
        """Return a near row for each row, of which ``frozen`` cells stay, and how far it is."""
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        if self.by_trees is not None:
            rows, reached = self._in_trees(self.by_trees, x, target, ids, frozen)
        elif self.by_weights is not None:
            rows, reached = self.by_weights.nearest(
                x, target, lambda at, new: self._agrees(x[at], new, target[at], ids[at]), frozen
            )
        left = np.flatnonzero(~reached)
        known = self.by_trees is not None or self.by_weights is not None
        if left.size and not (known and frozen.any()):
            found = self.by_asking.nearest(x[left], target[left], ids[left], frozen[left])
            rows[left], reached[left] = found
        far = distance(self.space.perturbation.profile, self.space.order, x, rows)
        return rows, np.where(reached, far, np.inf)

    def _in_trees(
        self, trees: TreeMinimum, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Mask]:
        rules, of_f = self.space.perturbation.rules, self.structure.places[target]
        plain, far = trees.nearest(x, of_f, frozen)
        rows = rules.complete(plain, x)
        frozen = frozen.copy()
        for _ in range(MOST_RETRIES if rules.of_the_table else 0):
            left = np.flatnonzero(np.isfinite(far) & ~rules.allow(rows, x))
            if not left.size:
                break
            # What is unlike the table stays as it was, and the rest moves.
            frozen[left] |= rules.faults(rows[left], x[left]) & differs(rows[left], x[left])
            plain[left], far[left] = trees.nearest(x[left], of_f[left], frozen[left])
            rows[left] = rules.complete(plain[left], x[left])
        reached = np.isfinite(far)
        some = np.flatnonzero(reached)
        reached[some] = self._agrees(x[some], rows[some], target[some], ids[some])
        # Followers that moved along may let other changes be undone or shortened.
        moved = np.flatnonzero(reached & differs(rows, plain).any(axis=1))
        if moved.size:
            rows[moved] = self.by_asking.refine(x[moved], rows[moved], target[moved], ids[moved])
        return rows, reached

    def _agrees(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        """Say which rows f puts into the class, and keep every rule."""
        rules = self.space.perturbation.rules
        return agrees(self.structure.predict, rules, x, rows, target, ids)
