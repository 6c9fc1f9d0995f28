"""Trees: an ensemble of decision trees as flat arrays, for the compiled kernels.

    cut        a threshold of a feature; the cuts of a feature are sorted and numbered
    bin        where a value lies among the cuts of its feature: how many of them are below it,
               -1 for a missing value
    node       (feature, cut, left, right): a row goes left where its bin <= cut; a leaf has
               the feature -1
    value      what a leaf adds to the sum of each class
    leaf set   some leaves of a tree as the bits of a 64-bit integer (QuickScorer); that of a bin
               holds the leaves that a row with it can be in

The trees depend on a row only through its bins, so the search is over bins. The AND of
the leaf sets of all features is the leaf of the row; the AND over all features but one holds the
leaves that the row is in for some value of that feature. ``tree_readers`` reads the trees; a
threshold between two possible numbers of a cell is stored as the lower of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small, Unsigned
from counterbalance.classifier.tree_readers import Cell, Tree, tree_list

LEAF = -1
# 64-bit integers of a cache line.
LINE = 8
# Leaves that fit into a bitset.
WORD = 64


@dataclass(frozen=True, eq=False)
class LeafSets:
    """Leaf sets of each bin; the leftmost leaf is the lowest bit.

    A row of bitsets has one for each tree, and padding up to whole cache lines.
    """

    bitsets: Unsigned  # (rows, width); bin b of feature m is in row first[m] + 1 + b, missing is -1
    first: Small  # (M,)
    leaf: Small  # (trees, WORD): the node of each leaf
    lowest: NDArray[np.uint16]  # (trees, M, WORD): the lowest bin of a feature that leads to a leaf
    by_value: (
        Unsigned  # (M, width): leaves that some bin reaches; only missing cells reach the others
    )

    @classmethod
    def from_nodes(
        cls, nodes: Small, roots: Small, missing_left: NDArray[np.uint8], first_cut: Small
    ) -> Self:
        """Return the leaf sets of small trees."""
        size, number = _leaves_below(nodes, roots)
        below = _bits(number, size)
        bitsets, first = _bitsets(nodes, roots, missing_left, first_cut, below)
        leaf = _leaves_by_number(nodes, roots, number)
        lowest = _lowest_bins(nodes, roots, len(first))[leaf].transpose(0, 2, 1)
        stops = np.append(first[1:], len(bitsets))
        by_value = [
            np.bitwise_or.reduce(bitsets[begin:stop])
            for begin, stop in zip(first + 1, stops, strict=True)
        ]
        narrow = np.ascontiguousarray(lowest, dtype=np.uint16)  # small trees have few bins
        return cls(in_lines(bitsets), first, leaf, narrow, in_lines(np.array(by_value)))


@dataclass(frozen=True, eq=False)
class RankedSets:
    """The same with the leaf of the largest value as the lowest bit."""

    bitsets: Unsigned
    first: Small
    leaf: Small

    @classmethod
    def from_nodes(
        cls,
        nodes: Small,
        roots: Small,
        missing_left: NDArray[np.uint8],
        first_cut: Small,
        value: NDArray[np.int64],
    ) -> Self:
        """Return the leaf sets of small trees; ``value`` is of each node."""
        ends = np.flatnonzero(nodes[:, 0] == LEAF)
        tree = _tree_of(ends, roots)
        ends = ends[np.lexsort((-value[ends], tree))]
        number = np.zeros(len(nodes), dtype=np.intp)
        number[ends] = np.arange(len(ends)) - np.searchsorted(tree, tree)
        below = np.zeros(len(nodes), dtype=np.uint64)
        below[ends] = np.uint64(1) << number[ends].astype(np.uint64)
        for level in reversed(inner_levels(nodes, roots)):
            below[level] = below[nodes[level, 2]] | below[nodes[level, 3]]
        bitsets, first = _bitsets(nodes, roots, missing_left, first_cut, below)
        return cls(in_lines(bitsets), first, _leaves_by_number(nodes, roots, number))


def in_lines(bitsets: Unsigned) -> Unsigned:
    """Return rows of bitsets, each from the start of a cache line, padded with 1.

    Padding acts as a tree of one leaf, so a kernel can work on whole cache lines.
    """
    n_rows, n_sets = bitsets.shape
    width = -(-n_sets // LINE) * LINE
    room = np.ones(n_rows * width + LINE, dtype=np.uint64)
    first = -(room.ctypes.data // room.itemsize) % LINE
    lines = room[first : first + n_rows * width].reshape(n_rows, width)
    lines[:, :n_sets] = bitsets
    return lines


def _bitsets(
    nodes: Small, roots: Small, missing_left: NDArray[np.uint8], first_cut: Small, below: Unsigned
) -> tuple[Unsigned, Small]:
    """Return the leaf sets of all bins, and where those of each feature begin.

    ``below`` holds the leaves below each node.
    """
    n_features = len(first_cut) - 1
    n_rows = first_cut[-1] + 2 * n_features
    node = np.flatnonzero(nodes[:, 0] != LEAF)
    tree, (m, cut, left, right) = _tree_of(node, roots), nodes[node].T
    # A row that goes right has none of the leaves on the left, and the other way round.
    not_left, not_right = ~below[left], ~below[right]
    start = (first_cut[:-1] + 2 * np.arange(n_features)).astype(np.int32)
    bitsets = np.tile(below[roots], (n_rows, 1))
    down, up = bitsets.copy(), bitsets.copy()
    np.bitwise_and.at(down, (start[m] + 2 + cut, tree), not_left)
    np.bitwise_and.at(up, (start[m] + 1 + cut, tree), not_right)
    for begin, stop in zip(start + 1, np.append(start[1:], n_rows), strict=True):
        bitsets[begin:stop] = np.bitwise_and.accumulate(down[begin:stop])
        bitsets[begin:stop] &= np.bitwise_and.accumulate(up[begin:stop][::-1])[::-1]
    removed = np.where(missing_left[node] > 0, not_right, not_left)
    np.bitwise_and.at(bitsets, (start[m], tree), removed)
    return bitsets, start


def _tree_of(node: NDArray[np.intp], roots: Small) -> NDArray[np.intp]:
    return np.searchsorted(roots, node, side="right") - 1


def _leaves_by_number(nodes: Small, roots: Small, number: NDArray[np.intp]) -> Small:
    """Return the node of each leaf, (trees, WORD)."""
    leaf = np.zeros((len(roots), WORD), dtype=np.int32)
    ends = np.flatnonzero(nodes[:, 0] == LEAF)
    leaf[_tree_of(ends, roots), number[ends]] = ends
    return leaf


def inner_levels(nodes: Small, roots: Small) -> list[NDArray[np.intp]]:
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
    levels = inner_levels(nodes, roots)
    for level in reversed(levels):
        size[level] = size[nodes[level, 2]] + size[nodes[level, 3]]
    for level in levels:
        first[nodes[level, 2]] = first[level]
        first[nodes[level, 3]] = first[level] + size[nodes[level, 2]]
    return size, first


def _lowest_bins(nodes: Small, roots: Small, n_features: int) -> Small:
    """Return for each node and feature the lowest bin that leads there."""
    lowest = np.zeros((len(nodes), n_features), dtype=np.int32)
    for level in inner_levels(nodes, roots):
        m, cut, left, right = nodes[level].T
        lowest[left] = lowest[right] = lowest[level]
        lowest[right, m] = np.maximum(lowest[right, m], cut + 1)
    return lowest


def _bits(first: NDArray[np.intp], count: NDArray[np.intp]) -> Unsigned:
    """Return bitsets with ``count`` bits set from bit ``first`` on, 1 to 64 of them."""
    ones = ~np.uint64(0) >> (WORD - count).astype(np.uint64)
    return np.asarray(ones << first.astype(np.uint64))


MISSING = -1
# Most 64-bit integers of all leaf sets: they must fit into the caches.
MOST_BITSETS = 2**22
BUCKETS_A_CUT = 2
# Scores are whole multiples of 1 / SCALE: sums of whole numbers do not depend on the order.
ONE = 2**40
MOST_SCORE = 2.0**20
# A class is reached if its score leads by more than the rounding error of f's own sum.
AHEAD = int(ONE * 1e-9)
# A search ends after this many moves for each feature; no test reached the limit.
LONGEST = 16
# A row with at most this many changes is also searched from the nearest cell.
FEW_CHANGES = 3


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble whose answer is the class with the largest mean of its leaves' values."""

    nodes: Small  # (nodes, 4)
    missing_left: NDArray[np.uint8]  # for each node: does a missing value go left?
    roots: Small
    value: Floats  # (nodes, classes)
    bounded: NDArray[np.uint64]  # (nodes, 2): see ``_bounded``
    cuts: Floats  # of all features, concatenated
    first_cut: Small  # (M + 1,): where the cuts of each feature begin
    depth: int  # of the deepest tree
    cell: Cell = np.float32  # the type of cells in the trees

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
        """Divide the range from the first to the last cut of each feature into equal buckets.

        A value in bucket b, that is ``int((value - low) * rate)``, is above all cuts in buckets
        before it, as rounding never changes an order. Few cuts remain to be compared. Returned are:
        where the buckets of each feature begin, how many of its cuts lie before each bucket (one
        more for its end), low and rate.
        """
        first, counts = [0], []
        low, rate = np.zeros(self.n_features), np.ones(self.n_features)
        for m in range(self.n_features):
            cuts = self.cuts_of(m)
            n = max(1, BUCKETS_A_CUT * len(cuts))
            finite = cuts[np.isfinite(cuts)]  # a cut may separate missing cells from all others
            low[m] = finite[0] if len(finite) else 0.0
            rate[m] = n / (finite[-1] - finite[0]) if len(finite) > 1 else 1.0
            offset = np.nan_to_num((cuts - low[m]) * rate[m])  # of an infinite cut it may be nan
            place = np.clip(offset, 0, n - 1).astype(np.int32)
            counts.append(np.searchsorted(place, np.arange(n + 1)))
            first.append(first[-1] + n + 1)
        return np.array(first, np.int32), np.concatenate(counts).astype(np.int32), low, rate

    @cached_property
    def leaf_sets(self) -> LeafSets | None:
        """The trees as leaf sets, None if they are too large."""
        if not self.has_small_trees:
            return None
        return LeafSets.from_nodes(self.nodes, self.roots, self.missing_left, self.first_cut)

    @cached_property
    def has_small_trees(self) -> bool:
        """Whether the leaves of each tree fit into a bitset, and all bitsets into the caches."""
        n_rows, n_trees = len(self.cuts) + 2 * self.n_features, len(self.roots)
        cells = n_trees * max(n_rows, WORD * self.n_features)
        ends = np.searchsorted(np.flatnonzero(self.nodes[:, 0] == LEAF), self.roots)
        n_leaves = np.diff(np.append(ends, np.count_nonzero(self.nodes[:, 0] == LEAF)))
        return bool(n_leaves.max() <= WORD and cells <= MOST_BITSETS)

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


def read_trees(f: Any) -> Trees | None:
    """Convert a fitted ensemble of trees to arrays; None if f is not read (``tree_list``)."""
    listed = tree_list(f)
    return None if listed is None else _join(*listed)


def _join(trees: list[Tree], n_features: int, cell: Cell) -> Trees:
    """Concatenate trees."""
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
