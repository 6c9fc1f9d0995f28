"""Encoder: encode a table as numbers, for f and for other classifiers and samplers.

``TableEncoder`` encodes the table as floats; ``Rescaler`` rescales columns whose values f could not
distinguish.

``TablePreparation`` prepares the table for any classifier:

    table -> plain -> encoded

``plain`` has the ordered columns first (missing cells get the median, then scaled to unit
variance), then the codes of the unordered ones (a missing cell is a category of its own).
``encoded`` replaces the codes by one column for each category. Everything is learned from the rows
passed to ``fit``: the training part, never the test part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from counterbalance.reference import LinksToReference
from counterbalance.table import frames
from counterbalance.table.table import Table, read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.arrays import Floats, Mask
    from counterbalance.table.kinds import Kind

# Rows from which ``too_fine`` decides. A column of this many values that single precision can hold
# keeps all but a few of them.
LOOKED_AT = 1000
# The largest share of different values that may be lost.
MAY_BE_LOST = 0.1


class _TableTransformer(LinksToReference, TransformerMixin, BaseEstimator):
    """Takes a user's table, and the user's parameters on its columns."""

    def __init__(self, categorical_features: Any = None) -> None:
        self.categorical_features = categorical_features

    def _read(self, X: Any) -> Table:
        return read_table(X, categorical_features=self.categorical_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class TableEncoder(_TableTransformer):
    """Turn a table into the floats that the search works on.

    Numbers stay numbers, levels become their codes; a missing cell, or a level that was not seen in
    ``fit``, becomes nan.

    Parameters
    ----------
    categorical_features : names, positions or a mask, default=None
        As in :class:`~counterbalance.CounterfactualOverSampler`.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the levels of every column."""
        del y
        return self.learn(self._read(X))

    def learn(self, table: Table) -> Self:
        """Learn the levels of a table that has been read already."""
        self.n_features_in_ = len(table.names)
        self.groups_ = table.groups
        table = getattr(table, "inner", table)
        self.levels_: list[dict[Any, float] | None] = [
            table.codes_of_levels(m) if kind.has_levels else None
            for m, kind in enumerate(table.kinds)
        ]
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
        for group in self.groups_:
            group.fold(codes)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        """Return the levels as pairs: skops reads a key ``False`` of a dictionary as ``True``."""
        state = dict(super().__getstate__())
        if "levels_" in state:
            state["levels_"] = [levels and list(levels.items()) for levels in self.levels_]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "levels_" in state:
            pairs = state["levels_"]
            state = state | {"levels_": [None if p is None else dict(p) for p in pairs]}
        super().__setstate__(state)


class Rescaler(TransformerMixin, BaseEstimator):
    """Rescale columns whose values f cannot distinguish; all others stay the same to the bit.

    Trees use single precision, in which 1.7e18 equals 1.7e18 + 1e9, and 1e300 is infinite. Such a
    column is centred at its median and divided by its width.

    Parameters
    ----------
    too_fine : ndarray of bool
        Columns to centre and divide: see :func:`too_fine`.
    """

    def __init__(self, too_fine: Mask) -> None:
        self.too_fine = too_fine

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the median and the width of the columns."""
        del y
        self.n_features_in_ = X.shape[1]
        fine = np.asarray(X, dtype=np.float64)[:, self.too_fine]
        self.centre_ = np.nanquantile(fine, 0.5, axis=0, method="lower")
        self.width_ = np.nanmax(fine, axis=0) - np.nanmin(fine, axis=0)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rescaled columns."""
        moved = np.array(X, dtype=np.float64)
        moved[:, self.too_fine] -= self.centre_
        moved[:, self.too_fine] /= self.width_
        return moved

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def too_fine(column: Floats) -> bool:
    """Return whether many different values of a column are equal in single precision."""
    known = column[~np.isnan(column)]
    some = known[np.linspace(0, len(known) - 1, LOOKED_AT).astype(np.intp)] if known.size else known
    different = np.unique(some)
    if len(different) <= 1:
        return False
    if np.abs(known).max() > np.finfo(np.float32).max:
        return True
    told_apart = np.unique(different.astype(np.float32))
    return len(told_apart) < (1 - MAY_BE_LOST) * len(different)


NO_LEVEL = -1.0
MOST_LEVELS = 30  # rarer levels share one column


class TablePreparation(_TableTransformer):
    """Encode a table as numbers: impute medians, scale to unit variance, and one-hot encode.

    Put it before a classifier that takes only numbers, if the table has categories, texts, booleans
    or missing cells.

    Parameters
    ----------
    categorical_features : names, positions or a mask, default=None
        As in :class:`~counterbalance.CounterfactualOverSampler`.
    one_hot : bool, default=True
        Whether a category becomes one column for each level. Without it, its codes come last:
        for a sampler that knows categories, such as imbalanced-learn's ``SMOTENC``.

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

    def __init__(
        self,
        *,
        categorical_features: Any = None,
        one_hot: bool = True,
    ) -> None:
        super().__init__(categorical_features=categorical_features)
        self.one_hot = one_hot

    def fit(self, X: Any, y: Any = None) -> Self:
        """Detect the kinds of the columns and learn medians, scales and categories.

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
        table = self._read(X)
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
        plain = self.plain(self._checked(X, reset=False))
        return self.encoded(plain) if self.one_hot else plain

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : None or sequence of str, default=None
            Names of the columns of X; by default those seen in ``fit``.

        Returns
        -------
        names : ndarray of object
            Names of ordered columns, and of the others with an underscore and the category.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        ordered, nominal = ([str(given[m]) for m in at] for at in (self.ordered_, self.nominal_))
        if self.levels_ is None or not self.one_hot:
            return np.array([*ordered, *nominal], dtype=object)
        names = self.levels_.get_feature_names_out(nominal)
        for name, m in zip(nominal, self.nominal_, strict=True):
            own = self.encoder_.levels_[m] or {}
            texts = {f"{name}_{code}": f"{name}_{cell}" for cell, code in own.items()}
            texts[f"{name}_{NO_LEVEL}"] = f"{name}_missing"
            names = [texts.get(text, text) for text in names]
        return np.array([*ordered, *names], dtype=object)

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


def _with_missing_level(codes: Floats) -> Floats:
    return np.where(np.isnan(codes), NO_LEVEL, codes)
