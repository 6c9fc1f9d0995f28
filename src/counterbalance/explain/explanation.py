"""Explanation: what would have to change for one row to be called another class.

row       the position of the factual in X
to        the class that it would be called
answer    a minimal counterfactual of the row: every change in it is needed
room      of a changed feature: the values that f accepts, with the other changes kept
refit     f, fitted again without one fold of the table
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np

# Digits that the ends of a room are written with, if no more are needed; values that are listed.
DIGITS, MOST_DIGITS = 4, 17
MOST_LISTED = 5
# Numbers between these are written in full.
SMALL, LARGE = 1e-4, 1e12


@dataclass(frozen=True)
class Room:
    """The values of a changed feature that f accepts, with the other changes kept."""

    low: Any
    """The least of them; None if no value of the table is too low."""
    high: Any
    """The largest of them; None if no value of the table is too high."""
    values: tuple[Any, ...] | None
    """All of them, of a feature without an order; None for others."""
    exact: bool
    """Whether the ends are known; otherwise f was asked at some points, and they are bisected."""

    def tell(self, value: Any) -> str:
        """Say the room around the ``value`` that an answer has; ends are rounded inwards.

        >>> Room(6580.49, None, None, True).tell(7000.0), Room(61, 74, None, True).tell(63)
        ('6,581 or more', '61 to 74')
        >>> Room(None, None, ("A", "B"), True).tell("A"), Room(None, 2.5, None, False).tell(2.0)
        ('A or B', 'about 2.5 or less')
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
    room: dict[str, Room]
    """For each feature that changes, the values that f would accept."""
    robust: float
    """The share of refits that call it the class, too; nan where there were none."""


@dataclass(frozen=True)
class Explanation:
    """What f says of a row, and the changes that make it say another class."""

    row: int
    own_class: Any
    called: Any
    """What f calls the row as it is."""
    to: Any
    score: float
    """f's score of the class ``to`` for the row as it is, nan where f has none."""
    cells: dict[str, Any]
    answers: tuple[Answer, ...]
    """The first is the nearest one, or what the sampler makes; the others are near and unlike."""
    sampled: bool
    """Whether the first answer is what the sampler makes of this row.

    It makes none of a row that f gets wrong, none of a larger class, and it may find none."""
    refits: int
    """How many refits were asked; 0 without ``robust``."""


def _inwards(end: Any, value: Any, *, up: bool) -> str:
    """Write the end of a room with few digits, rounded towards the value that lies in it."""
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
