# The search with a linear f; a part of search_kernel.

cdef void go_on_linear(
    Draws draws, const double[:, ::1] weight, Py_ssize_t r, Head* head, double* score
) noexcept nogil:
    """Draw until there is a candidate that differs from the last, or the draw ends."""
    cdef Py_ssize_t m, c
    cdef double v, share, step
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
        step = v - draws.x[r, m]
        for c in range(weight.shape[0]):
            score[c] += step * weight[c, m]
        if share > 0:
            head.n_changed += 1
            if not head.distance < draws.epsilon or (
                draws.most_changed >= 0 and head.n_changed > draws.most_changed
            ):
                head.distance = INFINITY
            return


cdef inline bint is_hopeful(
    const double* score, Py_ssize_t C, const uint8_t* wanted, double slack
) noexcept nogil:
    cdef Py_ssize_t c
    cdef double top = score[0]
    for c in range(1, C):
        top = max(top, score[c])
    for c in range(C):
        if wanted[c] and score[c] >= top - slack:
            return True
    return False


def next_hopeful(
    Draws draws,
    const double[:, ::1] weight,
    const double[:, ::1] start,
    double slack,
    const uint8_t[:, ::1] wanted,
    double[::1] distance,
    Py_ssize_t[::1] draw,
    Py_ssize_t[::1] round_,
):
    """Write for every row the nearest candidate that a linear f may put into a wanted class.

    ``start`` holds the scores of the rows themselves. Only candidates behind (distance, round,
    draw), as they stand in the arrays, are looked at; the draw -1 says that none is left.
    """
    cdef Py_ssize_t T = draws.n_draws, C = weight.shape[0], r, t, c, best
    cdef Head* heads = <Head*>malloc(T * sizeof(Head))
    cdef double* scores = <double*>malloc(T * C * sizeof(double))
    cdef Head* head
    cdef Py_ssize_t n_outside, m
    cdef bint behind
    try:
        if not (heads and scores):
            raise MemoryError
        with nogil:
            for r in range(draws.n_rows):
                n_outside = 0
                if draws.bounded:
                    for m in range(draws.x.shape[1]):
                        n_outside += draws.outside(m, draws.x[r, m])
                for t in range(T):
                    head = heads + t
                    head.distance, head.k, head.n_changed = 0.0, -1, 0
                    head.state, head.n_outside = draws.stream(r, t), n_outside
                    for c in range(C):
                        scores[t * C + c] = start[r, c]
                    go_on_linear(draws, weight, r, head, scores + t * C)
                while True:
                    best = nearest_head(heads, T)
                    if best < 0:
                        draw[r] = -1
                        break
                    head = heads + best
                    behind = head.distance > distance[r] or (
                        head.distance == distance[r]
                        and (
                            head.k + 1 > round_[r]
                            or (head.k + 1 == round_[r] and draws.first_draw + best > draw[r])
                        )
                    )
                    if behind and not head.n_outside and is_hopeful(
                        scores + best * C, C, &wanted[r, 0], slack
                    ):
                        distance[r], round_[r] = head.distance, head.k + 1
                        draw[r] = draws.first_draw + best
                        break
                    go_on_linear(draws, weight, r, head, scores + best * C)
    finally:
        free(heads)
        free(scores)
