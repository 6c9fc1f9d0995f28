# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Together, compiled: which cells of each row may not stand together (see ``together``)."""

from libc.math cimport isnan
from libc.stdlib cimport free, malloc


cdef bint find_levels(
    const double[:, :] x,
    Py_ssize_t i,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] first,
    const unsigned char[::1] is_number,
    const double[::1] value,
    Py_ssize_t* level,
) noexcept nogil:
    """Write the level of a row in each column that takes part; 0 if a column has no such level."""
    cdef Py_ssize_t k, d
    cdef double cell
    for k in range(features.shape[0]):
        cell = x[i, features[k]]
        if is_number[k]:
            level[k] = first[k] + (1 if isnan(cell) else 0)
            for d in range(first[k] + 2, first[k + 1]):
                if value[d] == cell:
                    level[k] = d
                    break
        elif isnan(cell):
            level[k] = first[k + 1] - 1
        elif 0 <= cell < first[k + 1] - first[k]:
            level[k] = first[k] + <Py_ssize_t>cell
        else:
            return 0
    return 1


def faults(
    const double[:, :] x,
    const double[:, :] old,
    bint has_old,
    unsigned char[:, ::1] faults,
    const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] first,
    const unsigned char[::1] is_number,
    const double[::1] value,
    const Py_ssize_t[::1] numbers,
    const unsigned char[:, ::1] allowed,
    const double[:, ::1] least,
    const double[:, ::1] most,
):
    """Write 1 for each cell that may not stand beside another one of its row.

    With one column of ``faults`` write 1 for each row that has such a cell. Pairs that the row
    ``old`` has are no fault.
    """
    cdef Py_ssize_t n_features = features.shape[0], i, k, j, m
    cdef double cell
    cdef bint known = 1, compared, kept, whole = faults.shape[1] == 1
    cdef Py_ssize_t* level = <Py_ssize_t*>malloc((2 * n_features + 2) * sizeof(Py_ssize_t))
    cdef Py_ssize_t* was = level + n_features + 1
    if level == NULL:
        raise MemoryError
    try:
        with nogil:
            for i in range(x.shape[0]):
                known = find_levels(x, i, features, first, is_number, value, level)
                if not known:
                    break
                compared = not has_old
                for k in range(n_features):
                    if whole and faults[i, 0]:
                        break
                    for j in range(k):
                        if allowed[level[k], level[j]]:
                            continue
                        if not compared:
                            compared = find_levels(
                                old, i, features, first, is_number, value, was
                            )
                        if has_old and was[k] == level[k] and was[j] == level[j]:
                            continue
                        if whole:
                            faults[i, 0] = 1
                            break
                        faults[i, features[k]] = faults[i, features[j]] = 1
                    if is_number[k]:
                        continue
                    for m in range(numbers.shape[0]):
                        cell = x[i, numbers[m]]
                        if not (cell < least[level[k], m] or cell > most[level[k], m]):
                            continue
                        if not compared:
                            compared = find_levels(
                                old, i, features, first, is_number, value, was
                            )
                        kept = has_old and was[k] == level[k]
                        if kept and cell < least[level[k], m] and old[i, numbers[m]] <= cell:
                            continue
                        if kept and cell > most[level[k], m] and old[i, numbers[m]] >= cell:
                            continue
                        if whole:
                            faults[i, 0] = 1
                            break
                        faults[i, features[k]] = faults[i, numbers[m]] = 1
    finally:
        free(level)
    if not known:
        raise IndexError("a cell has a level that its column does not have")
