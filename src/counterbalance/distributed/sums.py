"""Sums: floats added so that neither order nor partitioning shows in the last bit.

    fold k    the part of each value that is a multiple of 2**-(26 + 27 k)

Each value within [-1, 1] is split into folds, exactly. All values of a fold are multiples
of one grid and few enough to add up without rounding, in any order. A sum is a Python
integer that counts units; what lies below the last fold, 2**-108 of a value, is left out.
"""

from __future__ import annotations

import numpy as np

from counterbalance.arrays import Floats

FOLDS = 4
FIRST_GRID = 26
DIGITS_PER_FOLD = 27
UNIT = FIRST_GRID + DIGITS_PER_FOLD * (FOLDS - 1)
# Values whose sum stays below 2**53 points of the grid.
MOST_AT_ONCE = 2**25


def exact_sum(values: Floats) -> int:
    """Return the sum of values within [-1, 1], in units of ``2**-UNIT``."""
    total = 0
    for start in range(0, len(values), MOST_AT_ONCE):
        rest = values[start : start + MOST_AT_ONCE]
        for fold in range(FOLDS):
            digits = FIRST_GRID + DIGITS_PER_FOLD * fold
            # Adding a number this large rounds to the grid; taking it away leaves the multiple.
            large = 1.5 * 2.0 ** (52 - digits)
            on_grid = (rest + large) - large
            total += int(np.ldexp(on_grid.sum(), digits)) << (UNIT - digits)
            rest = rest - on_grid
    return total


def mean_of(total: int, n: int) -> float:
    """Return the mean, rounded once."""
    return total / (n << UNIT)
