"""Profile: the statistics of each feature for the search.

    lower, upper   X-_m and X+_m, the factual range
    median         median(X_1:N,m)
    deviation      sigma_m, the standard deviation
    scale          MAD_m, or its substitute where it is zero
    importance     |Spearman rho| between the feature and the class
    frequency      of a nominal feature: the share of each category, else None

Missing cells (nan) are left out of every statistic. Every statistic is taken
over the whole factual table, as in the paper, never over one class alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import TableError

# What one changed nominal cell adds to the distance: as much as a change of one MAD.
NOMINAL_SHARE = 1.0


class Encoded(Protocol):
    """The part of a table that the profile needs."""

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""

    @property
    def nominal(self) -> Mask:
        """Which columns have no order."""

    def column(self, m: int) -> Floats:
        """Return one encoded column."""


@dataclass(frozen=True)
class Profile:
    """Statistics of each feature of the factual table, in the order of its columns."""

    lower: Floats
    upper: Floats
    median: Floats
    deviation: Floats
    scale: Floats
    importance: Floats
    frequency: tuple[Floats | None, ...]

    @property
    def nominal(self) -> Mask:
        """Which features are nominal: another category is drawn, without an order."""
        return np.array([share is not None for share in self.frequency], dtype=bool)

    @property
    def varies(self) -> Mask:
        """Which features have more than one value. Constant ones are never perturbed."""
        levels = [0 if share is None else np.count_nonzero(share) for share in self.frequency]
        return np.where(self.nominal, np.array(levels) > 1, self.deviation > 0)


def profile_table(table: Encoded, y: NDArray[np.intp]) -> Profile:
    """Measure every column of the table; ``y`` holds class codes 0, 1, ..."""
    n_features = len(table.names)
    lower, upper, median, deviation, importance = np.zeros((5, n_features))
    scale = np.ones(n_features)
    frequency: list[Floats | None] = [None] * n_features
    for m, is_nominal in enumerate(table.nominal):
        column, labels = np.ascontiguousarray(table.column(m)), y
        missing = np.isnan(column)
        if missing.any():
            column, labels = column[~missing], y[~missing]
        if is_nominal:
            frequency[m] = _shares(column)
            importance[m] = _correlation_ratio(column, labels)
            scale[m] = 1 / NOMINAL_SHARE
        elif column.size:
            # One sort gives median, MAD and ranks; sorting takes most of the time.
            order = np.argsort(column)
            ordered = column[order]
            lower[m], upper[m], median[m] = column.min(), column.max(), _middle_of(ordered)
            deviation[m] = _deviation(column, float(lower[m]), float(upper[m]), table.names[m])
            if deviation[m] > 0:
                scale[m] = _scale(ordered, column, float(median[m]), float(upper[m] - lower[m]))
                importance[m] = _mean_correlation(_ranks(order, ordered), labels)
    return Profile(lower, upper, median, deviation, scale, importance, tuple(frequency))


def with_costs(profile: Profile, cost: dict[int, float]) -> Profile:
    """Return the profile with a weight for some features: a change of them counts as much more."""
    scale = profile.scale.copy()
    for m, weight in cost.items():
        scale[m] /= weight
    return replace(profile, scale=scale)


def by_importance(profile: Profile) -> Integers:
    """Rank the features that vary, the most important first; ties keep the table's order."""
    ranked = np.argsort(-profile.importance, kind="stable")
    return np.asarray(ranked[profile.varies[ranked]], dtype=np.intp)


def distance(profile: Profile, order: Integers, factual: Floats, counterfactual: Floats) -> Floats:
    """Sum |change| / MAD over the features of ``order``, for pairs of rows.

    The order of summation is part of the definition: it makes the figure
    reproducible to the last bit.
    """
    share = share_of_distance(profile, order, factual[:, order], counterfactual[:, order])
    return np.asarray(np.cumsum(share, axis=1)[:, -1])


def share_of_distance(
    profile: Profile, features: Integers, factual: Floats, changed: Floats
) -> Floats:
    """Return what each cell adds to the distance; the features lie along the last axis.

    A nominal cell that changed adds NOMINAL_SHARE, and so does a missing cell
    that got a value.
    """
    share = changed - factual
    np.abs(share, out=share)
    share /= profile.scale[features]
    nominal = profile.nominal[features]
    if nominal.any():
        each = 1 / profile.scale[features[nominal]]
        share[..., nominal] = np.where(share[..., nominal] > 0, each, 0.0)
    if np.isnan(factual).any():
        was_missing = np.broadcast_to(np.isnan(factual), share.shape)
        share[was_missing] = np.where(np.isnan(changed[was_missing]), 0.0, NOMINAL_SHARE)
    return np.asarray(share)


def _deviation(column: Floats, lower: float, upper: float, name: Any) -> float:
    """Return the standard deviation, taken on [0, 1] so that no square overflows."""
    width = upper - lower
    if width == 0:
        return 0.0
    if not np.isfinite(width):
        raise TableError(
            f"column {name!r} spans from {lower:g} to {upper:g}, wider than a float can hold; "
            "rescale it, for example divide it by 1e10"
        )
    return float(np.std((column - lower) / width) * width)


def _scale(ordered: Floats, column: Floats, median: float, width: float) -> float:
    """Return the MAD, or the mean absolute deviation where it is zero, or the range.

    The MAD of a column that repeats one value in most rows is zero (pixels,
    counts); dividing by it would make every distance infinite.
    """
    mad = _mad(ordered, median)
    if _can_divide(mad, width):
        return mad
    mean = _mean_deviation(column, median, width)
    return mean if _can_divide(mean, width) else width


def _can_divide(scale: float, width: float) -> bool:
    """Return whether no distance within the range becomes infinite."""
    return scale > 0 and bool(np.isfinite(width / scale))


def _mad(ordered: Floats, median: float) -> float:
    """Return the median of |number - median|, of numbers that are sorted.

    The half nearest to the median is a run; it starts where shifting it by one number brings
    nothing nearer.
    """
    n = len(ordered)
    half = (n + 1) // 2
    low, high = 0, n - half
    while low < high:
        start = (low + high) // 2
        if median - ordered[start] > ordered[start + half] - median:
            low = start + 1
        else:
            high = start
    farthest = max(abs(ordered[low] - median), abs(ordered[low + half - 1] - median))
    if n % 2:
        return float(farthest)
    before = abs(ordered[low - 1] - median) if low else np.inf
    behind = abs(ordered[low + half] - median) if low + half < n else np.inf
    return _halfway(float(farthest), float(min(before, behind)))


def _mean_deviation(column: Floats, median: float, width: float) -> float:
    """Return the mean of |number - median|."""
    from_median = np.abs(column - median)
    with np.errstate(over="ignore"):
        mean = float(np.mean(from_median))
    return mean if np.isfinite(mean) else float(np.mean(from_median / width) * width)


def middle(column: Floats) -> float:
    """Return the median, of numbers so large that the sum of two overflows, too."""
    with np.errstate(over="ignore"):
        median = float(np.median(column))
    return median if np.isfinite(median) else float(np.median(column / 2) * 2)


def _middle_of(ordered: Floats) -> float:
    """Return the median of numbers that are sorted."""
    n = len(ordered)
    return _halfway(float(ordered[(n - 1) // 2]), float(ordered[n // 2]))


def _halfway(one: float, other: float) -> float:
    """Return the mean of two numbers as ``middle`` does, zero without a sign."""
    mean = (one + other) / 2 + 0.0
    return mean if np.isfinite(mean) else (one / 2 + other / 2) / 2 * 2


def _ranks(order: Integers, ordered: Floats) -> Floats:
    """Return the rank of each number, the mean of their ranks for numbers that are equal.

    ``order`` sorts them, ``ordered`` is what comes out.
    """
    rank, is_new = np.empty(len(ordered)), ordered[1:] != ordered[:-1]
    if is_new.all():  # no two are equal
        rank[order] = np.arange(1.0, len(ordered) + 1)
        return rank
    first = np.flatnonzero(np.append(True, is_new))
    stop = np.append(first[1:], len(ordered))
    rank[order] = np.repeat((first + stop + 1) / 2, stop - first)
    return rank


def _mean_correlation(rank: Floats, labels: NDArray[np.intp]) -> float:
    """Return |rho| with the class: the mean over classes of |correlation(rank, indicator)|.

    With two classes both indicators give the same |rho|, which is the paper's.
    """
    n = rank.size
    count = np.bincount(labels)
    inside = count[(count > 0) & (count < n)]
    spread = np.std(rank)
    if not inside.size or spread == 0:
        return 0.0
    mean_inside = np.bincount(labels, weights=rank)[(count > 0) & (count < n)] / inside
    share = inside / n
    # cov(rank, indicator) = share * (mean inside - mean); sd(indicator) = sqrt(share (1 - share))
    rho = (mean_inside - rank.mean()) * np.sqrt(share / (1 - share)) / spread
    return float(np.mean(np.abs(rho)))


def _shares(column: Floats) -> Floats:
    """Return the share of every category code 0, 1, ..."""
    if not column.size:
        return np.zeros(0)
    counts = np.bincount(column.astype(np.intp))
    return np.asarray(counts / column.size)


def _correlation_ratio(column: Floats, labels: NDArray[np.intp]) -> float:
    """Return the correlation ratio of categories and class: |rho| where there are two.

    Categories have no order to rank, so each is replaced by the share of the class among its rows.
    The share that as many categories would explain by chance is subtracted: a column with a
    different category in every row explains nothing.
    """
    if not column.size:
        return 0.0
    codes = column.astype(np.intp)
    size = np.maximum(np.bincount(codes), 1)
    n_levels = np.count_nonzero(np.bincount(codes))
    # Two levels are measured as Spearman measures two values, without a correction.
    chance = 0.0 if n_levels <= 2 else (n_levels - 1) / (codes.size - 1)  # noqa: PLR2004
    if chance >= 1:
        return 0.0
    ratios = []
    for label in np.unique(labels):
        inside = labels == label
        share = inside.mean()
        if 0 < share < 1:
            mean = np.bincount(codes, weights=inside) / size
            explained = np.var(mean[codes]) / (share * (1 - share))
            ratios.append(np.sqrt(max(0.0, (explained - chance) / (1 - chance))))
    return float(np.mean(ratios)) if ratios else 0.0
