"""Evidence: the rows that relations, shared values and outliers are learned from.

    rows      MOST_ROWS rows at most: all, or those with the smallest sample numbers
    sample    a few rows of every class, for what takes longer

A sample number depends only on the id of a row, so the partitioning does not change the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.search.draws import sample_number
from counterbalance.table.table import Table

MOST_ROWS = 100_000
# The most sampled rows of a class and of all classes, and the least of each class.
MOST_OF_CLASS = 1000
MOST_SAMPLED = 20_000
FEWEST_OF_CLASS = 20
# Relations with fewer rows, or kept by a smaller share of them, are ignored.
FEWEST_ROWS = 50
KEPT = 0.99


@dataclass(frozen=True)
class Evidence:
    """Some rows of a table, encoded."""

    n_classes: int
    classes: Integers  # of the sampled rows, which are sorted by class and then by id
    sample: Floats
    rows: Floats


def gather(
    table: Table, classes: Integers, n_classes: int, *, ids: Integers | None = None
) -> Evidence:
    """Choose rows of a table; ``ids`` are given if it is a sample of another table."""
    ids = np.arange(len(classes)) if ids is None else ids
    number = sample_number(ids)
    most = min(MOST_OF_CLASS, max(FEWEST_OF_CLASS, MOST_SAMPLED // max(1, n_classes)))
    ranked = np.lexsort((ids, number, classes))
    first = np.searchsorted(classes[ranked], classes[ranked])
    chosen = ranked[np.arange(len(ranked)) - first < most]
    chosen = chosen[np.lexsort((ids[chosen], classes[chosen]))]
    every = np.lexsort((ids, number))[:MOST_ROWS] if len(ids) > MOST_ROWS else np.arange(len(ids))
    rows = table.rows(np.sort(every))
    return Evidence(n_classes, classes[chosen], table.rows(chosen), rows)
