# The search with a forest of small trees, by leaf sets; a part of the kernel.

cdef void go_on_by_sets(
    Draws draws, Forest forest, Py_ssize_t r, Head* head, const int32_t* home, uint64_t* changed
) noexcept nogil:
    """Draw until there is a candidate that differs from the last, or the draw ends."""
    cdef Py_ssize_t m, tree
    cdef double v, share
    cdef int32_t place
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
            place = forest.bin(m, v)
            head.up |= place != home[m]
            word = forest.word(m, place)
            for tree in range(forest.n_trees):
                changed[tree] &= word[tree]
        if share > 0:
            head.n_changed += 1
            if not head.distance < draws.epsilon or (
                draws.most_changed >= 0 and head.n_changed > draws.most_changed
            ):
                head.distance = INFINITY
            return


cdef Py_ssize_t search_row_by_sets(
    Draws draws, Forest forest, Py_ssize_t r, const uint8_t* wanted, Py_ssize_t n_labels,
    Head* heads, int32_t* home, uint64_t* words, int32_t* leaves, double* votes,
    double* distance, Py_ssize_t* draw, Py_ssize_t* round,
) noexcept nogil:
    """Do what ``search_row`` does.

    A draw changes the features in the order of the search. So the leaf sets of a candidate are
    those of the features that have changed, which grow along the draw, and those of the others,
    which are the same for all draws:

        same[k]       AND of the leaf sets of the row itself, without the first k of the order
        changed[t]    AND of the leaf sets of draw t up to its head
    """
    cdef Py_ssize_t n_features = draws.x.shape[1], n_trees = forest.n_trees, T = draws.n_draws
    cdef Py_ssize_t K = draws.n_changing, left = 0, judged = 0
    cdef Py_ssize_t m, k, t, c, tree, best, answer, n_outside = 0
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
    for m in range(n_features):
        home[m] = forest.bin(m, draws.x[r, m])
        if draws.bounded:
            n_outside += draws.outside(m, draws.x[r, m])
        if forest.asks(m) and not draws.changes[m]:
            word = forest.word(m, home[m])
            for tree in range(n_trees):
                same[K * n_trees + tree] &= word[tree]
    for k in range(K - 1, -1, -1):
        m = draws.order[k]
        word = forest.word(m, home[m])
        for tree in range(n_trees):
            same[k * n_trees + tree] = same[(k + 1) * n_trees + tree] & word[tree]
    answer = forest.answer_to(changed, same, leaves, votes)
    for t in range(T):
        head = heads + t
        head.distance, head.k, head.n_changed, head.up = 0.0, -1, 0, 0
        head.state, head.n_outside, head.answer = draws.stream(r, t), n_outside, answer
        go_on_by_sets(draws, forest, r, head, home, changed + t * n_trees)
    while True:
        best = nearest_head(heads, T)
        if best < 0:
            return judged
        head = heads + best
        if head.up and not head.n_outside:
            head.answer = forest.answer_to(
                changed + best * n_trees, same + (head.k + 1) * n_trees, leaves, votes
            )
            head.up = 0
        judged += 1
        c = -1 if head.n_outside else head.answer
        if c >= 0 and wanted[c] and draw[c] < 0:
            distance[c] = head.distance
            draw[c] = draws.first_draw + best
            round[c] = head.k + 1
            left -= 1
            if left == 0:
                return judged
        go_on_by_sets(draws, forest, r, head, home, changed + best * n_trees)
