"""Base: the steps of every sampler before and after it makes new rows.

table -> columns -> profile -> classifier f -> new rows (by each sampler) -> decoded table +
provenance
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_sampling_strategy
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from counterbalance.arrays import Floats
from counterbalance.classifier.fit import check_takes
from counterbalance.constraints import Constraint
from counterbalance.errors import TableError
from counterbalance.plausible.learn import Plausible
from counterbalance.prepare import Prepared, make_classifier, prepare
from counterbalance.reference import LinksToReference
from counterbalance.rows.build import Builder
from counterbalance.search.inversions import is_every
from counterbalance.sklearn_private import HasMethods, StrOptions, check_sample_weight, fit_context
from counterbalance.table import containers, frames
from counterbalance.table.dummies import group_dummies
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain, read_labels
from counterbalance.table.table import Table, read_table


class TableOverSampler(LinksToReference, BaseOverSampler):
    """A sampler that takes tables of any kind and has a classifier (f in the paper).

    A subclass defines how new rows are found, and which classifier is the default.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOverSampler._parameter_constraints,  # noqa: SLF001  (as in imbalanced-learn)
        "estimator": [HasMethods(["fit", "predict"]), StrOptions({"ridge"}), None],
        "categorical_features": ["array-like", None],
        "constraints": [str, Constraint, list, tuple, None],
        "plausible": [StrOptions({"auto"}), "boolean"],
        "ignore_relations": [str, list, tuple, None],
        "use": ["array-like", None],
    }
    # Power of the balanced class weights of the default f: 0 for no weights, 1 for fully balanced
    # classes.
    default_balance: ClassVar[float] = 0.0

    estimator: Any
    categorical_features: Any
    constraints: Any
    plausible: Plausible
    ignore_relations: Any
    use: Any
    random_state: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Check the input and compute the number of new rows of each class.

        ``fit_resample`` does this too; use it instead.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The factual table.
        y : array-like of shape (n_samples,)
            The class of each row.

        Returns
        -------
        self : sampler
            The sampler itself.
        """
        self._read(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_resample(self, X: Any, y: Any, *, sample_weight: Any = None) -> tuple[Any, Any]:
        """Balance the table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The factual table: numpy, scipy sparse, pandas or polars.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for fitting the classifier (f in the paper), if it takes any.

        Returns
        -------
        X_resampled : {array-like, dataframe, sparse matrix}
            The rows of X, unchanged, followed by the new rows, in the container of X.
        y_resampled : array-like
            Their classes, in the container of y.
        """
        table, labels = self._read(X, y)
        weights = check_weights(sample_weight, len(labels.codes))
        self._forget()
        builder = self._fit_resample(table, labels, weights)
        X_resampled, y_resampled, self.provenance_ = builder.build()
        if weights is not None:
            self.sample_weight_ = np.concatenate([weights, labels.mean(weights)[builder.target]])
        if isinstance(X, list):
            return X_resampled.tolist(), y_resampled
        if containers.kind(X) == "sparse":  # rows are needed, whatever the format
            X_resampled = X_resampled.asformat(X.format)
        return X_resampled, y_resampled

    def prepare(self, X: Any, y: Any) -> Prepared:
        """Check and profile the table, and fit the classifier (f in the paper).

        ``fit_resample`` does this itself; :func:`counterbalance.explain.explain` needs no more.
        """
        return self._prepare(*self._read(X, y), None)

    def _prepare(self, table: Table, labels: Labels, weights: Floats | None) -> Prepared:
        prepared = prepare(self, table, labels, weights)
        self.profile_ = prepared.profile
        self.feature_order_ = prepared.space.order
        self.estimator_ = prepared.estimator
        self.relations_ = list(prepared.learned.relations)
        return prepared

    @abstractmethod
    def _fit_resample(self, table: Table, labels: Labels, weights: Floats | None) -> Builder:
        """Find the new rows; each sampler implements this."""

    @staticmethod
    @abstractmethod
    def default_classifier(table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""

    def _forget(self) -> None:
        """Delete the results of an earlier call, so that a failed call does not show them."""
        for name in ("provenance_", "yield_", "sample_weight_"):
            if hasattr(self, name):
                delattr(self, name)

    def _read(self, X: Any, y: Any) -> tuple[Table, Labels]:
        """Check the input and detect its columns and classes."""
        labels = read_labels(y)
        X = check_table(self, X)
        if X.shape[0] != len(labels.codes):
            raise TableError(
                f"X has {X.shape[0]} rows but y has {len(labels.codes)} labels; "
                "give one label for each row"
            )
        self.sampling_strategy_ = self._strategy(labels)
        table = read_table(X, categorical_features=self.categorical_features)
        if self.plausible is not False:
            table = group_dummies(table, self.ignore_relations)
        if self.estimator is not None:
            check_takes(make_classifier(self, table), table)
        return table, labels

    def _strategy(self, labels: Labels) -> dict[Any, int]:
        """Return the number of new rows of each class."""
        if is_every(self.sampling_strategy):
            raise TableError(
                "sampling_strategy='all' asks for every counterfactual, and "
                f"{type(self).__name__} makes none; use 'auto', a share or numbers of rows, or "
                "CounterfactualOverSampler"
            )
        strategy: dict[Any, int] = check_sampling_strategy(
            self.sampling_strategy, labels.values, self._sampling_type
        )
        return strategy

    def _requested(self, labels: Labels) -> dict[int, int]:
        """Return the number of new rows of each class code."""
        codes = {label: code for code, label in enumerate(labels.classes.tolist())}
        return {codes[plain(label)]: n for label, n in self.sampling_strategy_.items()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.estimator is None
        tags.input_tags.categorical = True
        tags.input_tags.string = own
        f = self.estimator
        has_tags = isinstance(f, BaseEstimator)
        tags.input_tags.allow_nan = own or (has_tags and get_tags(f).input_tags.allow_nan)
        return tags


Init = TypeVar("Init", bound=Callable[..., None])


def refuse_removed(removed: dict[str, str]) -> Callable[[Init], Init]:
    """Decorate an ``__init__``: parameters of old versions raise an error with a remedy."""

    def decorate(init: Init) -> Init:
        @wraps(init)
        def checked(self: Any, *arguments: Any, **named: Any) -> None:
            for parameter in removed.keys() & named.keys():
                raise TypeError(
                    f"{type(self).__name__} has no parameter {parameter!r} since version 0.3: "
                    f"{removed[parameter]}"
                )
            init(self, *arguments, **named)

        return cast("Init", checked)

    return decorate


def check_table(estimator: Any, X: Any, *, reset: bool = True) -> Any:
    """Check the shape of X for an estimator; data frames stay data frames."""
    frames.check_container(X)
    if not frames.has_columns(X):
        rows = frames.from_list(X) if isinstance(X, list) else X
        checks = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}
        return validate_data(estimator, rows, reset=reset, **checks)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if 0 in X.shape:
        raise TableError(
            f"X has {X.shape[0]} rows and {X.shape[1]} columns; it needs at least one of each"
        )
    return X


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the row weights, if given; raise for negative and missing ones."""
    if sample_weight is None:
        return None
    try:
        weights = check_sample_weight(
            sample_weight, np.empty((n_rows, 0)), ensure_non_negative=True
        )
    except ValueError as error:
        raise TableError(
            f"sample_weight must hold one number of at least 0 for each of the {n_rows} rows: "
            f"{error}"
        ) from None
    return np.asarray(weights)
