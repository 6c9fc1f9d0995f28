# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Search, compiled: for each factual the nearest inversion along its draws.

    R, M, K, T   factuals, features, features that may change (in the order of the search), draws
    head         the next candidate of a draw that has not been judged: (distance, round, draw)

Along a draw the distance only grows, so the candidates of a factual in the order of their
distance are a merge of T sorted lists:

      draw 1   .--.-----o------            . judged     o head, drawn but not judged
      draw 2   .-----o---------            - not drawn yet
      draw 3   .-.---.------o--

The nearest head is judged, and its draw goes one feature further. So nothing is drawn or
judged that an exact search could do without, and the first find is the nearest. Every number
is made by the same operations as in ``draws``, ``perturbation`` and ``forest``: the winners
are those of the numpy path to the last bit.
"""

from libc.math cimport INFINITY, NAN, fabs, isnan, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from scipy.special.cython_special cimport ndtr, ndtri

import numpy as np

from counterbalance.classifier.leaf_sets import in_lines

# Sums of leaves that differ by less are added up once more, in the order of the forest.
cdef double CLOSE = 1e-9
# Trees that are walked at a time.
DEF GROUP = 8
cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ULL

include "leaf_sets.pxi"

# Kinds of cells.
cdef enum:
    NUMBER = 0
    NARROW = 1  # a float32
    NOMINAL = 2


cdef inline uint64_t mix(uint64_t state) noexcept nogil:
    state ^= state >> 30
    state *= 0xBF58476D1CE4E5B9ULL
    state ^= state >> 27
    state *= 0x94D049BB133111EBULL
    return state ^ (state >> 31)


cdef inline double uniform(uint64_t state, uint64_t counter) noexcept nogil:
    cdef uint64_t word = (mix(state + (counter + 1) * GOLDEN) >> 12) | 0x3FF0000000000000ULL
    cdef double u
    memcpy(&u, &word, 8)
    return u - (1 - 2.0**-53)


include "kernel_draws.pxi"
include "kernel_forest.pxi"
include "kernel_cells.pxi"
include "kernel_bounds.pxi"


cdef struct Head:
    double distance  # infinite at the end
    Py_ssize_t k  # the feature of the order that was drawn last
    Py_ssize_t n_changed
    Py_ssize_t n_outside
    uint64_t state
    uint64_t up, down  # features whose bin has moved since the draw was judged last
    bint started  # whether the draw has leaves of its own
    Py_ssize_t answer  # the last one, where leaf sets are used


cdef void go_on(
    Draws draws, Forest forest, Py_ssize_t r, Head* head, int32_t* bins
) noexcept nogil:
    """Draw until there is a candidate that differs from the last, or the draw ends."""
    cdef Py_ssize_t m
    cdef double v, share
    cdef int32_t place
    while True:
        head.k += 1
        if head.k >= draws.n_changing:
            head.distance = INFINITY
            return
        v = draws.value(r, head.k, head.state)
        m = draws.order[head.k]
        share = draws.distance_share(r, head.k, v)
        head.distance += share
        if draws.bounded:
            head.n_outside += draws.outside(m, v)
            head.n_outside -= draws.outside(m, draws.x[r, m])
        place = forest.bin(m, v)
        if place != bins[m]:
            # A missing value may be bounded on either side.
            if place > bins[m] or place < 0:
                head.up |= <uint64_t>1 << (m & 63)
            if place < bins[m] or bins[m] < 0:
                head.down |= <uint64_t>1 << (m & 63)
            bins[m] = place
        if share > 0:
            head.n_changed += 1
            if not head.distance < draws.epsilon or (
                draws.most_changed >= 0 and head.n_changed > draws.most_changed
            ):
                head.distance = INFINITY
            return


cdef inline Py_ssize_t nearest_head(const Head* heads, Py_ssize_t n_draws) noexcept nogil:
    """Return the draw whose next candidate is the nearest, -1 where none has any."""
    cdef Py_ssize_t t, best = -1
    cdef double least = INFINITY
    for t in range(n_draws):
        least = heads[t].distance if heads[t].distance < least else least
    if least < INFINITY:
        for t in range(n_draws):
            if heads[t].distance == least and (best < 0 or heads[t].k < heads[best].k):
                best = t
    return best


def search_forest(
    Draws draws,
    Forest forest,
    const uint8_t[:, ::1] wanted,
    double[:, ::1] distance,
    Py_ssize_t[:, ::1] draw,
    Py_ssize_t[:, ::1] round_,
):
    """Write the nearest inversion of every row to every wanted class; return how many were judged."""
    cdef Py_ssize_t n_features = draws.x.shape[1], n_trees = forest.n_trees, T = draws.n_draws
    cdef Py_ssize_t C = forest.n_classes, judged = 0, r
    # Places: one for the factual, then one for each draw.
    cdef Head* heads = <Head*>malloc(T * sizeof(Head))
    cdef int32_t* bins = <int32_t*>malloc((T + 1) * n_features * sizeof(int32_t))
    cdef int32_t* leaves = <int32_t*>malloc((T + 3) * n_trees * sizeof(int32_t))
    cdef double* votes = <double*>malloc((T + 1) * C * sizeof(double))
    cdef uint64_t* words = NULL  # the features that have changed, draw by draw; those that have not
    cdef Hopes hopes
    cdef Py_ssize_t n
    cdef bint bounded = can_bound(draws, forest)
    if bounded:
        make_hopes(&hopes, draws, forest)
    if forest.has_sets:
        words = <uint64_t*>malloc((T + draws.n_changing + 1) * n_trees * sizeof(uint64_t))
    try:
        if not (heads and bins and leaves and votes and (words or not forest.has_sets)):
            raise MemoryError
        with nogil:
            for r in range(draws.n_rows):
                draws.begin()
                n = -1
                if bounded:
                    n = search_row_by_bounds(
                        draws, forest, r, &wanted[r, 0], wanted.shape[1], &hopes, bins, leaves,
                        votes, &distance[r, 0], &draw[r, 0], &round_[r, 0],
                    )
                if n >= 0:
                    judged += n
                elif forest.has_sets:
                    judged += search_row_by_sets(
                        draws, forest, r, &wanted[r, 0], wanted.shape[1], heads, bins, words,
                        leaves, votes, &distance[r, 0], &draw[r, 0], &round_[r, 0],
                    )
                else:
                    judged += search_row(
                        draws, forest, r, &wanted[r, 0], wanted.shape[1], heads, bins, leaves,
                        votes, &distance[r, 0], &draw[r, 0], &round_[r, 0],
                    )
    finally:
        if bounded:
            clear_hopes(&hopes)
        free(words)
        free(heads)
        free(bins)
        free(leaves)
        free(votes)
    return judged


cdef Py_ssize_t search_row(
    Draws draws, Forest forest, Py_ssize_t r, const uint8_t* wanted, Py_ssize_t n_labels,
    Head* heads, int32_t* bins, int32_t* leaves, double* votes,
    double* distance, Py_ssize_t* draw, Py_ssize_t* round,
) noexcept nogil:
    cdef Py_ssize_t n_features = draws.x.shape[1], n_trees = forest.n_trees, T = draws.n_draws
    cdef Py_ssize_t C = forest.n_classes, left = 0, judged = 0
    cdef Py_ssize_t m, t, c, tree, best, target, n_outside = 0
    cdef int32_t leaf, n_touched, i
    cdef int32_t* touched = leaves + (T + 1) * n_trees
    cdef int32_t* reached = touched + n_trees
    cdef Head* head
    cdef int32_t* own
    cdef double* sums
    for c in range(n_labels):
        left += wanted[c]
    if left == 0:
        return 0
    for m in range(n_features):
        bins[m] = forest.bin(m, draws.x[r, m])
        if draws.bounded:
            n_outside += draws.outside(m, draws.x[r, m])
    for c in range(C):
        votes[c] = 0.0
    for tree in range(n_trees):
        touched[tree] = tree
    forest.walk(touched, n_trees, bins, leaves)
    for tree in range(n_trees):
        for c in range(C):
            votes[c] += forest.leaf_value[leaves[tree], c]
    for t in range(T):
        head = heads + t
        head.distance, head.k, head.n_changed, head.started = 0.0, -1, 0, False
        head.up = head.down = 0
        head.state, head.n_outside = draws.stream(r, t), n_outside
        own = bins + (t + 1) * n_features
        memcpy(own, bins, n_features * sizeof(int32_t))
        go_on(draws, forest, r, head, own)
    while True:
        best = nearest_head(heads, T)
        if best < 0:
            return judged
        head = heads + best
        if (head.up | head.down) and not head.n_outside:
            own = leaves + (best + 1) * n_trees
            sums = votes + (best + 1) * C
            if not head.started:
                memcpy(own, leaves, n_trees * sizeof(int32_t))
                memcpy(sums, votes, C * sizeof(double))
                head.started = True
            n_touched = 0
            for tree in range(n_trees):
                touched[n_touched] = tree
                leaf = own[tree]
                n_touched += (
                    (forest.bounded[leaf, 0] & head.up) | (forest.bounded[leaf, 1] & head.down)
                ) != 0
            forest.walk(touched, n_touched, bins + (best + 1) * n_features, reached)
            for i in range(n_touched):
                tree, leaf = touched[i], reached[i]
                if leaf != own[tree]:
                    for c in range(C):
                        sums[c] += forest.leaf_value[leaf, c] - forest.leaf_value[own[tree], c]
                    own[tree] = leaf
            head.up = head.down = 0
            target = forest.answer(own, sums)
        elif head.n_outside:
            target = -1
        elif head.started:
            target = forest.answer(leaves + (best + 1) * n_trees, votes + (best + 1) * C)
        else:
            target = forest.answer(leaves, votes)
        judged += 1
        if target >= 0 and wanted[target] and draw[target] < 0:
            distance[target] = head.distance
            draw[target] = draws.first_draw + best
            round[target] = head.k + 1
            left -= 1
            if left == 0:
                return judged
        go_on(draws, forest, r, head, bins + (best + 1) * n_features)


include "kernel_sets.pxi"
include "kernel_back.pxi"
include "kernel_rough.pxi"
include "kernel_linear.pxi"
