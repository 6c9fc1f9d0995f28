"""Explanation: the smallest changes of one row for which f predicts another class.

row              the position of the row in X, or among the new rows that were given
to               the target class
answer           a counterfactual of the row: every change in it is needed
accepted range   of a changed feature: the values that the classifier (f in the paper) accepts, with
                 the other changes kept
refit            f, fitted again without one fold of the table

    span     the accepted values around the value of the row, without a gap
    exact    whether all values of the span, and only these, are known to be accepted

The search for the span depends on the column and on f:

    few values   categories, whole numbers, a grid: f predicts each of them                exact
    trees        f predicts once between any two neighbouring thresholds of its trees, where
                 its prediction is constant                                                exact
    linear       the scores of the classes are lines in the feature and meet in one point  exact
    any other    f predicts at ASKED points, and the ends are bisected                     not exact

A value that breaks a rule is not accepted, and none lies outside the values of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Mask
from counterbalance.classifier.predict import Screen
from counterbalance.search.algorithm_1 import agrees
from counterbalance.search.draws import Space
from counterbalance.search.structure import Landscape, Structure
from counterbalance.user_warnings import renamed

# Digits that the ends of a range are written with, if no more are needed; values that are listed.
DIGITS, MOST_DIGITS = 4, 17
MOST_LISTED = 5
# Numbers between these are written in full.
SMALL, LARGE = 1e-4, 1e12


@dataclass(frozen=True)
class AcceptedRange:
    """The values of a changed feature that f accepts, with the other changes kept."""

    low: Any
    """The lowest accepted value; None if no value of the table is too low."""
    high: Any
    """The highest accepted value; None if no value of the table is too high."""
    values: tuple[Any, ...] | None
    """All accepted values of a feature without an order; None for others."""
    exact: bool
    """Whether the ends are exact; otherwise f predicts at some points, and they are bisected."""

    def tell(self, value: Any) -> str:
        """Write the range around the ``value`` that an answer has; ends are rounded inwards.

        >>> AcceptedRange(6580.49, None, None, True).tell(7000.0)
        '6,581 or more'
        >>> AcceptedRange(None, None, ("A", "B"), True).tell("A")
        'A or B'
        >>> AcceptedRange(None, 2.5, None, False).tell(2.0)
        'about 2.5 or less'
        """
        if self.values is not None:
            return _listed([str(one) for one in self.values])
        low, high = _inwards(self.low, value, up=True), _inwards(self.high, value, up=False)
        if self.low is None and self.high is None:
            return "any value"
        if self.high is None:
            text = f"{low} or more"
        elif self.low is None:
            text = f"{high} or less"
        else:
            text = low if low == high else f"{low} to {high}"
        return text if self.exact else f"about {text}"


@dataclass(frozen=True)
class Answer:
    """One counterfactual: for each feature that changes, its value before and after."""

    changes: dict[str, tuple[Any, Any]]
    distance: float
    score: float
    accepted: dict[str, AcceptedRange]
    """For each feature that changes, the values that f would accept."""
    robust: float
    """The share of refits that predict the class, too; nan without refits."""
    bound: float = np.nan
    """No row of the class is nearer than this: proved. nan where nothing is known."""

    @property
    def gap(self) -> float:
        """Share by which the answer may be farther than the nearest row; 0: it is the nearest."""
        return self.distance / self.bound - 1 if self.bound > 0 else np.nan

    @property
    def room(self) -> dict[str, AcceptedRange]:
        """The former name of ``accepted``."""
        return dict(renamed(self, "room", "accepted"))


@dataclass(frozen=True)
class Explanation:
    """The prediction of f for a row, and the changes for which f predicts another class."""

    row: int
    own_class: Any
    """The class of the row; None of a new row, whose class is not known."""
    called: Any
    """The class that f predicts for the row as it is."""
    to: Any
    score: float
    """f's score of the class ``to`` for the row as it is, nan where f has none."""
    cells: dict[str, Any]
    answers: tuple[Answer, ...]
    """The nearest first; the others are near and change other features."""
    sampled: bool
    """Whether the first answer is the row that the sampler makes from this row.

    The sampler makes none if f misclassifies the row, if the target class is not smaller, or if
    it finds no inversion."""
    refits: int
    """Number of refits; 0 if f cannot be fitted again, or with ``robust=None``."""


def _inwards(end: Any, value: Any, *, up: bool) -> str:
    """Write the end of a range with few digits, rounded towards the value that lies in it."""
    if not isinstance(end, float) or not np.isfinite(end):
        return f"{end:,}" if isinstance(end, int) and not isinstance(end, bool) else str(end)
    for digits in range(DIGITS, MOST_DIGITS):
        rounded = Context(digits, ROUND_CEILING if up else ROUND_FLOOR).create_decimal(repr(end))
        if float(rounded) <= value if up else float(rounded) >= value:
            return f"{rounded.normalize():,f}" if SMALL < abs(end) < LARGE else f"{rounded:g}"
    return repr(end)


def _listed(values: list[str]) -> str:
    """List a few values, or say how many there are."""
    if len(values) > MOST_LISTED:
        left = len(values) - MOST_LISTED
        return f"{', '.join(values[:MOST_LISTED])} or {left} other{'s' if left > 1 else ''}"
    return " or ".join(filter(None, [", ".join(values[:-1]), values[-1]]))


# In a column with at most this many values, f predicts each of them.
FEW = 1000
# Without trees or weights: points at which f predicts, and steps of the bisection between two.
ASKED = 65
HALVINGS = 60

Accepts = Callable[[Floats], Mask]


@dataclass(frozen=True)
class Span:
    """The accepted values of a feature, as codes of its column."""

    low: float
    high: float
    exact: bool
    levels: Floats | None = None  # of a feature without an order: all accepted ones


@dataclass(frozen=True, eq=False)
class Ranges:
    """Finds the accepted values of changed features."""

    space: Space
    structure: Structure

    def find(self, row: Floats, x: Floats, m: int, target: int, factual: int) -> Span:
        """Return the accepted values of feature ``m`` in a counterfactual ``row`` of ``x``."""
        rules = self.space.rules

        def accepts(values: Floats) -> Mask:
            rows = np.repeat(row[None, :], len(values), axis=0)
            rows[:, m] = values
            ids, targets = np.full(len(values), factual), np.full(len(values), target)
            old = np.repeat(x[None, :], len(values), axis=0)
            rows = rules.complete(rows, old)
            return agrees(self.structure.predict, rules, old, rows, targets, ids)

        share = self.space.profile.frequency[m]
        if any(follower.column == m for follower in rules.followers):  # it has no range of its own
            own = None if share is None else row[[m]]
            return Span(row[m], row[m], exact=True, levels=own)
        if share is not None:
            levels = np.flatnonzero(share).astype(np.float64)
            return Span(row[m], row[m], exact=True, levels=levels[accepts(levels)])
        low, high = (float(end.item()) for end in self.space.bounds(x[None, [m]], np.array([m])))
        low, high = min(low, row[m]), max(high, row[m])
        few = self._few_values(m, low, high)
        if few is not None:
            at = int(np.argmin(np.abs(few - row[m])))
            return _around(at, few, few, accepts(few), exact=True)
        if not (rules.relations or rules.of_the_table):  # whose ends may lie between two thresholds
            land, screen = self.structure.land, self.structure.screen
            if land is not None:
                return self._between_cuts(land, m, row[m], low, high, accepts)
            if screen is not None:
                return self._on_a_line(screen, row, m, target, low, high, accepts)
        return self._bisected(m, row[m], low, high, accepts)

    def _few_values(self, m: int, low: float, high: float) -> Floats | None:
        """Return every value that a column can hold, if these are few."""
        levels = self.space.rules.levels.get(m)
        if levels is not None:
            return np.sort(levels) if len(levels) <= FEW else None
        per_unit = float(self.space.grid.resolution[m])
        if not 0 < (high - low) * per_unit <= FEW:
            return None
        values = np.arange(np.rint(low * per_unit), np.rint(high * per_unit) + 1) / per_unit
        return self._snapped(values, m)

    def _between_cuts(
        self, land: Landscape, m: int, value: float, low: float, high: float, accepts: Accepts
    ) -> Span:
        bins = slice(land.first_bin[m], land.first_bin[m + 1])
        least, most = np.maximum(land.least[bins], low), np.minimum(land.most[bins], high)
        here = int(np.searchsorted(land.trees.cuts_of(m), land.trees.cell(value)))
        least[here], most[here] = min(least[here], value), max(most[here], value)
        holds = least <= most
        at = int(np.count_nonzero(holds[:here]))
        least, most = least[holds], most[holds]
        return _around(at, least, most, accepts(least) & accepts(most), exact=True)

    def _on_a_line(
        self,
        screen: Screen,
        row: Floats,
        m: int,
        target: int,
        low: float,
        high: float,
        accepts: Accepts,
    ) -> Span:
        """Find, on either side, the value at which another class reaches the same score."""
        ahead = (screen.weight[target] - screen.weight) @ row
        ahead += screen.intercept[target] - screen.intercept
        slope = screen.weight[target, m] - screen.weight[:, m]
        others = (np.arange(len(slope)) != target) & (slope != 0)
        level = row[m] - ahead[others] / slope[others]
        low = level[slope[others] > 0].max(initial=low)
        high = level[slope[others] < 0].min(initial=high)
        ends = [self._last_accepted(m, row[m], float(end), accepts) for end in (low, high)]
        return Span(ends[0], ends[1], exact=True)

    def _bisected(self, m: int, value: float, low: float, high: float, accepts: Accepts) -> Span:
        points = self._snapped(np.append(np.linspace(low, high, ASKED), value), m)
        points = np.unique(np.clip(points, low, high))
        good = accepts(points)
        span = _around(int(np.argmin(np.abs(points - value))), points, points, good, exact=False)
        below, above = points[points < span.low], points[points > span.high]
        ends = [span.low, span.high]
        if below.size:
            ends[0] = self._last_accepted(m, span.low, float(below[-1]), accepts)
        if above.size:
            ends[1] = self._last_accepted(m, span.high, float(above[0]), accepts)
        return Span(ends[0], ends[1], exact=False)

    def _last_accepted(self, m: int, good: float, bound: float, accepts: Accepts) -> float:
        """Bisect for the last accepted value on the way from an accepted one to a bound."""
        bound = float(self._snapped(np.array([bound]), m)[0])
        if accepts(np.array([bound]))[0]:
            return bound
        for _ in range(HALVINGS):
            middle = self._snapped(np.array([good + (bound - good) / 2]), m)
            if middle[0] in {good, bound}:
                break
            if accepts(middle)[0]:
                good = float(middle[0])
            else:
                bound = float(middle[0])
        return good

    def _snapped(self, values: Floats, m: int) -> Floats:
        column = values[:, None].copy()
        self.space.snap(column, np.array([m]))
        return np.asarray(column[:, 0])


def _around(at: int, least: Floats, most: Floats, good: Mask, *, exact: bool) -> Span:
    """Return the run of good pieces [least, most] around the one that is at ``at``."""
    bad = np.flatnonzero(~good)
    first = int(bad[bad < at].max(initial=-1)) + 1
    last = int(bad[bad > at].min(initial=len(good))) - 1
    return Span(float(least[first]), float(most[last]), exact=exact)
