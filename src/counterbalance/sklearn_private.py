"""Names of scikit-learn that are no part of its public interface, in one place.

from scikit-learn   name
1.2                 HasMethods, Interval, StrOptions, fit_context: the checks of parameters
1.2                 LinearClassifierMixin: how its linear classifiers predict
1.6                 check_sample_weight(ensure_non_negative=)
1.6                 VisualBlock: the parts of an estimator in its HTML representation
1.6 to 1.9          the builder of trees (``fit_trees``); other versions use ``forest.fit``
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context as fit_context
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.tree import _criterion, _splitter, _tree
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from counterbalance.arrays import Floats

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:  # scikit-learn 1.6
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

__all__ = [
    "HasMethods",
    "Interval",
    "LinearClassifierMixin",
    "StrOptions",
    "VisualBlock",
    "check_sample_weight",
    "fit_context",
    "fit_trees",
]


def fit_trees(
    forest: ExtraTreesClassifier, X: NDArray[Any], y: NDArray[Any], weights: Floats | None
) -> None:
    """Fit randomised trees of a limited number of leaves, as ``forest.fit`` does.

    ``forest.fit`` checks rows and labels anew for every tree, which takes two thirds of its time on
    300 rows and a quarter on 20,000. Here it fits the first tree, and its own builder the others.
    The builder grows the first tree, too: if that is not the same, ``forest.fit`` fits all.
    """
    n_trees, n_features = forest.n_estimators, X.shape[1]
    first = forest.set_params(n_estimators=1).fit(X, y, weights).estimators_[0]
    forest.set_params(n_estimators=n_trees)
    seeds = check_random_state(forest.random_state).randint(np.iinfo(np.int32).max, size=n_trees)
    rows = np.ascontiguousarray(X, dtype=np.float32)
    codes = np.searchsorted(forest.classes_, y).astype(np.float64)[:, None]
    missing = np.isnan(rows).any(axis=0)
    has_missing = missing.astype(np.uint8) if missing.any() else None
    n_classes = np.array([forest.n_classes_], dtype=np.intp)

    def grow(seed: int) -> Any:
        criterion = _criterion.Gini(1, n_classes)
        leaf, state = first.min_samples_leaf, check_random_state(int(seed))
        splitter = _splitter.RandomSplitter(criterion, first.max_features_, leaf, 0.0, state, None)
        tree = _tree.Tree(n_features, n_classes, 1)
        depth, leaves = np.iinfo(np.int32).max, first.max_leaf_nodes
        builder = _tree.BestFirstTreeBuilder(splitter, 2 * leaf, leaf, 0.0, depth, leaves, 0.0)
        builder.build(tree, rows, codes, weights, has_missing)
        return tree

    try:
        trees = [grow(seed) for seed in seeds]
    except (TypeError, AttributeError):  # another version of the builder
        trees = []
    if not trees or not _same_tree(trees[0], first.tree_):
        forest.fit(X, y, weights)
        return
    for seed, tree in zip(seeds[1:], trees[1:], strict=True):
        one = copy(first)
        one.random_state, one.tree_ = int(seed), tree
        forest.estimators_.append(one)


def _same_tree(one: Any, other: Any) -> bool:
    return one.node_count == other.node_count and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("feature", "threshold", "children_left", "missing_go_to_left", "value")
    )
