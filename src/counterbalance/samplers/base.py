"""Base: what every sampler of this library does before and after it makes new rows.

table -> columns -> profile -> classifier f -> new rows, the sampler's own -> decoded table
+ provenance
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_sampling_strategy
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.judge import (
    Classifier,
    check_prefit,
    check_takes,
    fit_classifier,
    judge,
    paper_classifier,
)
from counterbalance.constraints import Constraint, compile_rules
from counterbalance.constraints.rules import Rules
from counterbalance.errors import ClassifierError, ConstraintError, TableError
from counterbalance.profile import by_importance, profile_table
from counterbalance.rows.build import Builder
from counterbalance.rows.shortfall import Filled
from counterbalance.search.nearest import Task
from counterbalance.search.problem import Factuals
from counterbalance.search.selection import is_every
from counterbalance.table import containers, frames
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.labels import Labels, plain, read_labels
from counterbalance.table.table import Table, read_table

# Memory that the search takes for one perturbed cell: its value, its share of the
# distance, their sums, the ranking, and what numpy holds in between.
BYTES_PER_CELL = 64


class TableOverSampler(BaseOverSampler):
    """A sampler that takes tables as they are and judges with a classifier f.

    A subclass says how new rows are found (``_fill``), and which f it takes by default.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOverSampler._parameter_constraints,  # noqa: SLF001  (imbalanced-learn's own way)
        "estimator": [HasMethods(["fit", "predict"]), StrOptions({"ridge"}), None],
        "prefit": ["boolean"],
        "categorical_features": ["array-like", None],
        "integer_features": ["array-like", None],
        "snap_to_grid": ["boolean"],
        "constraints": [str, Constraint, list, tuple, None],
        "working_memory": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }
    _weight_of_classes: ClassVar[float]
    """How the default f weighs the classes: 0 as they are, 1 as if all had as many rows."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Check the input and note how many rows each class is to get.

        ``fit_resample`` does this too: use it in all cases.

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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_resample(self, X: Any, y: Any, *, sample_weight: Any = None) -> tuple[Any, Any]:
        """Balance the table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The factual table: numpy, scipy sparse, pandas or polars.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the fit of f, if it takes any.

        Returns
        -------
        X_resampled : {array-like, dataframe, sparse matrix}
            The rows of X, untouched, and the new ones below, in the container of X.
        y_resampled : array-like
            Their classes, in the container of y.
        """
        table, labels = self._read(X, y)
        X_resampled, y_resampled = self._fit_resample(table, labels, sample_weight)
        if isinstance(X, list):
            return X_resampled.tolist(), y_resampled
        if containers.kind(X) == "sparse":  # the work is done by rows, whatever the format
            X_resampled = X_resampled.asformat(X.format)
        return X_resampled, y_resampled

    def _fit_resample(self, table: Table, labels: Labels, sample_weight: Any) -> tuple[Any, Any]:
        self._forget()
        weights = _check_weights(sample_weight, len(labels.codes))
        factuals, f = self._fit_factuals(table, labels, weights)
        filled = self._fill(self._asked(labels), factuals, f)
        builder = Builder(factuals, f, filled)
        X, y, self.provenance_ = builder.build()
        if weights is not None:
            self.sample_weight_ = np.concatenate([weights, labels.mean(weights)[builder.target]])
        return X, y

    def _fit_factuals(
        self, table: Table, labels: Labels, weights: Floats | None
    ) -> tuple[Factuals, Classifier]:
        """Profile the table and fit f: all that new rows are made with."""
        random_state = self._random_state()
        seed = int(random_state.randint(np.iinfo(np.int64).max, dtype=np.int64))
        self.profile_ = profile_table(table, labels.codes)
        rules = compile_rules(self.constraints, table)
        self.feature_order_ = self._order(table, rules)
        self.estimator_ = self._fit_f(table, labels, weights, random_state)
        own = self.estimator is None and not self.prefit
        f = judge(self.estimator_, table, labels.classes, own=own)
        return Factuals(table, labels, self._task(table, rules, seed), self.n_jobs), f

    @abstractmethod
    def _fill(self, asked: dict[int, int], factuals: Factuals, f: Classifier) -> list[Filled]:
        """Find so many new rows of each class as are asked for."""

    @abstractmethod
    def _task(self, table: Table, rules: Rules, seed: int) -> Task:
        """Return what new rows are made with."""

    @abstractmethod
    def _default_f(self, table: Table, encoder: TableEncoder) -> Any:
        """Return the classifier that ``estimator=None`` stands for, unfitted."""

    def _wanted_order(self, table: Table) -> Integers:
        """Return the features that are to change, in order."""
        del table
        return by_importance(self.profile_)

    def _forget(self) -> None:
        """Drop what an earlier call left, so that a failure does not show it as its own."""
        for name in ("provenance_", "yield_", "sample_weight_"):
            if hasattr(self, name):
                delattr(self, name)

    def _random_state(self) -> np.random.RandomState:
        """Return the source of the seeds, never numpy's global one."""
        if self.random_state is None:
            return np.random.RandomState()
        state: np.random.RandomState = check_random_state(self.random_state)
        return state

    def _read(self, X: Any, y: Any) -> tuple[Table, Labels]:
        """Check the input and recognise its columns and classes."""
        labels = read_labels(y)
        X = self._check_table(X)
        if X.shape[0] != len(labels.codes):
            raise TableError(
                f"X has {X.shape[0]} rows but y has {len(labels.codes)} labels; "
                "give one label for each row"
            )
        self.sampling_strategy_ = self._strategy(labels)
        table = read_table(
            X,
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
            snap_to_grid=self.snap_to_grid,
        )
        if self.prefit:
            self._check_prefit(table)
        if self.estimator is not None:
            check_takes(self._f(table), table)
        return table, labels

    def _strategy(self, labels: Labels) -> dict[Any, int]:
        """Return how many new rows each class is to get."""
        if is_every(self.sampling_strategy):
            raise TableError(
                "sampling_strategy='all' asks for every minimum inversion, and "
                f"{type(self).__name__} makes none; use 'auto', a share or numbers of rows, or "
                "CounterfactualOverSampler"
            )
        strategy: dict[Any, int] = check_sampling_strategy(
            self.sampling_strategy, labels.values, self._sampling_type
        )
        return strategy

    def _check_prefit(self, table: Table) -> None:
        if self.estimator is None or isinstance(self.estimator, str):
            raise ClassifierError(
                f"prefit=True needs a fitted estimator, got {self.estimator!r}; "
                "pass the fitted classifier or set prefit=False"
            )
        check_prefit(self.estimator, len(table.names))

    def _check_table(self, X: Any) -> Any:
        """Check the shape of X; a frame stays the frame it is."""
        frames.check_container(X)
        if not frames.has_columns(X):
            rows = frames.from_list(X) if isinstance(X, list) else X
            return validate_data(
                self, rows, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False
            )
        validate_data(self, X, skip_check_array=True)
        if 0 in X.shape:
            raise TableError(
                f"X has {X.shape[0]} rows and {X.shape[1]} columns; it needs at least one of each"
            )
        return X

    def _order(self, table: Table, rules: Rules) -> Integers:
        """Return the features that are to change and may; refuse if there is none."""
        order = self._wanted_order(table)
        if order.size and rules.frozen[order].all():
            raise ConstraintError(
                "every column that varies is Immutable, so no row can be changed into another; "
                "leave at least one free"
            )
        order = order[~rules.frozen[order]]
        if not order.size:
            raise TableError(
                "no column of X that may change varies, so no row can be changed into another; "
                "pass a table with at least one column of several values"
            )
        return order

    def _fit_f(
        self,
        table: Table,
        labels: Labels,
        sample_weight: Floats | None,
        random_state: np.random.RandomState,
    ) -> Any:
        if self.prefit:
            return self.estimator
        if self.estimator is None and self._weight_of_classes:
            given = 1.0 if sample_weight is None else sample_weight
            sample_weight = labels.balanced_weight**self._weight_of_classes * given
        return fit_classifier(
            self._f(table),
            table,
            labels.values,
            sample_weight,
            random_state,
            own=self.estimator is None,
        )

    def _f(self, table: Table) -> Any:
        """Return the classifier that ``estimator`` stands for, as it was given."""
        if self.estimator is not None:
            return paper_classifier() if isinstance(self.estimator, str) else self.estimator
        encoder = TableEncoder(
            categorical_features=self.categorical_features,
            integer_features=self.integer_features,
        )
        return self._default_f(table, encoder)

    def _asked(self, labels: Labels) -> dict[int, int]:
        """Return how many new rows each class code is to get."""
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


def _check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    try:
        weights = _check_sample_weight(
            sample_weight, np.empty((n_rows, 0)), ensure_non_negative=True
        )
    except ValueError as error:
        raise TableError(
            f"sample_weight must hold one number of at least 0 for each of the {n_rows} rows: "
            f"{error}"
        ) from None
    return np.asarray(weights)
