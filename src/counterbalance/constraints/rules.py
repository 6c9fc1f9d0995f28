"""Rules: constraints made ready for the search.

    low, high       fixed bounds of each feature
    rising          features that may only grow (falling: only shrink)
    frozen          features that never change
    levels          of some features: the only codes they may take
    most_changed    how many features may differ from the factual
    relations       comparisons that a row must meet

Bounds and levels steer the draws, so that few candidates are wasted; every
candidate is checked once more as a whole before f sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.relations import Relation


def differs(new: Floats, old: Floats) -> Mask:
    """Say which cells differ; a cell that is missing in both does not."""
    changed = new != old
    missing = np.isnan(old)
    return np.asarray(changed & ~(missing & np.isnan(new)) if missing.any() else changed)


@dataclass
class Rules:
    """What a counterfactual may be, for a table of so many features."""

    low: Floats
    high: Floats
    rising: Mask
    falling: Mask
    frozen: Mask
    levels: dict[int, Floats] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    most_changed: int | None = None

    @classmethod
    def none(cls, n_features: int) -> Rules:
        """Return rules that allow everything."""
        no = np.zeros(n_features, dtype=bool)
        return cls(
            np.full(n_features, -np.inf), np.full(n_features, np.inf), no, no.copy(), no.copy()
        )

    def bounds(
        self, cells: Floats, features: Integers, lower: Floats, upper: Floats
    ) -> tuple[Floats, Floats]:
        """Narrow the range of ``features`` for every factual: (R, K) or (K,)."""
        lower = np.maximum(lower, self.low[features])
        upper = np.minimum(upper, self.high[features])
        if self.rising[features].any():
            lower = np.where(self.rising[features], np.maximum(lower, cells), lower)
        if self.falling[features].any():
            upper = np.where(self.falling[features], np.minimum(upper, cells), upper)
        return lower, upper

    @cached_property
    def checked(self) -> bool:
        """Whether a whole row can break a rule that steering does not ensure."""
        bounded = np.isfinite(self.low).any() or np.isfinite(self.high).any()
        return bool(bounded or self.levels or self.relations)

    def kept(self, new: Floats, old: Floats) -> bool:
        """Say whether every new row keeps every rule towards the row it came from."""

        def both(which: Mask) -> tuple[Floats, Floats]:
            return new[:, which], old[:, which]

        most = self.most_changed
        if most is not None and differs(new, old).sum(axis=1).max(initial=0) > most:
            return False
        wrong = differs(*both(self.frozen)).any()
        wrong |= np.greater(*both(self.falling)).any() or np.less(*both(self.rising)).any()
        return bool(not wrong and self.allow(new).all())

    def allow(self, x: Floats) -> Mask:
        """Say of each row whether it keeps the bounds, the levels and the relations."""
        if not self.checked:
            return np.ones(len(x), dtype=bool)
        outside = (x < self.low) | (x > self.high)
        good = ~np.asarray(outside.any(axis=1))
        for m, levels in self.levels.items():
            good &= np.isin(x[:, m], levels) | np.isnan(x[:, m])
        for relation in self.relations:
            good &= relation.holds(x)
        return good
