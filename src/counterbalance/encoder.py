"""Encoder: the step before the default f, so that f takes a user's table as it is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from counterbalance import frames
from counterbalance.profile import Floats
from counterbalance.table import Table, read_table


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
                cells = np.asarray(column, dtype=object).tolist()
                codes[:, m] = [levels.get(cell, np.nan) for cell in cells]
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
