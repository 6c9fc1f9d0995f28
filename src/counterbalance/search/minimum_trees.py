"""Minimum inversions of an f that is made of trees (see ``minimum_twin`` for the way)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.judge import Classifier
from counterbalance.classifier.tree_readers import is_boosting
from counterbalance.constraints.rules import differs
from counterbalance.search.landscape import Landscape
from counterbalance.search.minimum_twin import Walker as Twin
from counterbalance.search.nearest import Space

try:
    from counterbalance.search import minimum_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# So many rows of each class that f puts there are cells to start anew from.
MOST_CELLS = 512
# So many times a row is searched again without the features that made it unlike the table.
MOST_RETRIES = 5


@dataclass(frozen=True)
class Cells:
    """The cells of some rows, class by class of f."""

    lowest: Small
    highest: Small
    first: Integers  # where the cells of each class begin

    @classmethod
    def of(cls, landscape: Landscape, rows: list[Floats]) -> Cells:
        """Return the cells that the rows of each class lie in."""
        bins = [landscape.trees.bins(some[:MOST_CELLS]) for some in rows]
        lowest, highest = landscape.cells(np.concatenate(bins))
        return cls(lowest, highest, np.cumsum([0, *map(len, bins)], dtype=np.intp))

    @classmethod
    def none(cls, n_classes: int, n_features: int) -> Cells:
        """Return no cells."""
        nothing = np.zeros((0, n_features), dtype=np.int32)
        return cls(nothing, nothing, np.zeros(n_classes + 1, dtype=np.intp))


@dataclass(frozen=True)
class TreeMinimum:
    """The nearest inversions by the structure of the trees."""

    space: Space
    landscape: Landscape
    place: Integers  # of each class code among the classes of f
    references: list[Floats]  # rows that f puts into each of its classes
    twice: bool  # whether each row is walked to from itself and from a cell; the nearer end counts

    @classmethod
    def of(cls, space: Space, f: Classifier, references: list[Floats]) -> TreeMinimum:
        """Prepare a search; ``references`` holds rows that f puts into each class code."""
        code = f.codes_of_f()
        prior = None if f.prior is None else f.prior[code]
        landscape = Landscape.of(f.trees, prior, space.perturbation)
        place = np.full(len(references), -1, dtype=np.intp)
        place[code[code >= 0]] = np.flatnonzero(code >= 0)
        none = np.zeros((0, landscape.trees.n_features))
        of_f = [references[c] if c >= 0 else none for c in code]
        return cls(space, landscape, place, of_f, is_boosting(f.f))

    @cached_property
    def cells(self) -> Cells:
        """Where to start anew: few rows ever do, so these are found when they are needed."""
        return Cells.of(self.landscape, self.references)

    def nearest(self, x: Floats, target: Integers) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the nearest row of the class ``target`` for each row, and where there is one."""
        x, target = np.ascontiguousarray(x), self.place[target]
        rules, frozen = self.space.perturbation.rules, np.zeros(x.shape, dtype=bool)
        rows, reached = self._from_everywhere(x, target, frozen)
        if not rules.checked:
            return rows, reached
        for _ in range(MOST_RETRIES if rules.of_the_table else 0):
            left = np.flatnonzero(reached & ~rules.allow(rows, x))
            if not left.size:
                break
            # Nothing nearer is likely; what is unlike the table stays, and the rest moves.
            frozen[left] |= rules.faults(rows[left], x[left]) & differs(rows[left], x[left])
            rows[left], reached[left] = self._from_everywhere(x[left], target[left], frozen[left])
        return rows, reached & rules.allow(rows, x)

    def _from_everywhere(
        self, x: Floats, target: Integers, frozen: Mask
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Walk from each row; where that leads nowhere, or ``twice``, from a cell of the class."""
        none = Cells.none(len(self.references), x.shape[1])
        rows, far = self._walk(x, target, none, frozen)
        left = np.flatnonzero(np.isinf(far) | self.twice)
        if left.size:
            again = self._walk(x[left], target[left], self.cells, frozen[left], anew=self.twice)
            nearer = again[1] < far[left]
            rows[left[nearer]], far[left[nearer]] = again[0][nearer], again[1][nearer]
        return self.space.perturbation.rules.complete(rows, x), np.isfinite(far)

    def _walk(
        self, x: Floats, target: Integers, cells: Cells, frozen: Mask, *, anew: bool = False
    ) -> tuple[Floats, Floats]:
        land = self.landscape
        low, high, mutable = self._limits(x)
        mutable &= ~frozen
        origin = np.where(mutable, np.minimum(np.maximum(x, low), high), x)
        for m, levels in self.space.perturbation.rules.levels.items():
            nearest = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, origin[:, m])]
            origin[:, m] = np.where(mutable[:, m], nearest, x[:, m])
        home = land.trees.bins(origin)
        found, distance = np.empty_like(home), np.empty(len(x))
        walker = Twin(land) if kernel is None else kernel.Walker(land)
        walker.find(
            x,
            origin,
            low,
            high,
            home,
            mutable.astype(np.uint8),
            target,
            cells.lowest,
            cells.highest,
            cells.first,
            found,
            distance,
            anew=anew,
        )
        return np.where(mutable, land.values(found, home, origin), x), distance

    def _limits(self, x: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return where the cells of each row may move to, and which may: a missing one stays."""
        perturbation, order = self.space.perturbation, self.space.order
        profile, nominal = perturbation.profile, perturbation.profile.nominal
        low, high = np.full((2, *x.shape), np.inf)
        low *= -1
        numbers = order[~nominal[order]]
        low[:, numbers], high[:, numbers] = perturbation.rules.bounds(
            x[:, numbers], numbers, profile.lower[numbers], profile.upper[numbers]
        )
        mutable = np.zeros(x.shape, dtype=bool)
        mutable[:, order] = ~np.isnan(x[:, order])
        return low, high, mutable & (low <= high)
