# An ensemble of trees that predicts from bins; included by the draw kernel.

cdef extern from *:
    """
    #define FEW 4

    /* The cuts of a feature, in buckets of equal width (see Trees.buckets). */
    typedef struct {
        const double *cuts;  /* FEW infinite ones are behind them */
        const int32_t *buckets;
        double low, rate;
        int32_t last;  /* bucket */
    } Cuts;

    /* How many cuts are below a value. Those of later buckets are not, so that FEW of them are
       always compared: no branch, the processor could not guess it. */
    static inline int32_t cuts_below(const Cuts *at, double value)
    {
        double place = (value - at->low) * at->rate;
        int32_t bucket, n, half;
        const double *base;
        place = place > 0 ? place : 0;
        bucket = place < at->last ? (int32_t)place : at->last;
        base = at->cuts + at->buckets[bucket];
        n = at->buckets[bucket + 1] - at->buckets[bucket];
        while (n > FEW) {
            half = n / 2;
            base += base[half - 1] < value ? half : 0;
            n -= half;
        }
        return (int32_t)(base - at->cuts)
            + (base[0] < value) + (base[1] < value) + (base[2] < value) + (base[3] < value);
    }

    /* The draw of a factual: what each feature that is asked about leads to. */
    typedef struct {
        Py_ssize_t n, width, n_trees;
        const uint64_t **home, **drawn;  /* (n,): leaf sets of the factual's cell, of the drawn one */
        uint64_t *behind;  /* (n + 1, width): the features from the i-th one on, all at home */
        uint64_t *prefix;  /* (width,): the features of the draw so far */
        uint64_t *set;  /* (width,) */
        const int64_t *value;  /* (trees, 64): of ranked leaves */
    } Sets;

    /* The most (or the least) that the second class can be ahead in rounds a + 1 to b, where each
       feature before a is as drawn, and each of the others as drawn or at home. */
    ANY_WIDTH static int64_t most_ahead(const Sets *sets, Py_ssize_t a, Py_ssize_t b, int most)
    {
        Py_ssize_t width = sets->width, i, k;
        const uint64_t *behind = sets->behind + b * width, *prefix = sets->prefix;
        uint64_t *set = sets->set;
        int64_t total = 0;
        SIDE_BY_SIDE
        for (i = 0; i < width; i++) set[i] = prefix[i] & behind[i];
        for (k = a + 1; k < b; k++) {
            const uint64_t *home = sets->home[k], *drawn = sets->drawn[k];
            SIDE_BY_SIDE
            for (i = 0; i < width; i++) set[i] &= home[i] | drawn[i];
        }
        if (most)
            for (i = 0; i < sets->n_trees; i++) total += sets->value[64 * i + lowest_bit(set[i])];
        else
            for (i = 0; i < sets->n_trees; i++) total += sets->value[64 * i + highest_bit(set[i])];
        return total;
    }

    ANY_WIDTH static void narrow(uint64_t *into, const uint64_t *one, const uint64_t *other,
                                 Py_ssize_t width)
    {
        SIDE_BY_SIDE
        for (Py_ssize_t i = 0; i < width; i++) into[i] = one[i] & other[i];
    }
    """
    enum: FEW
    ctypedef struct Cuts:
        const double* cuts
        const int32_t* buckets
        double low, rate
        int32_t last
    int32_t cuts_below(const Cuts* at, double value) noexcept nogil
    void narrow(uint64_t*, const uint64_t*, const uint64_t*, Py_ssize_t width) nogil
    ctypedef struct Sets:
        Py_ssize_t n, width, n_trees
        const uint64_t** home
        const uint64_t** drawn
        uint64_t* behind
        uint64_t* prefix
        uint64_t* set
        const int64_t* value
    int64_t most_ahead(const Sets*, Py_ssize_t a, Py_ssize_t b, bint most) nogil


cdef struct Scores:
    # Memory for the scores of one row.
    uint64_t* sets  # (width,)
    int32_t* trees  # (trees,): all of them
    int32_t* leaves  # (trees,)
    int64_t* score  # (C,)


cdef int make_scores(Scores* scores, Ensemble ensemble) except -1:
    cdef int32_t tree
    scores.sets = <uint64_t*>malloc((ensemble.width + 1) * sizeof(uint64_t))
    scores.trees = <int32_t*>malloc(ensemble.n_trees * sizeof(int32_t))
    scores.leaves = <int32_t*>malloc(ensemble.n_trees * sizeof(int32_t))
    scores.score = <int64_t*>malloc(ensemble.C * sizeof(int64_t))
    if not (scores.sets and scores.trees and scores.leaves and scores.score):
        clear_scores(scores)
        raise MemoryError
    for tree in range(<int32_t>ensemble.n_trees):
        scores.trees[tree] = tree
    return 0


cdef void clear_scores(Scores* scores) noexcept:
    free(scores.sets)
    free(scores.trees)
    free(scores.leaves)
    free(scores.score)


cdef class Ensemble:
    """The trees of a ``Landscape``, and how their sums become a predicted class."""

    cdef readonly Py_ssize_t n_trees, n_classes, C  # C scores: one for two classes
    cdef readonly bint has_sets
    cdef const int32_t[::1] first_cut, first_padded, first_bucket, buckets
    cdef const double[::1] cuts, bucket_low, bucket_rate
    cdef bint narrow_cells  # whether a cell is a float32 to the trees
    # Of trees with at most 64 leaves: see ``LeafSets``.
    cdef Py_ssize_t width  # bit sets of a row: one for each tree, and some behind them
    cdef const uint64_t[:, ::1] bitsets
    cdef const int32_t[::1] first_bitset
    cdef const int64_t[:, :, ::1] leaf_value  # (trees, WORD, C)
    # Of larger ones: nodes whose leaves lead to themselves, see ``Trees``.
    cdef const int32_t[:, ::1] nodes
    cdef const int32_t[::1] roots
    cdef const int64_t[:, ::1] value  # (nodes, C)
    cdef const uint64_t[:, ::1] bounded

    def __init__(self, land):
        trees = land.trees
        self.first_cut = trees.first_cut
        self.first_padded = trees.first_cut + FEW * np.arange(len(trees.first_cut), dtype=np.int32)
        self.cuts = np.insert(trees.cuts, np.repeat(trees.first_cut[1:], FEW), np.inf)
        self.first_bucket, self.buckets, self.bucket_low, self.bucket_rate = trees.buckets()
        self.narrow_cells = trees.cell is np.float32
        self.n_trees, self.C = len(trees.roots), land.value.shape[1]
        self.n_classes = max(2, self.C)
        self.value, self.roots = land.value, trees.roots
        self.has_sets = trees.leaf_sets is not None
        if self.has_sets:
            sets = trees.leaf_sets
            if self.C == 1:  # leaves with the largest values for the second class come first
                sets = RankedSets.from_nodes(
                    trees.nodes, trees.roots, trees.missing_left, trees.first_cut, land.value[:, 0]
                )
            self.bitsets, self.first_bitset, self.width = sets.bitsets, sets.first, sets.bitsets.shape[1]
            self.leaf_value = land.value[sets.leaf]
        else:
            self.nodes, self.bounded = trees.looped(), trees.bounded

    cdef inline bint uses(self, Py_ssize_t m) noexcept nogil:
        """Whether any tree splits on the feature."""
        return self.first_cut[m + 1] > self.first_cut[m]

    cdef inline int32_t bin(self, Py_ssize_t m, double value) noexcept nogil:
        """How many cuts of the feature are below the value, -1 for a missing one."""
        cdef Cuts cuts
        if isnan(value):
            return -1
        if not self.uses(m):
            return 0
        cuts.cuts = &self.cuts[self.first_padded[m]]
        cuts.buckets = &self.buckets[self.first_bucket[m]]
        cuts.last = self.first_bucket[m + 1] - self.first_bucket[m] - 2
        cuts.low, cuts.rate = self.bucket_low[m], self.bucket_rate[m]
        return cuts_below(&cuts, <double>(<float>value) if self.narrow_cells else value)

    cdef inline const uint64_t* bitset(self, Py_ssize_t m, int32_t bin) noexcept nogil:
        """The leaf sets of all trees for a bin of a feature."""
        return &self.bitsets[self.first_bitset[m] + 1 + bin, 0]

    cdef inline void add_up(
        self, const uint64_t* one, const uint64_t* other, int64_t* score
    ) noexcept nogil:
        """Write the scores of a row whose leaves are in both of two sets."""
        cdef const int64_t* value = &self.leaf_value[0, 0, 0]
        cdef Py_ssize_t k, c, C = self.C
        cdef int64_t total = 0
        if C == 1:
            for k in range(self.n_trees):
                total += value[WORD * k + lowest_bit(one[k] & other[k])]
            score[0] = total
            return
        memset(score, 0, C * sizeof(int64_t))
        for k in range(self.n_trees):
            for c in range(C):
                score[c] += value[(WORD * k + lowest_bit(one[k] & other[k])) * C + c]

    cdef inline Py_ssize_t leading(self, const int64_t* score) noexcept nogil:
        """The class of f that leads, -1 for none."""
        cdef Py_ssize_t c, best = 0
        cdef int64_t second
        if self.C == 1:
            return 1 if score[0] > AHEAD else 0 if score[0] < -AHEAD else -1
        second = score[1]
        for c in range(1, self.C):
            if score[c] > score[best]:
                best, second = c, score[best]
            elif score[c] > second or c == 1:
                second = score[c]
        return best if score[best] - second > AHEAD else -1

    cdef inline Py_ssize_t predict(self, const int32_t* bins, Scores* scores) noexcept nogil:
        """The class of f for the row with these bins, -1 for none."""
        cdef Py_ssize_t m, tree, c
        if self.has_sets:
            memset(scores.sets, 0xFF, self.width * sizeof(uint64_t))
            for m in range(self.first_cut.shape[0] - 1):
                if self.uses(m):
                    narrow(scores.sets, scores.sets, self.bitset(m, bins[m]), self.width)
            self.add_up(scores.sets, scores.sets, scores.score)
            return self.leading(scores.score)
        self.walk(scores.trees, <int32_t>self.n_trees, bins, scores.leaves)
        memset(scores.score, 0, self.C * sizeof(int64_t))
        for tree in range(self.n_trees):
            for c in range(self.C):
                scores.score[c] += self.value[scores.leaves[tree], c]
        return self.leading(scores.score)

    cdef inline void walk(
        self, const int32_t* trees, int32_t n, const int32_t* bins, int32_t* leaves
    ) noexcept nogil:
        """Write the leaves that a row falls into, for n of the trees, a GROUP of them at a time.

        A leaf leads to itself; a group is done when nothing moves.
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
