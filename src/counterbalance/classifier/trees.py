"""Trees: an ensemble of decision trees as a few flat arrays, for the compiled kernels.

    cut        a threshold of a feature; the cuts of a feature are sorted and numbered
    bin        where a value lies among the cuts of its feature: how many of them are below it,
               -1 for a missing value
    node       (feature, cut, left, right): a row goes left where its bin <= cut; a leaf has
               the feature -1
    value      what a leaf adds to the sum of each class
    leaf set   some leaves of a tree as the bits of a word, the leftmost leaf the lowest bit

The forest sees nothing of a row but its bins, so a search among rows is one among bins.
scikit-learn compares float32 cells with float64 thresholds: a threshold stands here as the
largest float32 that is not above it, which splits the float32 numbers in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from counterbalance.arrays import Floats, Small, Words
from counterbalance.classifier.forest import is_forest

LEAF = -1
MISSING = -1
# Leaves that fit into a word.
WORD = 64
# Words of all leaf sets: more would not stay in the caches, and grow with the square of the trees.
MOST_WORDS = 2**22


@dataclass(frozen=True, eq=False)
class LeafSets:
    """Which leaves of each tree a row can be in, by one of its bins: the idea of QuickScorer.

    The AND over all features leaves the one leaf that the row is in; the AND over all features
    but one leaves those that it is in for some value of that feature.
    """

    words: Words  # (rows, trees); bin b of feature m is in row first[m] + 1 + b, missing is -1
    first: Small  # (M,)
    every: Words  # (trees,): all leaves
    leaf: Small  # (trees, WORD): the node of each leaf
    lowest: Small  # (trees, M, WORD): the lowest bin of each feature that leads to each leaf
    by_value: Words  # (M, trees): leaves that some bin leads to; to others only a missing cell does


class FeaturesOfTrees(NamedTuple):
    """Which features each tree looks at."""

    feature: Small  # (trees, most features of a tree), the first ``n_features`` of a row are meant
    n_features: Small  # (trees,)
    place: Small  # (trees, M): of a feature in its row, -1 for none


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

    @cached_property
    def leaf_sets(self) -> LeafSets | None:
        """The trees as leaf sets, None where they are too large for that."""
        n_rows, n_trees = len(self.cuts) + 2 * self.n_features, len(self.roots)
        size, first = _leaves_below(self.nodes, self.roots)
        cells = n_trees * max(n_rows, WORD * self.n_features)
        if size[self.roots].max() > WORD or cells > MOST_WORDS:
            return None
        tree = np.searchsorted(self.roots, np.arange(len(self.nodes)), side="right") - 1
        node = np.flatnonzero(self.nodes[:, 0] != LEAF)
        m, cut, left, right = self.nodes[node].T
        # A row that goes right has none of the leaves on the left, and the other way round.
        not_left, not_right = (~_bits(first[below], size[below]) for below in (left, right))
        start = (self.first_cut[:-1] + 2 * np.arange(self.n_features)).astype(np.int32)
        every = _bits(first[self.roots], size[self.roots])
        words = np.tile(every, (n_rows, 1))
        down, up = words.copy(), words.copy()
        np.bitwise_and.at(down, (start[m] + 2 + cut, tree[node]), not_left)
        np.bitwise_and.at(up, (start[m] + 1 + cut, tree[node]), not_right)
        for begin, stop in zip(start + 1, np.append(start[1:], n_rows), strict=True):
            words[begin:stop] = np.bitwise_and.accumulate(down[begin:stop])
            words[begin:stop] &= np.bitwise_and.accumulate(up[begin:stop][::-1])[::-1]
        goes_left = self.missing_left[node] > 0
        removed = np.where(goes_left, not_right, not_left)
        np.bitwise_and.at(words, (start[m], tree[node]), removed)
        leaf = np.zeros((n_trees, WORD), dtype=np.int32)
        ends = np.flatnonzero(self.nodes[:, 0] == LEAF)
        leaf[tree[ends], first[ends]] = ends
        lowest = _lowest_bins(self.nodes, self.roots, self.n_features)[leaf].transpose(0, 2, 1)
        stops = np.append(start[1:], n_rows)
        by_value = [
            np.bitwise_or.reduce(words[begin:stop])
            for begin, stop in zip(start + 1, stops, strict=True)
        ]
        return LeafSets(words, start, every, leaf, np.ascontiguousarray(lowest), np.array(by_value))

    def features_of_trees(self) -> FeaturesOfTrees:
        """Return which features each tree looks at."""
        n_trees = len(self.roots)
        used = np.zeros((n_trees, self.n_features), dtype=bool)
        tree = np.searchsorted(self.roots, np.arange(len(self.nodes)), side="right") - 1
        inner = self.nodes[:, 0] != LEAF
        used[tree[inner], self.nodes[inner, 0]] = True
        n_features = used.sum(axis=1).astype(np.int32)
        feature = np.argsort(~used, axis=1, kind="stable").astype(np.int32)
        place = np.where(used, np.cumsum(used, axis=1) - 1, -1).astype(np.int32)
        return FeaturesOfTrees(feature[:, : n_features.max()].copy(), n_features, place)

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
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
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
        roots,
        np.ascontiguousarray(value),
        _bounded(nodes, roots),
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


def _levels(nodes: Small, roots: Small) -> list[NDArray[np.intp]]:
    """Return the inner nodes of all trees, level by level from the roots down."""
    levels = []
    level = roots[nodes[roots, 0] != LEAF].astype(np.intp)
    while level.size:
        levels.append(level)
        below = nodes[level, 2:].ravel()
        level = below[nodes[below, 0] != LEAF].astype(np.intp)
    return levels


def _leaves_below(nodes: Small, roots: Small) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how many leaves are below each node, and the first of them, from the left."""
    size = np.where(nodes[:, 0] == LEAF, 1, 0).astype(np.intp)
    first = np.zeros(len(nodes), dtype=np.intp)
    levels = _levels(nodes, roots)
    for level in reversed(levels):
        size[level] = size[nodes[level, 2]] + size[nodes[level, 3]]
    for level in levels:
        first[nodes[level, 2]] = first[level]
        first[nodes[level, 3]] = first[level] + size[nodes[level, 2]]
    return size, first


def _lowest_bins(nodes: Small, roots: Small, n_features: int) -> Small:
    """Return for each node and feature the lowest bin that leads there."""
    lowest = np.zeros((len(nodes), n_features), dtype=np.int32)
    for level in _levels(nodes, roots):
        m, cut, left, right = nodes[level].T
        lowest[left] = lowest[right] = lowest[level]
        lowest[right, m] = np.maximum(lowest[right, m], cut + 1)
    return lowest


def _bits(first: NDArray[np.intp], count: NDArray[np.intp]) -> Words:
    """Return words with ``count`` bits set from bit ``first`` on, 1 to 64 of them."""
    ones = ~np.uint64(0) >> (WORD - count).astype(np.uint64)
    return np.asarray(ones << first.astype(np.uint64))


def _bounded(nodes: Small, roots: Small) -> NDArray[np.uint64]:
    """Return for each node which features are bounded on the way to it, from above and below.

    Bit m % 64 of the first word is set where a row with a larger bin of feature m may miss the
    node, that of the second where one with a smaller bin may.
    """
    bounded = np.zeros((len(nodes), 2), dtype=np.uint64)
    for level in _levels(nodes, roots):
        bit = np.uint64(1) << (nodes[level, 0] % WORD).astype(np.uint64)
        for side in range(2):
            below = nodes[level, 2 + side]
            bounded[below] = bounded[level]
            bounded[below, side] |= bit
    return bounded
