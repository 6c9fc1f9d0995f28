# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Committee, compiled: the sums of rows over their cells, and the votes of their neighbours.

The words are those of ``committee`` and ``agreement``, and so is the order of every sum: both give
the same bits.
"""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

# References side by side, and features between two looks at how far they are.
DEF SIDE = 8
DEF STEP = 4


def add_up(
    const double[:, ::1] x,
    const double[::1] centre,
    const double[::1] scale,
    const int32_t[:, ::1] features,  # (M, 4): see ``_places``
    const int32_t[::1] levels,
    double farthest,
    const double[:, ::1] weight,
    Py_ssize_t n_logits,
    const double[:, ::1] output,
    double[:, ::1] sums,
    double[:, ::1] logits,
):
    """Add to the sums of each row the shares of its cells, and then to the logits of the net."""
    cdef Py_ssize_t n = x.shape[0], M = x.shape[1], K = weight.shape[1], C = logits.shape[1]
    cdef Py_ssize_t r, m, k, c, column
    cdef double cell, place
    cdef double* total
    cdef const double* share
    with nogil:
        for r in range(n):
            total = &sums[r, 0]
            for m in range(M):
                cell = x[r, m]
                place = 1.0
                if isnan(cell):
                    column = features[m, 1]
                elif features[m, 0] >= 0:
                    column = features[m, 0]
                    place = (cell - centre[m]) / scale[m]
                    if isnan(place):
                        place = 0.0
                    place = -farthest if place < -farthest else place
                    place = farthest if place > farthest else place
                else:
                    column = -1
                    if 0 <= cell < features[m, 3]:
                        column = levels[features[m, 2] + <Py_ssize_t>cell]
                if column < 0:
                    continue
                share = &weight[column, 0]
                for k in range(K):
                    total[k] += place * share[k]
            for k in range(n_logits, K):
                if total[k] > 0:
                    for c in range(C):
                        logits[r, c] += total[k] * output[k - n_logits, c]


def vote(
    const double[:, ::1] x,
    const double[:, :, ::1] references,  # (blocks, D, SIDE), see ``_side_by_side``
    const int32_t[::1] code,
    const double[::1] weight,
    Py_ssize_t n_neighbours,
    double[:, ::1] votes,
):
    """Add to the votes of each row the weights of its nearest references, by their class.

    Of equally near ones the first count. References are looked at SIDE by side, and left as soon
    as all of them are too far.
    """
    cdef Py_ssize_t n = x.shape[0], D = x.shape[1], r, b, i, d, place, stop
    cdef double gap, farthest, least = 0.0
    cdef double[SIDE] far
    cdef const double* row
    cdef const double* other
    cdef double* near = <double*>malloc(n_neighbours * sizeof(double))
    cdef Py_ssize_t* which = <Py_ssize_t*>malloc(n_neighbours * sizeof(Py_ssize_t))
    try:
        if not (near and which):
            raise MemoryError
        with nogil:
            for r in range(n):
                row = &x[r, 0]
                for i in range(n_neighbours):
                    near[i] = INFINITY
                farthest = INFINITY
                for b in range(references.shape[0]):
                    other = &references[b, 0, 0]
                    for i in range(SIDE):
                        far[i] = 0.0
                    d = 0
                    while d < D:
                        stop = min(D, d + STEP)
                        while d < stop:
                            for i in range(SIDE):
                                gap = row[d] - other[SIDE * d + i]
                                far[i] += gap * gap
                            d += 1
                        least = far[0]
                        for i in range(1, SIDE):
                            least = far[i] if far[i] < least else least
                        if least >= farthest:
                            break
                    if least >= farthest:
                        continue
                    for i in range(SIDE):
                        if far[i] < farthest:
                            place = n_neighbours - 1
                            while place > 0 and near[place - 1] > far[i]:
                                near[place] = near[place - 1]
                                which[place] = which[place - 1]
                                place -= 1
                            near[place] = far[i]
                            which[place] = SIDE * b + i
                            farthest = near[n_neighbours - 1]
                for i in range(n_neighbours):
                    votes[r, code[which[i]]] += weight[which[i]]
    finally:
        free(near)
        free(which)
