# The cells of a factual, drawn roughly; a part of the kernel.
#
#     rough    between what bounds a draw puts a cell, by a line between two quantiles: that is nearly
#              always enough to know its bin, and how much it adds to the distance at least

# More than rounding can move a value, as a share of the largest number that it is made from.
cdef double SLIP = 1e-12
cdef double NARROW_SLIP = 1e-6  # of a float32
cdef double HUGE = 1e300
DEF CELL_ARRAYS = 13

cdef extern from *:
    """
    /* Rough quantiles: linear between so many points, but not at the ends, where none would do. */
    #define POINTS 256
    static double QUANTILE[POINTS + 1], STEP[POINTS + 1];  /* at a point, and to the next one */
    static double QUANTILE_OFF[POINTS + 1];  /* how far one between the two may be from the line */

    /* The cells of a factual that any tree looks at, in the order of the search. */
    typedef struct {
        Py_ssize_t n;
        int on_grid;  /* whether any has a resolution */
        double *below, *width, *start, *deviation, *low, *high, *resolution, *slip;
        double *from, *rate;  /* of the share of the distance; 0 where that is not by the number */
        double *least, *most, *share;  /* of a draw: the bounds, and what they add to the distance */
        uint64_t *counter;
        int *rough;  /* whether a cell is drawn roughly */
        Cuts *cuts;
        const uint64_t **words;  /* leaf sets of the lowest bin */
    } Cells;

    /* All that makes a value of a quantile rises with it: so the value lies between the bounds. */
    ANY_WIDTH static void draw_roughly(const Cells *cells, uint64_t state)
    {
        const double *below = cells->below, *width = cells->width, *start = cells->start;
        const double *deviation = cells->deviation, *low = cells->low, *high = cells->high;
        const double *slip = cells->slip, *from = cells->from, *rate = cells->rate;
        const double *resolution = cells->resolution;
        const uint64_t *counter = cells->counter;
        double *least = cells->least, *most = cells->most, *share = cells->share;
        Py_ssize_t n = cells->n, k;
        SIDE_BY_SIDE
        for (k = 0; k < n; k++) {
            uint64_t word = state + counter[k];
            double place, off;
            int32_t at;
            word ^= word >> 30;
            word *= 0xBF58476D1CE4E5B9ULL;
            word ^= word >> 27;
            word *= 0x94D049BB133111EBULL;
            word ^= word >> 31;
            word = (word >> 12) | 0x3FF0000000000000ULL;
            memcpy(&place, &word, 8);
            place = ((place - 1) * width[k] + below[k]) * POINTS;
            at = (int32_t)place;
            off = QUANTILE_OFF[at] * deviation[k] + slip[k];
            place = (QUANTILE[at] + (place - at) * STEP[at]) * deviation[k] + start[k];
            least[k] = place - off;
            most[k] = place + off;
        }
        if (cells->on_grid)
            for (k = 0; k < n; k++)
                if (resolution[k] > 0) {
                    least[k] = rint(least[k] * resolution[k]) / resolution[k];
                    most[k] = rint(most[k] * resolution[k]) / resolution[k];
                }
        SIDE_BY_SIDE
        for (k = 0; k < n; k++) {
            double lower = least[k], upper = most[k], up, down;
            lower = lower > low[k] ? lower : low[k];
            lower = lower < high[k] ? lower : high[k];
            upper = upper > low[k] ? upper : low[k];
            upper = upper < high[k] ? upper : high[k];
            up = lower - from[k];
            down = from[k] - upper;
            up = up > down ? up : down;
            share[k] = (up > 0 ? up : 0) * rate[k];
            least[k] = lower;
            most[k] = upper;
        }
    }

    /* The leaf sets of a cell of the draw, NULL where its bounds are not in one bin. */
    static inline const uint64_t *leads_to(const Cells *cells, Py_ssize_t k, Py_ssize_t width)
    {
        const Cuts *cuts = cells->cuts + k;
        int32_t bin = cuts_below(cuts, (float)cells->least[k]);
        int known = cells->rough[k] && (float)cells->most[k] <= cuts->cuts[bin];
        return known ? cells->words[k] + bin * width : NULL;
    }
    """
    enum: POINTS
    double[1] QUANTILE, STEP, QUANTILE_OFF
    ctypedef struct Cells:
        Py_ssize_t n
        bint on_grid
        double* below
        double* width
        double* start
        double* deviation
        double* low
        double* high
        double* resolution
        double* slip
        double* origin "from"
        double* rate
        double* least
        double* most
        double* share
        uint64_t* counter
        int* rough
        Cuts* cuts
        const uint64_t** words
    void draw_roughly(const Cells*, uint64_t state) nogil
    const uint64_t* leads_to(const Cells*, Py_ssize_t k, Py_ssize_t width) nogil


def _fill_quantiles():
    """Write the rough quantiles: z'' = z / phi(z)**2 bounds what a line misses."""
    cdef Py_ssize_t i
    cdef double left, right, far, bend
    for i in range(POINTS + 1):
        QUANTILE[i], STEP[i], QUANTILE_OFF[i] = 0.0, 0.0, INFINITY
        if 0 < i < POINTS - 1:
            left, right = ndtri(<double>i / POINTS), ndtri(<double>(i + 1) / POINTS)
            far = max(fabs(left), fabs(right))
            bend = far * 2 * np.pi * np.exp(far * far)
            QUANTILE[i], STEP[i] = left, right - left
            QUANTILE_OFF[i] = bend / (8.0 * POINTS * POINTS) + SLIP * (1 + far)


_fill_quantiles()


cdef bint make_cells(Cells* cells, Py_ssize_t n) noexcept:
    """Make room for n cells; False if there is none."""
    cdef double* room = <double*>malloc((CELL_ARRAYS * n + 1) * sizeof(double))
    cells.n, cells.below = n, room
    cells.counter = <uint64_t*>malloc((n + 1) * sizeof(uint64_t))
    cells.rough = <int*>malloc((n + 1) * sizeof(int))
    cells.cuts = <Cuts*>malloc((n + 1) * sizeof(Cuts))
    cells.words = <const uint64_t**>malloc((n + 1) * sizeof(void*))
    if not (room and cells.counter and cells.rough and cells.cuts and cells.words):
        return False
    cells.width, cells.start, cells.deviation = room + n, room + 2 * n, room + 3 * n
    cells.low, cells.high, cells.resolution = room + 4 * n, room + 5 * n, room + 6 * n
    cells.slip, cells.origin, cells.rate = room + 7 * n, room + 8 * n, room + 9 * n
    cells.least, cells.most, cells.share = room + 10 * n, room + 11 * n, room + 12 * n
    return True


cdef void clear_cells(Cells* cells) noexcept:
    free(cells.below)
    free(cells.counter)
    free(cells.rough)
    free(cells.cuts)
    free(cells.words)


cdef inline bint know_cell(
    Draws draws, Py_ssize_t r, Py_ssize_t k, Cells* cells, Py_ssize_t i
) noexcept nogil:
    """Look at a cell; False if it has no number, or one at the edge of all numbers."""
    cdef double low = draws.low_of(r, k), high = draws.high_of(r, k), cell
    cells.below[i] = cells.width[i] = cells.start[i] = cells.resolution[i] = cells.slip[i] = 0.0
    cells.low[i] = cells.high[i] = cells.origin[i] = cells.rate[i] = 0.0
    cells.deviation[i] = 1.0
    if draws.kind[k] == NOMINAL:
        return False
    cell = draws.cell(r, k)
    if not (low <= high and 0 < draws.deviation[k] < HUGE and fabs(cell) < HUGE):
        return False
    if not draws.weighed[k]:
        draws.weigh(k, cell, low, high)
    if draws.mirrored[k] or not draws.width[k] > 0:
        return False
    cells.below[i], cells.width[i], cells.start[i] = draws.below[k], draws.width[k], cell
    cells.deviation[i], cells.resolution[i] = draws.deviation[k], draws.resolution[k]
    cells.low[i], cells.high[i] = low, high
    cells.on_grid |= draws.resolution[k] > 0
    cells.slip[i] = SLIP * (fabs(cell) + draws.deviation[k])
    if draws.kind[k] == NARROW:
        cells.slip[i] += NARROW_SLIP * (fabs(low) + fabs(high))
    if not isnan(draws.x[r, draws.order[k]]) and 1 / draws.scale[k] < HUGE:
        cells.origin[i] = draws.x[r, draws.order[k]]
        cells.rate[i] = (1 - NARROW_SLIP) / draws.scale[k]
    return True
