# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Together, compiled: what of each row was not seen together. Every answer is that of ``together``."""

from libc.math cimport isnan
from libc.stdlib cimport free, malloc


cdef bint find_levels(
    const double[:, :] x,
    Py_ssize_t i,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] first,
    const unsigned char[::1] is_number,
    Py_ssize_t* level,
) noexcept nogil:
    """Write the level of a row in each column that takes part; 0 if a column has no such level."""
    cdef Py_ssize_t k
    cdef double cell
    for k in range(features.shape[0]):
        cell = x[i, features[k]]
        if is_number[k]:
            level[k] = first[k] + (1 if isnan(cell) else 0)
        elif isnan(cell):
            level[k] = first[k + 1] - 1
        elif 0 <= cell < first[k + 1] - first[k]:
            level[k] = first[k] + <Py_ssize_t>cell
        else:
            return 0
    return 1


def allow(
    const double[:, :] x,
    unsigned char[::1] good,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] first,
    const unsigned char[::1] is_number,
    const Py_ssize_t[::1] numbers,
    const unsigned char[:, ::1] seen,
    const double[:, ::1] least,
    const double[:, ::1] most,
):
    """Write 1 for each row whose levels, and whose numbers beside them, were seen."""
    cdef Py_ssize_t n_features = features.shape[0], i, k, j, m
    cdef double cell
    cdef bint known = 1
    cdef Py_ssize_t* level = <Py_ssize_t*>malloc((n_features + 1) * sizeof(Py_ssize_t))
    if level == NULL:
        raise MemoryError
    try:
        with nogil:
            for i in range(x.shape[0]):
                good[i] = 0
                known = find_levels(x, i, features, first, is_number, level)
                if not known:
                    break
                good[i] = 1
                for k in range(n_features):
                    for j in range(k):
                        if not seen[level[k], level[j]]:
                            good[i] = 0
                            break
                    if good[i] and not is_number[k]:
                        for m in range(numbers.shape[0]):
                            cell = x[i, numbers[m]]
                            if cell < least[level[k], m] or cell > most[level[k], m]:
                                good[i] = 0
                                break
                    if not good[i]:
                        break
    finally:
        free(level)
    if not known:
        raise IndexError("a cell has a level that its column does not have")


def faults(
    const double[:, :] x,
    unsigned char[:, ::1] faults,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] first,
    const unsigned char[::1] is_number,
    const Py_ssize_t[::1] numbers,
    const unsigned char[:, ::1] seen,
    const double[:, ::1] least,
    const double[:, ::1] most,
):
    """Write 1 for each cell that was not seen beside another one of its row."""
    cdef Py_ssize_t n_features = features.shape[0], i, k, j, m
    cdef double cell
    cdef bint known = 1
    cdef Py_ssize_t* level = <Py_ssize_t*>malloc((n_features + 1) * sizeof(Py_ssize_t))
    if level == NULL:
        raise MemoryError
    try:
        with nogil:
            for i in range(x.shape[0]):
                known = find_levels(x, i, features, first, is_number, level)
                if not known:
                    break
                for k in range(n_features):
                    for j in range(k):
                        if not seen[level[k], level[j]]:
                            faults[i, features[k]] = faults[i, features[j]] = 1
                    if is_number[k]:
                        continue
                    for m in range(numbers.shape[0]):
                        cell = x[i, numbers[m]]
                        if cell < least[level[k], m] or cell > most[level[k], m]:
                            faults[i, features[k]] = faults[i, numbers[m]] = 1
    finally:
        free(level)
    if not known:
        raise IndexError("a cell has a level that its column does not have")
