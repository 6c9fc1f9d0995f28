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
DEF ROUGH_ARRAYS = 11
cdef double OFF = 1e-5
# Points of a grid that rounding by a large number serves.
cdef double MOST_ON_GRID = 2.0**50
# More than rounding can add to a sum of distances.
cdef double ROUNDING = 1e-12

# In C, to be compiled once for each width of the processor's registers: loops over the features
# of a draw. What it gives are bounds, so its last bits do not matter.
cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
    #define ANY_WIDTH __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
    #define SIDE_BY_SIDE _Pragma("GCC ivdep")
    #else
    #define ANY_WIDTH
    #define SIDE_BY_SIDE
    #endif
    #define BINS 1024
    #define STEPS 64
    #define REACH 8
    static double Z[2 * (BINS + 1)];  /* the least, then the largest that ndtri may be in a bin */
    static double PHI[2 * REACH * STEPS + 2];

    /* What is roughly known of the cells of a factual, in the order of the search. */
    typedef struct {
        Py_ssize_t n;
        double *cell, *low, *high, *deviation, *resolution;
        double *slip;  /* more than rounding can move a value */
        double *below, *width;  /* see Mass, in bins */
        double *by;  /* by how much a class gains on its rival where a feature grows */
        double *gain;  /* at most, at the features of a draw */
        uint64_t *counter;
    } Rough;

    static inline double rough_phi(double z)
    {
        double place = (z + REACH) * STEPS;
        long long i;
        place = place > 0 ? place : 0;
        place = place < 2 * REACH * STEPS ? place : 2 * REACH * STEPS;
        i = (long long)place;
        return PHI[i] + (place - i) * (PHI[i + 1] - PHI[i]);
    }

    ANY_WIDTH static void look_at(const Rough *rough)
    {
        const double *cell = rough->cell, *low = rough->low, *high = rough->high;
        const double *deviation = rough->deviation;
        double *below = rough->below, *width = rough->width;
        SIDE_BY_SIDE
        for (Py_ssize_t k = 0; k < rough->n; k++) {
            double start = BINS * rough_phi((low[k] - cell[k]) / deviation[k]);
            below[k] = start;
            width[k] = BINS * rough_phi((high[k] - cell[k]) / deviation[k]) - start;
        }
    }

    /* How far a draw moves a cell at the most (or the least): all that makes a value of a draw
       rises with it, the quantile, the grid and the limits. */
    static inline double bound(const Rough *rough, uint64_t state, Py_ssize_t k, int most)
    {
        double slip = most ? rough->slip[k] : -rough->slip[k], u, value, whole;
        double cell = rough->cell[k], low = rough->low[k], high = rough->high[k];
        double resolution = rough->resolution[k];
        long long i;
        state += rough->counter[k];
        state ^= state >> 30;
        state *= 0xBF58476D1CE4E5B9ULL;
        state ^= state >> 27;
        state *= 0x94D049BB133111EBULL;
        state ^= state >> 31;
        state = (state >> 12) | 0x3FF0000000000000ULL;
        memcpy(&u, &state, 8);
        i = (long long)(rough->below[k] + (u - 1) * rough->width[k]);
        value = cell + Z[i + (most ? BINS + 1 : 0)] * rough->deviation[k] + slip;
        value = value > low - 1 ? value : low - 1;
        value = value < high + 1 ? value : high + 1;
        /* Adding and subtracting a number this large rounds to a whole one. */
        whole = (value * resolution + 0x1.8p52) - 0x1.8p52;
        value = resolution > 0 ? whole / resolution : value;
        value = value > low ? value : low;
        value = value < high ? value : high;
        return value - cell + slip;
    }

    ANY_WIDTH static void look_ahead(const Rough *rough, uint64_t state)
    {
        const double *by = rough->by;
        double *gain = rough->gain;
        Py_ssize_t n = rough->n;
        SIDE_BY_SIDE
        for (Py_ssize_t k = 0; k < n; k++) gain[k] = by[k] * bound(rough, state, k, by[k] > 0);
    }
    """
    double[1] Z, PHI
    ctypedef struct Rough:
        Py_ssize_t n
        double* cell
        double* low
        double* high
        double* deviation
        double* resolution
        double* slip
        double* below
        double* width
        double* by
        double* gain
        uint64_t* counter
    void look_at(const Rough*) nogil
    double bound(const Rough*, uint64_t state, Py_ssize_t k, bint most) nogil
    void look_ahead(const Rough*, uint64_t state) nogil


def _fill_tables():
    cdef Py_ssize_t i
    for i in range(BINS + 1):
        Z[i] = ndtri(max(0.0, <double>i / BINS - OFF))
        Z[BINS + 1 + i] = ndtri(min(1.0, <double>(i + 1) / BINS + OFF))
    for i in range(2 * REACH * STEPS + 2):
        PHI[i] = ndtr(<double>i / STEPS - REACH)


_fill_tables()


cdef struct Line:
    # What is known of a draw without making it.
    double nearest  # no candidate that may be hopeful is nearer; infinite where there is none
    bint made


cdef void lay_out(Rough* rough, double* room, Py_ssize_t n) noexcept nogil:
    """Give the arrays their places; there is room for ROUGH_ARRAYS of them."""
    rough.n = n
    rough.cell, rough.low, rough.high, rough.deviation = room, room + n, room + 2 * n, room + 3 * n
    rough.resolution, rough.slip, rough.below = room + 4 * n, room + 5 * n, room + 6 * n
    rough.width, rough.by, rough.gain = room + 7 * n, room + 8 * n, room + 9 * n
    rough.counter = <uint64_t*>(room + 10 * n)


cdef bint know_roughly(Draws draws, Py_ssize_t r, Rough* rough) noexcept nogil:
    """Look at the cells of a row; False if one has no bounds: a category, or a missing one."""
    cdef Py_ssize_t k
    cdef double cell, low, high, size
    for k in range(draws.n_changing):
        cell, low, high = draws.x[r, draws.order[k]], draws.low_of(r, k), draws.high_of(r, k)
        size = fabs(low) + fabs(high)
        if (
            draws.kind[k] == NOMINAL or not low <= cell or not cell <= high
            or not size * draws.resolution[k] < MOST_ON_GRID
        ):
            return False
        rough.cell[k], rough.low[k], rough.high[k] = cell, low, high
        rough.deviation[k], rough.resolution[k] = draws.deviation[k], draws.resolution[k]
        rough.slip[k] = size * (1e-6 if draws.kind[k] == NARROW else 1e-13)
        rough.counter[k] = <uint64_t>(draws.order[k] + 1) * GOLDEN
    look_at(rough)
    return True


cdef double first_maybe(
    Draws draws, const Rough* rough, uint64_t state, double ahead, double slack
) noexcept nogil:
    """How near the first candidate of a draw is at least that may be ahead of a rival class."""
    cdef Py_ssize_t k, crossed
    cdef double step, far = 0.0
    look_ahead(rough, state)
    for crossed in range(rough.n):
        ahead += rough.gain[crossed]
        if not ahead < -2 * slack:
            break
    else:
        return INFINITY
    for k in range(crossed + 1):
        step = max(bound(rough, state, k, False), -bound(rough, state, k, True))
        far += max(0.0, step) / draws.scale[k]
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
