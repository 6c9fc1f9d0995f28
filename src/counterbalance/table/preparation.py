"""Preparation: a user's table as the numbers that any classifier and sampler takes.

    table -> plain -> encoded

``plain`` has the ordered columns first (missing cells get the median, then scaled to unit
variance), then the codes of the unordered ones (a missing cell is a category of its own).
``encoded`` replaces the codes by one column for each category. All of it is learned from the
rows that are given to ``fit``: the training part, never the test part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats
from counterbalance.table import frames
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.kinds import Kind
from counterbalance.table.table import read_table

NO_LEVEL = -1.0
MOST_LEVELS = 30  # rarer levels share one column


class TablePreparation(TransformerMixin, BaseEstimator):
    """Make numbers of a table: medians for gaps, unit variance, one column for each category.

    It goes before a classifier that takes numbers only, where the table has categories, texts,
    booleans or missing cells.

    Parameters
    ----------
    categorical_features, integer_features : names, positions or a mask, default=None
        As in :class:`~counterbalance.CounterfactualOverSampler`.

    Attributes
    ----------
    ordered_, nominal_ : ndarray of int
        Positions of the columns with and without an order.

    See Also
    --------
    counterbalance.ResampledClassifier : A pipeline with this step may stand in it.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterbalance import TablePreparation
    >>> X = pd.DataFrame({"ward": ["A", "B", "A"], "age": [30.0, None, 50.0]})
    >>> TablePreparation().fit_transform(X).round(2).tolist()
    [[-1.22, 1.0, 0.0], [0.0, 0.0, 1.0], [1.22, 1.0, 0.0]]
    """

    def __init__(self, *, categorical_features: Any = None, integer_features: Any = None) -> None:
        self.categorical_features = categorical_features
        self.integer_features = integer_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Recognise the columns and learn medians, scales and categories.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The table.
        y : None
            Not used.

        Returns
        -------
        self : TablePreparation
            The transformer itself.
        """
        del y
        X = self._checked(X, reset=True)
        table = read_table(
            X,
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
        )
        return self._learn(X, TableEncoder().learn(table), table.kinds)

    def fit_kinds(self, X: Any, kinds: Sequence[Kind]) -> Self:
        """Learn the same from part of a table whose columns are known to be of these kinds."""
        X = self._checked(X, reset=True)
        return self._learn(X, TableEncoder().fit(X), kinds)

    def transform(self, X: Any) -> Floats:
        """Return a table as numbers.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            Rows with the columns seen in ``fit``.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_columns)
            The numbers, ordered columns first.
        """
        check_is_fitted(self)
        return self.encoded(self.plain(self._checked(X, reset=False)))

    def plain(self, X: Any) -> Floats:
        """Return scaled numbers and codes of categories."""
        codes = self.encoder_.transform(X)
        numbers = codes[:, self.ordered_]
        if self.numbers_ is not None:
            numbers = self.numbers_.transform(numbers)
        return np.hstack([numbers, _with_missing_level(codes[:, self.nominal_])])

    def encoded(self, plain: Floats) -> Floats:
        """Replace the codes of ``plain`` by one column for each category."""
        start = len(self.ordered_)
        if self.levels_ is None:
            return plain
        return np.hstack([plain[:, :start], self.levels_.transform(plain[:, start:])])

    @property
    def nominal_places(self) -> list[int]:
        """Where the codes of unordered columns stand in ``plain``."""
        start = len(self.ordered_)
        return list(range(start, start + len(self.nominal_)))

    def _learn(self, X: Any, encoder: TableEncoder, kinds: Sequence[Kind]) -> Self:
        has_order = np.array([kind.has_order for kind in kinds], dtype=bool)
        self.encoder_ = encoder
        self.ordered_, self.nominal_ = np.flatnonzero(has_order), np.flatnonzero(~has_order)
        codes = encoder.transform(X)
        self.numbers_: Pipeline | None = None
        self.levels_: OneHotEncoder | None = None
        if self.ordered_.size:
            median = SimpleImputer(strategy="median", keep_empty_features=True)
            self.numbers_ = make_pipeline(median, StandardScaler()).fit(codes[:, self.ordered_])
        if self.nominal_.size:
            self.levels_ = OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=MOST_LEVELS,
                sparse_output=False,
            ).fit(_with_missing_level(codes[:, self.nominal_]))
        return self

    def _checked(self, X: Any, *, reset: bool) -> Any:
        frames.check_container(X)
        rows = frames.from_list(X) if isinstance(X, list) else X
        validate_data(self, rows, reset=reset, skip_check_array=True)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _with_missing_level(codes: Floats) -> Floats:
    return np.where(np.isnan(codes), NO_LEVEL, codes)
