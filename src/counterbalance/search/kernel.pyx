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

# Sums of leaves that differ by less are added up once more, in the order of the forest.
cdef double CLOSE = 1e-9
# Trees that are walked at a time.
DEF GROUP = 8
# Cuts that are looked at one by one.
DEF FEW = 4
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


cdef class Forest:
    """Trees, and how their sums become an answer."""

    cdef const int32_t[:, ::1] nodes  # (feature and, as the lowest bit, whether missing goes right, ...)
    cdef const int32_t[::1] roots, first_cut
    cdef const double[:, ::1] leaf_value
    cdef const uint64_t[:, ::1] bounded  # see ``Trees``
    cdef const float[::1] cuts
    # Buckets of equal width over the cuts of each feature; how many cuts are in those before each.
    cdef const int32_t[::1] first_bucket, buckets
    cdef const double[::1] bucket_low, bucket_rate
    cdef const Py_ssize_t[::1] code  # of each class of the forest, -1 for one that the labels lack
    cdef const double[::1] prior
    cdef readonly Py_ssize_t n_trees, n_classes
    cdef bint moved
    # Of trees that are small enough, see ``LeafSets``.
    cdef readonly bint has_sets
    cdef const uint64_t[:, ::1] words
    cdef const int32_t[::1] first_word
    cdef const int32_t[:, ::1] leaf
    cdef const double[::1] ahead  # of each leaf, tree by tree: how far the second of two classes is
    cdef double close  # a sum of those that is not larger is added up once more, as the forest does

    def __init__(self, trees, code, prior):
        self.nodes, self.roots = trees.looped(), trees.roots
        self.leaf_value, self.bounded = trees.value, trees.bounded
        self.first_cut, self.cuts = trees.first_cut, trees.cuts.astype(np.float32)
        self.first_bucket, self.buckets, self.bucket_low, self.bucket_rate = trees.buckets()
        self.code = code
        self.n_trees, self.n_classes = self.roots.shape[0], self.leaf_value.shape[1]
        self.moved = prior is not None
        self.prior = np.ones(self.n_classes) if prior is None else prior
        sets = trees.leaf_sets
        self.has_sets = sets is not None
        if self.has_sets:
            self.words, self.first_word, self.leaf = sets.words, sets.first, sets.leaf
            share = trees.value[sets.leaf] / np.asarray(self.prior)
            self.ahead = np.ascontiguousarray((share[..., -1] - share[..., 0]).ravel())
            self.close = CLOSE * float(np.abs(share).max()) * self.n_trees

    cdef inline int32_t bin(self, Py_ssize_t m, double value) noexcept nogil:
        """How many cuts of the feature are below the value."""
        cdef float single = <float>value
        cdef int32_t start = self.first_cut[m], n = self.first_cut[m + 1] - start, half, more = 0
        cdef const int32_t* bucket
        cdef const float* base
        cdef double place
        if isnan(value):
            return -1
        if n == 0:
            return 0
        place = (<double>single - self.bucket_low[m]) * self.bucket_rate[m]
        n = self.first_bucket[m + 1] - self.first_bucket[m] - 2  # the last one
        n = 0 if place <= 0 else (n if place >= n else <int32_t>place)
        bucket = &self.buckets[self.first_bucket[m] + n]
        base, n = &self.cuts[start] + bucket[0], bucket[1] - bucket[0]
        while n > FEW:
            half = n // 2
            base += half * (base[half - 1] < single)  # no branch: the processor could not guess it
            n -= half
        while more < n and base[more] < single:
            more += 1
        return <int32_t>(base - &self.cuts[start]) + more

    cdef inline void walk(
        self, const int32_t* trees, int32_t n, const int32_t* bins, int32_t* leaves
    ) noexcept nogil:
        """Write the leaves that a row falls into, for n of the trees.

        One step down a tree waits for the memory of the step before, so a GROUP of trees is
        walked at a time. A leaf leads to itself; a group is done when nothing moves.
        """
        cdef const int32_t* nodes = &self.nodes[0, 0]
        cdef const int32_t* node
        cdef int32_t[GROUP] at
        cdef int32_t i, start, size, place, below, moved
        for start in range(0, n, GROUP):
            size = min(GROUP, n - start)
            for i in range(GROUP):
                at[i] = self.roots[trees[start + (i if i < size else 0)]]
            moved = 1
            while moved:
                moved = 0
                for i in range(GROUP):
                    node = nodes + 4 * <Py_ssize_t>at[i]
                    place = bins[node[0] >> 1]
                    below = node[2 + ((place > node[1]) | ((place < 0) & node[0] & 1))]
                    moved |= below ^ at[i]
                    at[i] = below
            for i in range(size):
                leaves[start + i] = at[i]

    cdef inline Py_ssize_t answer(self, const int32_t* leaves, const double* votes) noexcept nogil:
        """Return the code of the class with the largest mean, asking the forest's own sums if close."""
        cdef Py_ssize_t c, tree, best = 0
        cdef double top = -1.0, second = -1.0, mean
        for c in range(self.n_classes):
            mean = votes[c] / self.prior[c]
            if mean > top:
                second, top, best = top, mean, c
            elif mean > second:
                second = mean
        if top - second > CLOSE * top:
            return self.code[best]
        return self.exact_answer(leaves)

    cdef inline Py_ssize_t exact_answer(self, const int32_t* leaves) noexcept nogil:
        """Return the code of the class with the largest mean, added up as the forest does."""
        cdef Py_ssize_t c, tree, best = 0
        cdef double top = -1.0, mean
        for c in range(self.n_classes):
            mean = 0.0
            for tree in range(self.n_trees):
                mean += self.leaf_value[leaves[tree], c]
            mean /= self.n_trees
            if self.moved:
                mean /= self.prior[c]
            if mean > top:
                top, best = mean, c
        return self.code[best]

    cdef inline const uint64_t* word(self, Py_ssize_t m, int32_t bin) noexcept nogil:
        """The leaf sets of all trees for a bin of a feature."""
        return &self.words[self.first_word[m] + 1 + bin, 0]

    cdef inline bint asks(self, Py_ssize_t m) noexcept nogil:
        """Whether any tree looks at a feature."""
        return self.first_cut[m] < self.first_cut[m + 1]

    cdef inline Py_ssize_t answer_to(
        self, const uint64_t* changed, const uint64_t* same, int32_t* leaves, double* votes
    ) noexcept nogil:
        """Return the answer to a row by the leaf sets of its changed and of its other features."""
        cdef Py_ssize_t tree, c
        cdef const double* ahead = &self.ahead[0]
        cdef double even = 0.0, odd = 0.0
        if self.n_classes == 2:
            for tree in range(0, self.n_trees - 1, 2):
                even += ahead[WORD * tree + lowest_bit(changed[tree] & same[tree])]
                odd += ahead[WORD * (tree + 1) + lowest_bit(changed[tree + 1] & same[tree + 1])]
            if self.n_trees & 1:
                tree = self.n_trees - 1
                even += ahead[WORD * tree + lowest_bit(changed[tree] & same[tree])]
            if fabs(even + odd) > self.close:
                return self.code[even + odd > 0]
        for c in range(self.n_classes):
            votes[c] = 0.0
        for tree in range(self.n_trees):
            leaves[tree] = self.leaf[tree, lowest_bit(changed[tree] & same[tree])]
            for c in range(self.n_classes):
                votes[c] += self.leaf_value[leaves[tree], c]
        return self.answer(leaves, votes)


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
    if forest.has_sets:
        words = <uint64_t*>malloc((T + draws.n_changing + 1) * n_trees * sizeof(uint64_t))
    try:
        if not (heads and bins and leaves and votes and (words or not forest.has_sets)):
            raise MemoryError
        with nogil:
            for r in range(draws.n_rows):
                draws.begin()
                if forest.has_sets:
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
