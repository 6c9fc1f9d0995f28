"""Values: the values that a numeric column may take, if not all that its decimals allow.

Exceptions in at most a hundredth of the rows are ignored.

    seen values   if each value occurs in ROWS_PER_VALUE rows on average: codes, scales, steps
    endings       if nearly all values end alike: steps of 5 or 10,000, prices at .99
    gap           a wide interval without any value, with many rows on either side
"""

from __future__ import annotations

import numpy as np

from counterbalance.arrays import Floats

ROWS_PER_VALUE = 5
# With fewer rows, missing values are not significant.
FEWEST_ROWS = 30
KEPT = 0.99
# Of ten endings, at most one is used.
FEW_ENDINGS = 0.1
MOST_VALUES = 100_000
# The least share of the range that is a gap, and the least rows on either side.
GAP, BESIDE_GAP = 0.1, 20
LARGEST = 2.0**53


def values_of_number(cells: Floats, resolution: float) -> Floats | None:
    """Return the values that new rows may have, ascending; None if all on the grid are allowed."""
    known = cells[~np.isnan(cells)]
    values, count = np.unique(known, return_counts=True)
    if len(known) < FEWEST_ROWS or len(values) < 2:  # noqa: PLR2004  (one value has no neighbours)
        return None
    listed = _on_endings(values, count, resolution)
    if len(values) * ROWS_PER_VALUE <= len(known):
        seen = values if listed is None else np.intersect1d(values, listed)
        return None if _is_full(seen, resolution) else seen
    kept = _outside_gaps(values if listed is None else listed, values, count, resolution)
    return kept if kept is not None else listed


def _is_full(values: Floats, resolution: float) -> bool:
    """Return whether every grid point between the ends is a value."""
    return resolution > 0 and len(values) == np.rint((values[-1] - values[0]) * resolution) + 1


def _on_endings(values: Floats, count: np.ndarray, resolution: float) -> Floats | None:
    """Return the grid values with the endings of nearly all values of the column."""
    if resolution <= 0 or np.abs(values[[0, -1]] * resolution).max() > LARGEST:
        return None
    points, n = np.rint(values * resolution), count.sum()
    low, high = points[0], points[-1]
    step = 10.0 ** np.floor(np.log10(high - low)) if high - low >= 1 else 0.0
    while step > 1:
        for size in (step, step / 2):
            ending = np.mod(points, size)
            endings, place = np.unique(ending, return_inverse=True)
            often = np.bincount(place, weights=count)
            used = endings[often >= max(ROWS_PER_VALUE, (1 - KEPT) * n)]
            good = np.isin(ending, used)
            if len(used) > FEW_ENDINGS * size and not (size == 5 and len(used) == 1):  # noqa: PLR2004
                continue
            if count[good].sum() < KEPT * n or len(used) * (high - low) / size > MOST_VALUES:
                continue
            starts = np.arange(np.floor(low / size), np.floor(high / size) + 1) * size
            grid = (starts[:, None] + used).ravel()
            return np.asarray(grid[(grid >= low) & (grid <= high)] / resolution)
        step /= 10
    return None


def _outside_gaps(
    listed: Floats, values: Floats, count: np.ndarray, resolution: float
) -> Floats | None:
    """Return values outside the gaps of a column, None where it has no gap."""
    below = np.cumsum(count)[:-1]
    wide = np.diff(values) > GAP * (values[-1] - values[0])
    gaps = np.flatnonzero(wide & (below >= BESIDE_GAP) & (count.sum() - below >= BESIDE_GAP))
    if not len(gaps):
        return None
    span = (values[-1] - values[0]) * resolution
    if listed is values and 0 < span <= MOST_VALUES:
        first = np.rint(values[0] * resolution)
        listed = (first + np.arange(np.rint(span) + 1)) / resolution
    inside = np.zeros(len(listed), dtype=bool)
    for gap in gaps:
        inside |= (listed > values[gap]) & (listed < values[gap + 1])
    return listed[~inside]
