# How the scores change where one feature moves; included by the minimum kernel.

cdef struct Row:
    const double* x
    const double* origin
    const double* low
    const double* high
    const int32_t* home
    const uint8_t* mutable
    Py_ssize_t target


cdef class Slopes:
    """The scores of a row, and of every row that differs from it in one feature.

    The scores with feature m in bin b are ``score`` and all ``change`` of m up to b. Bins with
    a change are marked; a mark may stand where there is none.
    """

    cdef const int32_t[::1] first_bin
    cdef Py_ssize_t M, C
    cdef int64_t* score  # (C,)
    cdef int64_t* change  # (bins, C)
    cdef uint64_t* marks
    cdef uint8_t* touched  # (M,): features whose changes are newer than their stretches
    cdef Py_ssize_t* first_mark  # (M + 1,): where the marks of each feature begin
    cdef int64_t* running  # (C,)
    cdef int64_t* kept_change  # (bins, C): of the saved row
    cdef int64_t* kept_score  # (C,)
    cdef uint64_t* kept_marks
    cdef Py_ssize_t n_bins
    # Of one feature, see ``find_stretches``.
    cdef int32_t* ends
    cdef int64_t* margins
    cdef int32_t at_home

    def __init__(self, first_bin, Py_ssize_t n_scores):
        cdef Py_ssize_t m, longest = 0
        self.first_bin, self.C = first_bin, n_scores
        self.M = self.first_bin.shape[0] - 1
        self.first_mark = <Py_ssize_t*>malloc((self.M + 1) * sizeof(Py_ssize_t))
        if not self.first_mark:
            raise MemoryError
        self.first_mark[0] = 0
        for m in range(self.M):
            n_bins = self.first_bin[m + 1] - self.first_bin[m]
            self.first_mark[m + 1] = self.first_mark[m] + (n_bins + WORD - 1) // WORD
            longest = max(longest, n_bins)
        n_bins = self.first_bin[self.M]
        self.score = <int64_t*>calloc(self.C, sizeof(int64_t))
        self.change = <int64_t*>calloc(n_bins * self.C, sizeof(int64_t))
        self.marks = <uint64_t*>calloc(self.first_mark[self.M], sizeof(uint64_t))
        self.touched = <uint8_t*>calloc(self.M + 1, sizeof(uint8_t))
        self.running = <int64_t*>calloc(self.C, sizeof(int64_t))
        self.n_bins = n_bins
        self.kept_change = <int64_t*>malloc(n_bins * self.C * sizeof(int64_t))
        self.kept_score = <int64_t*>malloc(self.C * sizeof(int64_t))
        self.kept_marks = <uint64_t*>malloc(self.first_mark[self.M] * sizeof(uint64_t))
        self.ends = <int32_t*>malloc((longest + 1) * sizeof(int32_t))
        self.margins = <int64_t*>malloc(longest * sizeof(int64_t))
        if not (
            self.score and self.running and self.change and self.marks and self.touched
            and self.ends and self.margins and self.kept_change and self.kept_score
            and self.kept_marks
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.score)
        free(self.change)
        free(self.marks)
        free(self.touched)
        free(self.first_mark)
        free(self.ends)
        free(self.running)
        free(self.margins)
        free(self.kept_change)
        free(self.kept_score)
        free(self.kept_marks)

    cdef void keep(self) noexcept nogil:
        """Save the state, so that a search can resume from here."""
        memcpy(self.kept_change, self.change, self.n_bins * self.C * sizeof(int64_t))
        memcpy(self.kept_score, self.score, self.C * sizeof(int64_t))
        memcpy(self.kept_marks, self.marks, self.first_mark[self.M] * sizeof(uint64_t))

    cdef void restore(self) noexcept nogil:
        """Restore the saved row."""
        memcpy(self.change, self.kept_change, self.n_bins * self.C * sizeof(int64_t))
        memcpy(self.score, self.kept_score, self.C * sizeof(int64_t))
        memcpy(self.marks, self.kept_marks, self.first_mark[self.M] * sizeof(uint64_t))
        memset(self.touched, 1, self.M)

    cdef void clear(self) noexcept nogil:
        cdef Py_ssize_t m, i, at
        memset(self.score, 0, self.C * sizeof(int64_t))
        memset(self.touched, 1, self.M)
        for m in range(self.M):
            for i in range(self.first_mark[m], self.first_mark[m + 1]):
                while self.marks[i]:
                    at = WORD * (i - self.first_mark[m]) + lowest_bit(self.marks[i])
                    at += self.first_bin[m]
                    memset(self.change + at * self.C, 0, self.C * sizeof(int64_t))
                    self.marks[i] &= self.marks[i] - 1

    cdef inline int64_t* mark(self, int32_t m, int32_t bin) noexcept nogil:
        """Mark a bin and return the change there."""
        self.marks[self.first_mark[m] + bin // WORD] |= <uint64_t>1 << (bin % WORD)
        return self.change + (self.first_bin[m] + bin) * self.C

    cdef inline int64_t margin(self, const int64_t* score, Py_ssize_t target) noexcept nogil:
        cdef int64_t best
        cdef Py_ssize_t c
        if self.C == 1:
            return score[0] if target else -score[0]
        best = score[1 if target == 0 else 0]
        for c in range(self.C):
            if c != target and score[c] > best:
                best = score[c]
        return score[target] - best

    cdef inline int32_t find_stretches(
        self, int32_t m, Py_ssize_t target, int64_t here, int32_t home
    ) noexcept nogil:
        """Write where each stretch of a feature begins, the end of the last, and their margins.

        Return the number of stretches; ``at_home`` is the one with the bin ``home``. A mark
        without a change is removed.
        """
        cdef uint64_t* marks = self.marks + self.first_mark[m]
        cdef const int64_t* change = self.change + self.first_bin[m] * self.C
        cdef int32_t* ends = self.ends
        cdef int64_t* margins = self.margins
        cdef int64_t sign = 1 if target else -1  # of the only score of two classes
        cdef int32_t i, bin, n = 0, at_home = 0
        cdef int32_t n_words = <int32_t>(self.first_mark[m + 1] - self.first_mark[m])
        cdef uint64_t word
        cdef Py_ssize_t c, C = self.C
        if C > 1:
            memcpy(self.running, self.score, C * sizeof(int64_t))
        for i in range(n_words):
            word = marks[i] | (i == 0)  # the first stretch may have no mark
            while word:
                bin = WORD * i + lowest_bit(word)
                if C == 1:
                    if change[bin] == 0 and bin:
                        marks[i] ^= word & -word
                        word &= word - 1
                        continue
                    here += sign * change[bin]
                else:
                    for c in range(C):
                        self.running[c] += change[bin * C + c]
                    here = self.margin(self.running, target)
                ends[n], margins[n] = bin, here
                at_home += bin <= home
                n += 1
                word &= word - 1
        ends[n], self.at_home = self.first_bin[m + 1] - self.first_bin[m], max(at_home - 1, 0)
        return n
