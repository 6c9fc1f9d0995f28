"""Encoder: the steps before the default f, so that f takes a user's table as it is.

``TableEncoder`` makes floats of the table; ``Rescaler`` moves columns that f could not make out
where they are to where it can.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from counterbalance.arrays import Floats, Mask
from counterbalance.table import frames
from counterbalance.table.table import Table, read_table

# Rows that tell whether a column is too fine for single precision. A column of so many
# values that lie wide enough apart for trees keeps all but a few of them.
LOOKED_AT = 1000
# The share of different values that may be lost.
MAY_BE_LOST = 0.1


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table into the floats that the search works on.

    Numbers stay numbers, levels become their codes; a missing cell, or a level
    that was not there in ``fit``, becomes nan.

    Parameters
    ----------
    categorical_features, integer_features : names, positions or a mask, default=None
        As in :class:`~counterbalance.CounterfactualOverSampler`.
    """

    def __init__(self, *, categorical_features: Any = None, integer_features: Any = None) -> None:
        self.categorical_features = categorical_features
        self.integer_features = integer_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the levels of every column."""
        del y
        table = read_table(
            X,
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
        )
        return self.learn(table)

    def learn(self, table: Table) -> Self:
        """Learn the levels of a table that has been read already."""
        self.n_features_in_ = len(table.names)
        self.levels_: list[dict[Any, float] | None] = []
        for m, kind in enumerate(table.kinds):
            levels = None
            if kind.has_levels:
                levels = frames.lookup(frames.column(table.native, m), table.column(m))
            self.levels_.append(levels)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the codes of ``X``, a table with the columns seen in ``fit``."""
        codes = np.empty((X.shape[0], self.n_features_in_))
        for m, levels in enumerate(self.levels_):
            column = frames.column(X, m)
            if levels is None:
                codes[:, m] = frames.number_codes(column)
            else:
                codes[:, m] = [levels.get(cell, np.nan) for cell in frames.cells_of(column)]
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class Rescaler(TransformerMixin, BaseEstimator):
    """Move columns to where f can make them out; all others stay as they are, to the bit.

    Trees see single precision: 1.7e18 and 1.7e18 + 1e9 are one value to them, and 1e300 is
    infinite. Such a column is centred at its median and divided by its width.

    Parameters
    ----------
    too_fine : ndarray of bool
        Columns to centre and divide: see :func:`too_fine`.
    """

    def __init__(self, too_fine: Mask) -> None:
        self.too_fine = too_fine

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn where the columns lie and how wide they are."""
        del y
        self.n_features_in_ = X.shape[1]
        fine = np.asarray(X, dtype=np.float64)[:, self.too_fine]
        self.centre_ = np.nanquantile(fine, 0.5, axis=0, method="lower")
        self.width_ = np.nanmax(fine, axis=0) - np.nanmin(fine, axis=0)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the columns, moved."""
        moved = np.array(X, dtype=np.float64)
        moved[:, self.too_fine] -= self.centre_
        moved[:, self.too_fine] /= self.width_
        return moved

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def too_fine(column: Floats) -> bool:
    """Say whether single precision takes many different values of a column for one."""
    known = column[~np.isnan(column)]
    some = known[np.linspace(0, len(known) - 1, LOOKED_AT).astype(np.intp)] if known.size else known
    different = np.unique(some)
    if len(different) <= 1:
        return False
    if np.abs(known).max() > np.finfo(np.float32).max:
        return True
    told_apart = np.unique(different.astype(np.float32))
    return len(told_apart) < (1 - MAY_BE_LOST) * len(different)
