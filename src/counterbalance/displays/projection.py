"""Projection: a table in two dimensions, on two of its columns or its principal components.

The components come from `TablePreparation` (columns scaled, categories as indicators) and PCA,
fitted to at most some thousands of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.table import containers, frames
from counterbalance.table.columns import column_position
from counterbalance.table.encoder import TablePreparation
from counterbalance.table.table import Table, read_table

DIMENSIONS = 2
# The components are computed from so many rows at most, and from fewer of a wide table.
MOST_ROWS, MOST_CELLS = 5000, 2_000_000


@dataclass(frozen=True, eq=False)
class Projection:
    """Two dimensions of a table."""

    table: Table
    labels: tuple[str, str]  # names of the axes
    features: tuple[int, int] | None = None  # the columns; None for principal components
    components: Pipeline | None = None  # from rows to the principal components

    @classmethod
    def from_table(
        cls, X: Any, features: Sequence[Any] | None = None, categorical_features: Any = None
    ) -> Self:
        """Project a user's table on two features, or on its principal components.

        X                     (n_samples, n_features) the table
        features              two names or positions; by default the principal components, or
                              the columns themselves where there are only two with an order
        categorical_features  as a sampler takes them
        """
        X = frames.from_list(X) if isinstance(X, list) else X
        table = read_table(
            X.toarray() if sparse.issparse(X) else X,  # type: ignore[attr-defined]
            categorical_features=categorical_features,
        )
        n_features = len(table.names)
        if n_features < DIMENSIONS:
            raise TableError(
                f"a projection needs a table of at least two features, got {n_features}; "
                "draw the one feature by itself"
            )
        if features is None and n_features == DIMENSIONS and not any(table.nominal):
            features = (0, 1)
        if features is None:
            return cls._on_components(table, categorical_features)
        listed = list(features) if isinstance(features, (list, tuple)) else [features]
        if len(listed) != DIMENSIONS:
            raise TableError(f"features must be two columns, got {features!r}; name two")
        first, second = (column_position(item, table.names, "features") for item in listed)
        if first == second:
            raise TableError(f"features must be two columns, got {listed[0]!r} twice; name two")
        return cls(table, (str(table.names[first]), str(table.names[second])), (first, second))

    @classmethod
    def _on_components(cls, table: Table, categorical_features: Any) -> Self:
        n_rows = len(table.column(0))
        if n_rows < DIMENSIONS:
            raise TableError("a projection needs at least two rows; give more rows")
        most = min(MOST_ROWS, max(MOST_CELLS // len(table.names), DIMENSIONS))
        components = make_pipeline(
            TablePreparation(categorical_features=categorical_features),
            FunctionTransformer(np.nan_to_num),  # a column of huge numbers has no variance
            PCA(DIMENSIONS, random_state=0),
        )
        with np.errstate(all="ignore"):
            components.fit(containers.take(table.native, spread_evenly(n_rows, most)))
        shares = np.nan_to_num(components[-1].explained_variance_ratio_)
        first, second = (f"{share:.0%} of variance" for share in shares)
        names = (f"first principal component ({first})", f"second principal component ({second})")
        return cls(table, names, components=components)

    @property
    def is_whole(self) -> bool:
        """Whether the table has no other columns than the two shown."""
        return self.features is not None and len(self.table.names) == DIMENSIONS

    def place(self, rows: Integers) -> Floats:
        """Return where rows of the table lie, (n, 2); a missing cell lies at the median."""
        if self.components is not None:
            with np.errstate(all="ignore"):
                return np.asarray(
                    self.components.transform(containers.take(self.table.native, rows))
                )
        points = self.table.rows(rows)[:, list(self.features or ())]
        for axis, m in enumerate(self.features or ()):
            column = self.table.column(m)
            known = np.sort(column[~np.isnan(column)])
            median = known[len(known) // 2] if known.size else 0.0
            points[np.isnan(points[:, axis]), axis] = median
        return points

    def rows_at(self, points: Floats) -> Any:
        """Return the rows at points, in the container of a table that has no other columns."""
        codes = np.empty_like(points)
        codes[:, list(self.features or ())] = points
        for m, kind in enumerate(self.table.kinds):
            if kind.has_levels:
                highest = len(self.table.codes_of_levels(m)) - 1
                codes[:, m] = np.clip(np.rint(codes[:, m]), 0, highest)
        self.table.grid.snap(codes, np.arange(codes.shape[1]))
        return self.table.decode(codes)

    def levels(self, axis: int) -> list[str] | None:
        """Return the names of the levels along an axis, None where it has numbers."""
        if self.features is None or not self.table.kinds[self.features[axis]].has_levels:
            return None
        codes = self.table.codes_of_levels(self.features[axis])
        return [str(level) for level in sorted(codes, key=codes.__getitem__)]

    def stepped(self, axis: int) -> bool:
        """Whether values along an axis are whole numbers or levels, so that points coincide."""
        if self.features is None:
            return False
        m = self.features[axis]
        return self.table.kinds[m].has_levels or self.table.grid.resolution[m] == 1


def spread_evenly(n: int, most: int) -> Integers:
    """Return at most ``most`` of the places 0 to n - 1, evenly apart.

    >>> spread_evenly(100, 3).tolist()
    [0, 50, 99]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))
