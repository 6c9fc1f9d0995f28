# Slopes of small trees, by leaf sets; a part of the minimum kernel.

cdef struct Tree:
    uint64_t every  # all leaves
    int32_t here  # the leaf that the row is in
    int32_t n_features
    int32_t n_written  # entries of what the tree has added to the slopes
    bint moved  # whether a leaf set has changed since the slopes were written


cdef class Sets:
    """Writes slopes by leaf sets.

    The AND of the leaf sets of all features but one leaves the leaves that the row falls into as
    that one moves, from left to right as its bin grows; those that only a missing cell leads to
    are no part of it. After a move only the trees are looked at again that have a cut on its way.
    """

    cdef Slopes slopes
    cdef const uint64_t[:, ::1] words
    cdef const int32_t[::1] first_word
    cdef const int32_t[:, :, ::1] lowest  # (trees, M, WORD)
    cdef const uint64_t[:, ::1] by_value  # (M, trees)
    cdef const int64_t[:, :, ::1] value  # (trees, WORD, C)
    cdef const int64_t* values  # the same, without strides
    cdef const int32_t[:, ::1] feature  # (trees, features of the tree)
    cdef const int32_t[:, ::1] place  # (trees, M): of a feature among those of the tree, or -1
    cdef Py_ssize_t M, C, K, width
    cdef Tree* trees
    cdef uint64_t* now  # (trees, width): the leaf sets of the row's features
    # Of one tree: the sets of the features before each; those that hold more than one leaf with all
    # features but one, and which one that is.
    cdef uint64_t* before
    cdef uint64_t* others
    cdef int32_t* which
    cdef int32_t* written  # (trees, 2 * WORD, 2): feature and bin in the slopes
    cdef int64_t* added  # (trees, 2 * WORD, C)

    def __init__(self, land, Slopes slopes):
        sets, used = land.trees.leaf_sets, land.trees.features_of_trees()
        self.slopes, self.C = slopes, slopes.C
        self.words, self.first_word, self.lowest = sets.words, sets.first, sets.lowest
        self.by_value = sets.by_value
        self.value = land.value[sets.leaf]
        self.values = &self.value[0, 0, 0]
        self.feature, self.place = used.feature, used.place
        self.K, self.M, self.width = self.place.shape[0], self.place.shape[1], self.feature.shape[1]
        self.trees = <Tree*>calloc(self.K, sizeof(Tree))
        self.now = <uint64_t*>malloc((self.K * self.width + 1) * sizeof(uint64_t))
        self.before = <uint64_t*>malloc((self.width + 1) * sizeof(uint64_t))
        self.others = <uint64_t*>malloc((self.width + 1) * sizeof(uint64_t))
        self.which = <int32_t*>malloc((self.width + 1) * sizeof(int32_t))
        self.written = <int32_t*>malloc(self.K * 4 * WORD * sizeof(int32_t))
        self.added = <int64_t*>malloc(self.K * 2 * WORD * self.C * sizeof(int64_t))
        if not (
            self.trees and self.now and self.before and self.others and self.which and self.written
            and self.added
        ):
            raise MemoryError
        for k in range(self.K):
            self.trees[k].n_features, self.trees[k].every = used.n_features[k], sets.every[k]

    def __dealloc__(self):
        free(self.trees)
        free(self.now)
        free(self.before)
        free(self.others)
        free(self.which)
        free(self.written)
        free(self.added)

    cdef void start(self, Row* row, const int32_t* bins) noexcept nogil:
        """Take a row; nothing is known of it."""
        cdef Py_ssize_t k, j
        cdef int32_t m
        self.slopes.clear()
        for k in range(self.K):
            self.trees[k].here, self.trees[k].n_written, self.trees[k].moved = -1, 0, True
            for j in range(self.trees[k].n_features):
                m = self.feature[k, j]
                self.now[k * self.width + j] = self.words[self.first_word[m] + 1 + bins[m], k]

    cdef void move(self, int32_t m, int32_t bin) noexcept nogil:
        """Move a feature into another bin."""
        cdef Py_ssize_t k
        cdef const uint64_t* word = &self.words[self.first_word[m] + 1 + bin, 0]
        cdef uint64_t* now
        for k in range(self.K):
            if self.place[k, m] >= 0:
                now = self.now + k * self.width + self.place[k, m]
                if now[0] != word[k]:
                    now[0], self.trees[k].moved = word[k], True

    cdef void look_around(self, Row* row) noexcept nogil:
        """Write the scores and the slopes anew, of those trees that are concerned."""
        cdef Py_ssize_t k
        for k in range(self.K):
            if self.trees[k].moved:
                self.take_back(k)
                self.write(k, row)
                self.trees[k].moved = False

    cdef void take_back(self, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i, c
        cdef const int32_t* written = self.written + k * 4 * WORD
        cdef const int64_t* added = self.added + k * 2 * WORD * self.C
        cdef Tree* tree = self.trees + k
        cdef int64_t* score = self.slopes.score
        cdef int64_t* change
        for i in range(tree.n_written):
            # It is marked once more: where changes cancelled out, the mark was taken back.
            change = self.slopes.mark(written[2 * i], written[2 * i + 1])
            for c in range(self.C):
                change[c] -= added[i * self.C + c]
        if tree.here >= 0:
            for c in range(self.C):
                score[c] -= self.value[k, tree.here, c]
        tree.n_written = 0

    cdef void write(self, Py_ssize_t k, Row* row) noexcept nogil:
        cdef Tree* tree = self.trees + k
        cdef const uint64_t* now = self.now + k * self.width
        cdef uint64_t every = tree.every, behind = every, others
        cdef int32_t j, m, n, last, leaf
        cdef Py_ssize_t c
        cdef int64_t* score = self.slopes.score
        cdef const int32_t* lowest
        for j in range(tree.n_features):
            self.before[j] = every
            every &= now[j]
        tree.here = lowest_bit(every)
        for c in range(self.C):
            score[c] += self.value[k, tree.here, c]
        n = 0
        for j in range(tree.n_features - 1, -1, -1):  # no branch: the processor could not guess it
            others = self.before[j] & behind & self.by_value[self.feature[k, j], k]
            behind &= now[j]
            self.others[n], self.which[n] = others, j
            n += others != every
        for j in range(n):
            others, m = self.others[j], self.feature[k, self.which[j]]
            if not row.mutable[m]:
                continue
            lowest = &self.lowest[k, m, 0]
            last = lowest_bit(others)
            self.add(k, m, 0, tree.here, last)
            others &= others - 1
            while others:
                leaf = lowest_bit(others)
                self.add(k, m, lowest[leaf], last, leaf)
                last = leaf
                others &= others - 1

    cdef inline void add(
        self, Py_ssize_t k, int32_t m, int32_t bin, int32_t old, int32_t new
    ) noexcept nogil:
        """Note that from a bin on the row falls into another leaf."""
        cdef Py_ssize_t c, C = self.C, at = k * 2 * WORD + self.trees[k].n_written
        cdef const int64_t* before = self.values + (k * WORD + old) * C
        cdef const int64_t* after = self.values + (k * WORD + new) * C
        cdef int64_t* added = self.added + at * C
        cdef int64_t* change
        if C == 1:
            added[0] = after[0] - before[0]
            if added[0] == 0:
                return
            change = self.slopes.mark(m, bin)
            change[0] += added[0]
        else:
            change = self.slopes.mark(m, bin)
            for c in range(C):
                added[c] = after[c] - before[c]
                change[c] += added[c]
        self.written[2 * at], self.written[2 * at + 1] = m, bin
        self.trees[k].n_written += 1
