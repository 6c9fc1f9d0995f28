"""Linear: what a linear f says, without asking it.

    weight       (C, M), intercept (C,): the score of class c is intercept + weight x
    slack        more than rounding can make f's own score differ from ours

The score of a linear f moves along a draw by one product for each feature. A class counts as
reached only if it is ahead by more than the slack; where two scores are closer f itself is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from counterbalance.arrays import Floats, Integers

# Rounding makes two ways of summing M products differ by some M * 1e-16 of their size.
SLACK = {8: 1e-9, 4: 1e-5}
# Steps of the only pipeline that is known to be linear.
SCALER_AND_F = 2


@dataclass(frozen=True)
class Screen:
    """A linear f, as the search needs it."""

    weight: Floats
    intercept: Floats
    slack: float

    def scores(self, x: Floats) -> Floats:
        """Return the score of each class for each row, (R, C)."""
        products = np.stack([x @ weight for weight in self.weight], axis=1)
        return np.asarray(products + self.intercept)

    def certain(self, x: Floats) -> Integers:
        """Return the class that f says of each row whatever rounding does, -1 for f to say."""
        score, rows = self.scores(x), np.arange(len(x))
        best = score.argmax(axis=1)
        top = score[rows, best]
        score[rows, best] = -np.inf
        return np.where(top - score.max(axis=1) > self.slack, best, -1)


def linear_screen(f: Any, X: Any, classes: NDArray[Any]) -> Screen | None:
    """Return the screen of a fitted f on a dense array, None where f is not known as linear."""
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
    """Say whether f predicts as scikit-learn's linear classifiers do."""
    mixin = LinearClassifierMixin
    return isinstance(f, mixin) and type(f).predict is mixin.predict


def answers_by_score(f: Any, X: Any) -> bool:
    """Say whether ``largest_score`` is what f predicts of such rows, save for its checks."""
    return (
        _is_plain(f)
        and type(f).decision_function is LinearClassifierMixin.decision_function
        and not hasattr(f, "feature_names_in_")
        and type(X) is np.ndarray
        and X.dtype.kind == "f"
        and isinstance(f.coef_, np.ndarray)
        and f.coef_.ndim == X.ndim == 2  # noqa: PLR2004
    )


def largest_score(f: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Return the label of the largest score of each row, by the operations of scikit-learn.

    Its checks take ten times as long as some hundred rows do.
    """
    scores = X @ f.coef_.T + f.intercept_
    best = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(f.classes_[best])
