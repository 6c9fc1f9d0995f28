# The search with a linear f; a part of search_kernel.
#
#     rough     between what bounds a draw puts a cell, by a look into two tables: a tenth of the
#               time of a draw. So a draw is made only where its bounds let f say a wanted class,
#               the draw with the nearest such candidate first; what is found is what all draws
#               would find, to the last bit

# Bins of probabilities, and how far the rough distribution function may be off (by linear
# interpolation between STEPS points a deviation: less than max|phi'| / (8 STEPS**2)).
DEF BINS = 1024
DEF STEPS = 64
DEF REACH = 8
cdef double OFF = 1e-5
# More than rounding can add to a sum of distances.
cdef double ROUNDING = 1e-12
# Adding and subtracting it rounds to a whole number what is smaller than a third of it.
cdef double WHOLE = 1.5 * 2.0**52
cdef double[2][BINS + 1] Z  # the least and the largest that ndtri may be in each bin
cdef double[2 * REACH * STEPS + 2] PHI


def _fill_tables():
    cdef Py_ssize_t i
    for i in range(BINS + 1):
        Z[0][i] = ndtri(max(0.0, <double>i / BINS - OFF))
        Z[1][i] = ndtri(min(1.0, <double>(i + 1) / BINS + OFF))
    for i in range(2 * REACH * STEPS + 2):
        PHI[i] = ndtr(<double>i / STEPS - REACH)


_fill_tables()


cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline double smaller(double a, double b) noexcept nogil:
    return a if a < b else b


cdef inline double rough_phi(double z) noexcept nogil:
    cdef double place = smaller(larger((z + REACH) * STEPS, 0.0), 2.0 * REACH * STEPS)
    cdef Py_ssize_t i = <Py_ssize_t>place
    return PHI[i] + (place - i) * (PHI[i + 1] - PHI[i])


cdef struct Rough:
    # Of one cell of a factual.
    double below, width  # see ``Mass``, roughly, in bins
    double cell, low, high
    double deviation, resolution
    double slip  # more than rounding can move a value
    uint64_t counter
    bint exact  # whether the cell has no bounds but its value


cdef struct Line:
    # What is known of a draw without making it.
    double nearest  # no candidate that may be hopeful is nearer; infinite where there is none
    bint made


cdef inline void look_at(Draws draws, Py_ssize_t r, Py_ssize_t k, Rough* rough) noexcept nogil:
    cdef double cell = draws.cell(r, k), low = draws.low_of(r, k), high = draws.high_of(r, k)
    cdef double deviation = draws.deviation[k]
    rough.exact = (
        draws.kind[k] == NOMINAL or isnan(draws.x[r, draws.order[k]])
        or not low <= cell or not cell <= high
    )
    if rough.exact:  # a category, a missing cell, or one that a rule forbids
        return
    rough.cell, rough.low, rough.high = cell, low, high
    rough.deviation, rough.resolution = deviation, draws.resolution[k]
    rough.slip = (fabs(low) + fabs(high)) * (1e-6 if draws.kind[k] == NARROW else 1e-13)
    rough.below = BINS * rough_phi((low - cell) / deviation)
    rough.width = BINS * rough_phi((high - cell) / deviation) - rough.below
    rough.counter = <uint64_t>draws.order[k]


cdef inline double bound(const Rough* rough, uint64_t state, bint most) noexcept nogil:
    """How far a draw moves a cell at the least, or at the most.

    All that makes a value of a draw rises with it: the quantile, the grid and the limits.
    """
    cdef double slip = rough.slip if most else -rough.slip
    cdef Py_ssize_t i = <Py_ssize_t>(rough.below + uniform(state, rough.counter) * rough.width)
    cdef double value = rough.cell + Z[most][i] * rough.deviation + slip
    if rough.resolution > 0:
        value = smaller(larger(value, rough.low - 1), rough.high + 1) * rough.resolution
        if fabs(value) < WHOLE / 4:
            value = (value + WHOLE) - WHOLE
        value /= rough.resolution
    return smaller(larger(value, rough.low), rough.high) - rough.cell + slip


cdef double first_maybe(
    Draws draws, const double* weight, const double* rival, double ahead, double slack,
    Py_ssize_t r, uint64_t state, Rough* roughs, Py_ssize_t* n_looked_at,
) noexcept nogil:
    """How near the first candidate of a draw is at least that may be ahead of a rival class."""
    cdef Py_ssize_t k, m, crossed = -1
    cdef double by, far = 0.0
    cdef Rough* rough
    for k in range(draws.n_changing):
        if k == n_looked_at[0]:
            look_at(draws, r, k, roughs + k)
            n_looked_at[0] += 1
        rough, m = roughs + k, draws.order[k]
        by = weight[m] - rival[m]
        if rough.exact:
            ahead += by * (draws.value(r, k, state) - draws.x[r, m])
        else:
            ahead += by * bound(rough, state, by > 0)
        if not ahead < -2 * slack:  # also where a missing cell makes it nan
            crossed = k
            break
    if crossed < 0:
        return INFINITY
    for k in range(crossed + 1):
        rough = roughs + k
        if not rough.exact:
            by = larger(bound(rough, state, False), -bound(rough, state, True))
            far += larger(0.0, by) / draws.scale[k]
    far *= 1 - ROUNDING
    return INFINITY if far > draws.epsilon else far


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
    const uint8_t* wanted, Py_ssize_t n_outside, Head* heads, Line* lines, Rough* roughs,
    double* scores,
) noexcept nogil:
    """Return the draw with the nearest hopeful candidate of a row, its head there; -1 for none."""
    cdef Py_ssize_t T = draws.n_draws, C = weight.shape[0]
    cdef Py_ssize_t t, c, top = 0, rival, best = -1, at, n_looked_at = 0
    cdef Head* head
    for c in range(1, C):
        if start[c] > start[top]:
            top = c
    for t in range(T):
        lines[t].nearest, lines[t].made = INFINITY, False
        for c in range(C):
            if wanted[c]:
                rival = top if c != top else (1 if top == 0 else 0)
                lines[t].nearest = smaller(
                    lines[t].nearest,
                    first_maybe(
                        draws, &weight[c, 0], &weight[rival, 0], start[c] - start[rival], slack,
                        r, draws.stream(r, t), roughs, &n_looked_at,
                    ),
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
    cdef Rough* roughs = <Rough*>malloc((K + 1) * sizeof(Rough))
    cdef double* scores = <double*>malloc(T * C * sizeof(double))
    cdef Head* head
    cdef Py_ssize_t n_outside, m
    cdef bint behind
    try:
        if not (heads and lines and roughs and scores):
            raise MemoryError
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
                        lines, roughs, scores,
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
        free(roughs)
        free(scores)


def take_back_linear(
    Draws draws,
    const double[:, ::1] weight,
    const double[:, ::1] start,
    double slack,
    const int32_t[::1] target,
    const int32_t[::1] draw,
    const int32_t[::1] round_,
    uint8_t[:, ::1] taken,
    double[::1] distance,
    uint8_t[::1] unsure,
):
    """Take back what f does not need of the inversions of some rows, as ``minimal`` does.

    ``taken`` gets for each feature whether its change was taken back, ``distance`` what is left.
    Where rounding may decide, a row is ``unsure``, and its other figures mean nothing.
    """
    cdef Py_ssize_t C = weight.shape[0], K = draws.n_changing, r, k, c, i, m, n, left, said
    cdef double v
    cdef double* step = <double*>malloc((K + 1) * sizeof(double))
    cdef double* share = <double*>malloc((K + 1) * sizeof(double))
    cdef double* scores = <double*>malloc(2 * C * sizeof(double))
    cdef Py_ssize_t* queue = <Py_ssize_t*>malloc((K + 1) * sizeof(Py_ssize_t))
    cdef double* tried
    cdef double* score
    cdef uint64_t state
    cdef bint refused, again
    try:
        if not (step and share and scores and queue):
            raise MemoryError
        with nogil:
            for r in range(draws.n_rows):
                draws.begin()
                score, tried = scores, scores + C
                memcpy(score, &start[r, 0], C * sizeof(double))
                state, n, unsure[r] = draws.stream(r, draw[r] - draws.first_draw), 0, False
                for k in range(round_[r]):
                    m = draws.order[k]
                    v = draws.value(r, k, state)
                    step[k], share[k] = v - draws.x[r, m], draws.distance_share(r, k, v)
                    unsure[r] |= isnan(step[k])
                    for c in range(C):
                        score[c] += step[k] * weight[c, m]
                    # The farthest first; of equal ones the last of the order.
                    if step[k] != 0:
                        i = n
                        while i > 0 and share[queue[i - 1]] <= share[k]:
                            queue[i] = queue[i - 1]
                            i -= 1
                        queue[i] = k
                        n += 1
                again = not unsure[r]
                while again:
                    again = refused = False
                    left = 0
                    for i in range(n):
                        k = queue[i]
                        m = draws.order[k]
                        for c in range(C):
                            tried[c] = score[c] - step[k] * weight[c, m]
                        said = certain(tried, C, slack)
                        if said < 0:
                            unsure[r] = True
                            break
                        if said == target[r]:
                            score, tried = tried, score
                            taken[r, m], share[k] = True, 0.0
                            again |= refused
                        else:
                            queue[left] = k
                            left += 1
                            refused = True
                    again &= not unsure[r]
                    n = left
                distance[r] = 0.0
                for k in range(round_[r]):
                    distance[r] += share[k]
    finally:
        free(step)
        free(share)
        free(scores)
        free(queue)


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
