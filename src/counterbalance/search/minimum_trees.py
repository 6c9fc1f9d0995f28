"""Minimum inversions of an f that is made of trees (see ``minimum_kernel`` for the way)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.search.landscape import Landscape
from counterbalance.search.space import Space

try:
    from counterbalance.search import minimum_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# So many rows of each class that f puts there are cells to start from.
MOST_CELLS = 512


def is_compiled() -> bool:
    """Say whether the kernel is there."""
    return kernel is not None


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


@dataclass(frozen=True)
class TreeMinimum:
    """The nearest inversions by the structure of the trees."""

    space: Space
    landscape: Landscape
    references: list[Floats]  # rows that f puts into each of its classes

    @cached_property
    def cells(self) -> Cells:
        """Where searches start, beside the row itself."""
        return Cells.of(self.landscape, self.references)

    def nearest(
        self, x: Floats, target: Integers, frozen: Mask, n_left_out: int = 0
    ) -> tuple[Floats, Floats]:
        """Return the nearest row of each row's class ``target`` of f, and how far it is.

        ``frozen`` cells stay. Where no row is found the distance is infinite. ``n_left_out`` is
        as in the kernel.
        """
        land, cells, x = self.landscape, self.cells, np.ascontiguousarray(x)
        low, high, mutable = self._limits(x)
        mutable &= ~frozen
        origin = np.where(mutable, np.minimum(np.maximum(x, low), high), x)
        for m, levels in self.space.perturbation.rules.levels.items():
            nearest = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, origin[:, m])]
            origin[:, m] = np.where(mutable[:, m], nearest, x[:, m])
        home = land.trees.bins(origin)
        found, distance = home.copy(), np.empty(len(x))
        kernel.Walker(land).find(
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
            n_left_out,
        )
        return np.where(mutable, land.values(found, home, origin), x), distance

    def _limits(self, x: Floats) -> tuple[Floats, Floats, Mask]:
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
