# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Algorithm 1, compiled: the first inversion along each draw of each factual.

    R, M, K, T   factuals, features, features that may change (in the order of the search), draws
    round        how many features of the order are perturbed; 0 stands for "no inversion"

Along a draw the distance only grows, so the first inversion along a draw is its nearest. A draw
is followed feature by feature: the leaf sets (or the leaves) of its row are those of the perturbed
features so far and of the features behind them, which are still those of the factual. With two
classes and small trees a bound shows for many rounds at once that none of them inverts.
"""

from libc.math cimport INFINITY, NAN, fabs, isnan, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from scipy.special.cython_special cimport ndtr, ndtri

import numpy as np

from counterbalance.classifier.trees import RankedSets
from counterbalance.classifier.trees import AHEAD as _AHEAD

cdef int64_t AHEAD = _AHEAD
cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ULL
# Trees that are walked together, because each step down a tree waits for memory.
DEF GROUP = 8
# Rounds of a draw that are first tested together.
DEF FIRST_BLOCK = 8

include "leaf_sets.pxi"
include "draws.pxi"
include "ensemble.pxi"


def first_inversions(
    Draws draws,
    Ensemble ensemble,
    const uint8_t[:, ::1] wanted,
    bint any_draw,
    int32_t[:, :, ::1] round_,
    uint8_t[::1] tied,
):
    """Write the round of the first inversion of each (row, draw, wanted class of f).

    With ``any_draw`` the search of a row stops once every wanted class has one inversion. ``tied``
    rows have a candidate with a tie between two classes: only f itself can predict it.
    """
    cdef Py_ssize_t r
    cdef Path path
    make_path(&path, draws, ensemble)
    try:
        with nogil:
            for r in range(draws.n_rows):
                draws.begin()
                if ensemble.has_sets:
                    follow_by_sets(
                        draws, ensemble, r, &wanted[r, 0], any_draw, &path, round_[r], &tied[r]
                    )
                else:
                    follow_by_leaves(
                        draws, ensemble, r, &wanted[r, 0], any_draw, &path, round_[r], &tied[r]
                    )
    finally:
        clear_path(&path)


def first_inversions_linear(
    Draws draws,
    const double[:, ::1] weight,
    const double[:, ::1] start,
    double slack,
    const uint8_t[:, ::1] wanted,
    bint any_draw,
    int32_t[:, :, ::1] round_,
):
    """Do the same for a linear f: ``start`` holds the scores of the factuals.

    A class counts as reached if it leads by more than ``slack``, which exceeds rounding errors.
    """
    cdef Py_ssize_t C = weight.shape[0], r, t, k, c, m
    cdef uint64_t state
    cdef double v, far
    cdef double* score = <double*>malloc(C * sizeof(double))
    if not score:
        raise MemoryError
    with nogil:
        for r in range(draws.n_rows):
            draws.begin()
            for t in range(draws.n_draws):
                if all_found(&wanted[r, 0], C, t, any_draw, round_[r]):
                    break
                state, far = draws.stream(r, t), 0.0
                memcpy(score, &start[r, 0], C * sizeof(double))
                for k in range(draws.n_changing):
                    m = draws.order[k]
                    v = draws.value(r, k, state)
                    far += draws.distance_share(r, k, v)
                    if not far < draws.epsilon:
                        break
                    for c in range(C):
                        score[c] += (v - draws.x[r, m]) * weight[c, m]
                    c = leading_class(score, C, slack)
                    if c >= 0 and wanted[r, c] and round_[r, t, c] == 0:
                        round_[r, t, c] = <int32_t>(k + 1)
                        if all_found(&wanted[r, 0], C, t + 1, False, round_[r, t : t + 1]):
                            break
    free(score)


def build_rows(
    Draws draws,
    const Py_ssize_t[::1] row,
    const Py_ssize_t[::1] draw,
    const Py_ssize_t[::1] round_,
    double[:, ::1] out,
):
    """Write the drawn cells of candidates into ``out``, which holds their factuals.

    ``row`` must be sorted: what is computed for a factual is reused for all of its candidates.
    """
    cdef Py_ssize_t i, k, r, last = -1
    cdef uint64_t state
    with nogil:
        for i in range(row.shape[0]):
            r = row[i]
            if r != last:
                draws.begin()
                last = r
            state = draws.stream(r, draw[i])
            for k in range(round_[i]):
                out[i, draws.order[k]] = draws.value(r, k, state)


def prune(
    Ensemble ensemble,
    const double[:, ::1] x,
    double[:, ::1] rows,
    const Py_ssize_t[::1] target,
    const Py_ssize_t[::1] order,
    const double[::1] scale,
    const uint8_t[::1] nominal,
    uint8_t[::1] tied,
):
    """Undo the changes that f does not need, the farthest first, until each is needed; in place.

    ``target`` holds classes of f; ``scale`` and ``nominal`` are of all features. ``tied`` rows are
    left as they are: there was a tie between two classes, which only f itself can decide.
    """
    cdef Py_ssize_t M = x.shape[1], r
    cdef Py_ssize_t* queue = <Py_ssize_t*>malloc((M + 1) * sizeof(Py_ssize_t))
    cdef double* share = <double*>malloc((M + 1) * sizeof(double))
    cdef int32_t* bins = <int32_t*>malloc((M + 1) * sizeof(int32_t))
    cdef Scores scores
    make_scores(&scores, ensemble)
    try:
        if not (queue and share and bins):
            raise MemoryError
        with nogil:
            for r in range(x.shape[0]):
                prune_row(
                    ensemble, &x[r, 0], &rows[r, 0], M, target[r], order, scale, nominal,
                    queue, share, bins, &scores, &tied[r],
                )
    finally:
        clear_scores(&scores)
        free(queue)
        free(share)
        free(bins)


cdef void prune_row(
    Ensemble ensemble, const double* x, double* row, Py_ssize_t M, Py_ssize_t target,
    const Py_ssize_t[::1] order, const double[::1] scale, const uint8_t[::1] nominal,
    Py_ssize_t* queue, double* share, int32_t* bins, Scores* scores, uint8_t* tied,
) noexcept nogil:
    cdef Py_ssize_t n = 0, left, j, k, m, said
    cdef int32_t drawn
    cdef double far
    cdef bint refused, again = True
    for m in range(M):
        bins[m] = ensemble.bin(m, row[m])
    # The changed features, the farthest first, of equal ones the least important.
    for k in range(order.shape[0] - 1, -1, -1):
        m = order[k]
        if row[m] == x[m] or (isnan(row[m]) and isnan(x[m])):
            continue
        far = 1.0 if nominal[m] or isnan(x[m]) else fabs(row[m] - x[m])
        far = far if isnan(x[m]) else far / scale[m]
        j = n
        while j > 0 and share[j - 1] < far:
            share[j], queue[j] = share[j - 1], queue[j - 1]
            j -= 1
        share[j], queue[j] = far, m
        n += 1
    while again and n:
        refused = again = False
        left = 0
        for j in range(n):
            m = queue[j]
            drawn, bins[m] = bins[m], ensemble.bin(m, x[m])
            said = target if drawn == bins[m] else ensemble.predict(bins, scores)
            tied[0] = tied[0] or said < 0
            if said == target:
                row[m] = x[m]
                again = again or refused
            else:
                bins[m], refused = drawn, True
                queue[left] = m
                left += 1
        n = left


def predict(Ensemble ensemble, const double[:, ::1] x, Py_ssize_t[::1] answer):
    """Write the class of f for each row, -1 where no class leads."""
    cdef Py_ssize_t M = x.shape[1], r, m
    cdef int32_t* bins = <int32_t*>malloc((M + 1) * sizeof(int32_t))
    cdef Scores scores
    make_scores(&scores, ensemble)
    try:
        if not bins:
            raise MemoryError
        with nogil:
            for r in range(x.shape[0]):
                for m in range(M):
                    bins[m] = ensemble.bin(m, x[r, m])
                answer[r] = ensemble.predict(bins, &scores)
    finally:
        clear_scores(&scores)
        free(bins)


cdef inline Py_ssize_t leading_class(const double* score, Py_ssize_t C, double slack) noexcept nogil:
    """The class with the largest score if it leads by more than ``slack``, else -1."""
    cdef Py_ssize_t c, best = 0
    cdef double second = -INFINITY
    for c in range(1, C):
        if score[c] > score[best]:
            best, second = c, score[best]
        elif score[c] > second:
            second = score[c]
    return best if score[best] - second > slack else -1


cdef inline bint all_found(
    const uint8_t* wanted, Py_ssize_t C, Py_ssize_t n_draws, bint any_draw, int32_t[:, ::1] round_
) noexcept nogil:
    """Whether every wanted class has an inversion along one of the first draws.

    Without ``any_draw`` only a single draw is tested; the others follow later.
    """
    cdef Py_ssize_t t, c
    cdef bint found
    if not any_draw and round_.shape[0] > 1:
        return False
    for c in range(C):
        if wanted[c]:
            found = False
            for t in range(min(n_draws, round_.shape[0])):
                found = found or round_[t, c] > 0
            if not found:
                return False
    return True


# --- the paths of draws ----------------------------------------------------------------

cdef struct Path:
    # Memory for the draws of one factual.
    Py_ssize_t* used  # (n,): the features of the order that any tree splits on
    Sets sets
    int32_t* bins  # (2, M): of the factual, and of a draw
    int32_t* leaves  # (4, trees): of the factual, of a draw, trees to walk, leaves that they reach
    int64_t* score  # (2, C)


cdef int make_path(Path* path, Draws draws, Ensemble ensemble) except -1:
    cdef Py_ssize_t K = draws.n_changing, M = draws.x.shape[1], width = ensemble.width, k
    cdef Sets* sets = &path.sets
    path.used = <Py_ssize_t*>malloc((K + 1) * sizeof(Py_ssize_t))
    path.bins = <int32_t*>malloc(2 * (M + 1) * sizeof(int32_t))
    path.leaves = <int32_t*>malloc(4 * ensemble.n_trees * sizeof(int32_t))
    path.score = <int64_t*>malloc(2 * ensemble.C * sizeof(int64_t))
    sets.home = <const uint64_t**>malloc((2 * K + 2) * sizeof(void*))
    sets.behind = <uint64_t*>malloc((K + 4) * (width + 1) * sizeof(uint64_t))
    if not (
        path.used and path.bins and path.leaves and path.score and sets.home and sets.behind
    ):
        clear_path(path)
        raise MemoryError
    sets.drawn, sets.width, sets.n_trees = sets.home + K + 1, width, ensemble.n_trees
    sets.prefix, sets.set = sets.behind + (K + 2) * width, sets.behind + (K + 3) * width
    if ensemble.has_sets:
        sets.value = &ensemble.leaf_value[0, 0, 0]
    sets.n = 0
    for k in range(K):
        if ensemble.uses(draws.order[k]):
            path.used[sets.n] = k
            sets.n += 1
    return 0


cdef void clear_path(Path* path) noexcept:
    free(path.used)
    free(path.bins)
    free(path.leaves)
    free(path.score)
    free(path.sets.home)
    free(path.sets.behind)


cdef inline bint note(
    Ensemble ensemble, const int64_t* score, const uint8_t* wanted, Py_ssize_t round_number,
    int32_t[::1] round_, uint8_t* tied,
) noexcept nogil:
    """Record an inversion of a draw, or a tie; return whether the draw has all that are wanted."""
    cdef Py_ssize_t c = ensemble.leading(score)
    if c < 0:
        tied[0] = True
        return False
    if not wanted[c] or round_[c]:
        return False
    round_[c] = <int32_t>round_number
    for c in range(ensemble.n_classes):
        if wanted[c] and round_[c] == 0:
            return False
    return True


cdef void follow_by_sets(
    Draws draws, Ensemble ensemble, Py_ssize_t r, const uint8_t* wanted, bint any_draw, Path* path,
    int32_t[:, ::1] round_, uint8_t* tied,
) noexcept nogil:
    cdef Sets* sets = &path.sets
    cdef Py_ssize_t width = sets.width, n = sets.n, i, k, m, t, first
    cdef uint64_t* last = sets.behind + n * width
    cdef uint64_t state
    cdef double v, far
    cdef bint limited = draws.epsilon < INFINITY
    memset(last, 0xFF, width * sizeof(uint64_t))
    for m in range(draws.x.shape[1]):
        if ensemble.uses(m):
            path.bins[m] = ensemble.bin(m, draws.x[r, m])
            if not draws.changes[m]:
                narrow(last, last, ensemble.bitset(m, path.bins[m]), width)
    for i in range(n - 1, -1, -1):
        m = draws.order[path.used[i]]
        sets.home[i] = ensemble.bitset(m, path.bins[m])
        narrow(sets.behind + i * width, sets.behind + (i + 1) * width, sets.home[i], width)
    for t in range(draws.n_draws):
        if all_found(wanted, ensemble.n_classes, t, any_draw, round_):
            return
        state, far, first, n = draws.stream(r, t), 0.0, 0, sets.n
        for i in range(sets.n):
            k = path.used[i]
            m = draws.order[k]
            v = draws.value(r, k, state)
            sets.drawn[i] = ensemble.bitset(m, ensemble.bin(m, v))
            if limited:  # features that no tree splits on count, too
                far += draws.distance_between(r, first, k, state)
                far += draws.distance_share(r, k, v)
                first = k + 1
                if not far < draws.epsilon:
                    n = i
                    break
        memset(sets.prefix, 0xFF, width * sizeof(uint64_t))
        if ensemble.C == 1:
            follow_by_bounds(ensemble, wanted, path, n, round_[t], tied)
            continue
        for i in range(n):
            narrow(sets.prefix, sets.prefix, sets.drawn[i], width)
            if sets.drawn[i] != sets.home[i]:
                ensemble.add_up(sets.prefix, sets.behind + (i + 1) * width, path.score)
                if note(ensemble, path.score, wanted, path.used[i] + 1, round_[t], tied):
                    break


cdef void follow_by_bounds(
    Ensemble ensemble, const uint8_t* wanted, Path* path, Py_ssize_t n, int32_t[::1] round_,
    uint8_t* tied,
) noexcept nogil:
    """Find the first inversion of a draw to one of two classes, by bounds.

    A block of rounds in which the class cannot lead is skipped as a whole; any other block is
    halved, down to single candidates. Most draws never invert, and a few bounds show it.
    """
    cdef Sets* sets = &path.sets
    cdef Py_ssize_t a = 0, b, done = 0, size = FIRST_BLOCK, target = 1 if wanted[1] else 0
    cdef int64_t ahead
    while a < n:
        while done <= a:
            narrow(sets.prefix, sets.prefix, sets.drawn[done], sets.width)
            done += 1
        b = min(a + size, n)
        ahead = most_ahead(sets, a, b, target == 1)
        ahead = ahead if target == 1 else -ahead
        if ahead < -AHEAD:
            a, size = b, 2 * size
        elif b - a > 1:
            size = (b - a) // 2
        elif sets.drawn[a] != sets.home[a] and ahead > AHEAD:
            round_[target] = <int32_t>(path.used[a] + 1)
            return
        else:
            tied[0] = tied[0] or ahead <= AHEAD
            a = b


cdef void follow_by_leaves(
    Draws draws, Ensemble ensemble, Py_ssize_t r, const uint8_t* wanted, bint any_draw, Path* path,
    int32_t[:, ::1] round_, uint8_t* tied,
) noexcept nogil:
    """Do the same for larger trees: walk those whose path a moved feature may change."""
    cdef Py_ssize_t M = draws.x.shape[1], n_trees = ensemble.n_trees, C = ensemble.C
    cdef Py_ssize_t i, k, m, t, c, first
    cdef int32_t* bins = path.bins + M
    cdef int32_t* leaves = path.leaves + n_trees
    cdef int32_t* touched = path.leaves + 2 * n_trees
    cdef int32_t* reached = path.leaves + 3 * n_trees
    cdef int64_t* score = path.score + C
    cdef int32_t place, tree, n_touched
    cdef uint64_t state, bit, up, down
    cdef double v, far
    cdef bint limited = draws.epsilon < INFINITY
    for m in range(M):
        path.bins[m] = ensemble.bin(m, draws.x[r, m])
    for tree in range(<int32_t>n_trees):
        touched[tree] = tree
    ensemble.walk(touched, <int32_t>n_trees, path.bins, path.leaves)
    memset(path.score, 0, C * sizeof(int64_t))
    for tree in range(<int32_t>n_trees):
        for c in range(C):
            path.score[c] += ensemble.value[path.leaves[tree], c]
    for t in range(draws.n_draws):
        if all_found(wanted, ensemble.n_classes, t, any_draw, round_):
            return
        state, far, first = draws.stream(r, t), 0.0, 0
        memcpy(bins, path.bins, M * sizeof(int32_t))
        memcpy(leaves, path.leaves, n_trees * sizeof(int32_t))
        memcpy(score, path.score, C * sizeof(int64_t))
        for i in range(path.sets.n):
            k = path.used[i]
            m = draws.order[k]
            v = draws.value(r, k, state)
            if limited:
                far += draws.distance_between(r, first, k, state)
                far += draws.distance_share(r, k, v)
                first = k + 1
                if not far < draws.epsilon:
                    break
            place = ensemble.bin(m, v)
            if place == bins[m]:
                continue
            bit = <uint64_t>1 << (m & 63)
            # A missing value may go to either side of a node.
            up = bit if place > bins[m] or place < 0 else 0
            down = bit if place < bins[m] or bins[m] < 0 else 0
            bins[m] = place
            n_touched = 0
            for tree in range(<int32_t>n_trees):
                touched[n_touched] = tree
                n_touched += (
                    (ensemble.bounded[leaves[tree], 0] & up)
                    | (ensemble.bounded[leaves[tree], 1] & down)
                ) != 0
            ensemble.walk(touched, n_touched, bins, reached)
            for tree in range(n_touched):
                for c in range(C):
                    score[c] += ensemble.value[reached[tree], c]
                    score[c] -= ensemble.value[leaves[touched[tree]], c]
                leaves[touched[tree]] = reached[tree]
            if note(ensemble, score, wanted, k + 1, round_[t], tied):
                break
