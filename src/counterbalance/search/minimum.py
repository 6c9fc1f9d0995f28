"""Minimum: for each factual the nearest row that f puts into the wanted class.

This is the objective itself (Section IV-A of the paper), of which the draws of Algorithm 1
are an approximate optimiser. The structure of f says how it is solved:

    trees      forests, decision trees and boosting        ``minimum_trees``, near the minimum
               (see ``tree_readers``)
    linear     two classes, dense numbers                  ``minimum_linear``, the minimum
    any other  is only asked                               ``minimum_any``

A relation between columns, or a limit on how many of them change, concerns a row as a whole;
under those f is only asked. Whatever is found, f itself is asked about it in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.frozen import FrozenEstimator

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.judge import Classifier
from counterbalance.classifier.tree_readers import has_trees, is_boosting
from counterbalance.profile import distance
from counterbalance.search.compiled import TakeBack, make_judge, make_take_back
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum_any import AnyMinimum
from counterbalance.search.minimum_linear import LinearMinimum
from counterbalance.search.minimum_trees import TreeMinimum
from counterbalance.search.nearest import Effort, Judge, Space
from counterbalance.table.table import Table


@dataclass(frozen=True)
class MinimumSearch:
    """Finds the nearest inversion of rows, each by itself."""

    space: Space
    effort: Effort
    trees: TreeMinimum | None
    linear: LinearMinimum | None
    other: AnyMinimum
    take_back: TakeBack
    judge: Judge  # what f says of a row

    @classmethod
    def of(
        cls, space: Space, effort: Effort, f: Classifier, table: Table, references: list[Floats]
    ) -> MinimumSearch:
        """Prepare a search; ``references`` holds rows that f puts into each class code."""
        if isinstance(f.f, FrozenEstimator):  # it is known by what is in it
            f = replace(f, f=f.f.estimator)
        rules = space.perturbation.rules
        row_by_row = not rules.relations and rules.most_changed is None
        trees = linear = None
        if row_by_row and _has_known_trees(f) and (f.takes_codes or _has_numbers(table)):
            trees = TreeMinimum.of(space, f, references)
        elif row_by_row and not rules.levels and not rules.followers and _has_numbers(table):
            linear = LinearMinimum.of(space, f)
        judge = make_judge(f, table)
        other = AnyMinimum(space, effort, judge, references)
        return cls(space, effort, trees, linear, other, make_take_back(space, f, table), judge)

    def rows(self, x: Floats, target: Integers, ids: Integers) -> tuple[Floats, Mask]:
        """Return for each row the nearest one of class ``target``, and where there is one."""
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        if self.trees is not None:
            rows, reached = self.trees.nearest(x, target)
            some = np.flatnonzero(reached)
            if some.size:
                reached[some] = self.judge(rows[some], ids[some]) == target[some]
        elif self.linear is not None:
            rows, reached = self.linear.nearest(x, target, ids)
        left = np.flatnonzero(~reached)
        if left.size:
            rows[left], reached[left] = self.other.nearest(x[left], target[left], ids[left])
        if self.effort.minimal and reached.any():
            some = np.flatnonzero(reached)
            rows[some] = self.take_back(x[some], rows[some], target[some], ids[some])
        profile, order = self.space.perturbation.profile, self.space.order
        if self.effort.epsilon < np.inf and reached.any():
            reached &= distance(profile, order, x, rows) < self.effort.epsilon
        return rows, reached

    def find(self, x: Floats, ids: Integers, wanted: Mask) -> tuple[Inversions, Floats]:
        """Find the nearest inversion of every row to every class it is wanted for, and its row."""
        row, target = np.nonzero(wanted)
        rows, reached = self.rows(x[row], target, ids[row])
        row, target, rows = row[reached], target[reached], rows[reached]
        far = distance(self.space.perturbation.profile, self.space.order, x[row], rows)
        return Inversions.solved(ids[row], target, far, x[row], rows), rows


def _has_numbers(table: Table) -> bool:
    """Say whether f sees the very numbers that the table is encoded as."""
    return not any(kind.has_levels for kind in table.kinds)


def _has_known_trees(f: Classifier) -> bool:
    """Say whether the answer of f is that of the class with the largest sum over its trees."""
    if has_trees(f.f):
        return True
    # Scores without a bound have no order to climb; a prior divides probabilities, not scores.
    return is_boosting(f.f) and f.prior is None and bool(np.isfinite(f.trees.value).all())
