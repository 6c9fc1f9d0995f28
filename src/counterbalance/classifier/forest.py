"""Forest: scikit-learn's forests of trees, without the work that we can do without.

scikit-learn checks the rows and the labels anew for every tree that it grows, which takes half of
the time of the default f, and dispatches every tree that it asks, which costs some 65 microseconds
whatever the number of rows. What comes out here is the same, to the last bit.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import _criterion, _splitter, _tree
from sklearn.utils import check_random_state

from counterbalance.arrays import Floats


def is_forest(f: Any) -> bool:
    """Tell a plain forest: a subclass may predict in a way of its own."""
    return type(f) in {RandomForestClassifier, ExtraTreesClassifier}


def fit_trees(
    forest: ExtraTreesClassifier, X: NDArray[Any], y: NDArray[Any], weights: Floats | None
) -> None:
    """Fit randomised trees of a limited number of leaves, as ``forest.fit`` does.

    scikit-learn fits the first tree, with all of its checks. The others are grown by its own
    builder, which is no part of what it promises: so it grows the first once more, and where that
    is not the very same tree, ``forest.fit`` is asked for all.
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
        if not _same_tree(grow(seeds[0]), first.tree_):
            forest.fit(X, y, weights)
            return
        trees = [grow(seed) for seed in seeds[1:]]
    except (TypeError, AttributeError):  # the builder is another one
        forest.fit(X, y, weights)
        return
    for seed, tree in zip(seeds[1:], trees, strict=True):
        one = copy(first)
        one.random_state, one.tree_ = int(seed), tree
        forest.estimators_.append(one)


def _same_tree(one: Any, other: Any) -> bool:
    return one.node_count == other.node_count and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("feature", "threshold", "children_left", "missing_go_to_left", "value")
    )


def forest_probability(forest: Any, X: NDArray[Any]) -> Floats:
    """Return what ``forest.predict_proba`` does."""
    rows = np.ascontiguousarray(X, dtype=np.float32)
    votes = np.zeros((len(rows), forest.n_classes_))
    for tree in forest.estimators_:
        votes += tree.tree_.predict(rows)
    return votes / len(forest.estimators_)
