"""Predict: call f on encoded rows and return class codes.

    f            a fitted scikit-learn classifier
    classes      the labels in sorted order; a class code is a position in it
    decode       turns encoded rows into the input of f
    weight       (C, M), intercept (C,) of a linear f: the score of class c is intercept + weight x
    slack        an upper bound of the rounding error of the score of a linear f

Predictions are checked before they are used. A classifier that does not follow scikit-learn's
conventions raises an error that names it. A linear f is called only where two scores are closer
than the slack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.boosting import Boosting
from counterbalance.classifier.tree_readers import is_forest
from counterbalance.classifier.trees import Trees, read_trees
from counterbalance.errors import ClassifierError
from counterbalance.sklearn_private import LinearClassifierMixin
from counterbalance.table import containers
from counterbalance.table.encoder import Rescaler
from counterbalance.table.labels import plain
from counterbalance.table.table import Columns, Table

# Two orders of summing M products differ by up to about M * 1e-16 of their size.
SLACK = {8: 1e-9, 4: 1e-5}
# Steps of the only pipeline that is recognised as linear.
SCALER_AND_F = 2


@dataclass(frozen=True)
class Screen:
    """Weights of a linear f, for the search."""

    weight: Floats
    intercept: Floats
    slack: float

    def scores(self, x: Floats) -> Floats:
        """Return the score of each class for each row, (R, C)."""
        products = np.stack([x @ weight for weight in self.weight], axis=1)
        return np.asarray(products + self.intercept)

    def certain(self, x: Floats) -> Integers:
        """Return the class of each row if no rounding can change it, -1 if f must predict it."""
        score, rows = self.scores(x), np.arange(len(x))
        best = score.argmax(axis=1)
        top = score[rows, best]
        score[rows, best] = -np.inf
        return np.where(top - score.max(axis=1) > self.slack, best, -1)


def linear_screen(f: Any, X: Any, classes: NDArray[Any]) -> Screen | None:
    """Return the screen of a fitted f on a dense array, None if f is not recognised as linear."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiu":
        return None
    affine = _affine(f, X.shape[1])
    if affine is None or not np.array_equal(f.classes_, classes):
        return None
    weight, intercept, offset = affine
    largest = np.maximum(np.abs(X.min(axis=0)), np.abs(X.max(axis=0)))
    size = np.abs(weight) @ (largest + offset) + np.abs(intercept)
    width = X.dtype.itemsize if X.dtype.kind == "f" else 8
    if width not in SLACK or not np.isfinite(size).all():
        return None
    return Screen(weight, intercept, SLACK[width] * float(size.max()))


def _affine(f: Any, n_features: int) -> tuple[Floats, Floats, Floats] | None:
    """Return weights and intercepts for raw features, and how far scaling shifts them."""
    if isinstance(f, Pipeline) and len(f.steps) == SCALER_AND_F:
        scaler = f[0]
        inner = _affine(f[1], n_features)
        if type(scaler) is not StandardScaler or inner is None:
            return None
        scale = np.ones(n_features) if scaler.scale_ is None else scaler.scale_
        mean = np.zeros(n_features) if scaler.mean_ is None else scaler.mean_
        weight = inner[0] / scale
        return weight, inner[1] - weight @ mean, np.abs(mean)
    if not _is_plain(f) and type(f) not in {RidgeClassifier, RidgeClassifierCV}:
        return None
    if sparse.issparse(f.coef_):
        return None
    weight = np.atleast_2d(np.asarray(f.coef_, dtype=np.float64))
    if weight.shape[1] != n_features:
        return None
    intercept = np.broadcast_to(np.asarray(f.intercept_, dtype=np.float64), len(weight))
    if len(weight) == 1:  # two classes: the first has the score zero
        weight = np.vstack([np.zeros(n_features), weight])
        intercept = np.append(0.0, intercept)
    return weight, intercept, np.zeros(n_features)


def _is_plain(f: Any) -> bool:
    """Return whether f predicts as scikit-learn's linear classifiers do."""
    mixin = LinearClassifierMixin
    return isinstance(f, mixin) and type(f).predict is mixin.predict


Labels = NDArray[Any]

# Tolerance of probabilities.
ROUNDING = 1e-6


def predictions(f: Any, X: Any) -> Labels:
    """Return the label that f predicts for each row."""
    if is_forest(f) and isinstance(X, np.ndarray):
        return np.asarray(f.classes_.take(np.argmax(forest_probability(f, X), axis=1)))
    labels = _ask(f, f.predict, X)
    if labels.shape != (X.shape[0],):
        raise _misbehaves(
            f, f"predict returns {_shape(labels)} for {X.shape[0]} rows; one label for each row"
        )
    return labels


def probabilities(f: Any, X: Any) -> Floats:
    """Return f's probability of each of its classes for each row."""
    if is_forest(f) and isinstance(X, np.ndarray):  # no job for every tree
        return forest_probability(f, X)
    if type(f) is Boosting and isinstance(X, np.ndarray) and X.dtype == np.float64:
        return f.probabilities(X)
    found = _ask(f, f.predict_proba, X)
    wanted = (X.shape[0], len(f.classes_))
    if found.shape != wanted or found.dtype.kind not in "fiub":
        raise _misbehaves(
            f,
            f"predict_proba returns {_shape(found)} for {wanted[0]} rows and {wanted[1]} classes; "
            "one number for each row and class",
        )
    if not ((found >= -ROUNDING) & (found <= 1 + ROUNDING)).all():
        strange = found[~((found >= -ROUNDING) & (found <= 1 + ROUNDING))][0]
        raise _misbehaves(
            f, f"predict_proba returns {strange:g}; a probability, which is between 0 and 1,"
        )
    return found


def decisions(f: Any, X: Any) -> Floats | None:
    """Return f's decision function for each class; with two classes f returns only the second's."""
    found = np.array(_ask(f, f.decision_function, X), dtype=np.float64)  # a copy, to write into
    if found.ndim == 1:
        found = np.column_stack([-found, found])
    if found.shape[0] != X.shape[0] or not np.isfinite(found).all():
        raise _misbehaves(
            f, f"decision_function returns {_shape(found)} or nan; a finite number for each row"
        )
    of_classes = found.shape[1:] == (len(f.classes_),) and not _decides_by_pairs(f)
    return found if of_classes else None


def _decides_by_pairs(f: Any) -> bool:
    """Return whether f has a decision for each pair of classes: three classes have three pairs."""
    params = f.get_params(deep=True) if hasattr(f, "get_params") else {}
    shapes = [value for name, value in params.items() if name.endswith("decision_function_shape")]
    return len(f.classes_) > 2 and "ovo" in shapes  # noqa: PLR2004


def forest_probability(forest: Any, X: NDArray[Any]) -> Floats:
    """Return ``forest.predict_proba`` without the overhead of a job for every tree."""
    rows = np.ascontiguousarray(X, dtype=np.float32)
    votes = np.zeros((len(rows), forest.n_classes_))
    for tree in forest.estimators_:
        votes += tree.tree_.predict(rows)
    return votes / len(forest.estimators_)


def check_leaves_input(f: Any, X: Any) -> None:
    """Raise if f changes the rows that it predicts."""
    before = containers.copy(X)
    predictions(f, X)
    if not containers.same(X, before):
        raise ClassifierError(changes_its_input(f, "given to predict"))


def changes_its_input(f: Any, when: str) -> str:
    """Return the message that f wrote into its input."""
    return (
        f"estimator {type(f).__name__} changes the rows that it is {when}, as steps with "
        "copy=False do; let it work on a copy (X and y are as they were)"
    )


def _ask(f: Any, method: Callable[[Any], Any], X: Any) -> NDArray[Any]:
    try:
        with np.errstate(all="ignore"):  # as in its fit: the caller checks the result
            return np.asarray(method(X))
    except Warning:
        raise  # the user turned warnings into errors
    except Exception as error:
        name = getattr(method, "__name__", "it")
        raise ClassifierError(
            f"estimator {type(f).__name__} failed in {name}: {type(error).__name__}: {error}; "
            "fix it, or pass another classifier"
        ) from error


def _shape(found: NDArray[Any]) -> str:
    return f"an array of shape {found.shape}" if found.ndim else f"{found.item()!r}"


def _misbehaves(f: Any, what: str) -> ClassifierError:
    return ClassifierError(
        f"estimator {type(f).__name__} does not follow scikit-learn's conventions: its {what} "
        "is needed; fix it, or pass another classifier"
    )


# Rows of the first check of f.
TRIED = 20


@dataclass(frozen=True, eq=False)
class Classifier:
    """The fitted f, which takes encoded rows and returns class codes."""

    f: Any
    classes: Labels
    decode: Callable[[Floats, Integers], Any]
    screen: Screen | None = None
    own: bool = False  # whether it is ours, which never changes its input
    moves_cells: bool = False  # whether decoding rescales cells that f cannot distinguish

    @cached_property
    def trees(self) -> Trees | None:
        """The trees of f, None if it has none."""
        return read_trees(self.f.estimator if isinstance(self.f, FrozenEstimator) else self.f)

    def predict_codes(self, x: Floats, rows: Integers) -> Integers:
        """Return the code of the class that f puts each row of ``x`` into, -1 for an unknown label.

        ``rows`` are the factuals that they were made from: f gets a missing cell in the form that
        it has there. A linear f is called only where rounding may decide.
        """
        if self.screen is None:
            return self._ask(x, rows)
        codes = self.screen.certain(x)
        close = np.flatnonzero(codes < 0)
        if close.size:
            codes[close] = self._ask(x[close], rows[close])
        return codes

    def scores(self, x: Floats, rows: Integers) -> Floats | None:
        """Return f's score of each class for each row, (n, C), or None if f has none.

        A row whose largest decision is not that of the predicted class has no score: nan. Each row
        is scored by itself, so no score depends on the other rows of a batch.
        """
        X = self._shown(x, rows)
        score: Floats | None
        if hasattr(self.f, "predict_proba"):
            score = probabilities(self.f, X)
        elif hasattr(self.f, "decision_function"):
            score = decisions(self.f, X)
            if score is None:
                return None
            predicted = predictions(self.f, X)
            score[self.f.classes_[score.argmax(axis=1)] != predicted] = np.nan
        else:
            return None
        codes = self._codes(self.f.classes_)
        result = np.full((len(x), len(self.classes)), np.nan)
        result[:, codes[codes >= 0]] = score[:, codes >= 0]
        return result

    @property
    def takes_codes(self) -> bool:
        """Whether f takes encoded rows directly."""
        return self.decode is _as_is

    def codes_of_f(self) -> Integers:
        """Return the code of each class of f, -1 for one that the labels lack."""
        return self._codes(self.f.classes_)

    def _ask(self, x: Floats, rows: Integers) -> Integers:
        X = self._shown(x, rows)
        with config_context(assume_finite=True):  # the table was checked when it was read
            return self._codes(predictions(self.f, X))

    def _shown(self, x: Floats, rows: Integers) -> Any:
        """Return rows as the input of f: a copy, if f is the user's and may change them."""
        X = self.decode(x, rows)
        return X.copy() if X is x and not self.own else X

    def _codes(self, labels: Labels) -> Integers:
        place = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        return np.where(self.classes[place] == labels, place, -1)


def wrap_classifier(
    f: Any, table: Table, classes: Labels, *, own: bool = False, ends: Any = None
) -> Classifier:
    """Wrap the fitted f for the search.

    Our ``own`` f was fitted to the codes of this table, after its encoder: they need not be decoded
    and encoded again. ``ends`` are two rows with the least and the largest cells of the whole
    table, if this table is a part of it.
    """
    _check_classes(f, classes)
    if own and isinstance(f, Pipeline):
        moved = [step for step in f[:-1] if isinstance(step, Rescaler)]
        decode = _moved_by(moved[0]) if moved else _as_is
        return Classifier(f[-1], classes, decode, own=own, moves_cells=bool(moved))
    if not own:
        _try(f, table)
    decode = _as_is if table.is_encoded else table.decode
    screen = linear_screen(f, _ends(table) if ends is None else ends, classes)
    return Classifier(f, classes, decode, screen, own=own)


def _ends(table: Table) -> Any:
    """Return rows with the least and the largest cells for f; None if some columns are coded."""
    if any(kind.has_levels for kind in table.kinds):
        return None
    if not isinstance(table, Columns):
        return table.native
    ends = np.array([table.codes.min(axis=0), table.codes.max(axis=0)])
    return ends.astype(f"f{table.grid.width.max()}")  # the dtype of f's own matrix


def _try(f: Any, table: Table) -> None:
    """Check the predictions of f for a few rows before the search."""
    rows = np.arange(min(TRIED, table.native.shape[0]))
    try:
        check_leaves_input(f, containers.copy(table.decode(table.rows(rows), rows)))
    except ClassifierError as error:
        if error.__cause__ is None:
            raise
        raise ClassifierError(cannot_take(f, table, error.__cause__)) from error.__cause__


def _moved_by(rescaler: Rescaler) -> Callable[[Floats, Integers], Floats]:
    return lambda x, _: rescaler.transform(x)


def check_not_constant(f: Classifier, answers: Integers, x: Floats) -> None:
    """Raise if f predicts one class only and gives the first rows ``x`` a single score."""
    if len(np.unique(answers)) > 1:
        return
    scores = f.scores(x, np.arange(len(x)))
    known = None if scores is None else scores[~np.isnan(scores).all(axis=1)]
    if known is None or not len(known) or np.all(np.ptp(known, axis=0) == 0):
        label = plain(f.classes[answers[0]])
        if f.own:
            raise ClassifierError(
                f"the default f ({type(f.f).__name__}) gives every row the class {label!r} and "
                "the same score: no column of X separates the classes for it, so no row can "
                "be inverted; add columns or rows, or pass another classifier as estimator"
            )
        raise ClassifierError(
            f"estimator {type(f.f).__name__} predicts class {label!r} for every row and can "
            "invert none; pass one that separates the classes, for example "
            "estimator=None or LogisticRegression(class_weight='balanced')"
        )


def _as_is(x: Floats, rows: Integers) -> Floats:
    del rows
    return x


def _check_classes(f: Any, classes: Labels) -> None:
    known = getattr(f, "classes_", None)
    if known is None or isinstance(known, list):
        raise ClassifierError(
            f"estimator {type(f).__name__} has no classes_ of a single output after fit; "
            "use a classifier that follows scikit-learn's conventions"
        )
    absent = [label for label in classes.tolist() if label not in set(np.asarray(known).tolist())]
    if absent:
        raise ClassifierError(
            f"the estimator never saw the class {absent[0]!r} and cannot predict it; its classes "
            f"are {np.asarray(known).tolist()}; fit it to data with every class of y"
        )


def has_missing(table: Table) -> bool:
    """Return whether any cell is missing."""
    return any(np.isnan(table.column(m)).any() for m in range(len(table.names)))


def without_missing(f: Any, reason: Any) -> str:
    """Return the message that f takes no missing values, and what to do."""
    return (
        f"estimator {type(f).__name__} cannot be fitted to a table with missing values; use "
        "estimator=None, or put an imputer before it, as in make_pipeline(SimpleImputer(), "
        f"LogisticRegression()). Its error: {reason}"
    )


def cannot_take(f: Any, table: Table, error: BaseException, *, own: bool = False) -> str:
    """Return the message why f cannot take this table, and what to do."""
    name = type(f).__name__
    if own:
        return (
            f"the default f ({name}) cannot be fitted to this table or predict it: {error}; "
            "pass another classifier as estimator"
        )
    if has_missing(table) and "nan" in str(error).lower():
        return without_missing(f, error)
    if table.nominal.any():
        return (
            f"estimator {name} cannot be fitted to a table with categories; use "
            "estimator=None, or encode them before it, as in make_pipeline("
            "make_column_transformer((OneHotEncoder(), columns), remainder='passthrough'), "
            f"LogisticRegression()). Its error: {error}"
        )
    reason = error if isinstance(error, (ValueError, TypeError)) else repr(error)
    return f"estimator {name} cannot be fitted to this table or predict it: {reason}"
