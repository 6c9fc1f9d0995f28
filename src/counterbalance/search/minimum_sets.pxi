# Slopes of small trees, by leaf sets; included by the minimum kernel.

cdef extern from *:
    """
    /* Write the leaves that rows are in before each feature is looked at, and those of the row. */
    ANY_WIDTH static void look_forward(const uint64_t **at, Py_ssize_t n, Py_ssize_t width,
                                       uint64_t *before, uint64_t *here)
    {
        Py_ssize_t i, j;
        for (i = 0; i < width; i++) here[i] = ~(uint64_t)0;
        for (j = 0; j < n; j++) {
            const uint64_t *own = at[j];
            uint64_t *into = before + j * width;
            SIDE_BY_SIDE
            for (i = 0; i < width; i++) {
                into[i] = here[i];
                here[i] &= own[i];
            }
        }
    }

    /* Write the leaves that a row is in for some value of a feature, of up to 64 trees. What is
       returned has a bit for each tree where they were others, and are or were more than one. */
    ANY_WIDTH static uint64_t look_back(
        const uint64_t *own, const uint64_t *before, const uint64_t *by_value,
        uint64_t *behind, uint64_t *others, uint64_t *was, Py_ssize_t width)
    {
        uint64_t changed = 0;
        SIDE_BY_SIDE
        for (Py_ssize_t i = 0; i < width; i++) {
            uint64_t set = before[i] & behind[i] & by_value[i], old = others[i];
            uint64_t more = (set & (set - 1)) | (old & (old - 1));
            uint64_t bit = (set != old) & (more != 0);
            changed |= bit << i;
            others[i] = set;
            was[i] = old;
            behind[i] &= own[i];
        }
        return changed;
    }
    """
    void look_forward(
        const uint64_t** at, Py_ssize_t n, Py_ssize_t width, uint64_t* before, uint64_t* here
    ) nogil
    uint64_t look_back(
        const uint64_t* own, const uint64_t* before, const uint64_t* by_value,
        uint64_t* behind, uint64_t* others, uint64_t* was, Py_ssize_t width
    ) nogil


cdef class Sets:
    """Writes slopes by leaf sets.

    The AND of the leaf sets of all features but one leaves the leaves that the row falls into as
    that one moves, from left to right as its bin grows; leaves that only a missing cell reaches are
    not in it. After a move the sets of all trees are recomputed together, and so are the slopes of
    each pair of a tree and a feature whose set changed.

    Where the set of a pair stays and the leaf of the row does not, the feature is the one that was
    moved: all else equal, both leaves are in the set of any other only if both hold the row. The
    leaves that the moved feature can reach stay the same; only their reference score changes.
    """

    cdef Slopes slopes
    cdef const uint64_t[:, ::1] bitsets, by_value  # (M, width)
    cdef const int32_t[::1] first_bitset
    cdef const uint16_t[:, :, ::1] lowest  # (trees, M, WORD): small trees have few bins
    cdef const int64_t[:, :, ::1] value  # (trees, WORD, C)
    cdef const int64_t* values  # the same, without strides
    cdef int32_t[::1] feature  # those that any tree splits on, n of them
    cdef int32_t[::1] place  # (M,): of a feature among them, or -1
    cdef Py_ssize_t n, C, K, width
    cdef const uint64_t** at  # (n,): the leaf sets of the row's bins
    cdef uint64_t* others  # (n, width): of all features but one
    cdef uint64_t* before  # (n, width)
    cdef uint64_t* here  # (width,): the leaf of the row in each tree
    cdef uint64_t* was_here
    cdef uint64_t* behind
    cdef uint64_t* was  # (width,): the others of a feature before
    cdef uint64_t* kept  # (n + 1, width): ``others`` and ``here`` of the saved row
    cdef int32_t moved  # the feature that was moved last, -1 for none

    def __init__(self, land, Slopes slopes):
        sets = land.trees.leaf_sets
        self.slopes, self.C = slopes, slopes.C
        self.bitsets, self.first_bitset = sets.bitsets, sets.first
        self.lowest, self.by_value = sets.lowest, sets.by_value
        self.value = land.leaf_value
        self.values = &self.value[0, 0, 0]
        asked = np.diff(land.trees.first_cut) > 0
        self.feature = np.flatnonzero(asked).astype(np.int32)
        self.place = np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32)
        self.n, self.K, self.width = len(self.feature), self.value.shape[0], self.bitsets.shape[1]
        self.at = <const uint64_t**>malloc((self.n + 1) * sizeof(void*))
        self.others = <uint64_t*>malloc((2 * self.n + 4) * self.width * sizeof(uint64_t))
        self.kept = <uint64_t*>malloc((self.n + 1) * self.width * sizeof(uint64_t))
        if not (self.at and self.others and self.kept):
            raise MemoryError
        self.before = self.others + self.n * self.width
        self.here = self.before + self.n * self.width
        self.was_here = self.here + self.width
        self.behind = self.was_here + self.width
        self.was = self.behind + self.width

    def __dealloc__(self):
        free(self.at)
        free(self.others)
        free(self.kept)

    cdef void start(self, const int32_t* bins) noexcept nogil:
        """Start with a new row."""
        cdef Py_ssize_t j
        self.slopes.clear()
        self.moved = -1
        for j in range(self.n):
            self.set_bin(j, bins[self.feature[j]])
        memset(self.others, 0, self.n * self.width * sizeof(uint64_t))
        memset(self.here, 0, self.width * sizeof(uint64_t))

    cdef void keep(self) noexcept nogil:
        """Save the state of the row, so that a search can resume from here."""
        memcpy(self.kept, self.others, self.n * self.width * sizeof(uint64_t))
        memcpy(self.kept + self.n * self.width, self.here, self.width * sizeof(uint64_t))
        self.slopes.keep()

    cdef void restore(self, const int32_t* bins) noexcept nogil:
        """Restore the saved row; ``bins`` are its bins."""
        cdef Py_ssize_t j
        memcpy(self.others, self.kept, self.n * self.width * sizeof(uint64_t))
        memcpy(self.here, self.kept + self.n * self.width, self.width * sizeof(uint64_t))
        for j in range(self.n):
            self.set_bin(j, bins[self.feature[j]])
        self.moved = -1
        self.slopes.restore()

    cdef inline void set_bin(self, Py_ssize_t j, int32_t bin) noexcept nogil:
        self.at[j] = &self.bitsets[self.first_bitset[self.feature[j]] + 1 + bin, 0]

    cdef void move(self, int32_t m, int32_t bin) noexcept nogil:
        """Move a feature into another bin."""
        self.moved = m
        if self.place[m] >= 0:
            self.set_bin(self.place[m], bin)

    cdef void look_around(self, Row* row) noexcept nogil:
        """Recompute the scores and the slopes that changed."""
        cdef Py_ssize_t j, k, first, width = self.width
        cdef int32_t m
        cdef uint64_t changed
        cdef uint64_t* others
        self.was_here, self.here = self.here, self.was_here
        look_forward(self.at, self.n, width, self.before, self.here)
        self.score()
        memset(self.behind, 0xFF, width * sizeof(uint64_t))
        for j in range(self.n - 1, -1, -1):
            m, others = self.feature[j], self.others + j * width
            first = 0
            while first < width:
                changed = look_back(
                    self.at[j] + first, self.before + j * width + first,
                    &self.by_value[m, first], self.behind + first, others + first,
                    self.was + first, min(width - first, WORD),
                )
                if changed and row.mutable[m]:
                    self.write(m, first, changed, others)
                first += WORD

    cdef inline void write(
        self, int32_t m, Py_ssize_t first, uint64_t changed, const uint64_t* others
    ) noexcept nogil:
        """Recompute the slopes of a feature for the trees whose bit is set, from the first on."""
        cdef Py_ssize_t k
        self.slopes.touched[m] = True
        while changed:
            k = first + lowest_bit(changed)
            self.add(k, m, self.was[k], self.was_here[k], -1)
            self.add(k, m, others[k], self.here[k], 1)
            changed &= changed - 1

    cdef void score(self) noexcept nogil:
        """Write the scores of the row; the leaves that the moved feature can reach keep theirs."""
        cdef Py_ssize_t k, c, C = self.C
        cdef int64_t* score = self.slopes.score
        cdef int64_t* change = self.slopes.change
        cdef int64_t more
        cdef const int64_t* value
        if self.moved >= 0:
            change = self.slopes.mark(self.moved, 0)
            self.slopes.touched[self.moved] = True
        for k in range(self.K):
            if self.here[k] == self.was_here[k]:
                continue
            value = self.values + k * WORD * C
            for c in range(C):
                more = value[lowest_bit(self.here[k]) * C + c]
                if self.was_here[k]:
                    more -= value[lowest_bit(self.was_here[k]) * C + c]
                score[c] += more
                if self.moved >= 0:
                    change[c] -= more

    cdef inline void add(
        self, Py_ssize_t k, int32_t m, uint64_t leaves, uint64_t here, int64_t sign
    ) noexcept nogil:
        """Add the contribution of a tree to the slopes of a feature; a single leaf adds nothing."""
        cdef const int64_t* value = self.values + k * WORD * self.C
        cdef const uint16_t* lowest = &self.lowest[k, m, 0]
        cdef uint64_t* marks = self.slopes.marks + self.slopes.first_mark[m]
        cdef int64_t* change = self.slopes.change + self.slopes.first_bin[m] * self.C
        cdef const int64_t* last
        cdef const int64_t* leaf
        cdef unsigned int bin
        cdef Py_ssize_t c, C = self.C
        if not leaves & (leaves - 1):
            return
        last = value + lowest_bit(here) * C
        while leaves:
            leaf, bin = value + lowest_bit(leaves) * C, lowest[lowest_bit(leaves)]
            if C == 1:
                change[bin] += sign * (leaf[0] - last[0])
            else:
                for c in range(C):
                    change[bin * C + c] += sign * (leaf[c] - last[c])
            marks[bin // WORD] |= <uint64_t>1 << (bin % WORD)
            last = leaf
            leaves &= leaves - 1
