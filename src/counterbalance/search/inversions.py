"""Inversions: what a search found, kept as the cells that changed.

A row that was found differs from its factual in a few cells. To keep these takes little memory,
where the rows themselves would be as large as the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.constraints.rules import differs

# What stands in ``Inversions.draw`` for a row that no draw gave.
NOT_DRAWN = -1
COLUMNS = ("factual", "target", "draw", "round", "distance", "count")


@dataclass(frozen=True)
class Inversions:
    """Rows that f puts into a smaller class than that of their factual, one entry each."""

    factual: Integers
    target: Small
    draw: Small
    round: Small  # 0 where no draw gave the row
    distance: Floats
    count: Small  # how many cells of each row changed
    feature: Small  # of the changed cells, row after row
    value: Floats

    def __len__(self) -> int:
        return len(self.factual)

    @classmethod
    def of_rows(
        cls,
        factual: Integers,
        target: Integers,
        distance: Floats,
        old: Floats,
        new: Floats,
        draw: Integers | None = None,
        round_: Integers | None = None,
    ) -> Inversions:
        """Note the rows ``new``, made from the factuals ``old``."""
        changed = differs(new, old)
        row, feature = np.nonzero(changed)
        none = np.full(len(factual), NOT_DRAWN)
        return cls(
            factual,
            target.astype(np.int32),
            (none if draw is None else draw).astype(np.int32),
            (none + 1 if round_ is None else round_).astype(np.int32),
            distance,
            changed.sum(axis=1).astype(np.int32),
            feature.astype(np.int32),
            new[row, feature],
        )

    @classmethod
    def join(cls, parts: list[Inversions]) -> Inversions:
        """Put the parts one behind the other."""
        nothing = np.zeros((0, 0))
        empty = cls.of_rows(
            np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), nothing, nothing
        )
        columns = zip(*(_columns(part) for part in [empty, *parts]), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def take(self, positions: Integers | Mask | slice) -> Inversions:
        """Return the entries at ``positions``."""
        count = self.count[positions]
        first = (np.cumsum(self.count) - self.count)[positions]
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        cells = np.repeat(first, count) + inside
        columns: dict[str, Any] = {name: getattr(self, name)[positions] for name in COLUMNS}
        return Inversions(**columns, feature=self.feature[cells], value=self.value[cells])

    def rows(self, old: Floats) -> Floats:
        """Return the rows, made from the factuals ``old``."""
        rows = old.copy()
        rows[np.repeat(np.arange(len(rows)), self.count), self.feature] = self.value
        return rows


def _columns(found: Inversions) -> tuple[Any, ...]:
    return tuple(getattr(found, name) for name in (*COLUMNS, "feature", "value"))
