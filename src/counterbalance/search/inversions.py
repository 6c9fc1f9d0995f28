"""Inversions: what a search found, kept in little memory.

A drawn inversion is built anew from (factual, draw, round) when it is taken, and a bit for each
feature says which changes were taken back. One of the minimum search cannot be, so its changed
cells are kept: a few of each row, where the row itself would be as large as the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterbalance.arrays import Bits, Floats, Integers, Mask, Small
from counterbalance.constraints.rules import differs

# What stands in ``Inversions.draw`` for a row that was not drawn.
NOT_DRAWN = -1
COLUMNS = ("factual", "target", "draw", "round", "distance")


@dataclass(frozen=True)
class Inversions:
    """The minimum inversions found: one entry for each (factual, target class)."""

    factual: Integers
    target: Small
    draw: Small
    round: Small
    distance: Floats
    changes: Changes | None = None  # of those that were not drawn, and maybe of others
    taken_back: Bits | None = None  # of drawn ones: (n, M / 8), a bit for each feature

    def __len__(self) -> int:
        return len(self.factual)

    def take(self, positions: Integers | Mask | slice) -> Inversions:
        """Return the entries at ``positions``."""
        columns: dict[str, Any] = {name: getattr(self, name)[positions] for name in COLUMNS}
        if self.taken_back is not None:
            columns["taken_back"] = self.taken_back[positions]
        return replace(self, **columns)

    def put_back(self, old: Floats, new: Floats) -> Floats:
        """Return the drawn rows ``new`` with the old cells where changes were taken back."""
        if self.taken_back is None:
            return new
        taken = np.unpackbits(self.taken_back, axis=1, count=old.shape[1]).astype(bool)
        return np.where(taken, old, new)

    def between(self, first: int, stop: int) -> Inversions:
        """Return the entries of the factuals in a range, with no other changes than theirs."""
        some = self.take((self.factual >= first) & (self.factual < stop))
        if some.changes is None:
            return some
        return replace(some, changes=some.changes.between(first, stop))

    def moved_by(self, shift: int) -> Inversions:
        """Return the inversions with other numbers for their factuals."""
        changes = self.changes
        if changes is not None:
            changes = replace(changes, factual=changes.factual + shift)
        return replace(self, factual=self.factual + shift, changes=changes)

    def trimmed(self) -> Inversions:
        """Drop the changes of entries that are not here; what is left is in their order."""
        if self.changes is None:
            return self
        some = self.take(self.draw == NOT_DRAWN)
        some = some.take(np.lexsort((some.target, some.factual)))
        return replace(self, changes=self.changes.of_pairs(some.factual, some.target))

    @classmethod
    def join(cls, parts: list[Inversions]) -> Inversions:
        """Put the parts one behind the other."""
        if not parts:
            none = np.zeros(0, dtype=np.int32)
            return cls(none.astype(np.intp), none, none, none, np.zeros(0))
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS
        }
        changes = [part.changes for part in parts if part.changes is not None]
        return cls(
            **columns,
            changes=Changes.join(changes) if changes else None,
            taken_back=_join_bits(parts),
        )

    @classmethod
    def solved(
        cls, factual: Integers, target: Integers, distance: Floats, old: Floats, new: Floats
    ) -> Inversions:
        """Note inversions that were not drawn: rows ``new``, made from the factuals ``old``."""
        small = target.astype(np.int32)
        no_draw = np.full(len(factual), NOT_DRAWN, dtype=np.int32)
        changes = Changes.of(factual, small, old, new)
        return cls(factual, small, no_draw, np.zeros_like(no_draw), distance, changes)


@dataclass(frozen=True)
class Changes:
    """The changed cells of some inversions, in the order of (factual, target)."""

    factual: Integers
    target: Small
    count: Small  # how many cells of each row changed
    feature: Small  # of the changed cells, row after row
    value: Floats

    @classmethod
    def none(cls) -> Changes:
        """Return no changes."""
        small = np.zeros(0, dtype=np.int32)
        return cls(small.astype(np.intp), small, small, small, np.zeros(0))

    @classmethod
    def of(cls, factual: Integers, target: Small, old: Floats, new: Floats) -> Changes:
        """Note what changed from ``old`` to ``new``, one row for each inversion."""
        changed = differs(new, old)
        row, feature = np.nonzero(changed)
        return cls(
            factual,
            target,
            changed.sum(axis=1).astype(np.int32),
            feature.astype(np.int32),
            new[row, feature],
        )

    @classmethod
    def join(cls, parts: list[Changes]) -> Changes:
        """Put parts one behind the other and into order; of two of a pair the last one counts."""
        names = cls.__annotations__
        both = cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        if both.in_order:  # as the parts of a search are
            return both
        order = np.lexsort((np.arange(len(both.factual)), both.target, both.factual))
        factual, target = both.factual[order], both.target[order]
        last = np.append((factual[1:] != factual[:-1]) | (target[1:] != target[:-1]), [True])
        return both._take(order[last[: len(order)]])

    @property
    def in_order(self) -> bool:
        """Whether every pair is there once, behind the one before."""
        later = self.factual[1:] > self.factual[:-1]
        same = self.factual[1:] == self.factual[:-1]
        return bool((later | (same & (self.target[1:] > self.target[:-1]))).all())

    def apply(self, old: Floats, factual: Integers, target: Small) -> Floats:
        """Return the new rows of these pairs, made from the factuals ``old``."""
        some = self.of_pairs(factual, target)
        rows = old.copy()
        rows[np.repeat(np.arange(len(rows)), some.count), some.feature] = some.value
        return rows

    def of_pairs(self, factual: Integers, target: Small) -> Changes:
        """Return the changes of these pairs, in their order."""
        width = int(self.target.max(initial=0)) + 1
        place = np.searchsorted(self.factual * width + self.target, factual * width + target)
        return self._take(place)

    def between(self, first: int, stop: int) -> Changes:
        """Return the changes of the factuals in a range."""
        return self._take(np.arange(*np.searchsorted(self.factual, [first, stop])))

    def _take(self, rows: Integers) -> Changes:
        ends = np.cumsum(self.count)
        count = self.count[rows]
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        cells = np.repeat(ends[rows] - count, count) + inside
        return Changes(
            self.factual[rows], self.target[rows], count, self.feature[cells], self.value[cells]
        )


def _join_bits(parts: list[Inversions]) -> Bits | None:
    """Put the bits of parts one behind the other; of a part without any nothing was taken back."""
    width = next((part.taken_back.shape[1] for part in parts if part.taken_back is not None), None)
    if width is None:
        return None
    none = [np.zeros((len(part), width), dtype=np.uint8) for part in parts]
    return np.concatenate(
        [
            blank if part.taken_back is None else part.taken_back
            for part, blank in zip(parts, none, strict=True)
        ]
    )
