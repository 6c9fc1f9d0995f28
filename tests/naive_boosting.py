"""The boosting kernel in numpy: bin cells, grow a tree, add up trees."""

from dataclasses import dataclass

import numpy as np

LEAF = -1
LEAST_HESSIAN = 1e-3
LEAST_GAIN = 1e-7


def add_trees(x, nodes, cuts, values, roots, depths, raw):
    """Add up trees as the kernel does, one level of all rows at a time."""
    rows = np.arange(len(x))
    for t, (root, depth) in enumerate(zip(roots.tolist(), depths.tolist(), strict=True)):
        at = np.full(len(x), root)
        for _ in range(depth):
            cell = x[rows, nodes[at, 0]]
            at = nodes[at, 1] + ((cell > cuts[at]) | (np.isnan(cell) & (nodes[at, 2] != 0)))
        raw[:, t % raw.shape[1]] += values[at]


@dataclass
class _Leaf:
    """A leaf that may be split: its rows, their sums by (feature, bin), and its best split."""

    rows: np.ndarray
    node: int
    total: np.ndarray  # G, H
    sums: np.ndarray | None = None  # (3, M, width): gradient, hessian, rows
    gain: float = -np.inf
    feature: int = LEAF
    cut: int = 0
    missing_left: bool = False
    left: np.ndarray | None = None  # G, H of the left child


def grow(
    bins,
    _by_row,
    n_cuts,
    width,
    gradient,
    hessian,
    total_gradient,
    total_hessian,
    max_leaves,
    min_rows,
):
    """Grow a tree; return its nodes, the sums of gradient and hessian in each, each row's leaf."""
    cells = bins + np.arange(len(bins))[:, None] * width

    def add_up(rows):
        at = cells[:, rows].ravel()
        both = (np.tile(values[rows], len(bins)) for values in (gradient, hessian))
        sums = [np.bincount(at, weights, len(bins) * width) for weights in both]
        sums.append(np.bincount(at, minlength=len(bins) * width).astype(float))
        return np.reshape(sums, (3, len(bins), width))

    def split(leaf):
        if leaf.sums is not None and len(leaf.rows) >= 2 * min_rows:
            _find_split(leaf, n_cuts, min_rows)

    root = _Leaf(np.arange(bins.shape[1]), 0, np.array([total_gradient, total_hessian]))
    if max_leaves > 1 and len(root.rows) >= 2 * min_rows:
        root.sums = add_up(root.rows)
        split(root)
    leaves, nodes, totals = [root], [[LEAF] * 4], [root.total]
    while len(leaves) < max_leaves:
        place = int(np.argmax([leaf.gain for leaf in leaves]))
        parent = leaves[place]
        if not parent.gain > LEAST_GAIN:
            break
        nodes[parent.node] = [parent.feature, parent.cut, len(nodes), int(parent.missing_left)]
        own = bins[parent.feature, parent.rows]
        goes_left = np.where(own == width - 1, parent.missing_left, own <= parent.cut)
        left = _Leaf(parent.rows[goes_left], len(nodes), parent.left)
        right = _Leaf(parent.rows[~goes_left], len(nodes) + 1, parent.total - parent.left)
        small, large = (left, right) if len(left.rows) <= len(right.rows) else (right, left)
        if len(leaves) + 1 < max_leaves and len(large.rows) >= 2 * min_rows:
            small.sums = add_up(small.rows)
            large.sums = parent.sums - small.sums
            large.sums[:2, large.sums[2] == 0] = 0
            split(left)
            split(right)
        nodes += [[LEAF] * 4, [LEAF] * 4]
        totals += [left.total, right.total]
        leaves[place] = left
        leaves.append(right)
    where = np.empty(bins.shape[1], dtype=np.int32)
    for leaf in leaves:
        where[leaf.rows] = leaf.node
    return np.array(nodes, dtype=np.int32), np.array(totals), where


def _find_split(leaf, n_cuts, min_rows):
    """Store the split of a leaf with the largest gain; ties go by feature, side, cut."""
    known, missing = leaf.sums[:, :, :-1], leaf.sums[:, :, -1:]
    # (3, M, 2 sides, cuts): what goes left, with the missing values right, or left
    left = np.stack(
        [np.cumsum(known, axis=2), np.cumsum(np.dstack([missing, known]), axis=2)[:, :, 1:]], axis=2
    )
    has_missing = missing[2, :, 0] > 0
    last = np.column_stack([n_cuts + has_missing, np.where(has_missing, n_cuts, 0)])
    open_ = np.arange(known.shape[2]) < last[:, :, None]
    total = leaf.total[:, None, None, None]
    right = total - left[:2]
    n = len(leaf.rows)
    open_ &= (left[2] >= min_rows) & (n - left[2] >= min_rows) & (known[2] > 0)[:, None]
    open_ &= (left[1] >= LEAST_HESSIAN) & (right[1] >= LEAST_HESSIAN)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = left[0] * left[0] / left[1] + right[0] * right[0] / right[1]
        gain = np.where(open_, gain - leaf.total[0] * leaf.total[0] / leaf.total[1], -np.inf)
    feature, side, cut = np.unravel_index(int(np.argmax(gain)), gain.shape)
    leaf.gain, leaf.feature, leaf.cut = float(gain[feature, side, cut]), int(feature), int(cut)
    count = left[2, feature, side, cut]
    leaf.missing_left = bool(side) if has_missing[feature] else bool(count > n - count)
    leaf.left = left[:2, feature, side, cut]


def put_in_bins(column, cuts, missing, bins):
    """Write how many cuts are below each cell, ``missing`` for nan."""
    bins[:] = np.searchsorted(cuts, column)
    bins[np.isnan(column)] = missing
