# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Statistics, compiled: what the two passes tell about the cells of a column, in one loop each.

Every number is that of ``statistics`` and ``reductions``, to the last bit. A sum counts units of
2**-107 in integers of 128 bits, so it does not depend on the order of the cells.
"""

from libc.math cimport fabs, isnan, rint
from libc.stdint cimport int64_t, uint64_t

DEF N_BUCKETS = 8192  # as in ``statistics``
DEF FEW = 8

cdef extern from *:
    """
    typedef unsigned __int128 units_t;
    static inline void add_units(units_t *total, double value)
    {
        /* A value of [0, 1]: the multiple of 2**-53 below it, and the rest in units. */
        double scaled = value * 0x1p53, rest;
        int64_t coarse = (int64_t)scaled, fine;
        rest = (scaled - (double)coarse) * 0x1p54;
        fine = (int64_t)rest;
        if ((double)fine != rest) fine = (int64_t)rint(rest);  /* smaller than a unit */
        *total += ((units_t)coarse << 54) + (units_t)fine;
    }
    static inline uint64_t upper_half(units_t total) { return (uint64_t)(total >> 64); }
    static inline uint64_t lower_half(units_t total) { return (uint64_t)total; }
    """
    ctypedef unsigned long long units_t  # wider than Cython knows
    void add_units(units_t* total, double value) nogil
    uint64_t upper_half(units_t total) nogil
    uint64_t lower_half(units_t total) nogil


def first_pass(
    const double[:] cells,
    const int64_t[::1] y,
    double lower,
    double width,
    const double[::1] cuts,
    const int64_t[::1] start,
    double low,
    double high,
    int64_t[:, ::1] bins,
    double[::1] inside,
):
    """Count the cells of a column between the cuts and copy those within [low, high].

    ``cuts`` end with infinity; ``start`` tells for each bucket of ``u`` which cut comes first.
    ``inside`` has room for one cell more than there are.
    Returned are the sum of ``u`` and how many cells are known, below ``low``, and copied.
    """
    cdef Py_ssize_t i, bucket, place, middle, last, n = 0, below = 0, n_inside = 0
    cdef double cell, u
    cdef units_t total
    with nogil:
        total = 0
        for i in range(cells.shape[0]):
            cell = cells[i]
            if isnan(cell):
                continue
            n += 1
            u = (cell - lower) / width if width != 0 else 0.0
            add_units(&total, u)
            bucket = <Py_ssize_t>(u * N_BUCKETS)
            place, last = start[bucket], start[bucket + 1]
            while last - place > FEW:  # halve a crowded bucket
                middle = (place + last) // 2
                if cuts[middle] < cell:
                    place = middle + 1
                else:
                    last = middle
            place += cuts[place] < cell  # most buckets hold one cut at most: no branch to guess
            while cuts[place] < cell:
                place += 1
            bins[y[i], 2 * place + (cuts[place] == cell)] += 1
            below += cell < low
            inside[n_inside] = cell
            n_inside += (cell >= low) & (cell <= high)
    return (int(upper_half(total)) << 64) + int(lower_half(total)), n, below, n_inside


def second_pass(
    const double[:] cells,
    double lower,
    double width,
    double mean,
    double median,
    double low,
    double high,
    double[::1] inside,
):
    """Add up squares and distances from the median, and copy the distances within [low, high].

    Returned are both sums and how many cells are known, nearer than ``low``, and copied.
    """
    cdef Py_ssize_t i, n = 0, below = 0, n_inside = 0
    cdef double cell, u, away
    cdef units_t squares, distances
    with nogil:
        squares = distances = 0
        for i in range(cells.shape[0]):
            cell = cells[i]
            if isnan(cell):
                continue
            n += 1
            u = (cell - lower) / width - mean
            add_units(&squares, u * u)
            away = fabs(cell - median)
            add_units(&distances, away / width)
            below += away < low
            inside[n_inside] = away
            n_inside += (away >= low) & (away <= high)
    return (
        (int(upper_half(squares)) << 64) + int(lower_half(squares)),
        (int(upper_half(distances)) << 64) + int(lower_half(distances)),
        n,
        below,
        n_inside,
    )
