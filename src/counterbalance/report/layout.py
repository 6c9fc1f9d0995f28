"""Layout: rows of any table as points in two dimensions.

    codes      the table as floats (see ``columns``)
    spread     the codes made comparable: ordered columns to deviation 1, categories to indicators
    points     two principal components of that, or two columns as they are

The displays draw another plane, ``counterbalance.projection``: it can be gone back from, to ask f
about any point. This one gives a category no order and is bounded for wide and long tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.table.columns import column_position
from counterbalance.table.table import Table

# Categories beyond this many of a column do not bear on the map.
MOST_LEVELS = 10
# The components are computed from so many rows at most, and from fewer of a wide table.
MOST_ROWS, MOST_CELLS = 5000, 2_000_000
# Beyond this many cells they are computed by random projections, with a fixed seed.
EXACT_CELLS = 500_000


@dataclass(frozen=True)
class Layout:
    """Two coordinates for each row that was asked for, and what they mean."""

    points: Floats  # (n, 2)
    axes: tuple[str, str]
    columns: tuple[int, int] | None  # the two columns, if the axes are columns


def lay_out(table: Table, rows: Integers, n_real: int, features: object = None) -> Layout:
    """Place rows of a table; the components are those of the first ``n_real`` rows.

    ``features`` names two columns; without it a table of two ordered columns is shown as it
    is, any other by its principal components.
    """
    chosen = _chosen(table, features)
    if chosen is not None:
        a, b = chosen
        names = (str(table.names[a]), str(table.names[b]))
        return Layout(_filled(table.rows(rows)[:, [a, b]]), names, chosen)
    most = min(MOST_ROWS, max(MOST_CELLS // len(table.names), 2))
    real = np.arange(0, n_real, -(-n_real // most))
    spread = _Spread.of(table, table.rows(real))
    fitted = spread(table.rows(real))
    solver = "full" if fitted.size <= EXACT_CELLS else "randomized"
    pca = PCA(min(2, *fitted.shape), svd_solver=solver, random_state=0).fit(fitted)
    points = np.zeros((len(rows), 2))
    points[:, : pca.n_components_] = pca.transform(spread(table.rows(rows)))
    shares = [*pca.explained_variance_ratio_.tolist(), 0.0][:2]
    axes = tuple(
        f"{which} component, {share:.0%} of the variance"
        for which, share in zip(("first", "second"), np.nan_to_num(shares), strict=True)
    )
    return Layout(points, (axes[0], axes[1]), None)


def _chosen(table: Table, features: object) -> tuple[int, int] | None:
    ordered = np.flatnonzero(~table.nominal)
    if features is None:
        both = len(table.names) == len(ordered) == 2  # noqa: PLR2004
        return (0, 1) if both else None
    places = [column_position(item, table.names, "features") for item in _two(features)]
    for place in places:
        if place not in ordered:
            raise TableError(
                f"features names the column {table.names[place]!r}, which has no order to lay out "
                "along an axis; name two columns of numbers or ordered levels"
            )
    return places[0], places[1]


def _two(features: object) -> list[object]:
    listed = list(features) if isinstance(features, (list, tuple)) else [features]
    if len(listed) != 2 or listed[0] == listed[1]:  # noqa: PLR2004
        raise TableError(
            f"features must name two different columns for the map, got {features!r}; "
            "give for example ('age', 'dose'), or None for principal components"
        )
    return listed


def _filled(codes: Floats) -> Floats:
    """Put the median in place of what is missing, zero where everything is."""
    known = np.where(np.isnan(codes).all(axis=0), 0.0, codes)
    return np.where(np.isnan(codes), np.nanmedian(known, axis=0), codes)


@dataclass(frozen=True)
class _Spread:
    """The columns made comparable, by what the real rows say of them."""

    median: Floats
    centre: Floats
    deviation: Floats
    ordered: Integers
    levels: tuple[tuple[int, Floats], ...]  # (column, the codes that get an indicator)

    @classmethod
    def of(cls, table: Table, codes: Floats) -> _Spread:
        ordered = np.flatnonzero(~table.nominal)
        numbers = codes[:, ordered]
        empty = np.isnan(numbers).all(axis=0)
        median = np.nanmedian(np.where(empty, 0.0, numbers), axis=0)
        filled = np.where(np.isnan(numbers), median, numbers)
        # On [0, 1] first, so that no square overflows.
        lowest, width = filled.min(axis=0), np.ptp(filled, axis=0)
        width = np.where((width > 0) & np.isfinite(width), width, 1.0)
        deviation = np.std((filled - lowest) / width, axis=0)
        deviation = np.where(deviation > 0, deviation, np.inf) * width
        levels = tuple((int(m), _common(codes[:, m])) for m in np.flatnonzero(table.nominal))
        return cls(median, filled.mean(axis=0), deviation, ordered, levels)

    def __call__(self, codes: Floats) -> Floats:
        numbers = codes[:, self.ordered]
        numbers = np.where(np.isnan(numbers), self.median, numbers)
        parts = [(numbers - self.centre) / self.deviation]
        for m, common in self.levels:
            indicators = codes[:, [m]] == common[None, :]
            # A column weighs as much as a column of numbers, however many categories it has.
            parts.append(indicators / np.sqrt(max(len(common), 1) / 2))
        return np.hstack(parts)


def _common(codes: Floats) -> Floats:
    """Return the most frequent categories, those of equal number by their code."""
    found, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    return np.asarray(found[np.argsort(-counts, kind="stable")][:MOST_LEVELS], dtype=np.float64)
