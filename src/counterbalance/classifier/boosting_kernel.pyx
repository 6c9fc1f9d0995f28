# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Boosting, compiled: grow one tree on bins, and evaluate all trees.

The names are those of ``boosting``, and so is the order of every sum: both give the same bits.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

cdef double LEAST_HESSIAN = 1e-3
cdef double LEAST_GAIN = 1e-7


# Rows that go down a tree together.
DEF GROUP = 8


cdef struct Node:
    double cut
    int32_t feature, left, missing_right


cdef struct Leaf:
    Py_ssize_t start, stop  # its rows
    int32_t node
    double gradient, hessian
    double* sums  # (features, bins, 3): gradient, hessian, rows
    # its best split
    double gain, left_gradient, left_hessian
    Py_ssize_t n_left
    int32_t feature, cut
    bint missing_left


cdef struct Grower:
    const uint8_t* bins
    const int32_t* n_cuts
    Py_ssize_t n_rows, n_features, width  # bins of a feature; the last is that of missing values
    Py_ssize_t min_rows
    int32_t* rows
    int32_t* spare
    const double* gradient
    const double* hessian
    const uint8_t* by_row  # the bins, row by row
    bint failed  # memory ran out


def put_in_bins(
    const double[::1] column, const double[::1] cuts, uint8_t missing, uint8_t[::1] bins
):
    """Write how many cuts are below each cell, ``missing`` for nan.

    Each search takes the same steps without a branch, so that those of several cells overlap.
    """
    cdef Py_ssize_t i, n, half, below
    cdef double cell
    with nogil:
        for i in range(column.shape[0]):
            cell, below, n = column[i], 0, cuts.shape[0]
            while n > 1:
                half = n // 2
                below += half * (cuts[below + half - 1] < cell)
                n -= half
            if n:
                below += cuts[below] < cell
            bins[i] = missing if cell != cell else <uint8_t> below


def grow(
    const uint8_t[:, ::1] bins,
    const uint8_t[:, ::1] by_row,
    const int32_t[::1] n_cuts,
    Py_ssize_t width,
    const double[::1] gradient,
    const double[::1] hessian,
    double total_gradient,
    double total_hessian,
    int max_leaves,
    int min_rows,
):
    """Grow a tree: see ``boosting._grow``."""
    cdef Grower g
    cdef Py_ssize_t n_rows = bins.shape[1], i, n_leaves = 1, best
    cdef int32_t n_nodes = 1, k
    cdef Leaf* leaves = <Leaf*> malloc(max_leaves * sizeof(Leaf))
    nodes_ = np.full((2 * max_leaves - 1, 4), -1, dtype=np.int32)
    totals_ = np.zeros((2 * max_leaves - 1, 2))
    where_ = np.zeros(n_rows, dtype=np.int32)
    cdef int32_t[:, ::1] nodes = nodes_
    cdef double[:, ::1] totals = totals_
    cdef int32_t[::1] where = where_
    g.bins, g.n_cuts, g.gradient, g.hessian = &bins[0, 0], &n_cuts[0], &gradient[0], &hessian[0]
    g.n_rows, g.n_features, g.width, g.min_rows = n_rows, bins.shape[0], width, min_rows
    g.failed = False
    g.rows = <int32_t*> malloc(n_rows * sizeof(int32_t))
    g.spare = <int32_t*> malloc(n_rows * sizeof(int32_t))
    g.by_row = &by_row[0, 0]
    if leaves == NULL or g.rows == NULL or g.spare == NULL:
        free(leaves); free(g.rows); free(g.spare)
        raise MemoryError
    with nogil:
        for i in range(n_rows):
            g.rows[i] = <int32_t> i
        leaves[0].start, leaves[0].stop, leaves[0].node, leaves[0].sums = 0, n_rows, 0, NULL
        leaves[0].gradient, leaves[0].hessian = total_gradient, total_hessian
        totals[0, 0], totals[0, 1] = total_gradient, total_hessian
        leaves[0].gain = -INFINITY
        if n_rows >= 2 * min_rows and max_leaves > 1:
            leaves[0].sums = new_sums(&g)
            if leaves[0].sums != NULL:
                add_up(&g, &leaves[0])
                find_split(&g, &leaves[0])
        while n_leaves < max_leaves:
            best = 0
            for i in range(1, n_leaves):
                if leaves[i].gain > leaves[best].gain:
                    best = i
            if not leaves[best].gain > LEAST_GAIN:
                break
            k = leaves[best].node
            nodes[k, 0], nodes[k, 1] = leaves[best].feature, leaves[best].cut
            nodes[k, 2], nodes[k, 3] = n_nodes, leaves[best].missing_left
            divide(&g, &leaves[best], &leaves[n_leaves], n_nodes, n_leaves + 1 < max_leaves)
            totals[n_nodes, 0], totals[n_nodes, 1] = leaves[best].gradient, leaves[best].hessian
            totals[n_nodes + 1, 0] = leaves[n_leaves].gradient
            totals[n_nodes + 1, 1] = leaves[n_leaves].hessian
            n_nodes += 2
            n_leaves += 1
        for i in range(n_leaves):
            for best in range(leaves[i].start, leaves[i].stop):
                where[g.rows[best]] = leaves[i].node
            free(leaves[i].sums)
    free(leaves); free(g.rows); free(g.spare)
    if g.failed:
        raise MemoryError
    return nodes_[:n_nodes], totals_[:n_nodes], where_


cdef double* new_sums(Grower* g) noexcept nogil:
    cdef double* sums = <double*> malloc(g.n_features * g.width * 3 * sizeof(double))
    g.failed = g.failed or sums == NULL
    return sums


cdef void divide(Grower* g, Leaf* left, Leaf* right, int32_t node, bint more) noexcept nogil:
    """Turn a leaf into its left child, and make its right one."""
    cdef const uint8_t* column = g.bins + left.feature * g.n_rows
    cdef Py_ssize_t i, at = left.start, n_spare = 0
    cdef int32_t row, missing = <int32_t> g.width - 1
    cdef double* sums = left.sums
    cdef double total
    for i in range(left.start, left.stop):
        row = g.rows[i]
        if (left.missing_left if column[row] == missing else column[row] <= left.cut):
            g.rows[at] = row
            at += 1
        else:
            g.spare[n_spare] = row
            n_spare += 1
    for i in range(n_spare):
        g.rows[at + i] = g.spare[i]
    right.start, right.stop, right.node = at, left.stop, node + 1
    right.gradient = left.gradient - left.left_gradient
    right.hessian = left.hessian - left.left_hessian
    left.stop, left.node = at, node
    left.gradient, left.hessian = left.left_gradient, left.left_hessian
    left.gain = right.gain = -INFINITY
    left.sums = right.sums = NULL
    cdef bint split_left = more and left.stop - left.start >= 2 * g.min_rows
    cdef bint split_right = more and right.stop - right.start >= 2 * g.min_rows
    if not split_left and not split_right:
        free(sums)
        return
    # Add up the smaller child; the larger one gets the rest of the parent's sums.
    cdef Leaf* small = left if left.stop - left.start <= right.stop - right.start else right
    cdef Leaf* large = right if small == left else left
    small.sums = new_sums(g)
    if small.sums == NULL:
        free(sums)
        return
    add_up(g, small)
    for i in range(g.n_features * g.width):
        sums[3 * i + 2] -= small.sums[3 * i + 2]
        if sums[3 * i + 2] == 0:
            sums[3 * i] = sums[3 * i + 1] = 0
        else:
            sums[3 * i] -= small.sums[3 * i]
            sums[3 * i + 1] -= small.sums[3 * i + 1]
    large.sums = sums
    if split_left:
        find_split(g, left)
    if split_right:
        find_split(g, right)


cdef void add_up(Grower* g, Leaf* leaf) noexcept nogil:
    """Add up the rows of a leaf by the bins of each feature."""
    cdef Py_ssize_t m, i, n_features = g.n_features, width = 3 * g.width
    cdef const uint8_t* bins
    cdef double* cell
    cdef double* sums
    cdef double gradient, hessian
    memset(leaf.sums, 0, n_features * width * sizeof(double))
    for i in range(leaf.start, leaf.stop):
        bins = g.by_row + g.rows[i] * n_features
        gradient, hessian = g.gradient[g.rows[i]], g.hessian[g.rows[i]]
        sums = leaf.sums
        for m in range(n_features):
            cell = sums + 3 * bins[m]
            cell[0] += gradient
            cell[1] += hessian
            cell[2] += 1
            sums += width


cdef void find_split(Grower* g, Leaf* leaf) noexcept nogil:
    """Find the split of a leaf that gains most; of equal ones the first."""
    cdef Py_ssize_t m, b, side, n = leaf.stop - leaf.start
    cdef double gradient, hessian, count, other, rest, gain
    cdef double before = leaf.gradient * leaf.gradient / leaf.hessian
    cdef double* sums
    cdef double* missing
    for m in range(g.n_features):
        sums = leaf.sums + m * g.width * 3
        missing = sums + (g.width - 1) * 3
        for side in range(2 if missing[2] > 0 else 1):  # missing values go right, or left
            gradient = missing[0] if side else 0.0
            hessian = missing[1] if side else 0.0
            count = missing[2] if side else 0.0
            for b in range(g.n_cuts[m] + (missing[2] > 0 and not side)):
                if sums[3 * b + 2] == 0:
                    continue
                gradient += sums[3 * b]
                hessian += sums[3 * b + 1]
                count += sums[3 * b + 2]
                if n - count < g.min_rows:
                    break
                if count < g.min_rows:
                    continue
                other, rest = leaf.gradient - gradient, leaf.hessian - hessian
                if hessian < LEAST_HESSIAN or rest < LEAST_HESSIAN:
                    continue
                gain = gradient * gradient / hessian + other * other / rest - before
                if gain > leaf.gain:
                    leaf.gain, leaf.feature, leaf.cut = gain, <int32_t> m, <int32_t> b
                    leaf.left_gradient, leaf.left_hessian = gradient, hessian
                    leaf.n_left = <Py_ssize_t> count
                    leaf.missing_left = side if missing[2] > 0 else count > n - count


def add_trees(
    const double[:, ::1] x,
    const int32_t[:, ::1] nodes,
    const double[::1] cuts,
    const double[::1] values,
    const int32_t[::1] roots,
    const int32_t[::1] depths,
    double[:, ::1] raw,
):
    """Add the value of each tree for each row: see ``boosting._add_trees``. Several rows go down a
    tree together, so that no step of one waits for a step of another.
    """
    cdef Py_ssize_t i, j, k, t, d, n_rows = x.shape[0], width = x.shape[1]
    cdef Py_ssize_t n_sums = raw.shape[1], n_nodes = nodes.shape[0]
    cdef int32_t at[GROUP]
    cdef const double* row[GROUP]
    cdef double cell
    cdef Node* node
    cdef Node* packed = <Node*> malloc(n_nodes * sizeof(Node))
    if packed == NULL:
        raise MemoryError
    with nogil:
        for k in range(n_nodes):
            packed[k].cut, packed[k].feature = cuts[k], nodes[k, 0]
            packed[k].left, packed[k].missing_right = nodes[k, 1], nodes[k, 2]
        for i in range(0, n_rows, GROUP):
            for j in range(GROUP):
                row[j] = &x[min(i + j, n_rows - 1), 0]
            for t in range(roots.shape[0]):
                for j in range(GROUP):
                    at[j] = roots[t]
                for d in range(depths[t]):  # a leaf leads to itself
                    for j in range(GROUP):
                        node = packed + at[j]
                        cell = row[j][node.feature]
                        at[j] = node.left + (
                            (cell > node.cut) | ((cell != cell) & node.missing_right)
                        )
                for j in range(min(GROUP, n_rows - i)):
                    raw[i + j, t % n_sums] += values[at[j]]
    free(packed)
