"""Trees: an ensemble of decision trees as a few flat arrays, for the compiled kernels.

    cut        a threshold of a feature; the cuts of a feature are sorted and numbered
    bin        where a value lies among the cuts of its feature: how many of them are below it,
               -1 for a missing value
    node       (feature, cut, left, right): a row goes left where its bin <= cut; a leaf has
               the feature -1
    value      what a leaf adds to the sum of each class
    leaf set   some leaves of a tree as the bits of a word, the leftmost leaf the lowest bit

The trees see nothing of a row but its bins, so a search among rows is one among bins.
scikit-learn compares float32 cells with float64 thresholds: a threshold stands here as the
largest float32 that is not above it, which splits the float32 numbers in the same way. Its
histogram boosting compares cells as they are.

A forest says the class with the largest mean of probabilities. Boosting adds up raw scores, of the
second class where there are two, and where it starts from; as that is one number for each class,
it stands with the leaves of the first tree, and what is left is a sum over trees like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small, Words
from counterbalance.classifier.tree_readers import Cell, Tree, tree_list

LEAF = -1
MISSING = -1
# Leaves that fit into a word.
WORD = 64
# Words of all leaf sets: more would not stay in the caches, and grow with the square of the trees.
MOST_WORDS = 2**22
BUCKETS_A_CUT = 2


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
    cell: Cell = np.float32  # what a cell is to the trees

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

    def buckets(self) -> tuple[Small, Small, Floats, Floats]:
        """Cut the way from the first to the last cut of each feature into equal buckets.

        A value in bucket b, that is ``int((value - low) * rate)``, is above all cuts in buckets
        before it, as rounding never changes an order. So few cuts are left to be looked at. What
        comes back: where the buckets of each feature begin, how many cuts of the feature are in
        those before each (one more for its end), low and rate.
        """
        first, counts = [0], []
        low, rate = np.zeros(self.n_features), np.ones(self.n_features)
        for m in range(self.n_features):
            cuts = self.cuts_of(m)
            n = max(1, BUCKETS_A_CUT * len(cuts))
            finite = cuts[np.isfinite(cuts)]  # a cut may set missing cells apart from all others
            low[m] = finite[0] if len(finite) else 0.0
            rate[m] = n / (finite[-1] - finite[0]) if len(finite) > 1 else 1.0
            place = np.clip((cuts - low[m]) * rate[m], 0, n - 1).astype(np.int32)
            counts.append(np.searchsorted(place, np.arange(n + 1)))
            first.append(first[-1] + n + 1)
        return np.array(first, np.int32), np.concatenate(counts).astype(np.int32), low, rate

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
            cells = x.astype(self.cell)
        for m in range(self.n_features):
            column = cells[:, m]
            place = np.searchsorted(self.cuts_of(m), column)
            found[:, m] = np.where(np.isnan(column), MISSING, place)
        return found


def read_trees(f: Any) -> Trees:
    """Turn a fitted ensemble of trees into arrays (see ``has_trees`` and ``is_boosting``)."""
    return _join(*tree_list(f))


def _join(trees: list[Tree], n_features: int, cell: Cell) -> Trees:
    """Put trees one behind the other."""
    sizes = np.array([len(tree.left) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    shift = np.repeat(roots, sizes)
    left, right, is_leaf, feature, threshold, missing, value = (
        np.concatenate(parts) for parts in zip(*(tree[:-1] for tree in trees), strict=True)
    )
    cuts, first_cut, cut = _number_cuts(feature, threshold, is_leaf, n_features, cell)
    nodes = np.empty((len(left), 4), dtype=np.int32)
    nodes[:, 0] = np.where(is_leaf, LEAF, feature)
    nodes[:, 1] = cut
    nodes[:, 2] = np.where(is_leaf, LEAF, left + shift)
    nodes[:, 3] = np.where(is_leaf, LEAF, right + shift)
    return Trees(
        nodes,
        missing.astype(np.uint8),
        roots,
        np.ascontiguousarray(value),
        _bounded(nodes, roots),
        cuts,
        first_cut,
        max(tree.depth for tree in trees),
        cell,
    )


def _number_cuts(
    feature: NDArray[np.intp],
    threshold: Floats,
    is_leaf: NDArray[np.bool_],
    n_features: int,
    cell: Cell,
) -> tuple[Floats, Small, Small]:
    """Return the cuts of all features, where each feature's begin, and the cut of each node."""
    thresholds = threshold.astype(cell)
    above = thresholds.astype(np.float64) > threshold
    thresholds[above] = np.nextafter(thresholds[above], cell(-np.inf))
    cut = np.zeros(len(feature), dtype=np.int32)
    parts, first = [np.zeros(0)], [0]
    inner = np.flatnonzero(~is_leaf)
    by_feature = inner[np.argsort(feature[inner], kind="stable")]
    ends = np.searchsorted(feature[by_feature], np.arange(n_features + 1))
    for m in range(n_features):
        here = by_feature[ends[m] : ends[m + 1]]
        values, cut[here] = np.unique(thresholds[here], return_inverse=True)
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
