"""Statistics: the profile of a table that no single process holds.

    gathered    column by column on one worker, by the in-memory code: bit for bit the in-memory
                profile, for a table whose single columns fit into a worker's memory
    passes      two passes over the partitions, for a table of any size

    u           (x - lower) / width, the cell within the range of its column
    cuts        values of a sample: every cell equals one of them or lies between two
    bins        how many cells of each class lie at or between the cuts, (C, 2 K + 1)

The two passes, whose results do not depend on the partitioning:

    1   sum of u; the cells around the median; bins of numbers, counts of levels
    2   sum of (u - mean)**2 and of |x - median|; the cells around the MAD

Ranges, medians, MADs and shares of levels are exact. Deviations come from correctly rounded
sums, so they differ from numpy's in the last bits. The Spearman correlation places a cell
between two cuts at the middle rank of its bin: exact for a column with at most MOST_CUTS
different values, otherwise off by less than sqrt(3) * (rows of the largest bin / rows).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterbalance.arrays import Floats, Integers
from counterbalance.distributed.inputs import Partition, blocks
from counterbalance.distributed.reductions import Bracket, BracketCounts, exact_sum, mean_of
from counterbalance.distributed.scan import TableLayout
from counterbalance.errors import TableError
from counterbalance.profile import NOMINAL_SHARE, Profile, profile_table

try:
    from counterbalance.distributed import statistics_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# For a column with more different values the Spearman correlation comes from bins.
MOST_CUTS = 1024
# Buckets that the kernel sorts cells into on their way between the cuts.
N_BUCKETS = 8192
# How much wider a bracket becomes each time that the sample was misleading.
WIDER = 8.0
MOST_PASSES = 8


@dataclass(frozen=True)
class ColumnGuide:
    """What a pass needs to know about a column of numbers before it starts."""

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

    def u(self, cells: Floats) -> Floats:
        """Return cells within the range of the column."""
        return (cells - self.lower) / self.width if self.width else np.zeros(len(cells))

    @classmethod
    def of(cls, lower: float, upper: float, sample: Floats) -> ColumnGuide:
        """Return the guide of the first pass, given a sorted sample of the column."""
        return cls(lower, upper, _cuts(sample), Bracket.around_median(sample))


@dataclass(frozen=True)
class FirstPass:
    """What the first pass tells about a column of numbers."""

    total: int
    inside: BracketCounts
    bins: Integers

    @classmethod
    def of(cls, cells: Floats, y: Integers, n_classes: int, guide: ColumnGuide) -> FirstPass:
        """Measure some cells; missing ones are left out."""
        n_bins = 2 * len(guide.cuts) + 1
        if kernel is not None:
            counts = np.zeros((n_classes, n_bins), dtype=np.int64)
            buffer, bracket = np.empty(len(cells) + 1), guide.bracket
            cuts, start = np.append(guide.cuts, np.inf), _starts(guide.u(guide.cuts))
            total, n, below, n_inside = kernel.first_pass(
                cells, y, guide.lower, guide.width, cuts, start, *bracket, counts, buffer
            )
            return cls(total, BracketCounts.counted(n, below, buffer[:n_inside]), counts)
        cells, y = _known(cells, y)
        place = np.searchsorted(guide.cuts, cells)
        at_cut = np.append(guide.cuts, np.inf)[place] == cells
        bins = np.bincount(y * n_bins + 2 * place + at_cut, minlength=n_classes * n_bins)
        inside = BracketCounts.of(cells, guide.bracket)
        return cls(exact_sum(guide.u(cells)), inside, bins.reshape(n_classes, n_bins))

    @classmethod
    def join(cls, parts: list[FirstPass]) -> FirstPass:
        """Return what all parts tell together."""
        bins = np.sum([part.bins for part in parts], axis=0)
        return cls(sum(p.total for p in parts), BracketCounts.join([p.inside for p in parts]), bins)


@dataclass(frozen=True)
class LevelCounts:
    """What the first pass tells about a nominal column."""

    counts: Integers  # (C, levels)

    @classmethod
    def join(cls, parts: list[LevelCounts]) -> LevelCounts:
        """Return what all parts tell together."""
        return cls(np.sum([part.counts for part in parts], axis=0))


@dataclass(frozen=True)
class SecondPass:
    """What the second pass tells about a column of numbers."""

    squares: int
    distances: int  # |x - median| in widths
    inside: BracketCounts

    @classmethod
    def of(cls, cells: Floats, guide: ColumnGuide) -> SecondPass:
        """Measure some cells; missing ones are left out."""
        if kernel is not None:
            buffer = np.empty(len(cells) + 1)
            about = (guide.lower, guide.width, guide.mean, guide.median, *guide.bracket)
            squares, distances, n, below, n_inside = kernel.second_pass(cells, *about, buffer)
            inside = BracketCounts.counted(n, below, buffer[:n_inside])
            return cls(squares, distances, inside)
        cells, _ = _known(cells, cells)
        u = (cells - guide.lower) / guide.width
        away = np.abs(cells - guide.median)
        inside = BracketCounts.of(away, guide.bracket)
        return cls(exact_sum((u - guide.mean) ** 2), exact_sum(away / guide.width), inside)

    @classmethod
    def join(cls, parts: list[SecondPass]) -> SecondPass:
        """Return what all parts tell together."""
        squares, distances = (sum(getattr(p, n) for p in parts) for n in ("squares", "distances"))
        return cls(squares, distances, BracketCounts.join([part.inside for part in parts]))


def first_pass(
    partition: Partition, layout: TableLayout, guides: list[ColumnGuide | None], size: int
) -> list[FirstPass | LevelCounts | None]:
    """Measure the nominal columns of a partition, and the columns of numbers that have a guide."""
    n_classes, told = len(layout.classes), []
    for block in chain(blocks(partition, size), [layout.empty]):
        x, y = layout.encode(block), layout.class_codes(block).astype(np.int64)
        columns: list[FirstPass | LevelCounts | None] = []
        for m, guide in enumerate(guides):
            if guide is not None:
                columns.append(FirstPass.of(x[:, m], y, n_classes, guide))
                continue
            if not layout.nominal[m]:
                columns.append(None)
                continue
            cells, labels = _known(x[:, m], y)
            n_levels = layout.n_levels(m)
            counts = np.bincount(
                labels * n_levels + cells.astype(np.int64), minlength=n_classes * n_levels
            )
            columns.append(LevelCounts(counts.reshape(n_classes, n_levels)))
        told.append(columns)
    return join_columns(told)


def _known(column: Floats, labels: Any) -> tuple[Floats, Any]:
    """Leave out missing cells; a column without any is not copied."""
    missing = np.isnan(column)
    if not missing.any():
        return column, labels
    return column[~missing], labels[~missing]


def second_pass(
    partition: Partition, layout: TableLayout, guides: list[ColumnGuide | None], size: int
) -> list[SecondPass | None]:
    """Measure what needs the mean and the median; columns without a guide are skipped."""
    told = []
    for block in chain(blocks(partition, size), [layout.empty]):
        x = layout.encode(block)
        told.append(
            [
                None if guide is None else SecondPass.of(x[:, m], guide)
                for m, guide in enumerate(guides)
            ]
        )
    return join_columns(told)


def join_columns(told: list[list[Any]]) -> list[Any]:
    """Join, column by column, what several blocks or partitions tell."""
    return [
        None if parts[0] is None else type(parts[0]).join(list(parts))
        for parts in zip(*told, strict=True)
    ]


def _starts(u_of_cuts: Floats) -> Integers:
    """Return the first cut of each bucket.

    Both u and its bucket never fall as cells grow: a cut in an earlier bucket is below.
    """
    return np.searchsorted((u_of_cuts * N_BUCKETS).astype(np.intp), np.arange(N_BUCKETS + 2))


def _cuts(sample: Floats) -> Floats:
    """Return every value of a sorted sample, or evenly spread ones if there are too many."""
    values = np.unique(sample)
    if len(values) <= MOST_CUTS:
        return values
    places = np.linspace(0, len(sample) - 1, MOST_CUTS).round().astype(np.intp)
    return np.unique(sample[places])


ColumnGuides = list[ColumnGuide | None]
# Makes a pass over all partitions and returns what they tell about each column, joined.
RunPass = Callable[[Callable[..., list[Any]], ColumnGuides], list[Any]]


class ColumnStatistics(NamedTuple):
    """The statistics of one column."""

    lower: float = 0.0
    upper: float = 0.0
    median: float = 0.0
    deviation: float = 0.0
    scale: float = 1.0
    importance: float = 0.0
    frequency: Floats | None = None


def profile_in_passes(layout: TableLayout, sample: Floats, run: RunPass) -> Profile:
    """Return the profile of a table of any size; ``sample`` holds evenly drawn, encoded rows."""
    samples = [np.sort(column[~np.isnan(column)]) for column in sample.T]
    guides = [
        None if layout.nominal[m] else ColumnGuide.of(*_finite_range(layout, m), known)
        for m, known in enumerate(samples)
    ]
    first = _bracketed(first_pass, guides, samples, run)
    for m, guide in enumerate(guides):
        told = first[m]
        if guide is None or not told.inside.n or not guide.width:
            guides[m] = None
            continue
        samples[m] = np.sort(np.abs(samples[m] - told.inside.median))
        guides[m] = replace(
            guide,
            mean=mean_of(told.total, told.inside.n),
            median=told.inside.median,
            bracket=Bracket.around_median(samples[m]),
        )
    second = _bracketed(second_pass, guides, samples, run)
    columns = [
        _of_levels(one) if isinstance(one, LevelCounts) else _of_numbers(one, two, guide)
        for one, two, guide in zip(first, second, guides, strict=True)
    ]
    return join_statistics(columns)


def _finite_range(layout: TableLayout, m: int) -> tuple[float, float]:
    lower, upper = layout.range_of(m)
    if not np.isfinite(upper - lower):
        raise TableError(
            f"column {layout.features[m]!r} spans from {lower:g} to {upper:g}, "
            "wider than a float can hold; rescale it, for example divide it by 1e10"
        )
    return lower, upper


def gather_statistics(
    parts: list[Partition], layout: TableLayout, m: int, size: int
) -> ColumnStatistics:
    """Return the statistics of one column, computed by the in-memory code from all its cells."""
    name = layout.features[m]
    cells = [block[[name, layout.target]] for part in parts for block in blocks(part, size)]
    column = pd.concat(cells, ignore_index=True)
    codes = layout.class_codes(column)
    profile = profile_table(layout.column(column[name], m), codes)
    return ColumnStatistics(*(getattr(profile, field.name)[0] for field in fields(Profile)))


def join_statistics(columns: list[ColumnStatistics]) -> Profile:
    """Return the profile of all columns."""
    lower, upper, median, deviation, scale, importance = (
        np.array([column[k] for column in columns], dtype=np.float64) for k in range(6)
    )
    frequency = tuple(column.frequency for column in columns)
    return Profile(lower, upper, median, deviation, scale, importance, frequency)


def _bracketed(
    a_pass: Callable[..., list[Any]], guides: ColumnGuides, samples: list[Floats], run: RunPass
) -> list[Any]:
    """Make a pass; repeat it with wider brackets for columns whose median was missed."""
    told = run(a_pass, guides) if any(guides) or a_pass is first_pass else [None] * len(guides)
    wider = 1.0
    for _ in range(MOST_PASSES):
        missed = [
            m
            for m, one in enumerate(told)
            if isinstance(one, (FirstPass, SecondPass))
            and one.inside.n
            and one.inside.median is None
        ]
        if not missed:
            break
        wider *= WIDER
        again: ColumnGuides = [None] * len(guides)
        for m in missed:
            guide = guides[m]
            if guide is not None:
                again[m] = replace(guide, bracket=Bracket.around_median(samples[m], wider))
        for m, one in zip(missed, [run(a_pass, again)[m] for m in missed], strict=True):
            told[m] = one
    return told


def _of_numbers(
    first: FirstPass, second: SecondPass | None, guide: ColumnGuide | None
) -> ColumnStatistics:
    n = first.inside.n
    if not n:
        return ColumnStatistics()
    median = first.inside.median
    assert median is not None  # noqa: S101  (the passes go on until it is known)
    if second is None or guide is None:  # the column has a single value
        return ColumnStatistics(median, median, median)
    width = guide.width
    mad, mean_deviation = second.inside.median, mean_of(second.distances, n) * width
    scale = next((s for s in (mad, mean_deviation) if s and np.isfinite(width / s)), width)
    deviation = float(np.sqrt(mean_of(second.squares, n))) * width
    importance = _spearman(first.bins) if deviation > 0 else 0.0
    return ColumnStatistics(guide.lower, guide.upper, median, deviation, scale, importance)


def _of_levels(told: LevelCounts) -> ColumnStatistics:
    size = told.counts.sum(axis=0)
    share = size / size.sum() if size.sum() else np.zeros(len(size))
    return ColumnStatistics(
        scale=1 / NOMINAL_SHARE, importance=_correlation_ratio(told.counts), frequency=share
    )


def _spearman(bins: Integers) -> float:
    """Return |rho| with each class, averaged, where a cell has the middle rank of its bin."""
    size = bins.sum(axis=0)
    n, inside = size.sum(), bins.sum(axis=1)
    rank = np.cumsum(size) - (size - 1) / 2
    mean = (n + 1) / 2
    spread = np.sqrt(np.sum(size * (rank - mean) ** 2) / n)
    some = (inside > 0) & (inside < n)
    if not some.any() or spread == 0:
        return 0.0
    mean_inside, share = (bins[some] @ rank) / inside[some], inside[some] / n
    rho = (mean_inside - mean) * np.sqrt(share / (1 - share)) / spread
    return float(np.mean(np.abs(rho)))


def _correlation_ratio(counts: Integers) -> float:
    """Return the correlation ratio of ``profile``, from the counts of (class, level)."""
    size = counts.sum(axis=0)
    counts, size = counts[:, size > 0], size[size > 0]
    n, n_levels = int(size.sum()), len(size)
    if not n:
        return 0.0
    chance = 0.0 if n_levels <= 2 else (n_levels - 1) / (n - 1)  # noqa: PLR2004
    if chance >= 1:
        return 0.0
    ratios = []
    for inside in counts:
        share = inside.sum() / n
        if 0 < share < 1:
            explained = np.sum(size * (inside / size - share) ** 2) / n / (share * (1 - share))
            ratios.append(np.sqrt(max(0.0, (explained - chance) / (1 - chance))))
    return float(np.mean(ratios)) if ratios else 0.0
