"""Follower: a column that moves along with the columns that it is made of.

    sources     the columns that it is made of
    formula     a sum or product of them: the follower keeps its own difference from the sum (or
                from a multiple of one column), or its own ratio to the product of several: a row
                that was off by 3 % stays off by 3 %
    lookup      for each value of one source the value that goes with it in the table

A follower is not drawn. It is computed from a new row and its factual, and put onto its grid,
before f sees the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Mask
from counterbalance.constraints.relations import Formula
from counterbalance.table.kinds import Grid


@dataclass(frozen=True)
class Lookup:
    """The values of a column that go with those of another."""

    source: Floats  # ascending
    value: Floats
    by_nearest: bool  # whether a number that is not there takes the value of the nearest

    @classmethod
    def learn(cls, source: Floats, column: Floats, *, by_nearest: bool) -> Lookup:
        """Take for each value of the source the one that goes with it most often."""
        known = ~np.isnan(source) & ~np.isnan(column)
        pairs, count = np.unique(
            np.column_stack([source[known], column[known]]), axis=0, return_counts=True
        )
        pairs = pairs[np.lexsort((pairs[:, 1], -count, pairs[:, 0]))]
        shown, first = np.unique(pairs[:, 0], return_index=True)
        return cls(shown, pairs[first, 1], by_nearest)

    def __call__(self, cells: Floats) -> Floats:
        """Return the values that go with some cells, nan where the table does not tell."""
        if not len(self.source):
            return np.full(len(cells), np.nan)
        middle = (self.source[1:] + self.source[:-1]) / 2
        place = np.searchsorted(middle, cells)
        told = ~np.isnan(cells) if self.by_nearest else self.source[place] == cells
        return np.where(told, self.value[place], np.nan)


@dataclass(frozen=True)
class Follower:
    """One column that follows others."""

    column: int
    sources: tuple[int, ...]
    rule: Formula | Lookup
    lower: float
    upper: float
    grid: Grid

    def value(self, new: Floats, old: Floats) -> Floats:
        """Return the cells of the column in rows ``new``, which were made from ``old``."""
        own, sources = old[:, self.column], list(self.sources)
        moved = (new[:, sources] != old[:, sources]).any(axis=1)
        if isinstance(self.rule, Lookup):
            value = self.rule(new[:, self.sources[0]])
        else:
            value = self._moved_along(self.rule, new, old)
        snapped = self.grid.snap(value[:, None], np.array([self.column]))[:, 0]
        known = ~np.isnan(snapped) & ~np.isnan(own)
        return np.where(moved & known, snapped, own)

    def _moved_along(self, formula: Formula, new: Floats, old: Floats) -> Floats:
        own = old[:, self.column]
        with np.errstate(all="ignore"):
            before, after = (np.asarray(formula.term(x), dtype=np.float64) for x in (old, new))
            moved = own + (after - before)
            if formula.is_product and len(formula.columns) > 1:
                moved = np.where(before != 0, own * (after / before), moved)
        return np.where(np.isfinite(moved), moved, np.nan)

    def inside(self, x: Floats) -> Mask:
        """Say of which rows the column stays in its range, which new rows never leave."""
        cells = x[:, self.column]
        return np.asarray(~((cells < self.lower) | (cells > self.upper)))


def in_turn(followers: list[Follower]) -> list[Follower]:
    """Return the followers so that each comes behind those that it follows itself."""
    by_column = {follower.column: follower for follower in followers}
    done: dict[int, Follower] = {}

    def visit(follower: Follower) -> None:
        if follower.column not in done:
            for source in follower.sources:
                if source in by_column:
                    visit(by_column[source])
            done[follower.column] = follower

    for follower in followers:
        visit(follower)
    return list(done.values())


def reaches(followers: list[Follower], start: int, wanted: int) -> bool:
    """Say whether the column ``start`` follows ``wanted``, directly or by way of others."""
    by_column = {follower.column: follower for follower in followers}
    waiting, visited = [start], set()
    while waiting:
        column = waiting.pop()
        if column == wanted:
            return True
        if column in by_column and column not in visited:
            visited.add(column)
            waiting.extend(by_column[column].sources)
    return False
