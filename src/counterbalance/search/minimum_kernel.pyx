# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The minimum search in trees, compiled. ``minimum_twin`` says what it does, and does the same."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from counterbalance.search.minimum_twin import AHEAD as _AHEAD
from counterbalance.search.minimum_twin import LONGEST as _LONGEST

cdef int64_t AHEAD = _AHEAD
cdef Py_ssize_t LONGEST = _LONGEST


cdef enum:
    LANES = 8  # branches that are walked at a time


cdef struct Event:
    int32_t bin
    int32_t delta  # one more than the place of the change of the scores; negative: taken back


cdef struct Branch:
    int32_t node
    int32_t feature
    int32_t low
    int32_t high
    int32_t here  # the leaf that the row is in now


cdef struct Move:
    int32_t feature  # -1: none
    int32_t bin
    double cost


cdef struct Row:
    const double* x
    const double* origin
    const double* low
    const double* high
    const int32_t* home
    const uint8_t* mutable
    Py_ssize_t target


cdef class Walker:
    """Walks in a landscape; it has room for one row, so every thread has its own."""

    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left
    cdef const int32_t[::1] roots, first_bin
    cdef const int64_t[:, ::1] value
    cdef const double[::1] least, most, scale
    cdef const int32_t[::1] next_up, next_down
    cdef const uint8_t[::1] flat
    cdef Py_ssize_t M, C, K
    # The same, without strides.
    cdef const int32_t* node
    cdef const uint8_t* left_if_missing
    cdef const int64_t* leaf
    cdef const int32_t* begin
    cdef int32_t* bins
    cdef double* costs
    cdef int32_t* box  # (M, 2): the bins that lead to the same leaf
    cdef int32_t* window  # (M, 2): the bins that are looked at
    cdef int32_t* path  # (depth, 4): feature, lower bin, upper bin, other child
    cdef Event* events
    cdef Event* ranked
    cdef int32_t* in_list
    cdef int64_t* deltas
    cdef Py_ssize_t n_events, n_deltas, room
    cdef Branch* branches
    cdef Py_ssize_t n_branches, room_branches
    cdef int32_t* starts
    cdef int64_t* score
    cdef int64_t* running
    cdef bint failed

    def __init__(self, land):
        trees = land.trees
        self.nodes, self.missing_left, self.roots = trees.nodes, trees.missing_left, trees.roots
        self.value, self.first_bin = land.value, land.first_bin
        self.least, self.most, self.scale = land.least, land.most, land.scale
        self.next_up, self.next_down, self.flat = land.next_up, land.next_down, land.flat
        self.M, self.C, self.K = self.scale.shape[0], self.value.shape[1], self.roots.shape[0]
        self.node, self.left_if_missing = &self.nodes[0, 0], &self.missing_left[0]
        self.leaf, self.begin = &self.value[0, 0], &self.first_bin[0]
        cdef Py_ssize_t depth = trees.depth + 1
        self.room = 1024
        self.bins = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.costs = <double*>malloc(self.M * sizeof(double))
        self.box = <int32_t*>malloc(2 * self.M * sizeof(int32_t))
        self.window = <int32_t*>malloc(2 * self.M * sizeof(int32_t))
        self.path = <int32_t*>malloc(4 * depth * sizeof(int32_t))
        self.room_branches = self.K * depth
        self.branches = <Branch*>malloc(self.room_branches * sizeof(Branch))
        self.starts = <int32_t*>malloc((2 * self.M + 2) * sizeof(int32_t))
        self.score = <int64_t*>malloc(self.C * sizeof(int64_t))
        self.running = <int64_t*>malloc(self.C * sizeof(int64_t))
        self.events = <Event*>malloc(self.room * sizeof(Event))
        self.ranked = <Event*>malloc(self.room * sizeof(Event))
        self.in_list = <int32_t*>malloc(self.room * sizeof(int32_t))
        self.deltas = <int64_t*>malloc(self.room * self.C * sizeof(int64_t))
        if not (
            self.bins and self.costs and self.box and self.window and self.path and self.branches
            and self.starts and self.score and self.running and self.events and self.ranked
            and self.in_list and self.deltas
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.bins)
        free(self.costs)
        free(self.box)
        free(self.window)
        free(self.path)
        free(self.branches)
        free(self.starts)
        free(self.score)
        free(self.running)
        free(self.events)
        free(self.ranked)
        free(self.in_list)
        free(self.deltas)

    cdef bint grow(self) noexcept nogil:
        """Make room for twice the events."""
        cdef void* more
        more = realloc(self.events, 2 * self.room * sizeof(Event))
        if more == NULL:
            return False
        self.events = <Event*>more
        more = realloc(self.ranked, 2 * self.room * sizeof(Event))
        if more == NULL:
            return False
        self.ranked = <Event*>more
        more = realloc(self.in_list, 2 * self.room * sizeof(int32_t))
        if more == NULL:
            return False
        self.in_list = <int32_t*>more
        more = realloc(self.deltas, 2 * self.room * self.C * sizeof(int64_t))
        if more == NULL:
            return False
        self.deltas = <int64_t*>more
        self.room *= 2
        return True

    cdef inline int32_t last_bin(self, Py_ssize_t m) noexcept nogil:
        return self.begin[m + 1] - self.begin[m] - 1

    cdef inline int64_t margin(self, const int64_t* score, Py_ssize_t target) noexcept nogil:
        cdef int64_t best
        cdef Py_ssize_t c
        if self.C == 1:
            return score[0] if target else -score[0]
        best = score[1 if target == 0 else 0]
        for c in range(self.C):
            if c != target and score[c] > best:
                best = score[c]
        return score[target] - best

    cdef inline double cost(self, Row* row, int32_t m, int32_t bin) noexcept nogil:
        cdef double v = row.origin[m]
        cdef Py_ssize_t at = self.first_bin[m] + bin
        if bin != row.home[m]:
            if v < self.least[at]:
                v = self.least[at]
            if v > self.most[at]:
                v = self.most[at]
            if v < row.low[m] or v > row.high[m]:
                return INFINITY
        if self.flat[m]:
            return 1.0 if v != row.x[m] else 0.0
        return fabs(v - row.x[m]) / self.scale[m]

    cdef inline int32_t last_not_above(self, int32_t m, double v) noexcept nogil:
        """The last bin whose least value is not above v, at least the first."""
        cdef int32_t start = self.first_bin[m], low = 0, high = self.last_bin(m) + 1, middle
        while high - low > 1:
            middle = (low + high) // 2
            if self.least[start + middle] <= v:
                low = middle
            else:
                high = middle
        return low

    cdef inline int32_t first_not_below(self, int32_t m, double v) noexcept nogil:
        """The first bin whose largest value is not below v, at most the last."""
        cdef int32_t start = self.first_bin[m], low = -1, high = self.last_bin(m), middle
        while high - low > 1:
            middle = (low + high) // 2
            if self.most[start + middle] >= v:
                high = middle
            else:
                low = middle
        return high

    cdef void open_windows(self, Row* row, bint only_nearer) noexcept nogil:
        """Choose the bins that are looked at: all, or only those that cost less than now."""
        cdef int32_t m
        cdef double reach
        for m in range(<int32_t>self.M):
            if not row.mutable[m]:
                continue
            self.window[2 * m], self.window[2 * m + 1] = 0, self.last_bin(m)
            if only_nearer and not self.costs[m] > 0:
                self.window[2 * m + 1] = -1
            elif only_nearer and not self.flat[m]:
                reach = self.costs[m] * self.scale[m] * (1 + 1e-9)
                self.window[2 * m] = self.first_not_below(m, row.x[m] - reach)
                self.window[2 * m + 1] = self.last_not_above(m, row.x[m] + reach)

    cdef void look_around(self, Row* row) noexcept nogil:
        cdef const int32_t* nodes = self.node
        cdef const int32_t* node
        cdef Py_ssize_t k, c, i
        cdef int32_t m, cut, low, high, depth, right, place, leaf
        cdef int32_t* at
        self.n_events = self.n_deltas = self.n_branches = 0
        for c in range(self.C):
            self.score[c] = 0
        for k in range(self.K):
            node, depth = nodes + 4 * <Py_ssize_t>self.roots[k], 0
            while node[0] >= 0:
                m, cut = node[0], node[1]
                place = self.bins[m]
                right = place > cut
                if place < 0:
                    right = not self.left_if_missing[(node - nodes) // 4]
                if row.mutable[m]:
                    at = self.path + 4 * depth
                    if right:
                        at[1], at[2] = self.box[2 * m], min(cut, self.box[2 * m + 1])
                        self.box[2 * m] = max(self.box[2 * m], cut + 1)
                    else:
                        at[1], at[2] = max(cut + 1, self.box[2 * m]), self.box[2 * m + 1]
                        self.box[2 * m + 1] = min(self.box[2 * m + 1], cut)
                    at[0], at[3] = m, node[3 - right]
                    depth += 1
                node = nodes + 4 * <Py_ssize_t>node[2 + right]
            leaf = <int32_t>((node - nodes) // 4)
            for c in range(self.C):
                self.score[c] += self.leaf[leaf * self.C + c]
            for i in range(depth):
                at = self.path + 4 * i
                m = at[0]
                low, high = max(at[1], self.window[2 * m]), min(at[2], self.window[2 * m + 1])
                if low <= high:
                    self.add_branch(at[3], m, low, high, leaf)
                self.box[2 * m], self.box[2 * m + 1] = 0, self.last_bin(m)
        self.walk_branches()

    cdef void walk_branches(self) noexcept nogil:
        """Note all leaves that the branches reach.

        A step down a tree waits for the memory of the one before, so several branches are
        walked in turn. In which order they arrive does not matter: the sums are of integers.
        """
        cdef const int32_t* nodes = self.node
        cdef const int32_t* node
        cdef Branch[LANES] lanes
        cdef Branch* lane
        cdef Py_ssize_t i, n_lanes, following
        cdef int32_t cut, place, right
        n_lanes = min(LANES, self.n_branches)
        memcpy(lanes, self.branches, n_lanes * sizeof(Branch))
        following = n_lanes
        while n_lanes:
            i = 0
            while i < n_lanes:
                lane = lanes + i
                node = nodes + 4 * <Py_ssize_t>lane.node
                if node[0] < 0:
                    self.note(lane.feature, lane.low, lane.high, lane.node, lane.here)
                    if following < self.n_branches:
                        lane[0] = self.branches[following]
                        following += 1
                    else:
                        n_lanes -= 1
                        lane[0] = lanes[n_lanes]
                        continue
                else:
                    cut = node[1]
                    if node[0] != lane.feature:
                        place = self.bins[node[0]]
                        right = place > cut
                        if place < 0:
                            right = not self.left_if_missing[lane.node]
                    elif lane.high <= cut:
                        right = 0
                    elif lane.low > cut:
                        right = 1
                    else:
                        self.add_branch(node[3], lane.feature, cut + 1, lane.high, lane.here)
                        lane.high, right = cut, 0
                    lane.node = node[2 + right]
                i += 1

    cdef inline void add_branch(
        self, int32_t node, int32_t m, int32_t low, int32_t high, int32_t here
    ) noexcept nogil:
        cdef Branch* branch
        cdef void* more
        if self.n_branches == self.room_branches:
            more = realloc(self.branches, 2 * self.room_branches * sizeof(Branch))
            if more == NULL:
                self.failed = True
                return
            self.branches, self.room_branches = <Branch*>more, 2 * self.room_branches
        branch = self.branches + self.n_branches
        branch.node, branch.feature, branch.low, branch.high, branch.here = node, m, low, high, here
        self.n_branches += 1

    cdef inline void note(
        self, int32_t m, int32_t low, int32_t high, int32_t leaf, int32_t here
    ) noexcept nogil:
        cdef const int64_t* new = self.leaf + leaf * self.C
        cdef const int64_t* old = self.leaf + here * self.C
        cdef int64_t* change
        cdef Py_ssize_t c
        cdef bint same = True
        cdef int32_t up = low > self.bins[m], delta
        for c in range(self.C):
            same = same and new[c] == old[c]
        if same:
            return
        if self.n_events + 2 > self.room and not self.grow():
            self.failed = True
            return
        change = self.deltas + self.n_deltas * self.C
        for c in range(self.C):
            change[c] = new[c] - old[c]
        self.n_deltas += 1
        delta = <int32_t>self.n_deltas
        self.add_event(2 * m + up, low if up else high, delta)
        if up and high < self.last_bin(m):
            self.add_event(2 * m + 1, high + 1, -delta)
        elif not up and low > 0:
            self.add_event(2 * m, low - 1, -delta)

    cdef inline void add_event(self, int32_t in_list, int32_t bin, int32_t delta) noexcept nogil:
        self.events[self.n_events].bin, self.events[self.n_events].delta = bin, delta
        self.in_list[self.n_events] = in_list
        self.n_events += 1

    cdef void rank_events(self) noexcept nogil:
        cdef Py_ssize_t i, n = 2 * self.M
        cdef int32_t l, j, first, last
        cdef Event event
        memset(self.starts, 0, (n + 2) * sizeof(int32_t))
        for i in range(self.n_events):
            self.starts[self.in_list[i] + 2] += 1
        for i in range(1, n + 2):
            self.starts[i] += self.starts[i - 1]
        for i in range(self.n_events):
            l = self.in_list[i] + 1
            self.ranked[self.starts[l]] = self.events[i]
            self.starts[l] += 1
        for l in range(<int32_t>n):
            first, last = self.starts[l], self.starts[l + 1]
            for i in range(first + 1, last):
                event, j = self.ranked[i], <int32_t>i - 1
                if l % 2:
                    while j >= first and self.ranked[j].bin > event.bin:
                        self.ranked[j + 1] = self.ranked[j]
                        j -= 1
                else:
                    while j >= first and self.ranked[j].bin < event.bin:
                        self.ranked[j + 1] = self.ranked[j]
                        j -= 1
                self.ranked[j + 1] = event

    cdef Move best_move(self, Row* row) noexcept nogil:
        cdef Move best
        cdef int32_t l, m, e, stop, bin, limit, sign
        cdef Py_ssize_t c
        cdef bint up, inside
        cdef double cost, dearer, gain, top = 0.0
        cdef int64_t here, margin
        cdef const int64_t* delta
        best.feature, best.bin, best.cost = -1, -1, 0.0
        self.rank_events()
        here = self.margin(self.score, row.target)
        inside = here > AHEAD
        for l in range(<int32_t>(2 * self.M)):
            m, up = l // 2, l % 2
            e, stop = self.starts[l], self.starts[l + 1]
            memcpy(self.running, self.score, self.C * sizeof(int64_t))
            while e < stop:
                bin = self.ranked[e].bin
                while e < stop and self.ranked[e].bin == bin:
                    sign = 1 if self.ranked[e].delta > 0 else -1
                    delta = self.deltas + (sign * self.ranked[e].delta - 1) * self.C
                    for c in range(self.C):
                        self.running[c] += sign * delta[c]
                    e += 1
                limit = self.ranked[e].bin if e < stop else -1
                if up:
                    bin = self.next_up[self.first_bin[m] + bin]
                    if bin < 0 or (limit >= 0 and bin >= limit):
                        continue
                else:
                    bin = self.next_down[self.first_bin[m] + bin]
                    if bin < 0 or bin <= limit:
                        continue
                margin = self.margin(self.running, row.target)
                if (not margin > AHEAD) if inside else (not margin - here > AHEAD):
                    continue
                cost = self.cost(row, m, bin)
                if cost == INFINITY:
                    continue
                if inside:
                    gain = self.costs[m] - cost
                else:
                    dearer = cost - self.costs[m]
                    gain = <double>(min(margin, AHEAD + 1) - here)
                    gain = gain / dearer if dearer > 0 else INFINITY
                if gain > top:
                    top, best.feature, best.bin, best.cost = gain, m, bin, cost
        return best

    cdef double settle(self, Row* row) noexcept nogil:
        cdef Move move
        cdef Py_ssize_t m, steps
        cdef double total = 0.0
        cdef bint inside = False
        for m in range(self.M):
            self.box[2 * m], self.box[2 * m + 1] = 0, self.last_bin(m)
        for steps in range(LONGEST * self.M):
            self.open_windows(row, inside)
            self.look_around(row)
            move = self.best_move(row)
            if self.failed:
                return INFINITY
            inside = self.margin(self.score, row.target) > AHEAD
            if move.feature < 0:
                break
            self.bins[move.feature], self.costs[move.feature] = move.bin, move.cost
        if not inside:
            return INFINITY
        for m in range(self.M):
            total += self.costs[m]
        return total

    cdef void start(self, Row* row) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.bins[m] = row.home[m]
            self.costs[m] = self.cost(row, m, row.home[m]) if row.mutable[m] else 0.0

    cdef bint start_at_cell(
        self, Row* row, const int32_t[:, ::1] lowest, const int32_t[:, ::1] highest
    ) noexcept nogil:
        """Step into the nearest cell; say whether there is one."""
        cdef Py_ssize_t z, best = -1
        cdef int32_t m, bin
        cdef double total, cost, least = INFINITY
        for z in range(lowest.shape[0]):
            total = 0.0
            for m in range(self.M):
                bin = min(max(row.home[m], lowest[z, m]), highest[z, m])
                if bin == row.home[m] or row.home[m] < 0:
                    continue
                cost = self.cost(row, m, bin) if row.mutable[m] else INFINITY
                total += cost
                if not total < least:
                    break
            if total < least:
                best, least = z, total
        if best < 0:
            return False
        self.start(row)
        for m in range(self.M):
            bin = min(max(row.home[m], lowest[best, m]), highest[best, m])
            if bin != row.home[m] and row.home[m] >= 0:
                self.bins[m], self.costs[m] = bin, self.cost(row, m, bin)
        return True

    def find(
        self,
        const double[:, ::1] x,
        const double[:, ::1] origin,
        const double[:, ::1] low,
        const double[:, ::1] high,
        const int32_t[:, ::1] home,
        const uint8_t[:, ::1] mutable,
        const Py_ssize_t[::1] target,
        const int32_t[:, ::1] lowest,
        const int32_t[:, ::1] highest,
        const Py_ssize_t[::1] first_cell,
        int32_t[:, ::1] found,
        double[::1] distance,
    ):
        """Write the bins and the distance of the inversion of every row, infinite for none."""
        cdef Py_ssize_t r, m, t
        cdef Row row
        self.failed = False
        with nogil:
            for r in range(x.shape[0]):
                row.x, row.origin, row.home = &x[r, 0], &origin[r, 0], &home[r, 0]
                row.low, row.high, row.mutable = &low[r, 0], &high[r, 0], &mutable[r, 0]
                row.target = t = target[r]
                self.start(&row)
                distance[r] = self.settle(&row)
                if distance[r] == INFINITY and self.start_at_cell(
                    &row,
                    lowest[first_cell[t] : first_cell[t + 1]],
                    highest[first_cell[t] : first_cell[t + 1]],
                ):
                    distance[r] = self.settle(&row)
                memcpy(&found[r, 0], self.bins, self.M * sizeof(int32_t))
        if self.failed:
            raise MemoryError
