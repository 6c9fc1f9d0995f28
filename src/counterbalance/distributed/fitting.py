"""Fitting: f, trained where the rows are.

    sample    rows drawn by a number that belongs to each row's id, the same for any
              partitioning; all rows where they fit a worker

f is fitted on one worker, by the sampler's own code: to the whole table where it fits (then
f is the in-memory one), else to a sample with the table's class shares and at least
FEWEST_OF_CLASS rows of each class, or all that there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterbalance import prepare
from counterbalance.arrays import Floats
from counterbalance.classifier.fit import check_takes
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Partition, Place, blocks
from counterbalance.prepare import Choices
from counterbalance.search.draws import stream, uniform
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table

# Draws 0, 1, ... belong to the perturbations of a row; this one tells whether it is sampled.
SAMPLE_DRAW = 2**40
FEWEST_OF_CLASS = 1_000
# The share of a worker's memory for the rows that f is fitted to.
SHARE_FOR_FIT = 0.25
# Rows from which the brackets and the cuts of the statistics are guessed.
ROWS_FOR_STATISTICS = 100_000


@dataclass(frozen=True)
class Rates:
    """Which share of the rows is drawn: for f of each class, for the statistics of all."""

    fit: Floats
    statistics: float

    @property
    def whole(self) -> bool:
        """Whether f gets every row."""
        return bool(np.all(self.fit >= 1))


@dataclass(frozen=True)
class Sample:
    """Rows drawn from a partition."""

    rows: pd.DataFrame  # for f, target included
    codes: Floats  # for the statistics

    @classmethod
    def join(cls, parts: list[Sample]) -> Sample:
        """Put the samples of partitions one behind the other, in their order."""
        rows = [part.rows for part in parts if len(part.rows)] or [parts[0].rows]
        return cls(pd.concat(rows), np.concatenate([part.codes for part in parts]))


def make_rates(layout: Layout, most_rows: int, *, fit: bool, statistics: bool) -> Rates:
    """Return rates that draw some ``most_rows`` rows for f, all where there are no more."""
    n = int(layout.counts.sum())
    rates = np.zeros(len(layout.counts))
    if fit:
        least = np.minimum(layout.counts, FEWEST_OF_CLASS) / layout.counts
        rates = np.maximum(min(1.0, most_rows / n), least)
    return Rates(rates, min(1.0, ROWS_FOR_STATISTICS / n) if statistics else 0.0)


def sample_partition(
    partition: Partition, place: Place, layout: Layout, rates: Rates, seed: int, size: int
) -> Sample:
    """Draw the rows whose number is below their rate."""
    first = place.first
    drawn = [Sample(layout.empty, np.zeros((0, len(layout.features))))]
    for block in blocks(partition, size):
        lot = uniform(stream(seed, first + np.arange(len(block)), SAMPLE_DRAW), 0)
        first += len(block)
        fit = block[lot < rates.fit[layout.class_codes(block)]]
        measured = block[lot < rates.statistics]
        codes = layout.encode(measured) if len(measured) else drawn[0].codes
        drawn.append(Sample(fit, codes))
    return Sample.join(drawn)


def fit_f(
    samples: list[Sample],
    choices: Choices,
    layout: Layout,
    random_state: np.random.RandomState,
) -> tuple[Any, bool]:
    """Return f, fitted, and whether it knows every level of every column."""
    rows = Sample.join(samples).rows
    X = rows[layout.features]
    table = read_table(X, categorical_features=layout.categorical, integer_features=layout.integer)
    labels = read_labels(rows[layout.target])
    if choices.estimator is not None:
        check_takes(choices.classifier(table), table)
    f = prepare.fit_f(table, labels, None, choices, random_state)
    complete = all(
        len(np.unique(column[~np.isnan(column)])) == layout.n_levels(m)
        for m, column in enumerate(map(table.column, range(len(layout.features))))
        if layout.kinds[m].has_levels
    )
    return f, complete
