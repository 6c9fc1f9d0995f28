"""Lookups: whether the values of one column tell those of another, or seem to by chance.

    entry       a value of the source, or a stretch of values of a number that tell the same
    step        where a number goes from one level of the category to another

Relations of this kind are found by counting pairs of values.
"""

from __future__ import annotations

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.plausible.evidence import FEWEST_ROWS, KEPT

# What a table of values must leave of the rows that its commonest value alone gets wrong.
LESS_WRONG = 0.1
# Rows for each entry of such a table, and the most values that it can tell.
ROWS_PER_ENTRY = 5
MOST_VALUES = 256
# What stretches of a number must leave of the steps that a shuffled column would take.
FEWER_STEPS = 0.25


def told_share(pairs: Integers, *, number: bool) -> float | None:
    """Return the share of rows that a table of values gets right, None if that is not much.

    ``pairs`` counts the rows of each value of the source (rows) and of the column. A category and
    a number that is a code have an entry for each value; a number of which few steps lead from
    level to level, as bands of an age do, has one for each stretch. A value that one row alone has
    tells itself, which proves nothing: in a stretch a neighbour must tell it, and otherwise it is
    left out.
    """
    shown = pairs[pairs.sum(axis=1) > 0]
    n_rows, n_entries, once = int(shown.sum()), len(shown), shown.sum(axis=1) == 1
    stretches = number and _has_few_steps(shown.argmax(axis=1))
    if not stretches:
        shown = shown[~once]
    n_told = int(shown.sum())
    if n_told < FEWEST_ROWS:
        return None
    said, right = shown.argmax(axis=1), shown.max(axis=1)
    if stretches:
        step = np.diff(said) != 0
        first, last = np.append(True, step), np.append(step, True)
        right[once & first & last] = 0
        said = said[first]
        n_entries = len(said)
    commonest = shown.sum(axis=0)
    wrong, alone = n_told - right.sum(), n_told - commonest.max()
    otherwise = np.count_nonzero(said != commonest.argmax())
    enough = 0 < otherwise * ROWS_PER_ENTRY <= alone and n_entries * ROWS_PER_ENTRY <= n_rows
    if not enough or wrong > min((1 - KEPT) * n_told, LESS_WRONG * alone):
        return None
    return float(1 - wrong / n_told)


def _has_few_steps(levels: Integers) -> bool:
    """Say whether each level is one stretch, or there are far fewer steps than by chance."""
    if not len(levels):
        return False
    shares = np.bincount(levels) / len(levels)
    by_chance = len(levels) * (1 - shares @ shares)
    steps = np.count_nonzero(np.diff(levels))
    return bool(steps < np.count_nonzero(shares) or steps <= FEWER_STEPS * by_chance)
