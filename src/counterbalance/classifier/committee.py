"""Committee: randomised trees, a logistic regression and a small net, the default f.

Unlike models disagree where the table says little, so the boundary of their mean probability
follows what is there more than what one of them is fond of: see docs/research-log.md.

    cell -> its share of K sums      numbers by a slope, levels and missing cells by a table
    K sums                           the first ones are the logits of the regression, the others
                                     the hidden units of the net
    logits -> probability            the mean of all three members decides

The shares of the cells are added one feature after the other, never by a matrix product, whose
rounding depends on how many rows are asked about at once. The kernel adds them where it is
compiled; ``_add_up`` gives the same bits without it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from counterbalance.arrays import Floats, Integers, Small
from counterbalance.classifier.boosting import draw_rows
from counterbalance.classifier.cells import FARTHEST, Cells, lay_out, read_cells
from counterbalance.classifier.forest import forest_probability

try:
    from counterbalance.classifier import committee_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# Leaves of a tree: a set of them is one word to the kernels (``LeafSets``).
MOST_LEAVES = 64
TREES = {"n_estimators": 30, "min_samples_leaf": 3, "max_leaf_nodes": MOST_LEAVES}
REGRESSION = {"max_iter": 300}
NET = {"hidden_layer_sizes": (30,), "learning_rate_init": 0.01, "max_iter": 60}
# Rows that the regression and the net are fitted to: they learn little from more.
MOST_ROWS = 10_000

# More than rounding may add to a sum where its answer is not asked for once more.
ROUNDING = 1e-9

Places = tuple[Floats, Floats, Small, Small, float]


def is_compiled() -> bool:
    """Say whether the kernel is there."""
    return kernel is not None


class Committee(ClassifierMixin, BaseEstimator):
    """Vote of randomised trees, a logistic regression and a small net by mean probability.

    Takes numbers and codes of levels as they are, unscaled, and missing cells as nan.

    Parameters
    ----------
    nominal : sequence of bool, default=None
        Which features hold codes of unordered levels; ``None`` says that all are numbers.
    random_state : int, RandomState or None, default=None
        Seed of all members.

    Attributes
    ----------
    classes_ : ndarray
        The labels in sorted order.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance.classifier.committee import Committee
    >>> X, y = make_classification(300, random_state=0)
    >>> bool(Committee(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(self, nominal: Any = None, random_state: Any = None) -> None:
        self.nominal = nominal
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every member to the same weights; missing cells (nan) are taken as they are."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, code = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}; give at least two")
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(np.iinfo(np.int32).max, size=4)
        weight = np.ones(len(code)) if sample_weight is None else np.array(sample_weight, float)
        self.trees_ = ExtraTreesClassifier(**TREES, random_state=seeds[0])
        self.trees_.fit(X, code, sample_weight=weight)
        nominal = np.zeros(X.shape[1], bool) if self.nominal is None else np.array(self.nominal)
        cells = read_cells(X, nominal)
        X, code, weight = _some_rows(X, code, weight, np.random.RandomState(seeds[1]))
        rows = lay_out(cells, X)
        regression = LogisticRegression(**REGRESSION, random_state=seeds[2])
        net = MLPClassifier(**NET, random_state=seeds[3])
        # One thread: with several, the rounding of a matrix product may depend on their number.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            for member in (regression, net):
                member.fit(rows, code, sample_weight=weight)
        self.sums_ = Sums.of(cells, regression, net)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the members' probabilities."""
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", reset=False
        )
        regression, net = self.sums_.logits(X)
        members = _probability(regression) + _probability(net)
        return np.asarray((forest_probability(self.trees_, X) + members) / 3)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest mean probability."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(frozen=True, eq=False)
class Sums:
    """The regression and the net as sums over the cells of a row."""

    cells: list[Cells]
    weight: Floats  # (columns of all cells, K)
    start: Floats  # (K,)
    n_logits: int  # the first sums are the logits of the regression
    output: Floats  # (hidden units, logits): what each unit adds to the logits of the net
    output_start: Floats

    @classmethod
    def of(cls, cells: list[Cells], regression: Any, net: Any) -> Self:
        """Read the fitted models."""
        return cls(
            cells,
            np.ascontiguousarray(np.hstack([regression.coef_.T, net.coefs_[0]])),
            np.concatenate([regression.intercept_, net.intercepts_[0]]),
            len(regression.intercept_),
            np.ascontiguousarray(net.coefs_[1]),
            np.array(net.intercepts_[1]),
        )

    def logits(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the logits of the regression and of the net for each row."""
        sums = np.tile(self.start, (len(x), 1))
        logits = np.tile(self.output_start, (len(x), 1))
        if kernel is None:
            self._add_up(x, sums, logits)
        else:
            kernel.add_up(x, *self.places, self.weight, self.n_logits, self.output, sums, logits)
        return sums[:, : self.n_logits], logits

    def _add_up(self, x: Floats, sums: Floats, logits: Floats) -> None:
        """Do as the kernel does, a column of all rows at a time."""
        for column, weight in zip(lay_out(self.cells, x).T, self.weight, strict=True):
            sums += column[:, None] * weight
        for unit, weight in zip(sums[:, self.n_logits :].T, self.output, strict=True):
            logits += np.maximum(unit, 0.0)[:, None] * weight

    @property
    def are_small(self) -> bool:
        """Whether the order in which shares are added hardly matters."""
        largest = np.abs(self.weight).max(initial=0) * FARTHEST + np.abs(self.start).max()
        steps = len(self.cells) * (1 + np.abs(self.output).sum())
        return bool(largest * steps * np.finfo(float).eps < ROUNDING)

    @cached_property
    def places(self) -> Places:
        """Where the columns of each feature are, as the kernel reads it."""
        return _places(self.cells)


def _places(cells: list[Cells]) -> Places:
    """Return centre and scale of each feature, four numbers of it, the column of each level.

    The numbers are its first column or -1 where it has levels, the column of a missing cell or
    -1, its first entry among the columns of levels, and how many it has there.
    """
    features, levels, column, entry = [], [np.zeros(0, dtype=np.int32)], 0, 0
    for own in cells:
        known = own.width - own.holes
        hole = column + known if own.holes else -1
        if own.level is None:
            features.append((column, hole, 0, 0))
        else:
            place = np.full(int(own.level.max(initial=-1)) + 1, -1, dtype=np.int32)
            place[own.level] = column + np.arange(known)
            features.append((-1, hole, entry, len(place)))
            levels.append(place)
            entry += len(place)
        column += own.width
    return (
        np.array([own.centre for own in cells]),
        np.array([own.scale for own in cells]),
        np.array(features, dtype=np.int32),
        np.concatenate(levels),
        FARTHEST,
    )


def _probability(logits: Floats) -> Floats:
    """Return the probability of each class; with two classes the logit is the second's."""
    if logits.shape[1] > 1:
        return np.asarray(softmax(logits, axis=1))
    second = expit(logits[:, 0])
    return np.stack([1.0 - second, second], axis=1)


def _some_rows(
    X: Floats, code: Integers, weight: Floats, random: np.random.RandomState
) -> tuple[Floats, Integers, Floats]:
    """Draw some rows of a large table; the weights bring the shares of the classes back."""
    if len(code) <= MOST_ROWS:
        return X, code, weight
    rows, more = draw_rows(code, MOST_ROWS, random)
    return X[rows], code[rows], weight[rows] * more
