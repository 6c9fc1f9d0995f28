# The search with a linear f; a part of the kernel.

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


cdef inline Py_ssize_t certain(const double* score, Py_ssize_t C, double slack) noexcept nogil:
    """The class that f says whatever rounding does, -1 where that decides."""
    cdef Py_ssize_t c, best = 0
    for c in range(1, C):
        if score[c] > score[best]:
            best = c
    for c in range(C):
        if c != best and not score[c] < score[best] - slack:
            return -1
    return best


cdef inline bint comes_before(
    const Head* one, Py_ssize_t t, const Head* other, Py_ssize_t u
) noexcept nogil:
    if one.distance != other.distance:
        return one.distance < other.distance
    return one.k < other.k or (one.k == other.k and t < u)


cdef Py_ssize_t first_hopeful(
    Draws draws, const double[:, ::1] weight, const double* start, double slack, Py_ssize_t r,
    const uint8_t* wanted, Py_ssize_t n_outside, Head* heads, Line* lines, Rough* rough,
    double* scores,
) noexcept nogil:
    """Return the draw with the nearest hopeful candidate of a row, its head there; -1 for none."""
    cdef Py_ssize_t T = draws.n_draws, C = weight.shape[0]
    cdef Py_ssize_t t, c, k, top = 0, rival, best = -1, at
    cdef Head* head
    cdef bint known = know_roughly(draws, r, rough)
    for c in range(1, C):
        if start[c] > start[top]:
            top = c
    for t in range(T):
        lines[t].nearest, lines[t].made = INFINITY if known else 0.0, False
    for c in range(C):
        if known and wanted[c]:
            rival = top if c != top else (1 if top == 0 else 0)
            for k in range(rough.n):
                rough.by[k] = weight[c, draws.order[k]] - weight[rival, draws.order[k]]
            for t in range(T):
                lines[t].nearest = min(
                    lines[t].nearest,
                    first_maybe(draws, rough, draws.stream(r, t), start[c] - start[rival], slack),
                )
    while True:
        at = -1
        for t in range(T):
            if not lines[t].made and lines[t].nearest < INFINITY and (
                at < 0 or lines[t].nearest < lines[at].nearest
            ):
                at = t
        if at < 0 or (best >= 0 and lines[at].nearest > heads[best].distance):
            return best
        lines[at].made, head = True, heads + at
        start_draw(draws, weight, start, r, at, n_outside, head, scores + at * C)
        while (
            head.distance < INFINITY
            and (best < 0 or head.distance <= heads[best].distance)
            and (head.n_outside or not is_hopeful(scores + at * C, C, wanted, slack))
        ):
            go_on_linear(draws, weight, r, head, scores + at * C)
        if head.distance < INFINITY and (
            best < 0 or comes_before(head, at, heads + best, best)
        ):
            best = at


cdef inline void start_draw(
    Draws draws, const double[:, ::1] weight, const double* start, Py_ssize_t r, Py_ssize_t t,
    Py_ssize_t n_outside, Head* head, double* score,
) noexcept nogil:
    head.distance, head.k, head.n_changed = 0.0, -1, 0
    head.state, head.n_outside = draws.stream(r, t), n_outside
    memcpy(score, start, weight.shape[0] * sizeof(double))
    go_on_linear(draws, weight, r, head, score)


def next_hopeful(
    Draws draws,
    const double[:, ::1] weight,
    const double[:, ::1] start,
    double slack,
    const uint8_t[:, ::1] wanted,
    double[::1] distance,
    Py_ssize_t[::1] draw,
    Py_ssize_t[::1] round_,
    Py_ssize_t[::1] said,
):
    """Write for every row the nearest candidate that a linear f may put into a wanted class.

    ``start`` holds the scores of the rows themselves. Only candidates behind (distance, round,
    draw), as they stand in the arrays, are looked at; the draw -1 says that none is left.
    ``said`` gets what f says of it, -1 where that is for f to say.
    """
    cdef Py_ssize_t T = draws.n_draws, C = weight.shape[0], K = draws.n_changing, r, t, best
    cdef Head* heads = <Head*>malloc(T * sizeof(Head))
    cdef Line* lines = <Line*>malloc(T * sizeof(Line))
    cdef double* room = <double*>malloc((ROUGH_ARRAYS * K + 1) * sizeof(double))
    cdef Rough rough
    cdef double* scores = <double*>malloc(T * C * sizeof(double))
    cdef Head* head
    cdef Py_ssize_t n_outside, m
    cdef bint behind
    try:
        if not (heads and lines and room and scores):
            raise MemoryError
        lay_out(&rough, room, K)
        with nogil:
            for r in range(draws.n_rows):
                draws.begin()
                n_outside = 0
                if draws.bounded:
                    for m in range(draws.x.shape[1]):
                        n_outside += draws.outside(m, draws.x[r, m])
                if distance[r] < 0:
                    best = first_hopeful(
                        draws, weight, &start[r, 0], slack, r, &wanted[r, 0], n_outside, heads,
                        lines, &rough, scores,
                    )
                else:
                    for t in range(T):
                        start_draw(
                            draws, weight, &start[r, 0], r, t, n_outside, heads + t, scores + t * C
                        )
                    while True:
                        best = nearest_head(heads, T)
                        if best < 0:
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
                            break
                        go_on_linear(draws, weight, r, head, scores + best * C)
                if best < 0:
                    draw[r] = -1
                    continue
                distance[r], round_[r] = heads[best].distance, heads[best].k + 1
                draw[r], said[r] = draws.first_draw + best, certain(scores + best * C, C, slack)
    finally:
        free(heads)
        free(lines)
        free(room)
        free(scores)


def rebuild(
    Draws draws,
    const int32_t[::1] draw,
    const int32_t[::1] round_,
    const uint8_t[:, ::1] taken,
    double[:, ::1] rows,
):
    """Write the candidates (round, draw) into ``rows``, but for changes that were taken back."""
    cdef Py_ssize_t r, k, m
    cdef uint64_t state
    with nogil:
        for r in range(draws.n_rows):
            draws.begin()
            state = draws.stream(r, draw[r] - draws.first_draw)
            for k in range(round_[r]):
                m = draws.order[k]
                if not taken[r, m >> 3] >> (7 - (m & 7)) & 1:
                    rows[r, m] = draws.value(r, k, state)
