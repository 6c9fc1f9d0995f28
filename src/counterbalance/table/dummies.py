"""Dummies: 0/1 columns that encode one category, detected and searched as one feature.

    group      columns of which one, or at most one, is 1 in nearly all rows: dummy columns
    pattern    the cells of a group in one row; the patterns of the table are the category's levels

The first column of a group holds the category: the position of a row's pattern. The other columns
of the group are 0 in every row. So the encoded table keeps its shape, a search sees one category
and constant columns, and decoding restores the dummies.

Columns are tested as a group if their names share a prefix, as from ``pandas.get_dummies``, if they
are adjacent, as from ``OneHotEncoder`` in an array, or if their shares add up to one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.table.kinds import Grid, Kind
from counterbalance.table.table import Table

if TYPE_CHECKING:
    from counterbalance.arrays import Floats, Integers, Mask

# The least share of the rows that keep a group, and the least number of rows.
KEPT = 0.99
FEWEST_ROWS = 20
# Rows that are tested first: most columns hold more than 0 and 1.
FIRST_LOOK = 100
# The largest probability that independent columns look like a group.
CHANCE = 0.001
TRUTHS = {"0", "1", "0.0", "1.0", "False", "True", "false", "true"}


@dataclass(frozen=True, eq=False)
class Group:
    """Dummy columns of one category."""

    columns: tuple[int, ...]
    patterns: Floats  # (levels, columns)
    exactly: bool  # whether one of them is 1, or at most one
    kept: float

    @property
    def first(self) -> int:
        """The column that holds the category."""
        return self.columns[0]

    @property
    def allowed(self) -> Integers:
        """The levels that a new row may have: the patterns of clean rows."""
        ones = self.patterns.sum(axis=1)
        return np.flatnonzero(ones == 1 if self.exactly else ones <= 1)

    def fold(self, codes: Floats) -> None:
        """Replace dummies by the category, in place; an unknown pattern is missing."""
        cells = codes[:, list(self.columns)]
        ones, no_one = cells == 1, len(self.columns)
        total = ones.sum(axis=1)
        clean = np.full(no_one + 1, np.nan)  # the level of each column that is 1 alone, and of none
        for level, pattern in enumerate(self.patterns):
            if pattern.sum() <= 1:
                clean[pattern.argmax() if pattern.any() else no_one] = level
        codes[:, list(self.columns)] = 0.0
        levels = clean[np.where(total == 0, no_one, ones.argmax(axis=1))]
        known = {pattern.tobytes(): float(k) for k, pattern in enumerate(self.patterns + 0.0)}
        for row in np.flatnonzero((total > 1) | ~((cells == 0) | ones).all(axis=1)):
            levels[row] = known.get((cells[row] + 0.0).tobytes(), np.nan)
        codes[:, self.first] = levels

    def unfold(self, codes: Floats) -> None:
        """Replace the category by its dummies, in place."""
        level = codes[:, self.first].copy()
        codes[:, list(self.columns)] = self.patterns[np.nan_to_num(level).astype(np.intp)]
        codes[np.isnan(level)[:, None] & np.isin(np.arange(codes.shape[1]), self.columns)] = np.nan


class Grouped(Table):
    """A table whose groups of dummy columns are one category each."""

    def __init__(self, inner: Table, groups: Sequence[Group]) -> None:
        self.inner, self.groups = inner, tuple(groups)
        self.native, self.names = inner.native, inner.names
        self.kinds = list(inner.kinds)
        self.carrier = list(range(len(self.names)))
        resolution, width = inner.grid.resolution.copy(), inner.grid.width.copy()
        for group in groups:
            for m in group.columns:
                self.carrier[m], self.kinds[m] = group.first, Kind.NOMINAL
                resolution[m], width[m] = 0.0, 8
        self.grid = Grid(resolution, width)

    def rows(self, positions: Integers | slice) -> Floats:
        """Return the encoded rows, dummies folded."""
        codes = np.array(self.inner.rows(positions))
        for group in self.groups:
            group.fold(codes)
        return codes

    def column(self, m: int) -> Floats:
        """Return one encoded column."""
        for group in self.groups:
            if m in group.columns:
                codes = np.column_stack([self.inner.column(c) for c in group.columns])
                replace(group, columns=tuple(range(len(group.columns)))).fold(codes)
                return np.ascontiguousarray(codes[:, group.columns.index(m)])
        return self.inner.column(m)

    def native_column(self, m: int) -> Any:
        """Return a column as the user passed it, None for dummies."""
        return (
            self.inner.native_column(m) if self.carrier[m] == m and m not in self._firsts else None
        )

    @property
    def _firsts(self) -> set[int]:
        return {group.first for group in self.groups}

    def unfolded(self, codes: Floats, origin: Integers | None = None) -> Floats:
        """Return encoded rows with the dummies as the user's table has them.

        A pattern without a level is copied from row ``origin``.
        """
        codes = np.array(codes)
        for group in self.groups:
            unknown = np.flatnonzero(np.isnan(codes[:, group.first]))
            group.unfold(codes)
            if unknown.size and origin is not None:
                own = self.inner.rows(origin[unknown])[:, list(group.columns)]
                codes[np.ix_(unknown, list(group.columns))] = own
        return codes

    def decode(self, codes: Floats, origin: Integers | None = None) -> Any:
        """Restore the dummies, then decode as the table without groups does."""
        return self.inner.decode(self.unfolded(codes, origin), origin)

    def append(self, n_new: int, new: Iterator[tuple[Floats, Integers]]) -> Any:
        """Return the user's table with new rows below."""
        unfolded = ((self.unfolded(codes, origin), origin) for codes, origin in new)
        return self.inner.append(n_new, unfolded)

    def codes_of_levels(self, m: int) -> dict[Any, float]:
        """Return the code of every level; the column that is 1 names the level of a group."""
        for group in self.groups:
            if m == group.first:
                return {
                    tuple(pattern.tolist()): float(k) for k, pattern in enumerate(group.patterns)
                }
        return {0.0: 0.0} if self.carrier[m] != m else self.inner.codes_of_levels(m)


def group_dummies(table: Table, apart: Iterable[str] | str | None = None) -> Table:
    """Return the table with each group of dummy columns as one category.

    Groups whose relation is among the texts ``apart`` stay columns of their own.
    """
    unwanted = {
        " ".join(text.split()) for text in ([apart] if isinstance(apart, str) else apart or ())
    }
    groups = [
        group for group in find_groups(table) if group_text(group, table.names) not in unwanted
    ]
    return with_groups(table, groups)


def with_groups(table: Table, groups: Sequence[Group]) -> Table:
    """Return the table with these groups as categories."""
    return Grouped(table, groups) if groups else table


def group_text(group: Group, names: Sequence[Any]) -> str:
    """Return a group as the relation that its columns keep, in the syntax of ``constraints``."""
    quoted = (
        name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`"
        for name in (str(names[m]) for m in group.columns)
    )
    return f"{' + '.join(quoted)} {'==' if group.exactly else '<='} 1"


def find_groups(table: Table) -> list[Group]:
    """Return the groups of dummy columns of a table, each column in one at most."""
    n_rows = table.native.shape[0]
    if n_rows < FEWEST_ROWS:
        return []
    columns = [m for m in range(len(table.names)) if _is_dummy(table, m)]
    if len(columns) < 2:  # noqa: PLR2004  (a group has two columns)
        return []
    ones = np.column_stack([table.column(m) for m in columns])
    shared = ones.T @ ones
    count = np.diag(shared)
    # The most rows in which two columns may both be 1.
    dirty = (1 - KEPT) * np.minimum(count[:, None], count[None, :])
    apart, expected = shared <= dirty, count[:, None] * count[None, :] / n_rows
    least = np.log(len(columns) ** 2 / CHANCE)
    found: list[Group] = []
    taken = np.zeros(len(columns), dtype=bool)
    tried = [
        *_by_name([str(table.names[m]) for m in columns]),
        *_side_by_side(columns, apart),
        *_complete(count, apart, n_rows),
    ]
    for places in tried:
        if taken[places].any():
            continue
        total = ones[:, places].sum(axis=1)
        exactly, kept = True, float((total == 1).mean())
        enough = np.triu(expected[np.ix_(places, places)], 1).sum() >= least
        if kept < KEPT:
            exactly, kept = False, float((total <= 1).mean())
            if (
                kept < KEPT
                or not enough
                or not apart[np.ix_(places, places)][np.triu_indices(len(places), 1)].all()
            ):
                continue
        patterns = np.unique(ones[:, places], axis=0)[::-1]
        taken[places] = True
        found.append(Group(tuple(columns[k] for k in places), patterns, exactly, kept))
    return sorted(found, key=lambda group: group.first)


def _is_dummy(table: Table, m: int) -> bool:
    """Return whether a column holds only 0 and 1, or False and True."""
    kind = table.kinds[m]
    if kind is Kind.ORDINAL:
        return False
    column = table.column(m)
    for some in (column[:FIRST_LOOK], column):
        if not ((some == 0) | (some == 1)).all():
            return False
    if column.min() == column.max():
        return False
    return kind is not Kind.NOMINAL or {str(v) for v in table.codes_of_levels(m)} <= TRUTHS


def _by_name(names: list[str]) -> list[list[int]]:
    """Return columns whose names share a prefix before a separator, the largest sets first."""
    sets: dict[str, list[int]] = defaultdict(list)
    for k, name in enumerate(names):
        for separator in re.finditer(r"[\W_]+", name):
            if separator.start():
                sets[name[: separator.start()]].append(k)
    several = {tuple(places) for places in sets.values() if len(set(places)) > 1}
    return [list(places) for places in sorted(several, key=lambda one: (-len(one), one))]


def _side_by_side(columns: list[int], apart: Mask) -> Iterator[list[int]]:
    """Yield runs of adjacent columns that are never 1 together, the longest first."""
    runs = []
    for start in range(len(columns)):
        stop = start + 1
        while (
            stop < len(columns)
            and columns[stop] == columns[stop - 1] + 1
            and apart[start:stop, stop].all()
        ):
            stop += 1
            runs.append(list(range(start, stop)))
    yield from sorted(runs, key=len, reverse=True)


def _complete(count: Floats, apart: Mask, n_rows: int) -> Iterator[list[int]]:
    """Yield columns at any positions of which exactly one is 1 in nearly all rows.

    The most frequent column comes first, then those that are never 1 together with the ones before,
    as long as there are rows without a 1.
    """
    frequent = np.argsort(-count, kind="stable")
    for start, first in enumerate(frequent):
        places, total = [int(first)], count[first]
        for k in frequent[start + 1 :]:
            if total + count[k] <= n_rows / KEPT and apart[k, places].all():
                places.append(int(k))
                total += count[k]
        if total >= KEPT * n_rows and len(places) > 1:
            yield sorted(places)
