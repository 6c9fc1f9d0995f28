"""Cells: the table as models of distances and sums take it, feature by feature.

    number     (cell - mean) / deviation; at most FARTHEST deviations count
    level      a column for each of the MOST_LEVELS most frequent ones, 1 where the cell has it
    missing    the mean of a number, no level, and 1 in a column of its own

Rows are laid out each by itself: what one becomes does not depend on the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask

# Levels of a category that are told apart, the most frequent ones; the others add nothing.
MOST_LEVELS = 20
# A number farther from the mean counts as if it were so many deviations away.
FARTHEST = 20.0


@dataclass(frozen=True, eq=False)
class Cells:
    """What the cells of one feature become: D columns."""

    centre: float = 0.0
    scale: float = 1.0
    level: Integers | None = None
    """Of a category: the level that each column stands for. None for numbers."""
    holes: bool = False
    """Whether a missing cell has a column of its own, the last."""

    @property
    def width(self) -> int:
        """Return D."""
        return (1 if self.level is None else len(self.level)) + self.holes

    def columns(self, cell: Floats) -> Floats:
        """Return the cells as columns, (n, D)."""
        made = np.zeros((len(cell), self.width))
        if self.level is None:
            with np.errstate(invalid="ignore"):  # infinite by infinite
                place = np.clip((cell - self.centre) / self.scale, -FARTHEST, FARTHEST)
            made[:, 0] = np.where(np.isnan(place), 0.0, place)
        else:
            made[:, : len(self.level)] = cell[:, None] == self.level
        if self.holes:
            made[:, -1] = np.isnan(cell)
        return made


def read_cells(x: Floats, nominal: Mask) -> list[Cells]:
    """Learn what the cells of each feature are; ``nominal`` ones hold codes of levels."""
    return [_read(column, nominal=bool(one)) for column, one in zip(x.T, nominal, strict=True)]


def lay_out(cells: list[Cells], x: Floats) -> Floats:
    """Return rows as the columns of all features, one behind the other."""
    return np.hstack([own.columns(x[:, m]) for m, own in enumerate(cells)])


def _read(cell: Floats, *, nominal: bool) -> Cells:
    known = cell[~np.isnan(cell)]
    holes = len(known) < len(cell)
    if nominal:
        counts = np.bincount(known.astype(np.intp))
        frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        return Cells(level=np.sort(frequent[counts[frequent] > 0]), holes=holes)
    with np.errstate(all="ignore"):
        centre, scale = (known.mean(), known.std()) if known.size else (0.0, 0.0)
    if not (np.isfinite(centre) and np.isfinite(scale) and scale > 0):
        return Cells(scale=np.inf, holes=holes)  # nothing that could be told apart
    return Cells(float(centre), float(scale), holes=holes)
