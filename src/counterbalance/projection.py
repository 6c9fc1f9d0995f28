"""Projection: a table of many features seen in two dimensions, and back.

    codes     the table as floats (see ``table``), missing cells filled
    scaled    the codes made comparable: ordered columns to deviation 1, categories to indicators
    points    places in the two dimensions, (n, 2)

A table is projected on two of its features, or on the first two principal components of the
scaled codes. A point of the projection stands for one row: the row of the table that lies nearest
to it there, moved to the point. So where a row lies, it stands for itself. To move along a
component, only ordered columns change: half a category means nothing.

Displays and reports share it. It is bounded for wide and long tables: the components come from
some thousands of rows at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.decomposition import PCA

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.table.columns import column_position
from counterbalance.table.table import Table, read_table

DIMENSIONS = 2
COMPONENTS = ("first principal component", "second principal component")
# Categories of a column beyond this many do not bear on the components.
MOST_LEVELS = 10
# The components are computed from so many rows at most, and from fewer of a wide table.
MOST_ROWS, MOST_CELLS = 5000, 2_000_000
# Beyond this many cells they are computed by random projections, with a fixed seed.
EXACT_CELLS = 500_000


@dataclass(frozen=True, eq=False)
class Scaling:
    """The columns of a table made comparable, by what some of its rows say of them."""

    median: Floats
    centre: Floats
    deviation: Floats  # infinite for a constant column
    ordered: Integers
    levels: tuple[tuple[int, Floats], ...]  # (column, the codes that get an indicator)

    @classmethod
    def of(cls, table: Table, codes: Floats) -> Scaling:
        """Learn from rows of a table."""
        ordered = np.flatnonzero(~table.nominal)
        numbers = codes[:, ordered]
        median = _medians(numbers)
        filled = np.where(np.isnan(numbers), median, numbers)
        # On [0, 1] first, so that no square overflows.
        lowest, width = filled.min(axis=0), np.ptp(filled, axis=0)
        width = np.where((width > 0) & np.isfinite(width), width, 1.0)
        deviation = np.std((filled - lowest) / width, axis=0)
        deviation = np.where(deviation > 0, deviation, np.inf) * width
        levels = tuple((int(m), _common(codes[:, m])) for m in np.flatnonzero(table.nominal))
        return cls(median, filled.mean(axis=0), deviation, ordered, levels)

    def __call__(self, codes: Floats) -> Floats:
        """Return codes as comparable numbers."""
        numbers = codes[:, self.ordered]
        numbers = np.where(np.isnan(numbers), self.median, numbers)
        parts = [(numbers - self.centre) / self.deviation]
        for m, common in self.levels:
            indicators = codes[:, [m]] == common[None, :]
            # A column weighs as much as a column of numbers, however many categories it has.
            parts.append(indicators / np.sqrt(max(len(common), 1) / 2))
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Components:
    """The first two principal components of a table, or one where there are no more."""

    scaling: Scaling
    pca: PCA

    @classmethod
    def of(cls, table: Table, n_rows: int) -> Components:
        """Compute those of the first ``n_rows`` rows."""
        most = min(MOST_ROWS, max(MOST_CELLS // len(table.names), DIMENSIONS))
        codes = table.rows(np.arange(0, n_rows, -(-n_rows // most)))
        scaling = Scaling.of(table, codes)
        fitted = scaling(codes)
        solver = "full" if fitted.size <= EXACT_CELLS else "randomized"
        n_components = min(DIMENSIONS, *fitted.shape)
        return cls(scaling, PCA(n_components, svd_solver=solver, random_state=0).fit(fitted))

    @property
    def variance_shares(self) -> tuple[float, float]:
        """Which share of the variance each of them holds."""
        first, second = np.nan_to_num([*self.pca.explained_variance_ratio_, 0.0][:DIMENSIONS])
        return float(first), float(second)

    def place(self, codes: Floats) -> Floats:
        """Return where rows lie along the components."""
        points = np.zeros((len(codes), DIMENSIONS))
        points[:, : self.pca.n_components_] = self.pca.transform(self.scaling(codes))
        return points

    def directions(self, n_features: int) -> Floats:
        """Return how the codes change with one step along each component, (2, M)."""
        ordered, deviation = self.scaling.ordered, self.scaling.deviation
        directions = np.zeros((DIMENSIONS, n_features))
        loadings = self.pca.components_[:, : len(ordered)]
        steps = np.linalg.pinv(loadings.T) if ordered.size else loadings
        directions[: len(steps), ordered] = steps * np.where(np.isfinite(deviation), deviation, 0)
        return directions


@dataclass(frozen=True, eq=False)
class Projection:
    """Two dimensions of a table."""

    table: Table  # the table
    labels: tuple[str, str]  # names of the axes
    # The columns that are the axes; None for principal components.
    features: tuple[int, int] | None = None
    components: Components | None = None  # the components, where the axes are not features

    @classmethod
    def of(cls, X: Any, features: Sequence[Any] | None = None) -> Projection:
        """Project a user's table on two features, or on its principal components.

        X         (n_samples, n_features) the table
        features  names or positions. By default the principal components
        """
        table = read_table(X.toarray() if sparse.issparse(X) else X)  # type: ignore[attr-defined]
        n_features = len(table.names)
        if n_features < DIMENSIONS:
            raise TableError(
                f"a projection needs a table of at least two features, got {n_features}; "
                "draw the one feature by itself"
            )
        if features is None:
            n_rows = len(table.column(0))
            if n_rows < DIMENSIONS:
                raise TableError("a projection needs at least two rows; give more rows")
            return cls(table, COMPONENTS, components=Components.of(table, n_rows))
        if len(features) != DIMENSIONS:
            raise TableError(f"features must be two columns, got {list(features)}; name two")
        places = [column_position(item, table.names, "features") for item in features]
        if places[0] == places[1]:
            raise TableError(f"features must be two columns, got {features[0]!r} twice; name two")
        return cls.on_features(table, places[0], places[1])

    @classmethod
    def on_features(cls, table: Table, first: int, second: int) -> Projection:
        """Project on two columns as they are."""
        labels = (str(table.names[first]), str(table.names[second]))
        return cls(table, labels, (first, second))

    def place(self, rows: Integers | slice) -> Floats:
        """Return where rows of the table lie."""
        codes = self.table.rows(rows)
        if self.components is not None:
            return self.components.place(codes)
        return np.where(np.isnan(codes), self._usual, codes)[:, list(self.features or ())]

    @cached_property
    def points(self) -> Floats:
        """Where all rows of the table lie."""
        return self.place(slice(None))

    def rows_at(self, points: Floats) -> Any:
        """Return the rows that points stand for, in the container of the table."""
        spread = self.points.std(axis=0)
        spread[spread == 0] = 1.0
        nearest = np.asarray(KDTree(self.points / spread).query(points / spread)[1])
        codes = self.table.rows(nearest)
        codes = np.where(np.isnan(codes), self._usual, codes)
        moved = points - self.points[nearest]
        if self.components is not None:
            codes += moved @ self.components.directions(codes.shape[1])
        elif self.features is not None:
            codes[:, list(self.features)] += moved
        for m, kind in enumerate(self.table.kinds):
            if kind.has_levels:
                column = self.table.column(m)
                highest = np.max(column, initial=0.0, where=~np.isnan(column))
                codes[:, m] = np.clip(np.rint(codes[:, m]), 0, highest)
        self.table.grid.snap(codes, np.arange(codes.shape[1]))
        return self.table.decode(codes)

    def levels(self, axis: int) -> list[str] | None:
        """Return the names of the levels along an axis, None where it has numbers."""
        if self.features is None or not self.table.kinds[self.features[axis]].has_levels:
            return None
        m = self.features[axis]
        codes = self.table.codes_of_levels(m)
        return [str(level) for level in sorted(codes, key=codes.__getitem__)]

    def stepped(self, axis: int) -> bool:
        """Whether places along an axis are whole numbers or levels, so that rows pile up."""
        if self.features is None:
            return False
        m = self.features[axis]
        return self.table.kinds[m].has_levels or self.table.grid.resolution[m] == 1

    @cached_property
    def _usual(self) -> Floats:
        """What stands for a missing cell: the median, or the most frequent category."""
        usual = np.zeros(len(self.table.names))
        for m, kind in enumerate(self.table.kinds):
            column = self.table.column(m)
            if kind.has_order:
                usual[m] = _medians(column[:, None])[0]
            else:
                usual[m] = next(iter(_common(column)), 0.0)
        return usual


def spread_evenly(n: int, most: int) -> Integers:
    """Return at most ``most`` of the places 0 to n - 1, evenly apart.

    >>> spread_evenly(100, 3).tolist()
    [0, 50, 99]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _medians(codes: Floats) -> Floats:
    """Return the median of each column, zero where all cells are missing."""
    empty = np.isnan(codes).all(axis=0)
    return np.asarray(np.nanmedian(np.where(empty, 0.0, codes), axis=0))


def _common(codes: Floats) -> Floats:
    """Return the most frequent categories, those of equal number by their code."""
    found, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    return np.asarray(found[np.argsort(-counts, kind="stable")][:MOST_LEVELS], dtype=np.float64)
