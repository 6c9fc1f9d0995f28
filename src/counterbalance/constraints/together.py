"""Together: which levels the rows of a table have beside each other.

    level       a category of a column, or that it is missing; of numbers: known, or missing
    seen        seen[d, e]: some real row has both levels
    least, most of a level: between which numbers its rows lie, column by column
    word        64 levels, a bit for each

A new row is believed if every two of its levels were seen together, and if its numbers lie where
the rows of each of its levels lie. A level of fewer than FEWEST_ROWS rows does not tell where
numbers lie. Real rows pass by definition, so what a factual has is never held against its
counterfactual.

Parts of a table are looked at one by one and joined: any cut gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Unsigned
from counterbalance.table.kinds import Kind

try:
    from counterbalance.constraints import together_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# A level with fewer rows says nothing of where numbers lie.
FEWEST_ROWS = 20
# A column whose levels have fewer rows than this on average names its rows.
ROWS_PER_LEVEL = 5
# All columns together have at most so many levels; those with the most are left out.
MOST_LEVELS = 4096
# Rows that are looked at together, a multiple of the bits of a word.
ROWS_AT_ONCE = 2**16
BITS = 64


@dataclass(frozen=True)
class Levels:
    """The levels of all columns, one behind the other."""

    features: Integers  # the columns that take part
    first: Integers  # where the levels of each begin, and where the last ones end
    is_number: Mask
    numbers: Integers  # columns of numbers

    @classmethod
    def of(cls, kinds: list[Kind], n_levels: list[int], n_rows: int) -> Levels:
        """Lay out the levels, given how many each column has (0 for numbers)."""
        has_levels = np.array([kind.has_levels for kind in kinds], dtype=bool)
        sizes = np.where(has_levels, np.array(n_levels) + 1, 2)
        takes_part = ~has_levels | (np.array(n_levels) * ROWS_PER_LEVEL <= n_rows)
        for m in np.argsort(-sizes, kind="stable"):
            if sizes[takes_part].sum() <= MOST_LEVELS:
                break
            takes_part[m] = False
        features = np.flatnonzero(takes_part)
        first = np.cumsum([0, *sizes[features].tolist()], dtype=np.intp)
        numbers = np.flatnonzero(~has_levels)
        return cls(features, first, ~has_levels[features], numbers)

    @property
    def count(self) -> int:
        """How many levels there are."""
        return int(self.first[-1])

    def at(self, x: Floats, k: int) -> Integers:
        """Return the level of each row in the k-th column that takes part."""
        cells = x[:, self.features[k]]
        missing = np.isnan(cells)
        if self.is_number[k]:
            return np.asarray(self.first[k] + missing)
        last = self.first[k + 1] - self.first[k] - 1
        return np.asarray(self.first[k] + np.where(missing, last, cells).astype(np.intp))


@dataclass(frozen=True)
class Together:
    """What was seen together in some rows."""

    levels: Levels
    seen: Mask  # (D, D)
    rows: Integers  # (D,): how many rows have each level
    least: Floats  # (D, numbers)
    most: Floats

    @classmethod
    def none(cls, levels: Levels) -> Together:
        """Return what no row shows; levels of one column never stand in one row."""
        n, n_numbers = levels.count, len(levels.numbers)
        column = np.repeat(np.arange(len(levels.features)), np.diff(levels.first))
        ends = np.full((n, n_numbers), np.inf)
        return cls(levels, column[:, None] == column, np.zeros(n, dtype=np.intp), ends, -ends)

    def with_rows(self, x: Floats) -> Together:
        """Return what is seen with some more rows."""
        result = self
        for start in range(0, len(x), ROWS_AT_ONCE):
            result = result._with_block(x[start : start + ROWS_AT_ONCE])
        return result

    def _with_block(self, x: Floats) -> Together:
        levels, seen = self.levels, self.seen.copy()
        at = np.array([levels.at(x, k) for k in range(len(levels.features))], dtype=np.intp)
        at = at.reshape(len(levels.features), len(x))
        rows = np.bincount(at.ravel(), minlength=levels.count)
        bits = np.zeros((levels.count, -(-len(x) // BITS) * BITS), dtype=bool)
        bits[at, np.arange(len(x))] = True
        words = np.packbits(bits, axis=1).view(np.uint64)
        there = rows > 0
        for d in np.flatnonzero(there):
            others = np.flatnonzero(~seen[d] & there)
            seen[d, others] = (words[others] & words[d]).any(axis=1)
        least, most = self.least.copy(), self.most.copy()
        cells = x[:, levels.numbers]
        for k in np.flatnonzero(~levels.is_number):
            order = np.argsort(at[k], kind="stable")
            shown, starts = np.unique(at[k][order], return_index=True)
            for ends, reduce in ((least, np.fmin), (most, np.fmax)):
                ends[shown] = reduce(ends[shown], reduce.reduceat(cells[order], starts, axis=0))
        return replace(self, seen=seen, rows=self.rows + rows, least=least, most=most)

    def join(self, other: Together) -> Together:
        """Return what is seen in the rows of both."""
        return replace(
            self,
            seen=self.seen | other.seen,
            rows=self.rows + other.rows,
            least=np.minimum(self.least, other.least),
            most=np.maximum(self.most, other.most),
        )

    @cached_property
    def _unseen(self) -> tuple[Unsigned, Unsigned]:
        """Return as words, for each level, itself and the levels that it was not seen with."""
        width = -(-self.levels.count // BITS) * BITS
        wide = np.zeros((2, self.levels.count, width), dtype=bool)
        wide[0, :, : self.levels.count] = np.eye(self.levels.count, dtype=bool)
        wide[1, :, : self.levels.count] = ~self.seen
        own, unseen = np.packbits(wide, axis=2).view(np.uint64)
        return own, unseen

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """Return for each level between which numbers its rows lie, infinite where few tell."""
        few = (self.rows < FEWEST_ROWS)[:, None]
        least = np.where(few | ~np.isfinite(self.least), -np.inf, self.least)
        return least, np.where(few | ~np.isfinite(self.most), np.inf, self.most)

    @cached_property
    def _for_kernel(self) -> tuple[Any, ...]:
        """Return what the kernel reads, in the order of its arguments."""
        levels, flat = self.levels, np.ascontiguousarray
        seen, is_number = flat(self.seen).view(np.uint8), flat(levels.is_number).view(np.uint8)
        ends = (flat(each) for each in self._ends)
        return levels.features, levels.first, is_number, levels.numbers, seen, *ends

    def allow(self, x: Floats) -> Mask:
        """Say of each row whether its levels, and its numbers beside them, were seen."""
        if kernel is not None:
            result = np.zeros(len(x), dtype=np.uint8)
            kernel.allow(x, result, *self._for_kernel)
            return result.view(bool)
        levels, (own, unseen), (least, most) = self.levels, self._unseen, self._ends
        at, cells = self._levels_of(x, own), x[:, levels.numbers]
        good = np.ones(len(x), dtype=bool)
        for k, level in enumerate(at.levels):
            good &= ~(unseen[level] & at.words).any(axis=1)
            if not levels.is_number[k]:
                good &= ~((cells < least[level]) | (cells > most[level])).any(axis=1)
        return good

    def faults(self, x: Floats) -> Mask:
        """Say which cells of each row were not seen beside another one of the row."""
        if kernel is not None:
            result = np.zeros(x.shape, dtype=np.uint8)
            kernel.faults(x, result, *self._for_kernel)
            return result.view(bool)
        levels, (own, unseen), (least, most) = self.levels, self._unseen, self._ends
        at, cells = self._levels_of(x, own), x[:, levels.numbers]
        faults = np.zeros(x.shape, dtype=bool)
        for k, level in enumerate(at.levels):
            bad = (unseen[level] & at.words).any(axis=1)
            if not levels.is_number[k]:
                outside = (cells < least[level]) | (cells > most[level])
                faults[:, levels.numbers] |= outside
                bad |= outside.any(axis=1)
            faults[:, levels.features[k]] |= bad
        return faults

    def _levels_of(self, x: Floats, own: Unsigned) -> _RowLevels:
        at = [self.levels.at(x, k) for k in range(len(self.levels.features))]
        words = np.zeros((len(x), own.shape[1]), dtype=np.uint64)
        for level in at:
            words |= own[level]
        return _RowLevels(at, words)


@dataclass(frozen=True)
class _RowLevels:
    """The levels of some rows: column by column, and all of a row as words."""

    levels: list[Integers]
    words: Unsigned
