# A forest that is asked about rows; a part of the kernel.

cdef extern from *:
    """
    #define FEW 4

    /* The cuts of a feature, in buckets of equal width (see Trees.buckets). */
    typedef struct {
        const float *cuts;  /* FEW infinite ones are behind them */
        const int32_t *buckets;
        double low, rate;
        int32_t last;  /* bucket */
    } Cuts;

    /* How many cuts are below a value. Those of later buckets are not, so that FEW of them are
       always compared: no branch, the processor could not guess it. */
    static inline int32_t cuts_below(const Cuts *at, float value)
    {
        double place = ((double)value - at->low) * at->rate;
        int32_t bucket, n, half;
        const float *base;
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
    """
    enum: FEW
    ctypedef struct Cuts:
        const float* cuts
        const int32_t* buckets
        double low, rate
        int32_t last
    int32_t cuts_below(const Cuts* at, float value) noexcept nogil

cdef class Forest:
    """Trees, and how their sums become an answer."""

    cdef const int32_t[:, ::1] nodes  # (feature and, as the lowest bit, whether missing goes right, ...)
    cdef const int32_t[::1] roots, first_cut
    cdef const double[:, ::1] leaf_value
    cdef const uint64_t[:, ::1] bounded  # see ``Trees``
    cdef const float[::1] cuts  # of all features, infinite ones behind those of each
    cdef const int32_t[::1] first_padded
    # Buckets of equal width over the cuts of each feature; how many cuts are in those before each.
    cdef const int32_t[::1] first_bucket, buckets
    cdef const double[::1] bucket_low, bucket_rate
    cdef const Py_ssize_t[::1] code  # of each class of the forest, -1 for one that the labels lack
    cdef const double[::1] prior
    cdef readonly Py_ssize_t n_trees, n_classes
    cdef bint moved
    # Of trees that are small enough, see ``LeafSets``; of two classes the leaves of a tree are ranked.
    cdef readonly bint has_sets
    cdef Py_ssize_t width  # words of a row: so many trees, and some without a choice behind them
    cdef const uint64_t[:, ::1] words
    cdef const int32_t[::1] first_word
    cdef const int32_t[:, ::1] leaf
    cdef const double[::1] ahead  # of each leaf, tree by tree: how far the second of two classes is
    cdef double close  # a sum of those that is not larger is added up once more, as the forest does

    def __init__(self, trees, code, prior):
        self.nodes, self.roots = trees.looped(), trees.roots
        self.leaf_value, self.bounded = trees.value, trees.bounded
        self.first_cut = trees.first_cut
        self.first_padded = trees.first_cut + FEW * np.arange(len(trees.first_cut), dtype=np.int32)
        behind = np.repeat(trees.first_cut[1:], FEW)
        self.cuts = np.insert(trees.cuts.astype(np.float32), behind, np.inf)
        self.first_bucket, self.buckets, self.bucket_low, self.bucket_rate = trees.buckets()
        self.code = code
        self.n_trees, self.n_classes = self.roots.shape[0], self.leaf_value.shape[1]
        self.moved = prior is not None
        self.prior = np.ones(self.n_classes) if prior is None else prior
        self.has_sets = trees.has_small_trees
        if self.has_sets:
            share = trees.value / np.asarray(self.prior)
            ahead = share[:, -1] - share[:, 0]
            sets = trees.ranked_sets(ahead) if self.n_classes == 2 else trees.leaf_sets
            self.first_word, self.leaf = sets.first, sets.leaf
            self.words = in_lines(sets.words)
            self.width = self.words.shape[1]
            self.ahead = np.append(ahead[sets.leaf], np.zeros((self.width - self.n_trees) * WORD))
            self.close = CLOSE * float(np.abs(share[sets.leaf]).max()) * self.n_trees

    cdef inline int32_t bin(self, Py_ssize_t m, double value) noexcept nogil:
        """How many cuts of the feature are below the value."""
        cdef Cuts cuts
        if isnan(value):
            return -1
        if not self.asks(m):
            return 0
        self.look_up(m, &cuts)
        return cuts_below(&cuts, <float>value)

    cdef inline void look_up(self, Py_ssize_t m, Cuts* cuts) noexcept nogil:
        """Where the cuts of a feature are, which has some."""
        cuts.cuts = &self.cuts[self.first_padded[m]]
        cuts.buckets = &self.buckets[self.first_bucket[m]]
        cuts.last = self.first_bucket[m + 1] - self.first_bucket[m] - 2
        cuts.low, cuts.rate = self.bucket_low[m], self.bucket_rate[m]

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
