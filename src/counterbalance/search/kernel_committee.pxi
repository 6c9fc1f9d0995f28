# The search with a committee of trees, a regression and a net; a part of the kernel.
#
#     sums[t]    the sums of draw t (see ``classifier.committee``), moved with every cell it changes
#
# Trees are added up as the forest does. The other members are not, so their probability may differ
# in its last digits: a row with a candidate that is close to a tie is left to the numpy path.


cdef class Members:
    """The regression and the net as sums over the cells of a row: see ``committee.Sums``."""

    cdef const double[::1] centre, scale, start, output_start
    cdef const int32_t[:, ::1] features
    cdef const int32_t[::1] levels
    cdef const double[:, ::1] weight, output
    cdef double farthest, close
    cdef readonly Py_ssize_t n_sums, n_logits, n_net

    def __init__(self, places, sums, close):
        self.close = close
        self.centre, self.scale, self.features, self.levels, self.farthest = places
        self.weight, self.start = sums.weight, sums.start
        self.output, self.output_start = sums.output, sums.output_start
        self.n_sums, self.n_logits = self.start.shape[0], sums.n_logits
        self.n_net = self.output_start.shape[0]

    cdef inline void add(self, Py_ssize_t m, double cell, double sign, double* sums) noexcept nogil:
        """Add the share of a cell, or take it off."""
        cdef Py_ssize_t k, column
        cdef double place = 1.0
        cdef const double* share
        if isnan(cell):
            column = self.features[m, 1]
        elif self.features[m, 0] >= 0:
            column = self.features[m, 0]
            place = (cell - self.centre[m]) / self.scale[m]
            if isnan(place):
                place = 0.0
            place = -self.farthest if place < -self.farthest else place
            place = self.farthest if place > self.farthest else place
        else:
            column = -1
            if 0 <= cell < self.features[m, 3]:
                column = self.levels[self.features[m, 2] + <Py_ssize_t>cell]
        if column < 0:
            return
        place *= sign
        share = &self.weight[column, 0]
        for k in range(self.n_sums):
            sums[k] += place * share[k]

    cdef inline void vote(
        self, const double* logits, Py_ssize_t n, double* votes, Py_ssize_t n_classes
    ) noexcept nogil:
        """Add the probabilities that logits stand for; one alone is that of the second class."""
        cdef Py_ssize_t c
        cdef double top, total = 0.0, second
        if n == 1:
            second = 1.0 / (1.0 + exp(-logits[0]))
            votes[0] += 1.0 - second
            votes[1] += second
            return
        top = logits[0]
        for c in range(1, n):
            top = logits[c] if logits[c] > top else top
        for c in range(n):
            total += exp(logits[c] - top)
        for c in range(n_classes):
            votes[c] += exp(logits[c] - top) / total

    cdef inline Py_ssize_t answer(
        self, Forest forest, const uint64_t* changed, const uint64_t* same, const double* sums,
        double* votes, double* logits,
    ) noexcept nogil:
        """Return the code of the class with the largest mean probability, -2 close to a tie."""
        cdef Py_ssize_t tree, c, k, best = 0, C = forest.n_classes
        cdef double top = -1.0, second = -1.0, mean, unit
        cdef const double* value
        for c in range(C):
            votes[c] = 0.0
        for tree in range(forest.n_trees):
            value = &forest.leaf_value[forest.leaf[tree, lowest_bit(changed[tree] & same[tree])], 0]
            for c in range(C):
                votes[c] += value[c]
        for c in range(C):
            votes[c] /= forest.n_trees
        for c in range(self.n_net):
            logits[c] = self.output_start[c]
        for k in range(self.n_logits, self.n_sums):
            unit = sums[k] if sums[k] > 0 else 0.0
            for c in range(self.n_net):
                logits[c] += unit * self.output[k - self.n_logits, c]
        self.vote(sums, self.n_logits, votes, C)
        self.vote(logits, self.n_net, votes, C)
        for c in range(C):
            mean = votes[c] / forest.prior[c]
            if mean > top:
                second, top, best = top, mean, c
            elif mean > second:
                second = mean
        return forest.code[best] if top - second > self.close * top else -2


cdef void go_on_by_sums(
    Draws draws, Forest forest, Members members, Py_ssize_t r, Head* head, uint64_t* changed,
    double* sums,
) noexcept nogil:
    """Draw until there is a candidate that differs from the last, or the draw ends."""
    cdef Py_ssize_t m, tree
    cdef double v, share
    cdef const uint64_t* word
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
        if forest.asks(m):
            word = forest.word(m, forest.bin(m, v))
            for tree in range(forest.n_trees):
                changed[tree] &= word[tree]
        if share > 0:
            members.add(m, draws.x[r, m], -1.0, sums)
            members.add(m, v, 1.0, sums)
            head.n_changed += 1
            if not head.distance < draws.epsilon or (
                draws.most_changed >= 0 and head.n_changed > draws.most_changed
            ):
                head.distance = INFINITY
            return


def search_committee(
    Draws draws,
    Forest forest,
    Members members,
    const uint8_t[:, ::1] wanted,
    double[:, ::1] distance,
    Py_ssize_t[:, ::1] draw,
    Py_ssize_t[:, ::1] round_,
    uint8_t[::1] unsure,
):
    """Do as ``search_forest`` does; what is written of an ``unsure`` row does not count."""
    cdef Py_ssize_t n_trees = forest.n_trees, T = draws.n_draws, judged = 0, r
    cdef Py_ssize_t n_logits = members.n_net + forest.n_classes
    cdef Head* heads = <Head*>malloc(T * sizeof(Head))
    cdef uint64_t* words = <uint64_t*>malloc(
        (T + draws.n_changing + 1) * n_trees * sizeof(uint64_t)
    )
    cdef double* sums = <double*>malloc(T * members.n_sums * sizeof(double))
    cdef double* votes = <double*>malloc(n_logits * sizeof(double))
    try:
        if not (heads and words and sums and votes):
            raise MemoryError
        with nogil:
            for r in range(draws.n_rows):
                judged += search_row_by_sums(
                    draws, forest, members, r, &wanted[r, 0], wanted.shape[1], heads, words, sums,
                    votes, &distance[r, 0], &draw[r, 0], &round_[r, 0], &unsure[r],
                )
    finally:
        free(heads)
        free(words)
        free(sums)
        free(votes)
    return judged


cdef Py_ssize_t search_row_by_sums(
    Draws draws, Forest forest, Members members, Py_ssize_t r, const uint8_t* wanted,
    Py_ssize_t n_labels, Head* heads, uint64_t* words, double* sums, double* votes,
    double* distance, Py_ssize_t* draw, Py_ssize_t* round, uint8_t* unsure,
) noexcept nogil:
    """Do what ``search_row_by_sets`` does, with the sums of the other members."""
    cdef Py_ssize_t n_features = draws.x.shape[1], n_trees = forest.n_trees, T = draws.n_draws
    cdef Py_ssize_t K = draws.n_changing, S = members.n_sums, left = 0, judged = 0
    cdef Py_ssize_t m, k, t, c, tree, best, n_outside = 0
    cdef uint64_t* changed = words
    cdef uint64_t* same = words + T * n_trees
    cdef const uint64_t* word
    cdef Head* head
    for c in range(n_labels):
        left += wanted[c]
    if left == 0:
        return 0
    for tree in range((T + 1 + K) * n_trees):
        words[tree] = ~<uint64_t>0
    for k in range(S):
        sums[k] = members.start[k]
    for m in range(n_features):
        members.add(m, draws.x[r, m], 1.0, sums)
        if draws.bounded:
            n_outside += draws.outside(m, draws.x[r, m])
        if forest.asks(m) and not draws.changes[m]:
            word = forest.word(m, forest.bin(m, draws.x[r, m]))
            for tree in range(n_trees):
                same[K * n_trees + tree] &= word[tree]
    for k in range(K - 1, -1, -1):
        m = draws.order[k]
        word = forest.word(m, forest.bin(m, draws.x[r, m]))
        for tree in range(n_trees):
            same[k * n_trees + tree] = same[(k + 1) * n_trees + tree] & word[tree]
    for t in range(1, T):
        memcpy(sums + t * S, sums, S * sizeof(double))
    for t in range(T):
        head = heads + t
        head.distance, head.k, head.n_changed = 0.0, -1, 0
        head.state, head.n_outside = draws.stream(r, t), n_outside
        go_on_by_sums(draws, forest, members, r, head, changed + t * n_trees, sums + t * S)
    while True:
        best = nearest_head(heads, T)
        if best < 0:
            return judged
        head = heads + best
        judged += 1
        if not head.n_outside:
            c = members.answer(
                forest, changed + best * n_trees, same + (head.k + 1) * n_trees, sums + best * S,
                votes, votes + forest.n_classes,
            )
            if c == -2:
                unsure[0] = 1
                return judged
            if c >= 0 and wanted[c] and draw[c] < 0:
                distance[c] = head.distance
                draw[c] = draws.first_draw + best
                round[c] = head.k + 1
                left -= 1
                if left == 0:
                    return judged
        go_on_by_sums(draws, forest, members, r, head, changed + best * n_trees, sums + best * S)
