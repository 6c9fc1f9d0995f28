"""Leaf sets: which leaves of a tree a row can be in, as the bits of a word (QuickScorer's idea).

    bin        where a value lies among the cuts of its feature (see ``trees``)
    leaf set   some leaves of a tree; that of a bin are those that a row with it can be in

The AND over all features leaves the one leaf that the row is in; the AND over all features but one
leaves those that it is in for some value of that feature. Leaves are numbered from left to right,
or those of the largest value first: then the lowest bit of a set is the most that it can add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Small, Words

LEAF = -1
# Words of a line of the cache.
LINE = 8
# Leaves that fit into a word.
WORD = 64


@dataclass(frozen=True, eq=False)
class LeafSets:
    """Leaf sets by one bin of a row, the leftmost leaf the lowest bit.

    A row of words has one for each tree, and some behind them to fill the lines of the cache.
    """

    words: Words  # (rows, width); bin b of feature m is in row first[m] + 1 + b, missing is -1
    first: Small  # (M,)
    leaf: Small  # (trees, WORD): the node of each leaf
    lowest: NDArray[np.uint16]  # (trees, M, WORD): the lowest bin of a feature that leads to a leaf
    by_value: Words  # (M, width): leaves that some bin leads to; to others only a missing cell does

    @classmethod
    def of(
        cls, nodes: Small, roots: Small, missing_left: NDArray[np.uint8], first_cut: Small
    ) -> Self:
        """Return the leaf sets of small trees."""
        size, number = _leaves_below(nodes, roots)
        below = _bits(number, size)
        words, first = _words(nodes, roots, missing_left, first_cut, below)
        leaf = _leaves_by_number(nodes, roots, number)
        lowest = _lowest_bins(nodes, roots, len(first))[leaf].transpose(0, 2, 1)
        stops = np.append(first[1:], len(words))
        by_value = [
            np.bitwise_or.reduce(words[begin:stop])
            for begin, stop in zip(first + 1, stops, strict=True)
        ]
        narrow = np.ascontiguousarray(lowest, dtype=np.uint16)  # small trees have few bins
        return cls(in_lines(words), first, leaf, narrow, in_lines(np.array(by_value)))


@dataclass(frozen=True, eq=False)
class RankedSets:
    """The same with the leaf of the largest value as the lowest bit."""

    words: Words
    first: Small
    leaf: Small

    @classmethod
    def of(
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
        words, first = _words(nodes, roots, missing_left, first_cut, below)
        return cls(in_lines(words), first, _leaves_by_number(nodes, roots, number))


def in_lines(words: Words) -> Words:
    """Return rows of words, each from the start of a line of the cache, filled up with 1.

    A tree that is not there has one leaf: a kernel works on whole lines, without an end to mind.
    """
    n_rows, n_words = words.shape
    width = -(-n_words // LINE) * LINE
    room = np.ones(n_rows * width + LINE, dtype=np.uint64)
    first = -(room.ctypes.data // room.itemsize) % LINE
    lines = room[first : first + n_rows * width].reshape(n_rows, width)
    lines[:, :n_words] = words
    return lines


def _words(
    nodes: Small, roots: Small, missing_left: NDArray[np.uint8], first_cut: Small, below: Words
) -> tuple[Words, Small]:
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
    words = np.tile(below[roots], (n_rows, 1))
    down, up = words.copy(), words.copy()
    np.bitwise_and.at(down, (start[m] + 2 + cut, tree), not_left)
    np.bitwise_and.at(up, (start[m] + 1 + cut, tree), not_right)
    for begin, stop in zip(start + 1, np.append(start[1:], n_rows), strict=True):
        words[begin:stop] = np.bitwise_and.accumulate(down[begin:stop])
        words[begin:stop] &= np.bitwise_and.accumulate(up[begin:stop][::-1])[::-1]
    removed = np.where(missing_left[node] > 0, not_right, not_left)
    np.bitwise_and.at(words, (start[m], tree), removed)
    return words, start


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


def _bits(first: NDArray[np.intp], count: NDArray[np.intp]) -> Words:
    """Return words with ``count`` bits set from bit ``first`` on, 1 to 64 of them."""
    ones = ~np.uint64(0) >> (WORD - count).astype(np.uint64)
    return np.asarray(ones << first.astype(np.uint64))
