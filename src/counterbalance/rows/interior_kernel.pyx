# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Interior, compiled: the nearest rows of each row of a class.

The sum of a distance is made feature by feature, as SciPy makes it, for some rows side by side.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc

# Rows that distances are added up for side by side.
DEF GROUP = 16


def nearest(const double[:, ::1] x, Py_ssize_t[:, ::1] near):
    """Write the nearest other rows of each row by the Manhattan distance; see ``interior``.

    Of rows that are equally far the first ones are taken.
    """
    cdef Py_ssize_t n = x.shape[0], n_features = x.shape[1], k = near.shape[1]
    cdef Py_ssize_t n_groups = (n + GROUP - 1) // GROUP, i, j, m, group, at, half = n_features // 2
    cdef double cell, least
    cdef double total[GROUP]
    # Groups of rows, feature by feature: (groups, features, GROUP)
    cdef double* columns = <double*> malloc(n_groups * n_features * GROUP * sizeof(double))
    cdef double* best = <double*> malloc(k * sizeof(double))
    cdef const double* column
    if columns == NULL or best == NULL:
        free(columns); free(best)
        raise MemoryError
    with nogil:
        for group in range(n_groups):
            for m in range(n_features):
                for j in range(GROUP):
                    at = group * GROUP + j
                    columns[(group * n_features + m) * GROUP + j] = x[at, m] if at < n else INFINITY
        for i in range(n):
            for j in range(k):
                best[j] = INFINITY
            for group in range(n_groups):
                column = columns + group * n_features * GROUP
                for j in range(GROUP):
                    total[j] = 0
                for m in range(n_features):
                    cell = x[i, m]
                    for j in range(GROUP):
                        total[j] += fabs(cell - column[j])
                    column += GROUP
                    if m == half:  # sums only grow: no row of the group can be near any more
                        least = total[0]
                        for j in range(1, GROUP):
                            least = total[j] if total[j] < least else least
                        if least >= best[k - 1]:
                            break
                else:
                    for j in range(GROUP):
                        at = group * GROUP + j
                        if total[j] < best[k - 1] and at != i and at < n:
                            insert(best, &near[i, 0], k, total[j], at)
    free(columns); free(best)


cdef void insert(double* best, Py_ssize_t* near, Py_ssize_t k, double far, Py_ssize_t row) noexcept nogil:
    """Put a row in its place behind those that are as near."""
    cdef Py_ssize_t at = k - 1
    while at > 0 and best[at - 1] > far:
        best[at], near[at] = best[at - 1], near[at - 1]
        at -= 1
    best[at], near[at] = far, row
