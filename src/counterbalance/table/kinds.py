"""Kinds: what a column can hold, and on which grid (see ``columns``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers

# Float types with less precision than that of the search, by their size in bytes.
NARROW: dict[int, type[np.floating[Any]]] = {4: np.float32, 2: np.float16}


class Kind(StrEnum):
    """What a column holds."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    BOOLEAN = "boolean"

    @property
    def has_levels(self) -> bool:
        """Whether the cells come from a fixed set of levels."""
        return self in {Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN}

    @property
    def has_order(self) -> bool:
        """Whether the cells have an order."""
        return self not in {Kind.NOMINAL, Kind.BOOLEAN}


def is_mixed(kinds: Iterable[Kind]) -> bool:
    """Return whether some column holds categories."""
    return any(kind.has_levels for kind in kinds)


@dataclass(frozen=True)
class Grid:
    """The values that a column can hold.

    ``resolution`` counts the grid points per unit: 1 for whole numbers, 2 for
    halves, 100 for two decimals, 0 for no grid. ``width`` is the number of bytes
    that a float of the column has.
    """

    resolution: Floats
    width: Integers

    def snap(self, values: Floats, features: Integers) -> Floats:
        """Put ``values`` onto the grid of their features (the last axis), in place."""
        gridded = self.resolution[features] > 0
        if gridded.any():
            per_unit = self.resolution[features][gridded]
            # Adding zero turns -0.0 into 0.0, so that only one zero is printed.
            values[..., gridded] = np.rint(values[..., gridded] * per_unit) / per_unit + 0.0
        for width, dtype in NARROW.items():
            narrow = self.width[features] == width
            if narrow.any():
                values[..., narrow] = values[..., narrow].astype(dtype)
        return values

    def inside(self, low: float, high: float, m: int) -> tuple[float, float]:
        """Round the bounds of a range inwards, to values that column ``m`` can hold."""
        per_unit = self.resolution[m]
        if per_unit > 0:
            low, high = _up(low * per_unit) / per_unit, -_up(-high * per_unit) / per_unit
        narrow = NARROW.get(int(self.width[m]))
        if narrow is not None:
            least, most = narrow(low), narrow(high)
            least = least if float(least) >= low else np.nextafter(least, narrow(np.inf))
            most = most if float(most) <= high else np.nextafter(most, narrow(-np.inf))
            low, high = float(least), float(most)
        return low, high


def _up(scaled: float) -> float:
    """Round up to a whole number, with a tolerance for products such as 0.07 * 100."""
    if not np.isfinite(scaled):
        return scaled
    nearest = float(np.rint(scaled))
    return (
        nearest if abs(scaled - nearest) <= 1e-9 * max(1.0, abs(scaled)) else float(np.ceil(scaled))
    )
