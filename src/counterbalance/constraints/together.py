"""Together: which values of two columns occur in one row.

    level       a category, or that the cell is missing; of numbers: a value that many rows share
                (0, -1), any other number, or that the cell is missing
    count       count[d, e]: how many rows have both levels
    expected    how many would have both if the two columns were independent
    allowed     allowed[d, e]: a new row may have both levels
    least, most of a level: the range of the numbers of its rows

A pair of levels is *far rarer than expected* if it has at most RARE times the expected rows, and a
Poisson variable is that small with a probability of at most CHANCE / (number of tested pairs).

    category, category   allowed if some row has both and the pair is not far rarer than expected
    category, number     allowed if the pair is not far rarer than expected; and a number lies
                         between the ends of its category, without rows far rarer than expected
    number, number       allowed unless one value implies another: b is 0 where a is 0

A counterfactual may keep any pair that its factual has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import pdtr

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.table.kinds import Kind

try:
    from counterbalance.constraints import together_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

RARE, CHANCE = 0.05, 1e-3
# A level with fewer rows gives no range of numbers.
FEWEST_ROWS = 10
# The most rows that are left out at either end of a level.
MOST_LEFT_OUT = 5
# Columns whose levels have fewer rows than this on average are left out; those with more than
# MANY_LEVELS levels cannot be checked and do not change.
ROWS_PER_LEVEL, MANY_LEVELS = 5, 20
# The most levels of all columns together; columns with the most levels are left out first.
MOST_LEVELS = 2048
# Numbers that this many rows share are levels, at most MOST_SHARED in a column.
SHARED, FEWEST_SHARED, MOST_SHARED = 0.005, 20, 12
# The least rows of a value that can imply another one.
KEPT = 0.99
# Cells of the table that are counted in one block.
CELLS_AT_ONCE = 2**23
OTHER, MISSING, FIRST_SHARED = range(3)


def far_rarer(count: Any, expected: Any, n_tests: int) -> Any:
    """Return where a count is significantly and far below the expected one."""
    return (count <= RARE * expected) & (pdtr(count, expected) < CHANCE / max(n_tests, 1))


@dataclass(frozen=True)
class Levels:
    """The levels of all columns, concatenated."""

    features: Integers  # the columns with levels
    first: Integers  # where the levels of each begin, and where the last ones end
    is_number: Mask
    value: Floats  # of each level: the number or the code, nan for other numbers and missing cells
    numbers: Integers  # columns of numbers that have ends
    unchecked: Integers  # columns with too many levels

    @classmethod
    def from_rows(cls, kinds: list[Kind], x: Floats) -> Levels:
        """Build the levels from some rows."""
        values: list[Floats] = []
        for m, kind in enumerate(kinds):
            cells = x[:, m]
            if kind.has_levels:
                values.append(np.append(np.arange(np.nanmax(cells, initial=-1.0) + 1), np.nan))
            else:
                values.append(np.concatenate([[np.nan, np.nan], _shared(cells)]))
        has_levels = np.array([kind.has_levels for kind in kinds], dtype=bool)
        sizes = np.array([len(own) for own in values])
        known = np.count_nonzero(~np.isnan(x), axis=0)
        takes_part = ~has_levels | ((sizes - 1) * ROWS_PER_LEVEL <= known)
        for m in np.argsort(-sizes, kind="stable"):
            if sizes[takes_part].sum() <= MOST_LEVELS:
                break
            takes_part[m] = False
        unchecked = np.flatnonzero(has_levels & ~takes_part & (sizes > MANY_LEVELS + 1))
        # A number without gaps and without a shared value has one level.
        takes_part &= has_levels | (sizes > FIRST_SHARED) | np.isnan(x).any(axis=0)
        features = np.flatnonzero(takes_part)
        first = np.cumsum([0, *sizes[features].tolist()], dtype=np.intp)
        value = np.concatenate([np.zeros(0), *(values[m] for m in features)])
        numbers = np.flatnonzero(~has_levels)
        return cls(features, first, ~has_levels[features], value, numbers, unchecked)

    @property
    def count(self) -> int:
        """How many levels there are."""
        return int(self.first[-1])

    @cached_property
    def column(self) -> Integers:
        """The position of each level's column among those with levels."""
        return np.repeat(np.arange(len(self.features)), np.diff(self.first))

    def at(self, x: Floats, k: int) -> Integers:
        """Return the level of each row in the k-th column with levels."""
        cells = x[:, self.features[k]]
        missing, first = np.isnan(cells), self.first[k]
        if not self.is_number[k]:
            last = self.first[k + 1] - first - 1
            level = np.where(missing, last, cells).astype(np.intp)
            if ((level < 0) | (level > last)).any():
                raise IndexError("a cell has a level that its column does not have")
            return np.asarray(first + level)
        shared = self.value[first + FIRST_SHARED : self.first[k + 1]]
        level = np.where(missing, MISSING, OTHER)
        if len(shared):
            place = np.minimum(np.searchsorted(shared, cells), len(shared) - 1)
            level = np.where(shared[place] == cells, FIRST_SHARED + place, level)
        return np.asarray(first + level)


def _shared(cells: Floats) -> Floats:
    """Return the values that many rows share, ascending; none where a column has one value.

    If there are more than MOST_SHARED: zero and the ends first, then the most frequent.
    """
    values, count = np.unique(cells[~np.isnan(cells)], return_counts=True)
    often = np.flatnonzero(count >= max(SHARED * count.sum(), FEWEST_SHARED))
    special = np.isin(values[often], [0.0, *values[:1], *values[-1:]])
    often = np.sort(often[np.lexsort((-count[often], ~special))][:MOST_SHARED])
    return values[often] if len(values) > 1 else values[:0]


@dataclass(frozen=True)
class Together:
    """Which values occur together in some rows."""

    levels: Levels
    count: Integers  # (D, D)
    expected: Floats  # (D, D)
    allowed: Mask  # (D, D)
    proven: Mask  # (D, D): not allowed, and the absence of the pair is significant
    least: Floats  # (D, numbers)
    most: Floats

    @classmethod
    def learn(cls, kinds: list[Kind], x: Floats) -> Together:
        """Learn the pairs from some rows."""
        levels = Levels.from_rows(kinds, x)
        n, n_levels = len(levels.features), levels.count
        at = np.array([levels.at(x, k) for k in range(n)], dtype=np.intp).reshape(n, len(x))
        count = _count(at, n_levels)
        rows = np.diag(count)
        expected = rows[:, None] * rows[None, :] / max(len(x), 1)
        same = levels.column[:, None] == levels.column
        number = levels.is_number[levels.column]
        present = (rows > 0) & (rows < len(x))
        tests = int(np.count_nonzero(np.triu(~same & present & present[:, None])))
        rare = far_rarer(count, expected, tests) & ~same
        shown = (count > 0) | same
        missing = np.isnan(levels.value) & ~(number & (np.arange(n_levels) == _first_of(levels)))
        both = (~number | missing) & (~number | missing)[:, None]
        implied = _implied(levels, count, expected, tests) & number & number[:, None]
        allowed = np.where(number & number[:, None], ~implied, ~rare & (shown | ~both))
        least = np.full((n_levels, len(levels.numbers)), -np.inf)
        ends = least, -least
        _find_ends(at, x, levels, *ends)
        return cls(levels, count, expected, allowed, ~allowed & (rare | implied), *ends)

    def only(self, wanted: Mask) -> Together:
        """Return the part for some pairs of columns: ``wanted`` is (M, M), symmetric."""
        levels = self.levels
        features = levels.features[levels.column]
        keep = wanted[features[:, None], features]
        beside = wanted[features[:, None], levels.numbers]
        return replace(
            self,
            allowed=self.allowed | ~keep,
            proven=self.proven & keep,
            least=np.where(beside, self.least, -np.inf),
            most=np.where(beside, self.most, np.inf),
        )

    def joined(self, other: Together) -> Together:
        """Return the union of both, learned from the same rows."""
        return replace(
            self,
            allowed=self.allowed & other.allowed,
            least=np.maximum(self.least, other.least),
            most=np.minimum(self.most, other.most),
        )

    @property
    def says(self) -> bool:
        """Whether any row could break it."""
        return not self.allowed.all() or bool(np.isfinite(self.least).any())

    @cached_property
    def _for_kernel(self) -> tuple[Any, ...]:
        """Return the arguments of the kernel, in order."""
        levels, flat = self.levels, np.ascontiguousarray
        allowed, is_number = (flat(own).view(np.uint8) for own in (self.allowed, levels.is_number))
        ends = flat(self.least), flat(self.most)
        return (
            levels.features,
            levels.first,
            is_number,
            levels.value,
            levels.numbers,
            allowed,
            *ends,
        )

    def allow(self, x: Floats, old: Floats | None = None) -> Mask:
        """Return for each row whether its values may occur together; ``old`` are the factuals."""
        return ~self.faults(x, old).any(axis=1) if kernel is None else self._ask(x, old, whole=True)

    def faults(self, x: Floats, old: Floats | None = None) -> Mask:
        """Return which cells of each row may not occur together with another cell of the row."""
        if kernel is not None:
            return self._ask(x, old, whole=False)
        levels, faults = self.levels, np.zeros(x.shape, dtype=bool)
        at = [levels.at(x, k) for k in range(len(levels.features))]
        was = None if old is None else [levels.at(old, k) for k in range(len(at))]
        for k, level in enumerate(at):
            for j in range(k):
                bad = ~self.allowed[level, at[j]]
                if was is not None:
                    bad &= (was[k] != level) | (was[j] != at[j])
                faults[:, levels.features[k]] |= bad
                faults[:, levels.features[j]] |= bad
            if levels.is_number[k]:
                continue
            cells, least, most = x[:, levels.numbers], self.least[level], self.most[level]
            if was is not None and old is not None:
                kept, own = (was[k] == level)[:, None], old[:, levels.numbers]
                least = np.where(kept, np.fmin(least, own), least)
                most = np.where(kept, np.fmax(most, own), most)
            outside = (cells < least) | (cells > most)
            faults[:, levels.numbers] |= outside
            faults[:, levels.features[k]] |= outside.any(axis=1)
        return faults

    def _ask(self, x: Floats, old: Floats | None, *, whole: bool) -> Mask:
        faults = np.zeros((len(x), 1 if whole else x.shape[1]), dtype=np.uint8)
        kernel.faults(x, x if old is None else old, old is not None, faults, *self._for_kernel)
        return (faults[:, 0] == 0) if whole else faults.view(bool)


def _first_of(levels: Levels) -> Integers:
    return np.asarray(levels.first[:-1][levels.column])


def _count(at: Integers, n_levels: int) -> Integers:
    """Return how many rows have each pair of levels; ``at`` is (columns, rows)."""
    n_columns, n_rows = at.shape
    count = np.zeros((n_levels, n_levels))
    for start in range(0, n_rows if n_columns else 0, max(1, CELLS_AT_ONCE // (n_levels + 1))):
        some = at[:, start : start + max(1, CELLS_AT_ONCE // (n_levels + 1))]
        ends = np.arange(0, some.size + 1, n_columns)
        ones = np.ones(some.size, dtype=np.float32)
        rows = sparse.csr_array((ones, some.T.ravel(), ends), shape=(some.shape[1], n_levels))
        if n_levels < 8 * n_columns:  # a dense product is faster
            dense = rows.toarray()
            count += dense.T @ dense
        else:
            count += (rows.T @ rows).toarray()
    return count.astype(np.intp)


def _implied(levels: Levels, count: Integers, expected: Floats, tests: int) -> Mask:
    """Return which pairs of numeric levels are not allowed, because one implies another value.

    A shared value of a number, or all its other values, may imply a value of another number.
    """
    result = np.zeros(count.shape, dtype=bool)
    shared = np.flatnonzero(~np.isnan(levels.value) & levels.is_number[levels.column])
    own = np.eye(levels.count)[shared]
    same = (levels.column[shared, None] == levels.column).astype(np.float64)
    missing = np.isin(np.arange(levels.count), levels.first[:-1] + MISSING)
    others = same - own
    for source in (own, np.where(missing, 0.0, others)):
        # The rows that have the source and another value of the target's column.
        n_others, by_chance = (source @ cells @ others.T for cells in (count, expected))
        n_rows = source @ np.diag(count)
        implies = far_rarer(n_others, by_chance, tests) & (same @ own.T == 0)
        implies &= n_others <= (1 - KEPT) * n_rows[:, None]
        for a, b in np.argwhere(implies):
            result[np.ix_(source[a] > 0, others[b] > 0)] = True
    return result | result.T


def _find_ends(at: Integers, x: Floats, levels: Levels, least: Floats, most: Floats) -> None:
    """Write the range of the numbers of each category.

    The outermost rows of a category are left out while they are far rarer than expected.
    """
    categories = np.flatnonzero(~levels.is_number)
    tests, left_out = levels.count * len(levels.numbers), np.arange(MOST_LEFT_OUT + 1)
    for j, m in enumerate(levels.numbers if len(categories) else ()):
        order = np.argsort(x[:, m], kind="stable")
        order = order[: len(order) - int(np.isnan(x[:, m]).sum())]
        cells = x[order, m]
        before = np.searchsorted(cells, cells, side="left")
        behind = len(cells) - np.searchsorted(cells, cells, side="right")
        for k in categories:
            own = at[k][order] - levels.first[k]
            grouped = np.argsort(own.astype(np.int16), kind="stable")
            n_rows = np.bincount(own, minlength=levels.first[k + 1] - levels.first[k])
            good = np.flatnonzero(n_rows >= FEWEST_ROWS)
            start = (np.cumsum(n_rows) - n_rows)[good, None]
            outermost = start + left_out, start + n_rows[good, None] - 1 - left_out
            for end, places, beyond in zip((least, most), outermost, (before, behind), strict=True):
                rows = grouped[places]
                expected = n_rows[good, None] * beyond[rows] / max(len(cells), 1)
                rarer = far_rarer(left_out, expected, tests)
                n_left_out = np.where(rarer & (left_out > 0), left_out, 0).max(axis=1, initial=0)
                end[levels.first[k] + good, j] = cells[rows[np.arange(len(good)), n_left_out]]
