"""Statistics: the profile of a table that nobody holds as a whole.

    u          (x - lower) / width, the cell within the range of its column
    cuts       values of a sample: every cell is equal to one of them or between two
    bins       how many cells of each class are at or between the cuts, (C, 2 K + 1)

Two passes after the survey, none of which shows the partitioning:

    1   sum of u; the cells around the median; bins of numbers, counts of levels
    2   sum of (u - mean)**2 and of |x - median|; the cells around the MAD

Ranges, medians, MADs and shares of levels are exact. Deviations are correctly rounded
sums, so they differ from numpy's in the last bits. The Spearman correlation takes a cell
between two cuts at the middle rank of its bin: exact for a column with at most MOST_CUTS
different values, else off by less than sqrt(3) * (rows of the largest bin / rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.distributed.brackets import Bracket, Inside
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Partition, blocks
from counterbalance.distributed.sums import exact_sum

# Of a column with more different values, the Spearman correlation comes from bins.
MOST_CUTS = 1024


@dataclass(frozen=True)
class Guide:
    """What a pass needs to know of a column of numbers before it starts."""

    lower: float
    upper: float
    cuts: Floats
    bracket: Bracket
    mean: float = 0.0  # of u
    median: float = 0.0

    @property
    def width(self) -> float:
        """The range of the column."""
        return self.upper - self.lower

    @classmethod
    def of(cls, lower: float, upper: float, sample: Floats) -> Guide:
        """Return a guide to the first pass, from a sorted sample of the column."""
        return cls(lower, upper, _cuts(sample), Bracket.around_median(sample))


@dataclass(frozen=True)
class First:
    """What the first pass tells of a column of numbers."""

    total: int
    inside: Inside
    bins: Integers

    @classmethod
    def of(cls, cells: Floats, y: Integers, n_classes: int, guide: Guide) -> First:
        """Measure some cells, none of them missing."""
        u = (cells - guide.lower) / guide.width if guide.width else np.zeros(len(cells))
        place = np.searchsorted(guide.cuts, cells)
        at_cut = np.append(guide.cuts, np.nan)[place] == cells
        n_bins = 2 * len(guide.cuts) + 1
        bins = np.bincount(y * n_bins + 2 * place + at_cut, minlength=n_classes * n_bins)
        inside = Inside.of(cells, guide.bracket)
        return cls(exact_sum(u), inside, bins.reshape(n_classes, n_bins))

    @classmethod
    def join(cls, parts: list[First]) -> First:
        """Return what all cells tell."""
        bins = np.sum([part.bins for part in parts], axis=0)
        return cls(sum(p.total for p in parts), Inside.join([p.inside for p in parts]), bins)


@dataclass(frozen=True)
class Levels:
    """What the first pass tells of a nominal column."""

    counts: Integers  # (C, levels)

    @classmethod
    def join(cls, parts: list[Levels]) -> Levels:
        """Return what all cells tell."""
        return cls(np.sum([part.counts for part in parts], axis=0))


@dataclass(frozen=True)
class Second:
    """What the second pass tells of a column of numbers."""

    squares: int
    distances: int  # |x - median| in widths
    inside: Inside

    @classmethod
    def of(cls, cells: Floats, guide: Guide) -> Second:
        """Measure some cells, none of them missing."""
        u = (cells - guide.lower) / guide.width
        away = np.abs(cells - guide.median)
        inside = Inside.of(away, guide.bracket)
        return cls(exact_sum((u - guide.mean) ** 2), exact_sum(away / guide.width), inside)

    @classmethod
    def join(cls, parts: list[Second]) -> Second:
        """Return what all cells tell."""
        squares, distances = (sum(getattr(p, n) for p in parts) for n in ("squares", "distances"))
        return cls(squares, distances, Inside.join([part.inside for part in parts]))


def first_pass(
    partition: Partition, layout: Layout, guides: list[Guide | None], size: int
) -> list[First | Levels | None]:
    """Measure the nominal columns of a partition, and those of numbers that have a guide."""
    n_classes, told = len(layout.classes), []
    for block in chain(blocks(partition, size), [layout.empty]):
        x, y = layout.encode(block), layout.class_codes(block).astype(np.int64)
        columns: list[First | Levels | None] = []
        for m, guide in enumerate(guides):
            known = ~np.isnan(x[:, m])
            cells, labels = x[known, m], y[known]
            if guide is not None:
                columns.append(First.of(cells, labels, n_classes, guide))
                continue
            if not layout.nominal[m]:
                columns.append(None)
                continue
            n_levels = layout.n_levels(m)
            counts = np.bincount(
                labels * n_levels + cells.astype(np.int64), minlength=n_classes * n_levels
            )
            columns.append(Levels(counts.reshape(n_classes, n_levels)))
        told.append(columns)
    return join_columns(told)


def second_pass(
    partition: Partition, layout: Layout, guides: list[Guide | None], size: int
) -> list[Second | None]:
    """Measure what needs the mean and the median; a column without a guide is left out."""
    told = []
    for block in chain(blocks(partition, size), [layout.empty]):
        x = layout.encode(block)
        told.append(
            [
                None if guide is None else Second.of(x[~np.isnan(x[:, m]), m], guide)
                for m, guide in enumerate(guides)
            ]
        )
    return join_columns(told)


def join_columns(told: list[list[Any]]) -> list[Any]:
    """Join column by column what several blocks or partitions tell."""
    return [
        None if parts[0] is None else type(parts[0]).join(list(parts))
        for parts in zip(*told, strict=True)
    ]


def _cuts(sample: Floats) -> Floats:
    """Return every value of a sorted sample, or evenly spread ones where it has too many."""
    values = np.unique(sample)
    if len(values) <= MOST_CUTS:
        return values
    places = np.linspace(0, len(sample) - 1, MOST_CUTS).round().astype(np.intp)
    return np.unique(sample[places])
