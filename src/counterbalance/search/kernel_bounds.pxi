# The search with a forest of small trees and two classes, by bounds; a part of the kernel.
#
#     block    some rounds of a draw, one behind the other: in a candidate of the block each feature
#              before it is as drawn, each behind it at home, and those of the block are either
#     most     how far the wanted class can be ahead in a block, by the best leaf of each tree that
#              any of these rows falls into; the leaves are ranked, so that is the first of a set
#     hopeful  a block that may hold an inversion: it is halved, down to single candidates
#
# Most draws never invert, and a few looks at large blocks tell. For that the bins of a draw are
# enough, and they are nearly always known from a rough quantile; a cell is drawn where they are
# not, and for the distance of what inverts.

# The first block that is looked at.
DEF FIRST_BLOCK = 8

cdef extern from *:
    """
    /* What the features of a draw lead to, in the order of the search: rows of words. */
    typedef struct {
        Py_ssize_t n, width;
        const uint64_t **home, **drawn;
        uint64_t *same;  /* (n + 1, width): all features at home, but for the first ones */
        uint64_t *prefix;  /* (width,): the first features as drawn */
        uint64_t *set;  /* (width,): those that rows of a block fall into */
        const double *ahead;
    } Paths;

    ANY_WIDTH static void narrow(uint64_t *into, const uint64_t *one, const uint64_t *other,
                                 Py_ssize_t width)
    {
        SIDE_BY_SIDE
        for (Py_ssize_t i = 0; i < width; i++) into[i] = one[i] & other[i];
    }

    /* How far the second class is ahead in rounds a to b at the most (or the least). */
    ANY_WIDTH static double most_ahead(const Paths *paths, Py_ssize_t a, Py_ssize_t b, int most)
    {
        Py_ssize_t width = paths->width, i, k;
        const uint64_t *same = paths->same + b * width, *prefix = paths->prefix;
        const double *ahead = paths->ahead;
        uint64_t *set = paths->set;
        double even = 0.0, odd = 0.0;
        SIDE_BY_SIDE
        for (i = 0; i < width; i++) set[i] = prefix[i] & same[i];
        for (k = a + 1; k < b; k++) {
            const uint64_t *home = paths->home[k], *drawn = paths->drawn[k];
            SIDE_BY_SIDE
            for (i = 0; i < width; i++) set[i] &= home[i] | drawn[i];
        }
        if (most)
            for (i = 0; i < width; i += 2) {
                even += ahead[64 * i + lowest_bit(set[i])];
                odd += ahead[64 * i + 64 + lowest_bit(set[i + 1])];
            }
        else
            for (i = 0; i < width; i += 2) {
                even += ahead[64 * i + highest_bit(set[i])];
                odd += ahead[64 * i + 64 + highest_bit(set[i + 1])];
            }
        return even + odd;
    }
    """
    ctypedef struct Paths:
        Py_ssize_t n, width
        const uint64_t** home
        const uint64_t** drawn
        uint64_t* same
        uint64_t* prefix
        uint64_t* set
        const double* ahead
    void narrow(uint64_t*, const uint64_t*, const uint64_t*, Py_ssize_t width) nogil
    double most_ahead(const Paths*, Py_ssize_t a, Py_ssize_t b, bint most) nogil


cdef struct Hopes:
    # Room for the search of one row.
    Paths paths
    Cells cells
    Py_ssize_t* asked  # (n,): the features of the order that any tree looks at


cdef int make_hopes(Hopes* hopes, Draws draws, Forest forest) except -1:
    cdef Py_ssize_t K = draws.n_changing, k, n = 0, width = forest.width
    cdef bint made = False
    hopes.asked = <Py_ssize_t*>malloc((K + 1) * sizeof(Py_ssize_t))
    hopes.paths.home = <const uint64_t**>malloc((K + 1) * sizeof(void*))
    hopes.paths.drawn = <const uint64_t**>malloc((K + 1) * sizeof(void*))
    hopes.paths.same = <uint64_t*>malloc((K + 3) * width * sizeof(uint64_t))
    made = make_cells(&hopes.cells, K)
    if not (hopes.asked and hopes.paths.home and hopes.paths.drawn and hopes.paths.same and made):
        clear_hopes(hopes)
        raise MemoryError
    hopes.paths.prefix = hopes.paths.same + (K + 1) * width
    hopes.paths.set = hopes.paths.same + (K + 2) * width
    hopes.paths.ahead, hopes.paths.width = &forest.ahead[0], width
    for k in range(K):
        if forest.asks(draws.order[k]):
            hopes.asked[n] = k
            hopes.cells.counter[n] = <uint64_t>(draws.order[k] + 1) * GOLDEN
            hopes.cells.words[n] = forest.word(draws.order[k], 0)
            forest.look_up(draws.order[k], hopes.cells.cuts + n)
            n += 1
    hopes.cells.n = n
    return 0


cdef void clear_hopes(Hopes* hopes) noexcept:
    free(hopes.asked)
    free(hopes.paths.home)
    free(hopes.paths.drawn)
    free(hopes.paths.same)
    clear_cells(&hopes.cells)


cdef inline bint can_bound(Draws draws, Forest forest) noexcept:
    """Whether bounds serve: two classes, and no rule but that of the limits of a cell."""
    return (
        forest.has_sets and forest.n_classes == 2 and not draws.bounded and draws.most_changed < 0
    )


cdef Py_ssize_t first_inversion(
    Forest forest, Hopes* hopes, Py_ssize_t wanted, int32_t* leaves, double* votes,
    Py_ssize_t* judged,
) noexcept nogil:
    """Return the first round of a draw, of those that are asked about, that inverts; -1 for none."""
    cdef Paths* paths = &hopes.paths
    cdef Py_ssize_t a = 0, b, done = 0, size = FIRST_BLOCK
    cdef double ahead
    memset(paths.prefix, 0xFF, paths.width * sizeof(uint64_t))
    while a < paths.n:
        while done <= a:
            narrow(paths.prefix, paths.prefix, paths.drawn[done], paths.width)
            done += 1
        b = min(a + size, paths.n)
        ahead = most_ahead(paths, a, b, wanted == 1)
        if wanted == 0:
            ahead = -ahead
        if ahead < -2 * forest.close:
            a, size = b, 2 * size
            continue
        if b - a > 1:
            size = (b - a) // 2
            continue
        judged[0] += 1
        if paths.drawn[a] != paths.home[a] and (
            ahead > 2 * forest.close
            or forest.answer_to(paths.prefix, paths.same + b * paths.width, leaves, votes)
            == forest.code[wanted]
        ):
            return a
        a = b
    return -1


cdef Py_ssize_t search_row_by_bounds(
    Draws draws, Forest forest, Py_ssize_t r, const uint8_t* wanted, Py_ssize_t n_labels,
    Hopes* hopes, int32_t* home, int32_t* leaves, double* votes,
    double* distance, Py_ssize_t* draw, Py_ssize_t* round,
) noexcept nogil:
    """Do what ``search_row`` does; -1 where that must be done in another way.

    A row that f puts into the wanted class itself has no use for bounds, nor one that is wanted
    for more than a class.
    """
    cdef Paths* paths = &hopes.paths
    cdef Py_ssize_t judged = 0, target = -1, best = -1, c, t, hit
    cdef double far, least = INFINITY
    cdef uint64_t state
    for c in range(n_labels):
        if wanted[c]:
            if target >= 0:
                return -1
            target = c
    if target < 0:
        return 0
    c = 1 if forest.code[1] == target else 0
    if forest.code[c] != target or hopes.cells.n == 0:
        return -1
    stay_home(draws, forest, r, hopes, home)
    if forest.answer_to(paths.prefix, paths.same, leaves, votes) == target:
        return -1
    for t in range(draws.n_draws):
        state = draws.stream(r, t)
        lead_away(draws, forest, r, hopes, state, least)
        hit = first_inversion(forest, hopes, c, leaves, votes, &judged)
        if hit < 0:
            continue
        hit = hopes.asked[hit]
        far = distance_of(draws, r, state, hit, least)
        if far < 0:
            return -1
        if far < draws.epsilon and far < INFINITY and (
            far < least or (far == least and hit + 1 < round[target])
        ):
            least, best, round[target] = far, t, hit + 1
    if best >= 0:
        distance[target], draw[target] = least, draws.first_draw + best
    return judged


cdef void stay_home(
    Draws draws, Forest forest, Py_ssize_t r, Hopes* hopes, int32_t* home
) noexcept nogil:
    """Write what the cells of a row lead to, and look at those that may be drawn."""
    cdef Paths* paths = &hopes.paths
    cdef Py_ssize_t width = paths.width, n = hopes.cells.n, m, i
    cdef uint64_t* last = paths.same + n * width
    memset(last, 0xFF, width * sizeof(uint64_t))
    memset(paths.prefix, 0xFF, width * sizeof(uint64_t))
    for m in range(draws.x.shape[1]):
        if forest.asks(m):
            home[m] = forest.bin(m, draws.x[r, m])
            if not draws.changes[m]:
                narrow(last, last, forest.word(m, home[m]), width)
    hopes.cells.on_grid = False
    for i in range(n - 1, -1, -1):
        m = draws.order[hopes.asked[i]]
        paths.home[i] = forest.word(m, home[m])
        narrow(paths.same + i * width, paths.same + (i + 1) * width, paths.home[i], width)
        hopes.cells.rough[i] = know_cell(draws, r, hopes.asked[i], &hopes.cells, i)


cdef inline void lead_away(
    Draws draws, Forest forest, Py_ssize_t r, Hopes* hopes, uint64_t state, double most
) noexcept nogil:
    """Write what the cells of a draw lead to, of all rounds that are not farther than ``most``."""
    cdef Paths* paths = &hopes.paths
    cdef Py_ssize_t i, m
    cdef double far = 0.0
    draw_roughly(&hopes.cells, state)
    paths.n = 0
    for i in range(hopes.cells.n):
        far += hopes.cells.share[i]
        if far > most:
            return
        paths.drawn[i] = leads_to(&hopes.cells, i, paths.width)
        if paths.drawn[i] == NULL:
            m = draws.order[hopes.asked[i]]
            paths.drawn[i] = forest.word(
                m, forest.bin(m, draws.value(r, hopes.asked[i], state))
            )
        paths.n += 1


cdef inline double distance_of(
    Draws draws, Py_ssize_t r, uint64_t state, Py_ssize_t last, double most
) noexcept nogil:
    """Return the distance of a draw up to a feature, infinite where it is farther than ``most``.

    It is -1 if the last cell moved by so little that its share of the distance is none.
    """
    cdef Py_ssize_t k
    cdef double far = 0.0, share = 0.0
    for k in range(last + 1):
        share = draws.distance_share(r, k, draws.value(r, k, state))
        far += share
        if far > most:
            return INFINITY
    return far if share > 0 else -1
