# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Nearest, compiled: the nearest rows of each row, and how far they are.

A distance is summed feature by feature, in SciPy's order, for several rows together.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

# Rows whose distances are added up together: LANES in C.
DEF GROUP = 16
# Rows that a group of sampled rows is compared with while it is in the first cache.
DEF AT_ONCE = 32


cdef double* in_groups(const double[:, ::1] x) noexcept nogil:
    """Lay rows out in groups, feature by feature: (groups, features, GROUP)."""
    cdef Py_ssize_t n = x.shape[0], n_features = x.shape[1], group, m, j, at
    cdef Py_ssize_t n_groups = (n + GROUP - 1) // GROUP
    cdef double* columns = <double*>malloc((n_groups * n_features * GROUP + 1) * sizeof(double))
    if columns != NULL:
        for group in range(n_groups):
            for m in range(n_features):
                for j in range(GROUP):
                    at = group * GROUP + j
                    columns[(group * n_features + m) * GROUP + j] = x[at, m] if at < n else INFINITY
    return columns


# In C, once for each width of the processor's registers: all give the same bits.
ctypedef bint (*AddUp)(const double*, const double*, Py_ssize_t, double, double*) noexcept nogil
ctypedef void (*AddCodes)(const double*, const double*, Py_ssize_t, double*) noexcept nogil
cdef extern from "nearest_lanes.h" nogil:
    bint has_wide() noexcept
    # Write how far the rows of a group are; 0 where none is nearer than ``most``.
    bint add_up_narrow(
        const double* row, const double* column, Py_ssize_t n_features, double most, double* total
    ) noexcept
    bint add_up_wide(const double*, const double*, Py_ssize_t, double, double*) noexcept
    # Add 1 for every code that differs, half of it where one of the two is missing (below zero).
    void add_codes_narrow(
        const double* codes, const double* column, Py_ssize_t n_codes, double* total
    ) noexcept
    void add_codes_wide(const double*, const double*, Py_ssize_t, double*) noexcept


cdef AddUp add_up = add_up_wide if has_wide() else add_up_narrow
cdef AddCodes add_codes = add_codes_wide if has_wide() else add_codes_narrow


cdef inline void insert(
    double* best, Py_ssize_t* near, Py_ssize_t k, double far, Py_ssize_t row
) noexcept nogil:
    """Insert a row behind those that are as near."""
    cdef Py_ssize_t at = k - 1
    while at > 0 and best[at - 1] > far:
        best[at], near[at] = best[at - 1], near[at - 1]
        at -= 1
    best[at], near[at] = far, row


def nearest(
    const double[:, ::1] x,
    const double[:, ::1] codes,
    const double[:, ::1] of_x,
    const double[:, ::1] of_codes,
    const Py_ssize_t[::1] own,
    Py_ssize_t[:, ::1] near,
):
    """Write the nearest sampled rows of each row, without the row itself; see ``rows.interior``.
    The distance is the Manhattan distance of the numbers plus the sum of ``add_codes``. The first
    ones win ties.
    """
    cdef Py_ssize_t n = of_x.shape[0], n_numbers = x.shape[1], n_codes = codes.shape[1]
    cdef Py_ssize_t k = near.shape[1], start, i, j, group, at
    cdef double total[GROUP]
    cdef double* columns = in_groups(of_x)
    cdef double* of_code = in_groups(of_codes)
    cdef double* bests = <double*>malloc(AT_ONCE * k * sizeof(double))
    cdef double* best
    try:
        if columns == NULL or of_code == NULL or bests == NULL:
            raise MemoryError
        with nogil:
            for start in range(0, x.shape[0], AT_ONCE):
                for j in range(AT_ONCE * k):
                    bests[j] = INFINITY
                for group in range((n + GROUP - 1) // GROUP):
                    for i in range(start, min(start + AT_ONCE, x.shape[0])):
                        best = bests + (i - start) * k
                        if not add_up(
                            &x[i, 0], columns + group * n_numbers * GROUP, n_numbers,
                            best[k - 1], total,
                        ):
                            continue
                        if n_codes:
                            add_codes(&codes[i, 0], of_code + group * n_codes * GROUP, n_codes, total)
                        for j in range(GROUP):
                            at = group * GROUP + j
                            if total[j] < best[k - 1] and at != own[i] and at < n:
                                insert(best, &near[i, 0], k, total[j], at)
    finally:
        free(columns)
        free(of_code)
        free(bests)


def how_far(
    const double[:, ::1] numbers,
    const double[:, ::1] codes,
    const double[:, ::1] of_numbers,
    const double[:, ::1] of_codes,
    Py_ssize_t k,
    double[::1] far,
):
    """Write the distance of each row to its k-th nearest reference; see ``outliers``. It is the
    Manhattan distance of the numbers plus 1 for every code that differs.
    """
    cdef Py_ssize_t n = of_numbers.shape[0], n_numbers = numbers.shape[1]
    cdef Py_ssize_t n_codes = codes.shape[1], i, j, m, group
    cdef double total[GROUP]
    cdef double differing[GROUP]
    cdef double code, moved, nearer
    cdef double* columns = in_groups(of_numbers)
    cdef double* of_code = in_groups(of_codes)
    cdef double* best = <double*>malloc(k * sizeof(double))
    cdef const double* column
    try:
        if columns == NULL or of_code == NULL or best == NULL:
            raise MemoryError
        with nogil:
            for i in range(far.shape[0]):
                for j in range(k):
                    best[j] = INFINITY
                for group in range((n + GROUP - 1) // GROUP):
                    if not add_up(
                        &numbers[i, 0], columns + group * n_numbers * GROUP, n_numbers,
                        best[k - 1], total,
                    ):
                        continue
                    if n_codes:
                        column = of_code + group * n_codes * GROUP
                        for j in range(GROUP):
                            differing[j] = 0
                        for m in range(n_codes):
                            code = codes[i, m]
                            for j in range(GROUP):
                                differing[j] += 1.0 if code != column[j] else 0.0
                            column += GROUP
                        for j in range(GROUP):  # rounded like a share of codes that differ
                            total[j] += differing[j] / n_codes * n_codes
                    for j in range(min(GROUP, n - group * GROUP)):
                        if total[j] < best[k - 1]:
                            moved = total[j]
                            for m in range(k):  # the nearer one stays, the farther one moves down
                                nearer = moved if moved < best[m] else best[m]
                                moved = best[m] if moved < best[m] else moved
                                best[m] = nearer
                far[i] = best[k - 1]
    finally:
        free(columns)
        free(of_code)
        free(best)
