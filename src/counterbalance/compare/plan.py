"""The plan of a comparison: the table, the settings and the folds, as every worker gets them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from counterbalance.compare.data import ComparedTable
from counterbalance.compare.folds import Fold, outer_folds
from counterbalance.compare.settings import Settings


@dataclass(frozen=True, eq=False)
class Plan:
    """What is compared on what."""

    table: ComparedTable
    settings: Settings

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds to score on."""
        s = self.settings
        return outer_folds(self.table, s.folds, s.repeats, s.seed)

    def fold(self, repeat: int, number: int) -> Fold:
        """Return one fold."""
        return next(f for f in self.folds if (f.repeat, f.number) == (repeat, number))

    @property
    def ratio(self) -> float:
        """Rows of a test part over rows of its training part, on average."""
        return sum(len(f.test) / len(f.train) for f in self.folds) / len(self.folds)
