"""Follower: a column that is computed from other columns.

    sources     the columns that it is computed from
    formula     a sum or product of them: the follower keeps its own difference from the sum (or
                from a multiple of one column), or its own ratio to the product of several: a row
                that was off by 3 % stays off by 3 %
    lookup      for each value of one source the value that most rows with it have

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
    by_nearest: bool  # whether an unknown number takes the value of the nearest one

    @classmethod
    def learn(cls, source: Floats, column: Floats, *, by_nearest: bool) -> Lookup:
        """Store for each value of the source the most frequent value of the column."""
        known = ~np.isnan(source) & ~np.isnan(column)
        pairs, count = np.unique(
            np.column_stack([source[known], column[known]]), axis=0, return_counts=True
        )
        pairs = pairs[np.lexsort((pairs[:, 1], -count, pairs[:, 0]))]
        shown, first = np.unique(pairs[:, 0], return_index=True)
        return cls(shown, pairs[first, 1], by_nearest)

    def __call__(self, cells: Floats) -> Floats:
        """Return the value for each source cell, nan if the table has none."""
        if not len(self.source):
            return np.full(len(cells), np.nan)
        middle = (self.source[1:] + self.source[:-1]) / 2
        place = np.searchsorted(middle, cells)
        found = ~np.isnan(cells) if self.by_nearest else self.source[place] == cells
        return np.where(found, self.value[place], np.nan)


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
        """Return for which rows the column stays in its range, which new rows never leave."""
        cells = x[:, self.column]
        return np.asarray(~((cells < self.lower) | (cells > self.upper)))


def in_turn(followers: list[Follower]) -> list[Follower]:
    """Return the followers in an order in which each comes after those that it follows."""
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
    """Return whether the column ``start`` follows ``wanted``, directly or through others."""
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
