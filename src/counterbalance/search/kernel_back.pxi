# Rows that a forest is asked about, and changes that it does not need; a part of the kernel.

cdef struct Room:
    int32_t* bins  # (M,)
    int32_t* trees  # (trees,): all of them
    int32_t* leaves  # (trees,)
    double* votes  # (C,)
    uint64_t* rest  # (trees,)
    uint64_t* kept  # (trees,)
    uint64_t* tried  # (trees,)
    uint64_t* behind  # (M + 1, trees)
    bint* queued  # (M,)
    Py_ssize_t* queue  # (M,)
    double* share  # (M,)


cdef int make_room(Room* room, Forest forest, Py_ssize_t M) except -1:
    cdef Py_ssize_t n = forest.n_trees, tree
    room.bins = <int32_t*>malloc((M + 1) * sizeof(int32_t))
    room.trees = <int32_t*>malloc(n * sizeof(int32_t))
    room.leaves = <int32_t*>malloc(n * sizeof(int32_t))
    room.votes = <double*>malloc(forest.n_classes * sizeof(double))
    room.rest = <uint64_t*>malloc((M + 4) * n * sizeof(uint64_t))
    room.queued = <bint*>malloc((M + 1) * sizeof(bint))
    room.queue = <Py_ssize_t*>malloc((M + 1) * sizeof(Py_ssize_t))
    room.share = <double*>malloc((M + 1) * sizeof(double))
    if not (
        room.bins and room.trees and room.leaves and room.votes and room.rest and room.queued
        and room.queue and room.share
    ):
        clear_room(room)
        raise MemoryError
    room.kept, room.tried, room.behind = room.rest + n, room.rest + 2 * n, room.rest + 3 * n
    for tree in range(n):
        room.trees[tree] = <int32_t>tree
    return 0


cdef void clear_room(Room* room) noexcept:
    free(room.bins)
    free(room.trees)
    free(room.leaves)
    free(room.votes)
    free(room.rest)
    free(room.queued)
    free(room.queue)
    free(room.share)


cdef inline void join(
    uint64_t* into, const uint64_t* one, const uint64_t* other, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t tree
    for tree in range(n):
        into[tree] = one[tree] & other[tree]


cdef Py_ssize_t answer_by_walk(Forest forest, Room* room) noexcept nogil:
    """Return the answer to the row in ``bins``."""
    cdef Py_ssize_t tree, c
    forest.walk(room.trees, <int32_t>forest.n_trees, room.bins, room.leaves)
    for c in range(forest.n_classes):
        room.votes[c] = 0.0
        for tree in range(forest.n_trees):
            room.votes[c] += forest.leaf_value[room.leaves[tree], c]
    return forest.answer(room.leaves, room.votes)


def judge_forest(Forest forest, const double[:, ::1] x, Py_ssize_t[::1] answer):
    """Write the code of the class that the forest puts each row into."""
    cdef Py_ssize_t M = x.shape[1], r, m
    cdef Room room
    make_room(&room, forest, M)
    with nogil:
        for r in range(x.shape[0]):
            for m in range(M):
                room.bins[m] = forest.bin(m, x[r, m])
            if not forest.has_sets:
                answer[r] = answer_by_walk(forest, &room)
                continue
            memset(room.rest, 0xFF, 2 * forest.n_trees * sizeof(uint64_t))
            for m in range(M):
                if forest.asks(m):
                    join(room.rest, room.rest, forest.word(m, room.bins[m]), forest.n_trees)
            answer[r] = forest.answer_to(room.rest, room.kept, room.leaves, room.votes)
    clear_room(&room)


def take_back_forest(
    Forest forest,
    const double[:, ::1] x,
    double[:, ::1] rows,
    const Py_ssize_t[::1] target,
    const Py_ssize_t[::1] order,
    const double[::1] scale,
    const uint8_t[::1] nominal,
):
    """Take changes back from rows of the classes ``target``, in place, as ``minimal`` does.

    ``scale`` and ``nominal`` are of all features.
    """
    cdef Py_ssize_t r
    cdef Room room
    make_room(&room, forest, x.shape[1])
    with nogil:
        for r in range(x.shape[0]):
            take_back_row(
                forest, &x[r, 0], &rows[r, 0], x.shape[1], target[r], order, scale, nominal, &room
            )
    clear_room(&room)


cdef inline Py_ssize_t fill_queue(
    const double* x, const double* row, const Py_ssize_t[::1] order, const double[::1] scale,
    const uint8_t[::1] nominal, Py_ssize_t* queue, double* shares,
) noexcept nogil:
    """Line up the features that changed, the farthest first, of equal ones the least important."""
    cdef Py_ssize_t n = 0, k, j, m
    cdef double share
    for k in range(order.shape[0] - 1, -1, -1):
        m = order[k]
        if row[m] == x[m] or (isnan(row[m]) and isnan(x[m])):
            continue
        share = 1.0 if nominal[m] or isnan(x[m]) else fabs(row[m] - x[m]) / scale[m]
        j = n
        while j > 0 and shares[j - 1] < share:
            shares[j], queue[j] = shares[j - 1], queue[j - 1]
            j -= 1
        shares[j], queue[j] = share, m
        n += 1
    return n


cdef void take_back_row(
    Forest forest, const double* x, double* row, Py_ssize_t M, Py_ssize_t target,
    const Py_ssize_t[::1] order, const double[::1] scale, const uint8_t[::1] nominal, Room* room,
) noexcept nogil:
    """Try the changes of a row, the farthest first, until none can be taken back.

    In a sweep over the queue the leaf sets of a try are those of the ``rest`` of the features and of
    what was looked at before (together ``kept``), of the cell that is tried, at home, and of what
    is ``behind`` it in the queue.
    """
    cdef Py_ssize_t n_trees = forest.n_trees, n, left, j, m
    cdef int32_t bin
    cdef bint refused, again = True, good
    memset(room.queued, 0, M * sizeof(bint))
    n = fill_queue(x, row, order, scale, nominal, room.queue, room.share)
    for j in range(n):
        room.queued[room.queue[j]] = True
    memset(room.rest, 0xFF, n_trees * sizeof(uint64_t))
    for m in range(M):
        room.bins[m] = forest.bin(m, row[m])
        if forest.has_sets and forest.asks(m) and not room.queued[m]:
            join(room.rest, room.rest, forest.word(m, room.bins[m]), n_trees)
    while again and n:
        refused = again = False
        if forest.has_sets:
            memcpy(room.kept, room.rest, n_trees * sizeof(uint64_t))
            memset(room.behind + n * n_trees, 0xFF, n_trees * sizeof(uint64_t))
            for j in range(n - 1, 0, -1):
                m = room.queue[j]
                join(
                    room.behind + j * n_trees, room.behind + (j + 1) * n_trees,
                    forest.word(m, room.bins[m]), n_trees,
                )
        left = 0
        for j in range(n):
            m = room.queue[j]
            bin, room.bins[m] = room.bins[m], forest.bin(m, x[m])
            if not forest.asks(m):
                good = True
            elif forest.has_sets:
                join(room.tried, room.kept, forest.word(m, room.bins[m]), n_trees)
                good = target == forest.answer_to(
                    room.tried, room.behind + (j + 1) * n_trees, room.leaves, room.votes
                )
            else:
                good = target == answer_by_walk(forest, room)
            if good:
                row[m] = x[m]
                again = again or refused
                if forest.has_sets:
                    join(room.rest, room.rest, forest.word(m, room.bins[m]), n_trees)
            else:
                refused, room.bins[m] = True, bin
                room.queue[left] = m
                left += 1
            if forest.has_sets:
                join(room.kept, room.kept, forest.word(m, room.bins[m]), n_trees)
        n = left


def take_back_linear(
    const double[:, ::1] weight,
    const double[::1] intercept,
    double slack,
    const uint8_t[:, ::1] said,
    uint8_t[::1] sure,
    const double[:, ::1] x,
    double[:, ::1] rows,
    const Py_ssize_t[::1] target,
    const Py_ssize_t[::1] order,
    const double[::1] scale,
    const uint8_t[::1] nominal,
):
    """Do the same for a linear f, which must be asked where two scores come too close.

    ``said`` holds what f answered so far for each row, one try after the other: whether it says
    the wanted class. A row for which that is not enough is not ``sure``, and has become the try
    that f is to be asked about next; all others are minimal.
    """
    cdef Py_ssize_t C = weight.shape[0], M = x.shape[1], r, m, c
    cdef const uint8_t* answers = NULL
    cdef Py_ssize_t* queue = <Py_ssize_t*>malloc((M + 1) * sizeof(Py_ssize_t))
    cdef double* share = <double*>malloc((M + 1) * sizeof(double))
    cdef double* score = <double*>malloc(C * sizeof(double))
    try:
        if not (queue and share and score):
            raise MemoryError
        with nogil:
            for r in range(x.shape[0]):
                for c in range(C):
                    score[c] = intercept[c]
                    for m in range(M):
                        score[c] += rows[r, m] * weight[c, m]
                m = fill_queue(&x[r, 0], &rows[r, 0], order, scale, nominal, queue, share)
                if said.shape[1]:
                    answers = &said[r, 0]
                sure[r] = take_back_scored(
                    weight, slack, &x[r, 0], &rows[r, 0], target[r], m, queue, score,
                    answers, said.shape[1],
                )
    finally:
        free(queue)
        free(share)
        free(score)


cdef bint take_back_scored(
    const double[:, ::1] weight, double slack, const double* x, double* row, Py_ssize_t target,
    Py_ssize_t n, Py_ssize_t* queue, double* score, const uint8_t* answers, Py_ssize_t n_answers,
) noexcept nogil:
    cdef Py_ssize_t C = weight.shape[0], left, j, m, c, n_asked = 0
    cdef double step, ahead
    cdef bint refused, again = True, good
    while again and n:
        refused = again = False
        left = 0
        for j in range(n):
            m = queue[j]
            step, ahead = x[m] - row[m], INFINITY
            for c in range(C):
                if c != target:
                    ahead = min(
                        ahead,
                        score[target] + step * weight[target, m] - score[c] - step * weight[c, m],
                    )
            if ahead > slack or ahead < -slack:
                good = ahead > 0
            elif n_asked < n_answers:
                good = answers[n_asked]
                n_asked += 1
            else:
                row[m] = x[m]
                return False
            if good:
                row[m] = x[m]
                for c in range(C):
                    score[c] += step * weight[c, m]
                again = again or refused
            else:
                refused = True
                queue[left] = m
                left += 1
        n = left
    return True
