# Slopes of large trees, by walking; included by the minimum kernel.

cdef enum:
    LANES = 8  # branches that are walked together


cdef struct Branch:
    int32_t node
    int32_t feature
    int32_t low
    int32_t high
    int32_t here  # the current leaf of the row


cdef class Branches:
    """Writes slopes by entering the other child of every node on the path of a row."""

    cdef Slopes slopes
    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left
    cdef const int32_t[::1] roots
    cdef const int64_t[:, ::1] value
    cdef Py_ssize_t C, K
    # The same, without strides.
    cdef const int32_t* node
    cdef const uint8_t* left_if_missing
    cdef const int64_t* leaf
    cdef int32_t* box  # (M, 2): the bins that lead to the same leaf
    cdef int32_t* path  # (depth, 4): feature, lower bin, upper bin, other child
    cdef Branch* branches
    cdef Py_ssize_t n_branches, room_branches
    cdef bint failed

    def __init__(self, land, Slopes slopes):
        trees = land.trees
        self.nodes, self.missing_left, self.roots = trees.nodes, trees.missing_left, trees.roots
        self.value, self.slopes, self.C = land.value, slopes, slopes.C
        self.K = self.roots.shape[0]
        self.node, self.left_if_missing = &self.nodes[0, 0], &self.missing_left[0]
        self.leaf = &self.value[0, 0]
        self.room_branches = self.K * (trees.depth + 1)
        self.box = <int32_t*>malloc(2 * slopes.M * sizeof(int32_t))
        self.path = <int32_t*>malloc(4 * (trees.depth + 1) * sizeof(int32_t))
        self.branches = <Branch*>malloc(self.room_branches * sizeof(Branch))
        if not (self.box and self.path and self.branches):
            raise MemoryError
        for m in range(slopes.M):
            self.box[2 * m], self.box[2 * m + 1] = 0, self.last_bin(m)

    def __dealloc__(self):
        free(self.box)
        free(self.path)
        free(self.branches)

    cdef inline int32_t last_bin(self, Py_ssize_t m) noexcept nogil:
        return self.slopes.first_bin[m + 1] - self.slopes.first_bin[m] - 1

    cdef bint look_around(self, Row* row, const int32_t* bins, const int32_t* window) noexcept nogil:
        """Write the scores, and the slopes within the windows; return whether memory sufficed."""
        cdef const int32_t* nodes = self.node
        cdef const int32_t* node
        cdef Py_ssize_t k, c, i
        cdef int32_t m, cut, low, high, depth, right, place, leaf
        cdef int32_t* at
        cdef int64_t* score = self.slopes.score
        self.n_branches, self.failed = 0, False
        self.slopes.clear()
        for k in range(self.K):
            node, depth = nodes + 4 * <Py_ssize_t>self.roots[k], 0
            while node[0] >= 0:
                m, cut = node[0], node[1]
                place = bins[m]
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
                score[c] += self.leaf[leaf * self.C + c]
            for i in range(depth):
                at = self.path + 4 * i
                m = at[0]
                low, high = max(at[1], window[2 * m]), min(at[2], window[2 * m + 1])
                if low <= high:
                    self.add_branch(at[3], m, low, high, leaf)
                self.box[2 * m], self.box[2 * m + 1] = 0, self.last_bin(m)
        self.walk_branches(bins)
        return not self.failed

    cdef void walk_branches(self, const int32_t* bins) noexcept nogil:
        """Record all leaves that the branches reach.

        Each step down a tree waits for memory, so several branches are walked in turn. Their order
        does not matter, because the sums are integers.
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
                        place = bins[node[0]]
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
        """Record that from low to high the row falls into another leaf."""
        cdef const int64_t* new = self.leaf + leaf * self.C
        cdef const int64_t* old = self.leaf + here * self.C
        cdef int64_t* change
        cdef Py_ssize_t c
        cdef bint same = True
        for c in range(self.C):
            same = same and new[c] == old[c]
        if same:
            return
        change = self.slopes.mark(m, low)
        for c in range(self.C):
            change[c] += new[c] - old[c]
        if high < self.last_bin(m):
            change = self.slopes.mark(m, high + 1)
            for c in range(self.C):
                change[c] -= new[c] - old[c]
