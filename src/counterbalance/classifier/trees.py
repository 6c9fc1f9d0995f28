"""Trees: an ensemble of decision trees as a few flat arrays, for the compiled kernels.

    cut        a threshold of a feature; the cuts of a feature are sorted and numbered
    bin        where a value lies among the cuts of its feature: how many of them are below it,
               -1 for a missing value
    node       (feature, cut, left, right): a row goes left where its bin <= cut; a leaf has
               the feature -1
    value      what a leaf adds to the sum of each class

The trees see nothing of a row but its bins, so a search among rows is one among bins. Where they
come from, and what a cell is to them, is told in ``tree_readers``: a threshold between two numbers
that a cell can be stands here as the lower of them, which splits the cells in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small
from counterbalance.classifier.leaf_sets import LEAF, WORD, LeafSets, inner_levels
from counterbalance.classifier.tree_readers import Cell, Tree, tree_list

MISSING = -1
# Words of all leaf sets: more would not stay in the caches, and grow with the square of the trees.
MOST_WORDS = 2**22
BUCKETS_A_CUT = 2


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
            offset = np.nan_to_num((cuts - low[m]) * rate[m])  # of an infinite cut it may be nan
            place = np.clip(offset, 0, n - 1).astype(np.int32)
            counts.append(np.searchsorted(place, np.arange(n + 1)))
            first.append(first[-1] + n + 1)
        return np.array(first, np.int32), np.concatenate(counts).astype(np.int32), low, rate

    @cached_property
    def leaf_sets(self) -> LeafSets | None:
        """The trees as leaf sets, None where they are too large for that."""
        if not self.has_small_trees:
            return None
        return LeafSets.of(self.nodes, self.roots, self.missing_left, self.first_cut)

    @cached_property
    def has_small_trees(self) -> bool:
        """Whether the leaves of each tree fit into a word, and all words into the caches."""
        n_rows, n_trees = len(self.cuts) + 2 * self.n_features, len(self.roots)
        cells = n_trees * max(n_rows, WORD * self.n_features)
        ends = np.searchsorted(np.flatnonzero(self.nodes[:, 0] == LEAF), self.roots)
        n_leaves = np.diff(np.append(ends, np.count_nonzero(self.nodes[:, 0] == LEAF)))
        return bool(n_leaves.max() <= WORD and cells <= MOST_WORDS)

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


def _bounded(nodes: Small, roots: Small) -> NDArray[np.uint64]:
    """Return for each node which features are bounded on the way to it, from above and below.

    Bit m % 64 of the first word is set where a row with a larger bin of feature m may miss the
    node, that of the second where one with a smaller bin may.
    """
    bounded = np.zeros((len(nodes), 2), dtype=np.uint64)
    for level in inner_levels(nodes, roots):
        bit = np.uint64(1) << (nodes[level, 0] % WORD).astype(np.uint64)
        for side in range(2):
            below = nodes[level, 2 + side]
            bounded[below] = bounded[level]
            bounded[below, side] |= bit
    return bounded
