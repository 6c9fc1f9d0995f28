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

# More than rounding can move a value, as a share of the largest number that it is made from.
cdef double SLIP = 1e-12
cdef double HUGE = 1e300
# The first block that is looked at.
DEF FIRST_BLOCK = 8

cdef extern from *:
    """
    /* Rough quantiles: linear between so many points, but not at the ends, where none would do. */
    #define POINTS 256
    typedef struct {
        double z, step;  /* at a point, and to the next one */
        double off;  /* how far a quantile between the two may be from the line */
    } Quantile;
    static Quantile QUANTILES[POINTS + 1];

    /* A cell that may be drawn roughly, and where its values lead to. */
    typedef struct {
        int rough;  /* whether it can be */
        double below, width, start, deviation, low, high, resolution, slip;
        uint64_t counter;
        Cuts cuts;
        const uint64_t *words;  /* of the lowest bin */
    } Cell;

    /* Write what the cells of a draw lead to, NULL where a rough draw does not tell: all that makes
       a value of a quantile rises with it, so the bin lies between those of its bounds. */
    ANY_WIDTH static void draw_roughly(
        const Cell *cells, Py_ssize_t n, Py_ssize_t width, uint64_t state, const uint64_t **drawn)
    {
        for (Py_ssize_t k = 0; k < n; k++) {
            const Cell *cell = cells + k;
            uint64_t word = state + cell->counter;
            double place, off, least, most;
            const Quantile *near;
            int32_t bin;
            drawn[k] = NULL;
            if (!cell->rough) continue;
            word ^= word >> 30;
            word *= 0xBF58476D1CE4E5B9ULL;
            word ^= word >> 27;
            word *= 0x94D049BB133111EBULL;
            word ^= word >> 31;
            word = (word >> 12) | 0x3FF0000000000000ULL;
            memcpy(&place, &word, 8);
            place = ((place - 1) * cell->width + cell->below) * POINTS;
            near = QUANTILES + (int32_t)place;
            off = near->off * cell->deviation + cell->slip;
            place = near->z + (place - (int32_t)place) * near->step;
            place = place * cell->deviation + cell->start;
            least = place - off;
            most = place + off;
            if (cell->resolution > 0) {
                least = rint(least * cell->resolution) / cell->resolution;
                most = rint(most * cell->resolution) / cell->resolution;
            }
            least = least > cell->low ? least : cell->low;
            least = least < cell->high ? least : cell->high;
            most = most > cell->low ? most : cell->low;
            most = most < cell->high ? most : cell->high;
            bin = cuts_below(&cell->cuts, (float)least);
            if ((float)most <= cell->cuts.cuts[bin]) drawn[k] = cell->words + bin * width;
        }
    }

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
    enum: POINTS
    ctypedef struct Quantile:
        double z, step, off
    Quantile[1] QUANTILES
    ctypedef struct Cell:
        bint rough
        double below, width, start, deviation, low, high, resolution, slip
        uint64_t counter
        Cuts cuts
        const uint64_t* words
    void draw_roughly(
        const Cell*, Py_ssize_t n, Py_ssize_t width, uint64_t state, const uint64_t** drawn
    ) nogil
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


def _fill_quantiles():
    """Write the rough quantiles: z'' = z / phi(z)**2 bounds what a line misses."""
    cdef Py_ssize_t i
    cdef double left, right, far, bend
    for i in range(POINTS + 1):
        QUANTILES[i].z, QUANTILES[i].step, QUANTILES[i].off = 0.0, 0.0, INFINITY
        if 0 < i < POINTS - 1:
            left, right = ndtri(<double>i / POINTS), ndtri(<double>(i + 1) / POINTS)
            far = max(fabs(left), fabs(right))
            bend = far * 2 * np.pi * np.exp(far * far)
            QUANTILES[i].z, QUANTILES[i].step = left, right - left
            QUANTILES[i].off = bend / (8.0 * POINTS * POINTS) + SLIP * (1 + far)


_fill_quantiles()


cdef struct Hopes:
    # Room for the search of one row.
    Paths paths
    Cell* cells  # (K,)
    Py_ssize_t* asked  # (n,): the features of the order that any tree looks at
    Py_ssize_t* hits  # (T,): the first round of each draw that inverts, -1 for none


cdef int make_hopes(Hopes* hopes, Draws draws, Forest forest) except -1:
    cdef Py_ssize_t K = draws.n_changing, k, n = 0
    hopes.paths.width = forest.width
    hopes.paths.ahead = &forest.ahead[0]
    hopes.paths.home = <const uint64_t**>malloc((K + 1) * sizeof(void*))
    hopes.paths.drawn = <const uint64_t**>malloc((K + 1) * sizeof(void*))
    hopes.paths.same = <uint64_t*>malloc((K + 1) * forest.width * sizeof(uint64_t))
    hopes.paths.prefix = <uint64_t*>malloc(2 * forest.width * sizeof(uint64_t))
    hopes.paths.set = hopes.paths.prefix + forest.width
    hopes.cells = <Cell*>malloc((K + 1) * sizeof(Cell))
    hopes.asked = <Py_ssize_t*>malloc((K + 1) * sizeof(Py_ssize_t))
    hopes.hits = <Py_ssize_t*>malloc((draws.n_draws + 1) * sizeof(Py_ssize_t))
    if not (
        hopes.paths.home and hopes.paths.drawn and hopes.paths.same and hopes.paths.prefix
        and hopes.cells and hopes.asked and hopes.hits
    ):
        clear_hopes(hopes)
        raise MemoryError
    for k in range(K):
        if forest.asks(draws.order[k]):
            hopes.asked[n] = k
            hopes.cells[n].counter = <uint64_t>(draws.order[k] + 1) * GOLDEN
            hopes.cells[n].words = forest.word(draws.order[k], 0)
            forest.look_up(draws.order[k], &hopes.cells[n].cuts)
            n += 1
    hopes.paths.n = n
    return 0


cdef void clear_hopes(Hopes* hopes) noexcept:
    free(hopes.paths.home)
    free(hopes.paths.drawn)
    free(hopes.paths.same)
    free(hopes.paths.prefix)
    free(hopes.cells)
    free(hopes.asked)
    free(hopes.hits)


cdef inline bint can_bound(Draws draws, Forest forest) noexcept:
    """Whether bounds serve: two classes, and no rule but that of the limits of a cell."""
    return (
        forest.has_sets and forest.n_classes == 2 and not draws.bounded and draws.most_changed < 0
    )


cdef inline void know_cell(Draws draws, Py_ssize_t r, Py_ssize_t k, Cell* cell) noexcept nogil:
    """Look at a cell; one without a number, or at the edge of all numbers, is not drawn roughly."""
    cdef double low = draws.low_of(r, k), high = draws.high_of(r, k)
    cell.rough = False
    if draws.kind[k] == NOMINAL:
        return
    cell.start, cell.deviation = draws.cell(r, k), draws.deviation[k]
    if not (low <= high and 0 < cell.deviation < HUGE and fabs(cell.start) < HUGE):
        return
    if not draws.weighed[k]:
        draws.weigh(k, cell.start, low, high)
    cell.below, cell.width = draws.below[k], draws.width[k]
    cell.low, cell.high, cell.resolution = low, high, draws.resolution[k]
    cell.slip = SLIP * (fabs(cell.start) + cell.deviation)
    cell.rough = cell.width > 0 and not draws.mirrored[k]


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
    cdef Py_ssize_t width = paths.width, n = paths.n, judged = 0, target = -1, c, m, k, i, t
    cdef uint64_t state
    for c in range(n_labels):
        if wanted[c]:
            if target >= 0:
                return -1
            target = c
    if target < 0:
        return 0
    c = 1 if forest.code[1] == target else 0
    if forest.code[c] != target or n == 0:
        return -1
    memset(paths.same + n * width, 0xFF, width * sizeof(uint64_t))
    for m in range(draws.x.shape[1]):
        if forest.asks(m):
            home[m] = forest.bin(m, draws.x[r, m])
            if not draws.changes[m]:
                narrow(
                    paths.same + n * width, paths.same + n * width, forest.word(m, home[m]), width
                )
    for i in range(n - 1, -1, -1):
        m = draws.order[hopes.asked[i]]
        paths.home[i] = forest.word(m, home[m])
        narrow(paths.same + i * width, paths.same + (i + 1) * width, paths.home[i], width)
        know_cell(draws, r, hopes.asked[i], hopes.cells + i)
    memset(paths.prefix, 0xFF, width * sizeof(uint64_t))
    if forest.answer_to(paths.prefix, paths.same, leaves, votes) == target:
        return -1
    for t in range(draws.n_draws):
        state = draws.stream(r, t)
        draw_roughly(hopes.cells, n, width, state, paths.drawn)
        for i in range(n):
            if paths.drawn[i] == NULL:
                k = hopes.asked[i]
                m = draws.order[k]
                paths.drawn[i] = forest.word(m, forest.bin(m, draws.value(r, k, state)))
        i = first_inversion(forest, hopes, c, leaves, votes, &judged)
        hopes.hits[t] = -1 if i < 0 else hopes.asked[i]
    return judged if nearest_hit(draws, r, target, hopes, distance, draw, round) else -1


cdef bint nearest_hit(
    Draws draws, Py_ssize_t r, Py_ssize_t target, const Hopes* hopes,
    double* distance, Py_ssize_t* draw, Py_ssize_t* round,
) noexcept nogil:
    """Draw up to the hits of a row and note the nearest; of equal ones the earliest round.

    False if a cell moved by so little that its share of the distance is none.
    """
    cdef Py_ssize_t t, k, best = -1
    cdef double far, share, least = INFINITY
    cdef uint64_t state
    for t in range(draws.n_draws):
        if hopes.hits[t] < 0:
            continue
        state, far, share = draws.stream(r, t), 0.0, 0.0
        for k in range(hopes.hits[t] + 1):
            share = draws.distance_share(r, k, draws.value(r, k, state))
            far += share
            if far > least:
                break
        else:
            if not share > 0:
                return False
            if far < draws.epsilon and (
                far < least or (far == least < INFINITY and hopes.hits[t] < hopes.hits[best])
            ):
                least, best = far, t
    if best >= 0:
        distance[target], draw[target] = least, draws.first_draw + best
        round[target] = hopes.hits[best] + 1
    return True
