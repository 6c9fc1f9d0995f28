# What a draw may make of a row, without making it; a part of the kernel.
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
