"""Plane: a table of many features seen in two dimensions, and back.

    codes     the table as floats (see ``columns``), missing cells filled
    points    places in the plane, (n, 2)

A plane is spanned by two features, or by the first two principal components of the
standardised codes. A point of the plane stands for one row: that of the table which is
nearest in the plane, moved to the point. So where a row lies, it stands for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from counterbalance.arrays import Floats
from counterbalance.errors import TableError
from counterbalance.table import frames
from counterbalance.table.columns import column_position
from counterbalance.table.table import Table, read_table

DIMENSIONS = 2
COMPONENTS = ("first principal component", "second principal component")


@dataclass(frozen=True, eq=False)
class Plane:
    """Two dimensions of a table."""

    table: Table
    codes: Floats
    labels: tuple[str, str]
    features: tuple[int, int] | None
    origin: Floats
    scale: Floats
    axes: Floats  # (2, M), orthonormal

    @staticmethod
    def of(X: Any, features: Sequence[Any] | None = None) -> Plane:
        """Span a plane of a table by two features, or by its principal components.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The table.
        features : sequence of two columns, optional
            Names or positions. By default the principal components.
        """
        table = read_table(_dense(X))
        n_features = len(table.names)
        if n_features < DIMENSIONS:
            raise TableError(
                f"a plane needs a table of at least two features, got {n_features}; "
                "draw the one feature by itself"
            )
        codes = _filled(table)
        if features is None:
            scale = codes.std(axis=0)
            scale[scale == 0] = 1.0
            middle = codes.mean(axis=0)
            axes = np.linalg.svd((codes - middle) / scale, full_matrices=False)[2][:DIMENSIONS]
            if len(axes) < DIMENSIONS:
                raise TableError("a plane needs at least two rows; give more rows")
            # the sign of a component is free: its largest share points up
            axes = axes * np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)])[:, None]
            return Plane(table, codes, COMPONENTS, None, middle, scale, axes)
        if len(features) != DIMENSIONS:
            raise TableError(f"features must be two columns, got {list(features)}; name two")
        places = tuple(column_position(item, table.names, "features") for item in features)
        if places[0] == places[1]:
            raise TableError(f"features must be two columns, got {features[0]!r} twice; name two")
        labels = (str(table.names[places[0]]), str(table.names[places[1]]))
        axes, zero, one = (
            np.eye(n_features)[list(places)],
            np.zeros(n_features),
            np.ones(n_features),
        )
        return Plane(table, codes, labels, (places[0], places[1]), zero, one, axes)

    @cached_property
    def points(self) -> Floats:
        """Where the rows of the table lie."""
        return np.asarray((self.codes - self.origin) / self.scale @ self.axes.T)

    def rows_at(self, points: Floats) -> Any:
        """Return the rows that points stand for, in the container of the table."""
        spread = self.points.std(axis=0)
        spread[spread == 0] = 1.0
        nearest = KDTree(self.points / spread).query(points / spread)[1]
        codes = self.codes[nearest] + (points - self.points[nearest]) @ self.axes * self.scale
        for m, kind in enumerate(self.table.kinds):
            if kind.has_levels:
                codes[:, m] = np.clip(np.rint(codes[:, m]), 0, self.codes[:, m].max())
        self.table.grid.snap(codes, np.arange(codes.shape[1]))
        return self.table.decode(codes)

    def levels(self, axis: int) -> list[str] | None:
        """Return the names of the levels along an axis, None where it has numbers."""
        if self.features is None or not self.table.kinds[self.features[axis]].has_levels:
            return None
        m = self.features[axis]
        lookup = frames.lookup(frames.column(self.table.native, m), self.table.column(m))
        return [str(level) for level, _ in sorted(lookup.items(), key=lambda item: item[1])]

    def stepped(self, axis: int) -> bool:
        """Whether places along an axis are whole numbers or levels, so that rows pile up."""
        if self.features is None:
            return False
        m = self.features[axis]
        return self.table.kinds[m].has_levels or self.table.grid.resolution[m] == 1


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X  # type: ignore[attr-defined]


def _filled(table: Table) -> Floats:
    """Return the codes, with the median or the most frequent level where a cell is missing."""
    codes = table.rows(slice(None)).copy()
    for m, kind in enumerate(table.kinds):
        gone = np.isnan(codes[:, m])
        known = codes[~gone, m]
        if not gone.any():
            continue
        if not known.size:
            codes[:, m] = 0.0
        elif kind.has_order:
            codes[gone, m] = np.median(known)
        else:
            values, counts = np.unique(known, return_counts=True)
            codes[gone, m] = values[counts.argmax()]
    return codes
