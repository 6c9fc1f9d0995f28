"""Rules: constraints compiled for the search.

    low, high       fixed bounds of each feature
    rising          features that may only grow (falling: only shrink)
    frozen          features that never change
    levels          for some features: the only allowed codes
    steered         features with learned levels: draws keep them, other values are not rejected
    most_changed    how many features may differ from the factual
    relations       comparisons that a row must meet
    usual           comparisons that a row must meet if its factual does
    followers       columns that are computed from others
    pairs           pairs of columns whose values must occur together in the table
    together        which values may occur together
    at_least        for some features: the smallest change that counts
    transitions     for some features: from which level to which a row may go
    cost            for some features: how much more a change of them counts

Bounds and levels restrict the draws, so that few candidates are rejected. Every candidate is
completed (its followers are computed) and checked as a whole before f predicts its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.follower import Follower
from counterbalance.constraints.relations import Relation
from counterbalance.constraints.together import Together


def differs(new: Floats, old: Floats) -> Mask:
    """Return which cells differ; a cell that is missing in both does not."""
    changed = new != old
    missing = np.isnan(old)
    return np.asarray(changed & ~(missing & np.isnan(new)) if missing.any() else changed)


@dataclass(frozen=True)
class Step:
    """The smallest change of a column that counts, and the values that a change may lead to."""

    least: float
    lower: float
    upper: float
    per_unit: float  # points of its grid, 0 for none

    @property
    def enough(self) -> float:
        """The least change that counts, with a tolerance for rounding."""
        return self.least * (1 - 1e-9)

    def stretch(self, new: Floats, old: Floats) -> Floats:
        """Return the cells with small changes enlarged, or undone if that leaves the range."""
        small = (new != old) & (np.abs(new - old) < self.enough)
        if not small.any():
            return new
        far = self.beyond(old, new > old)
        inside = (far >= self.lower) & (far <= self.upper)
        return np.where(small, np.where(inside, far, old), new)

    def beyond(self, old: Floats, up: Mask) -> Floats:
        """Return the nearest values on one side that count as a change."""
        far = np.where(up, old + self.least, old - self.least)
        return np.rint(far * self.per_unit) / self.per_unit + 0.0 if self.per_unit else far


@dataclass
class Rules:
    """What a counterfactual may be, for a table with a number of features."""

    low: Floats
    high: Floats
    rising: Mask
    falling: Mask
    frozen: Mask
    levels: dict[int, Floats] = field(default_factory=dict)
    steered: set[int] = field(default_factory=set)
    relations: list[Relation] = field(default_factory=list)
    most_changed: int | None = None
    usual: list[Relation] = field(default_factory=list)
    followers: list[Follower] = field(default_factory=list)  # each after those that it follows
    pairs: set[tuple[int, int]] = field(default_factory=set)
    together: Together | None = None
    at_least: dict[int, Step] = field(default_factory=dict)
    transitions: dict[int, Mask] = field(default_factory=dict)  # (levels before, levels after)
    cost: dict[int, float] = field(default_factory=dict)

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
        if self.bounded:  # skip the (R, K) cells if there are no bounds
            lower = np.maximum(lower, self.low[features])
            upper = np.minimum(upper, self.high[features])
        if self.rising[features].any():
            lower = np.where(self.rising[features], np.maximum(lower, cells), lower)
        if self.falling[features].any():
            upper = np.where(self.falling[features], np.minimum(upper, cells), upper)
        return lower, upper

    @cached_property
    def checked(self) -> bool:
        """Whether a row can break a rule that the draws do not already keep."""
        listed = not self.only_steered
        return bool(self.bounded or listed or self.relations or self.of_the_table)

    @property
    def only_steered(self) -> bool:
        """Whether every list of levels was learned, and none was given."""
        return self.steered.issuperset(self.levels)

    @cached_property
    def bounded(self) -> bool:
        """Whether a column has a fixed bound."""
        return bool((self.low > -np.inf).any() or (self.high < np.inf).any())

    @property
    def of_the_table(self) -> bool:
        """Whether rules were learned from the table: followers, or pairs of values."""
        return bool(self.usual or self.followers or self.together is not None or self.by_row)

    @property
    def by_row(self) -> bool:
        """Whether the allowed values of a column depend on its old value, beyond a direction."""
        return bool(self.at_least or self.transitions)

    @property
    def moves_more(self) -> list[int]:
        """The columns whose change causes or enlarges other changes."""
        sources = {source for follower in self.followers for source in follower.sources}
        return sorted(sources | self.at_least.keys())

    def complete(self, new: Floats, old: Floats) -> Floats:
        """Return the rows ``new``, made from ``old``, with too small changes enlarged.

        Their followers are computed.
        """
        if not self.followers and not self.at_least:
            return new
        new = new.copy()
        for m, step in self.at_least.items():
            new[:, m] = step.stretch(new[:, m], old[:, m])
        for follower in self.followers:
            new[:, follower.column] = follower.value(new, old)
        return new

    def kept(self, new: Floats, old: Floats) -> bool:
        """Return whether every new row keeps every rule with respect to the row it came from."""

        def both(which: Mask) -> tuple[Floats, Floats]:
            return new[:, which], old[:, which]

        most = self.most_changed
        if most is not None and differs(new, old).sum(axis=1).max(initial=0) > most:
            return False
        wrong = differs(*both(self.frozen)).any()
        wrong |= np.greater(*both(self.falling)).any() or np.less(*both(self.rising)).any()
        wrong |= differs(self.complete(new, old), new).any()
        return bool(not wrong and self.allow(new, old).all())

    def allow(self, x: Floats, old: Floats | None = None) -> Mask:
        """Return for each row whether it keeps the bounds, the levels, and all relations.

        ``old`` holds the factuals of the rows, if known; real rows have none.
        """
        if not self.checked:
            return np.ones(len(x), dtype=bool)
        outside = (x < self.low) | (x > self.high)
        good = ~np.asarray(outside.any(axis=1))
        for m in self.levels.keys() - self.steered:
            good &= np.isin(x[:, m], self.levels[m]) | np.isnan(x[:, m])
        for relation in self.relations:
            good &= relation.holds(x)
        for relation in self.usual:
            kept = relation.holds(x)
            if old is not None and not kept.all():
                kept = kept | ~relation.holds(old)
            good &= kept
        if self.together is not None:
            good &= self.together.allow(x, old)
        if self.followers and old is not None:
            good &= self._followed(x, old)
        if self.by_row and old is not None:
            good &= ~self._refused(x, old).any(axis=1)
        return good

    def _refused(self, x: Floats, old: Floats) -> Mask:
        """Return which cells changed too little, or to a forbidden level."""
        refused = np.zeros(x.shape, dtype=bool)
        for m, step in self.at_least.items():
            refused[:, m] = (x[:, m] != old[:, m]) & (np.abs(x[:, m] - old[:, m]) < step.enough)
        for m, allowed in self.transitions.items():
            known = np.flatnonzero(~np.isnan(x[:, m]) & ~np.isnan(old[:, m]))
            before, after = old[known, m].astype(np.intp), x[known, m].astype(np.intp)
            refused[known, m] = ~allowed[before, after]
        return refused

    def _followed(self, x: Floats, old: Floats) -> Mask:
        """Return for each row whether its followers have allowed values."""
        good = np.ones(len(x), dtype=bool)
        for follower in self.followers:
            m = follower.column
            good &= follower.inside(x)
            if self.frozen[m]:
                good &= ~differs(x[:, m], old[:, m])
            if self.rising[m]:
                good &= ~(x[:, m] < old[:, m])
            if self.falling[m]:
                good &= ~(x[:, m] > old[:, m])
        if self.most_changed is not None:
            good &= differs(x, old).sum(axis=1) <= self.most_changed
        return good

    def faults(self, x: Floats, old: Floats) -> Mask:
        """Return which cells of each row are implausible: followers, and pairs of values."""
        faults = np.zeros(x.shape, dtype=bool)
        faults |= self._refused(x, old)
        if self.together is not None:
            faults |= self.together.faults(x, old)
        for relation in self.usual:
            broken = ~relation.holds(x) & relation.holds(old)
            faults[:, list(relation.columns)] |= broken[:, None]
        for follower in reversed(self.followers):  # its sources are at fault
            m, sources = follower.column, list(follower.sources)
            bad = faults[:, m] | ~follower.inside(x)
            bad |= (self.frozen[m] | self.rising[m] | self.falling[m]) & (x[:, m] != old[:, m])
            faults[:, sources] |= bad[:, None]
        return faults

    def mend(self, new: Floats, old: Floats) -> Floats:
        """Return rows in which implausible cells are restored to the old ones."""
        new = self.complete(new, old)
        left = np.flatnonzero(~self.allow(new, old)) if self.of_the_table else np.zeros(0, np.intp)
        for _ in range(new.shape[1]):
            if not left.size:
                break
            some, were = new[left], old[left]
            back = self.faults(some, were) & differs(some, were)
            some = self.complete(np.where(back, were, some), were)
            new[left] = some
            left = left[back.any(axis=1) & ~self.allow(some, were)]
        return new
