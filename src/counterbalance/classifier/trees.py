"""Trees: an ensemble of decision trees as a few flat arrays, for the compiled kernels.

    cut        a threshold of a feature; the cuts of a feature are sorted and numbered
    bin        where a value lies among the cuts of its feature: how many of them are below it,
               -1 for a missing value
    node       (feature, cut, left, right): a row goes left where its bin <= cut; a leaf has
               the feature -1
    value      what a leaf adds to the sum of each class

The forest sees nothing of a row but its bins, so a search among rows is one among bins.
scikit-learn compares float32 cells with float64 thresholds: a threshold stands here as the
largest float32 that is not above it, which splits the float32 numbers in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from counterbalance.arrays import Floats, Small
from counterbalance.classifier.forest import is_forest

LEAF = -1
MISSING = -1


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble whose answer is the class with the largest mean of its leaves' values."""

    nodes: Small  # (nodes, 4)
    missing_left: NDArray[np.uint8]  # for each node: does a missing value go left?
    roots: Small
    value: Floats  # (nodes, classes)
    bounded: NDArray[np.uint64]  # (nodes, 2): see ``_bounded``
    cuts: Floats  # of all features, one behind the other
    first_cut: Small  # (M + 1,): where the cuts of each feature begin
    depth: int  # of the deepest tree

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return len(self.first_cut) - 1

    def looped(self) -> Small:
        """Return the nodes with leaves that lead to themselves, and 2 m + r for a feature m.

        r is 1 where a missing value goes right. The value of a leaf is that of its node.
        """
        nodes = self.nodes.copy()
        is_leaf = nodes[:, 0] == LEAF
        nodes[:, 0] = np.where(is_leaf, 0, 2 * nodes[:, 0] + (self.missing_left == 0))
        nodes[is_leaf, 1] = np.iinfo(np.int32).max
        nodes[is_leaf, 2:] = np.flatnonzero(is_leaf)[:, None]
        return nodes

    def cuts_of(self, feature: int) -> Floats:
        """Return the sorted cuts of a feature."""
        return self.cuts[self.first_cut[feature] : self.first_cut[feature + 1]]

    def bins(self, x: Floats) -> Small:
        """Return the bin of every cell."""
        found = np.empty(x.shape, dtype=np.int32)
        with np.errstate(over="ignore"):  # a cell beyond float32 is infinite to the forest too
            single = x.astype(np.float32)
        for m in range(self.n_features):
            column = single[:, m]
            place = np.searchsorted(self.cuts_of(m), column)
            found[:, m] = np.where(np.isnan(column), MISSING, place)
        return found


def has_trees(f: Any) -> bool:
    """Tell an f that ``read_trees`` takes: a subclass may predict in a way of its own."""
    return is_forest(f) or type(f) is DecisionTreeClassifier


def read_trees(f: Any) -> Trees:
    """Turn a fitted forest or decision tree of scikit-learn into arrays."""
    trees = [f.tree_] if type(f) is DecisionTreeClassifier else [one.tree_ for one in f.estimators_]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shift = np.repeat(roots, sizes)
    left, right, feature, threshold = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("children_left", "children_right", "feature", "threshold")
    )
    is_leaf = left < 0
    cuts, first_cut, cut = _number_cuts(feature, threshold, is_leaf, f.n_features_in_)
    nodes = np.empty((len(left), 4), dtype=np.int32)
    nodes[:, 0] = np.where(is_leaf, LEAF, feature)
    nodes[:, 1] = cut
    nodes[:, 2] = np.where(is_leaf, LEAF, left + shift)
    nodes[:, 3] = np.where(is_leaf, LEAF, right + shift)
    value = np.concatenate([tree.value[:, 0, :] for tree in trees])
    missing = np.concatenate([tree.missing_go_to_left for tree in trees]).astype(np.uint8)
    return Trees(
        nodes,
        missing,
        roots.astype(np.int32),
        np.ascontiguousarray(value),
        _bounded(nodes),
        cuts,
        first_cut,
        max(tree.max_depth for tree in trees),
    )


def _number_cuts(
    feature: NDArray[np.intp], threshold: Floats, is_leaf: NDArray[np.bool_], n_features: int
) -> tuple[Floats, Small, Small]:
    """Return the cuts of all features, where each feature's begin, and the cut of each node."""
    single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    cut = np.zeros(len(feature), dtype=np.int32)
    parts, first = [np.zeros(0)], [0]
    inner = np.flatnonzero(~is_leaf)
    by_feature = inner[np.argsort(feature[inner], kind="stable")]
    ends = np.searchsorted(feature[by_feature], np.arange(n_features + 1))
    for m in range(n_features):
        here = by_feature[ends[m] : ends[m + 1]]
        values, cut[here] = np.unique(single[here], return_inverse=True)
        parts.append(values.astype(np.float64))
        first.append(first[-1] + len(values))
    return np.concatenate(parts), np.array(first, dtype=np.int32), cut


def _bounded(nodes: Small) -> NDArray[np.uint64]:
    """Return for each node which features are bounded on the way to it, from above and below.

    Bit m % 64 of the first word is set where a row with a larger bin of feature m may miss the
    node, that of the second where one with a smaller bin may.
    """
    bounded = np.zeros((len(nodes), 2), dtype=np.uint64)
    inner = np.flatnonzero(nodes[:, 0] >= 0)
    is_child = np.zeros(len(nodes), dtype=bool)
    is_child[nodes[inner, 2:]] = True
    level = inner[~is_child[inner]]
    while level.size:
        bit = np.uint64(1) << (nodes[level, 0] % 64).astype(np.uint64)
        for side in range(2):
            below = nodes[level, 2 + side]
            bounded[below] = bounded[level]
            bounded[below, side] |= bit
        below = nodes[level, 2:].ravel()
        level = below[nodes[below, 0] >= 0]
    return bounded
