"""Profiles: the statistics of the whole table, put together on the client.

in passes    from what the two passes of ``statistics`` tell, for a table of any size
gathered     column by column on one worker, by the sampler's own code: the very bits of
             the in-memory profile, for a table whose single columns fit a worker
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterbalance.arrays import Floats, Integers
from counterbalance.distributed.brackets import Bracket
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import Partition, blocks
from counterbalance.distributed.statistics import (
    First,
    Guide,
    Levels,
    Second,
    first_pass,
    second_pass,
)
from counterbalance.distributed.sums import mean_of
from counterbalance.errors import TableError
from counterbalance.profile import NOMINAL_SHARE, Profile, profile_table

Guides = list[Guide | None]
# Makes a pass over all partitions and returns what they tell of each column, joined.
RunPass = Callable[[Callable[..., list[Any]], Guides], list[Any]]

# How much wider a bracket becomes each time that the sample misled.
WIDER = 8.0
MOST_PASSES = 8


class Figures(NamedTuple):
    """The statistics of one column."""

    lower: float = 0.0
    upper: float = 0.0
    median: float = 0.0
    deviation: float = 0.0
    scale: float = 1.0
    importance: float = 0.0
    frequency: Floats | None = None


def profile_in_passes(layout: Layout, sample: Floats, run: RunPass) -> Profile:
    """Return the profile of a table of any size; ``sample`` holds rows drawn evenly, encoded."""
    samples = [np.sort(column[~np.isnan(column)]) for column in sample.T]
    guides = [
        None if layout.nominal[m] else Guide.of(*_finite_range(layout, m), known)
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
        _of_levels(one) if isinstance(one, Levels) else _of_numbers(one, two, guide)
        for one, two, guide in zip(first, second, guides, strict=True)
    ]
    return join_figures(columns)


def _finite_range(layout: Layout, m: int) -> tuple[float, float]:
    lower, upper = layout.range_of(m)
    if not np.isfinite(upper - lower):
        raise TableError(
            f"column {layout.features[m]!r} spans from {lower:g} to {upper:g}, "
            "wider than a float can hold; rescale it, for example divide it by 1e10"
        )
    return lower, upper


def gathered_figures(parts: list[Partition], layout: Layout, m: int, size: int) -> Figures:
    """Return the statistics of one column, taken by the sampler's own code from all its cells."""
    name = layout.features[m]
    cells = [block[[name, layout.target]] for part in parts for block in blocks(part, size)]
    column = pd.concat(cells, ignore_index=True)
    codes = layout.class_codes(column)
    profile = profile_table(layout.column(column[name], m), codes)
    return Figures(*(getattr(profile, field.name)[0] for field in fields(Profile)))


def join_figures(columns: list[Figures]) -> Profile:
    """Put the columns together."""
    lower, upper, median, deviation, scale, importance = (
        np.array([column[k] for column in columns], dtype=np.float64) for k in range(6)
    )
    frequency = tuple(column.frequency for column in columns)
    return Profile(lower, upper, median, deviation, scale, importance, frequency)


def _bracketed(
    a_pass: Callable[..., list[Any]], guides: Guides, samples: list[Floats], run: RunPass
) -> list[Any]:
    """Make a pass, and make it again with wider brackets for the columns that were missed."""
    told = run(a_pass, guides) if any(guides) or a_pass is first_pass else [None] * len(guides)
    wider = 1.0
    for _ in range(MOST_PASSES):
        missed = [
            m
            for m, one in enumerate(told)
            if isinstance(one, (First, Second)) and one.inside.n and one.inside.median is None
        ]
        if not missed:
            break
        wider *= WIDER
        again: Guides = [None] * len(guides)
        for m in missed:
            guide = guides[m]
            if guide is not None:
                again[m] = replace(guide, bracket=Bracket.around_median(samples[m], wider))
        for m, one in zip(missed, [run(a_pass, again)[m] for m in missed], strict=True):
            told[m] = one
    return told


def _of_numbers(first: First, second: Second | None, guide: Guide | None) -> Figures:
    n = first.inside.n
    if not n:
        return Figures()
    median = first.inside.median
    assert median is not None  # noqa: S101  (the passes go on until it is known)
    if second is None or guide is None:  # one value only, and it is the median
        return Figures(median, median, median)
    width = guide.width
    mad, mean_away = second.inside.median, mean_of(second.distances, n) * width
    scale = next((s for s in (mad, mean_away) if s and np.isfinite(width / s)), width)
    deviation = float(np.sqrt(mean_of(second.squares, n))) * width
    importance = _spearman(first.bins) if deviation > 0 else 0.0
    return Figures(guide.lower, guide.upper, median, deviation, scale, importance)


def _of_levels(told: Levels) -> Figures:
    size = told.counts.sum(axis=0)
    share = size / size.sum() if size.sum() else np.zeros(len(size))
    return Figures(
        scale=1 / NOMINAL_SHARE, importance=_correlation_ratio(told.counts), frequency=share
    )


def _spearman(bins: Integers) -> float:
    """Return |rho| with the class, averaged over the classes, at the middle rank of each bin."""
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
    """Return what the profile calls so, from the counts of (class, level)."""
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
