"""Boosting: a few rounds of gradient boosting on bins, fitted in milliseconds.

    bins        (M, n): where a cell lies among the cuts of its feature; the last bin is that of
                missing values
    raw         (n, K): the sum of all trees, a log-odds; K is 1 for two classes, else their number
    gradient,   of the loss by ``raw``, for each row; a leaf with their sums G and H has the value
    hessian     - step G / H, and a split of it gains  G_l^2 / H_l + G_r^2 / H_r - G^2 / H
    node        (feature, cut, left child, missing goes left); a leaf has the feature -1, and the
                right child follows the left one

This is the method of LightGBM and of scikit-learn's histogram boosting: the leaf with the largest
gain is split next, and only the sums of the smaller child are computed. Those libraries take 40 to
90 ms for twenty rounds on a thousand to ten thousand rows. Without the compiled kernel,
scikit-learn's is used instead (see ``fit``). ``tests/naive_boosting.py`` is a plain version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats, Integers, Small

try:
    from counterbalance.classifier import boosting_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]


# Bins of a feature, without that of missing values.
MOST_BINS = 64


@dataclass(frozen=True)
class Binned:
    """A table as bins."""

    bins: NDArray[np.uint8]
    by_row: NDArray[np.uint8]  # the same, (n, M)
    cuts: list[Floats]  # of each feature: the bin of a cell is the number of cuts below it
    n_cuts: Small
    width: int

    @classmethod
    def from_table(cls, X: Floats) -> Self:
        """Put every cell into a bin of its feature."""
        columns = np.ascontiguousarray(X.T)
        cuts = [_cuts(column) for column in columns]
        width = max(map(len, cuts)) + 2
        bins = np.empty(columns.shape, dtype=np.uint8)
        for cells, column, own in zip(bins, columns, cuts, strict=True):
            kernel.put_in_bins(column, own, width - 1, cells)
        n_cuts = np.array([len(own) for own in cuts], dtype=np.int32)
        return cls(bins, np.ascontiguousarray(bins.T), cuts, n_cuts, width)


def _cuts(column: Floats) -> Floats:
    """Cut between different values, into bins of about equal numbers of rows."""
    ordered = np.sort(column)  # missing values come last
    ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(column))]
    steps = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(steps) >= MOST_BINS:  # the first step at or behind each of so many ranks
        ranks = np.arange(1, MOST_BINS) * len(ordered) // MOST_BINS
        at = np.searchsorted(steps, ranks)
        steps = np.unique(steps[np.minimum(at, len(steps) - 1)])
    below, above = ordered[steps - 1], ordered[steps]
    return np.minimum(below / 2 + above / 2, np.nextafter(above, -np.inf))


# The least number of rows that a class keeps when f is fitted to a sample.
LEAST_OF_CLASS = 1_000
LEAST_HESSIAN = 1e-3
LEAST_GAIN = 1e-7
LEAF = -1


def is_compiled() -> bool:
    """Return whether the kernel is compiled."""
    return kernel is not None


class Boosting(ClassifierMixin, BaseEstimator):
    """Fast gradient boosting of a few trees, to score candidates.

    Parameters
    ----------
    n_rounds : int, default=20
        Number of rounds; each adds a tree, or one for each of more than two classes.
    step : float, default=0.1
        How much of each tree is added.
    max_leaves : int, default=31
        Most leaves of a tree.
    min_rows : int, default=20
        Fewest rows of a leaf.
    max_rows : int, default=10_000
        Most rows to fit to. Larger tables are sampled by the share of each class. A small class
        keeps a thousand rows; weights restore the shares.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Attributes
    ----------
    classes_ : ndarray
        The labels in sorted order.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance.classifier.boosting import Boosting
    >>> X, y = make_classification(300, random_state=0)
    >>> bool(Boosting().fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        n_rounds: int = 20,
        step: float = 0.1,
        max_leaves: int = 31,
        min_rows: int = 20,
        max_rows: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.step = step
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees; missing cells (nan) are taken as they are."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}; give at least two")
        weight = np.ones(len(codes)) if sample_weight is None else np.array(sample_weight, float)
        if len(codes) > self.max_rows:
            rows, more = draw_rows(codes, self.max_rows, check_random_state(self.random_state))
            X, codes, weight = X[rows], codes[rows], weight[rows] * more
        share = np.bincount(codes, weights=weight) / weight.sum()
        start = np.log(np.maximum(share, np.finfo(float).tiny))  # a class may have no weight
        self.start_ = start if len(share) > 2 else start[1:] - start[:1]  # noqa: PLR2004
        binned = Binned.from_table(X)
        raw = np.tile(self.start_, (len(codes), 1))
        grown = [
            tree for _ in range(self.n_rounds) for tree in self._round(raw, codes, weight, binned)
        ]
        self.trees_ = _Trees.join(grown, binned.cuts)
        return self

    def _round(
        self, raw: Floats, codes: Integers, weight: Floats, binned: Binned
    ) -> list[tuple[Small, Floats]]:
        """Grow the trees of one round, all at the same raw scores, and add them."""
        n_sums = raw.shape[1]
        probability = _probability(raw)[:, -n_sums:]
        first = 1 if n_sums == 1 else 0  # with two classes only the second has a score
        grown = []
        for k in range(n_sums):
            p = probability[:, k]
            gradient, hessian = (p - (codes == first + k)) * weight, p * (1 - p) * weight
            nodes, totals, where = kernel.grow(
                binned.bins,
                binned.by_row,
                binned.n_cuts,
                binned.width,
                gradient,
                hessian,
                float(gradient.sum()),
                float(hessian.sum()),
                self.max_leaves,
                self.min_rows,
            )
            value = -self.step * totals[:, 0] / np.maximum(totals[:, 1], LEAST_HESSIAN)
            raw[:, k] += value[where]
            grown.append((nodes, value))
        return grown

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row."""
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", reset=False
        )
        return self.probabilities(X)

    def probabilities(self, x: Floats) -> Floats:
        """Do the same for numbers that need no check."""
        raw = np.tile(self.start_, (len(x), 1))
        self.trees_.add(np.ascontiguousarray(x), raw)
        return _probability(raw)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest probability for each row."""
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probability, axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def draw_rows(codes: Integers, n: int, random: np.random.RandomState) -> tuple[Integers, Floats]:
    """Draw about ``n`` rows by the share of each class; return them and their weights."""
    counts = np.bincount(codes)
    kept = np.minimum(counts, np.maximum(n * counts // len(codes), LEAST_OF_CLASS))
    rows = [
        random.choice(np.flatnonzero(codes == code), size, replace=False)
        for code, size in enumerate(kept.tolist())
    ]
    drawn = np.sort(np.concatenate(rows))
    return drawn, (counts / kept)[codes[drawn]]


def _probability(raw: Floats) -> Floats:
    """Return the probability of each class."""
    if raw.shape[1] == 1:
        with np.errstate(over="ignore"):  # a very rare class: its share is 0
            second = 1 / (1 + np.exp(-raw))
        return np.hstack([1 - second, second])
    power = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Trees:
    """All trees, concatenated; a leaf leads to itself."""

    nodes: Small  # (nodes, 3): feature, left child, whether missing goes right
    cuts: Floats
    values: Floats
    roots: Small
    depths: Small

    @classmethod
    def join(cls, grown: list[tuple[Small, Floats]], cuts: list[Floats]) -> Self:
        """Concatenate trees; ``cuts`` are those of each feature."""
        sizes = [len(nodes) for nodes, _ in grown]
        roots = np.cumsum([0, *sizes[:-1]], dtype=np.int32)
        nodes = np.concatenate([nodes for nodes, _ in grown])
        leaf = nodes[:, 0] == LEAF
        feature = np.where(leaf, 0, nodes[:, 0])
        left = np.where(leaf, np.arange(len(nodes)), nodes[:, 2] + np.repeat(roots, sizes))
        known = [np.append(own, np.inf) for own in cuts]  # splits known and missing
        first = np.cumsum([0, *(len(own) for own in known[:-1])])
        at = np.where(leaf, first[0] + len(known[0]) - 1, first[feature] + nodes[:, 1])
        return cls(
            np.column_stack([feature, left, ~leaf & (nodes[:, 3] == 0)]).astype(np.int32),
            np.concatenate(known)[at],
            np.concatenate([value for _, value in grown]),
            roots,
            np.array([_depth(nodes) for nodes, _ in grown], dtype=np.int32),
        )

    def add(self, x: Floats, raw: Floats) -> None:
        """Add the value of each tree for each row to the raw scores, tree by tree."""
        kernel.add_trees(x, self.nodes, self.cuts, self.values, self.roots, self.depths, raw)


def _depth(nodes: Small) -> int:
    """Return the depth of a tree whose children come after their parents."""
    depth = [0] * len(nodes)
    for node, (feature, _, left, _) in enumerate(nodes.tolist()):
        if feature != LEAF:
            depth[left] = depth[left + 1] = depth[node] + 1
    return max(depth)
