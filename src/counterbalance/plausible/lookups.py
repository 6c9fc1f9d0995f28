"""Lookups: whether one column predicts another, or only seems to by chance.

    entry       a value of the source, or an interval of a number with the same value
    step        where the level of the category changes along a number

Relations of this kind are found by counting pairs of values.
"""

from __future__ import annotations

import numpy as np
from scipy.special import pdtr

from counterbalance.arrays import Integers
from counterbalance.constraints.together import CHANCE
from counterbalance.plausible.evidence import FEWEST_ROWS, KEPT

# The most errors of a lookup, as a share of those of the most frequent value alone, and the least
# number of the latter.
LESS_WRONG, FEWEST_OTHERS = 0.1, 10
# The least rows for each entry of a lookup, and the most values that it predicts.
ROWS_PER_ENTRY, ROWS_PER_CATEGORY = 5, 2
MOST_VALUES = 1024
# The most steps, as a share of those of a shuffled column.
FEWER_STEPS = 0.25


def lookup_accuracy(pairs: Integers, *, number: bool, n_tests: int = 1) -> float | None:
    """Return the share of rows that a lookup predicts correctly, None if it is low.

    ``pairs`` counts the rows of each value of the source (rows) and of the column. A category and
    a number that is a code have an entry for each value; a number of which few steps lead from
    level to level, as bands of an age do, has one for each stretch. No row predicts itself: in an
    interval a neighbour predicts it, otherwise another row with its value. Values of one row are
    left out.
    """
    shown = pairs[pairs.sum(axis=1) > 0]
    once = shown.sum(axis=1) == 1
    stretches = number and _has_few_steps(shown.argmax(axis=1), n_tests)
    if not stretches:
        shown = shown[~once]
    n_rows, each = int(shown.sum()), ROWS_PER_ENTRY if number else ROWS_PER_CATEGORY
    if n_rows < FEWEST_ROWS:
        return None
    predicted, right = shown.argmax(axis=1), shown.max(axis=1)
    if stretches:
        step = np.diff(predicted) != 0
        first, last = np.append(True, step), np.append(step, True)
        right[once & first & last] = 0
        predicted = predicted[first]
    else:
        right[right == 1] = 0
    commonest = shown.sum(axis=0)
    wrong, others = n_rows - right.sum(), n_rows - commonest.max()
    otherwise = np.count_nonzero(predicted != commonest.argmax())
    enough = 0 < otherwise * each <= others and len(predicted) * each <= n_rows
    if (
        not enough
        or others < FEWEST_OTHERS
        or wrong > min((1 - KEPT) * n_rows, LESS_WRONG * others)
    ):
        return None
    return float(1 - wrong / n_rows)


def _has_few_steps(levels: Integers, n_tests: int) -> bool:
    """Return whether there are far fewer steps than by chance; two steps bound an interval."""
    shares = np.bincount(levels) / max(len(levels), 1)
    by_chance = len(levels) * (1 - shares @ shares)
    steps = np.count_nonzero(np.diff(levels))
    lucky = pdtr(steps // 2, by_chance / 2) * n_tests
    return bool(steps <= FEWER_STEPS * by_chance and lucky < CHANCE)
