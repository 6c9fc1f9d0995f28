# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
r"""Branch and bound over the boxes of an ensemble of trees, compiled.

    bin        where a value lies among the cuts of its feature (see ``landscape``)
    box        an interval of bins for each feature; the first one holds every row that is near enough
    cost       what a bin of a feature adds to the distance from the row, at least; infinite for a
               bin that the row may not move to
    corner     the bins of a box with the least cost
    gain       the score of the target class minus that of another class
    live       a node of a tree that a row in the box can reach at a cost below the best known
    edge       the step from a live node to a child: "bin <= cut" or "bin > cut"

The bound on the cost of a box is that of a Lagrangian dual. A row in the class has a leaf of every
tree, and their gains add up to at least zero. The dual decouples trees and row: each tree may
choose any live leaf, the row any bin of each feature. A tree that takes an edge pays a price for
it (``price``), and the row earns the same price if its bin lies on that side, so that differing
gains nothing; gains are worth ``worth`` each. For any prices >= 0 and any worth >= 0

    sum over features of min over bins (cost - prices earned)
        + sum over trees of min over leaves (prices paid - worth * gain)

is at most the cost of every row of the class in the box. Subgradient steps raise it. Where it stays
below the best known distance, the box is cut in two at the cut that trees and row differ about most.
The box with the least bound is always next, so that the least bound of the open boxes is one on all.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

# Step of the worth of gains relative to that of prices, and the first step, relative to Polyak's.
cdef double SCALE = 3.0, FIRST = 0.5
# After so many steps without a better bound they become so much shorter.
cdef int PATIENCE = 3
cdef double EASE = 0.8
# The weight of a cut that costs nothing to pass, as a share of the distance.
cdef double FREE = 0.1
cdef double NEARLY = 1 - 1e-9  # a bound is proved up to rounding
cdef enum:
    LEFT, RIGHT
cdef enum:
    OUTSIDE, CLOSE, SURE


cdef struct Edge:
    # The edge that leads to a live node.
    int32_t parent  # among the live nodes; -1 for a root
    int32_t feature, cut, side
    int32_t node
    int32_t bound  # whether it has no price: a root, or the box leaves no other side


cdef struct Open:
    double bound
    int64_t number
    int32_t* box  # (2, M): first and last bin of each feature


cdef class Boxes:
    """Open boxes, the one with the least bound first; of equals the latest."""

    cdef Open* heap
    cdef Py_ssize_t n, capacity
    cdef int64_t pushed

    def __cinit__(self):
        self.capacity, self.n, self.pushed = 64, 0, 0
        self.heap = <Open*>malloc(self.capacity * sizeof(Open))

    def __dealloc__(self):
        self.clear()
        free(self.heap)

    cdef void clear(self) noexcept nogil:
        while self.n:
            self.n -= 1
            free(self.heap[self.n].box)

    cdef inline bint before(self, Open* one, Open* other) noexcept nogil:
        if one.bound != other.bound:
            return one.bound < other.bound
        return one.number > other.number

    cdef bint push(self, const int32_t* box, Py_ssize_t size, double bound) noexcept nogil:
        """Add a box; say whether there was memory for it."""
        cdef Py_ssize_t at = self.n, up
        cdef Open new
        cdef Open* larger
        if self.n == self.capacity:
            larger = <Open*>realloc(self.heap, 2 * self.capacity * sizeof(Open))
            if not larger:
                return False
            self.heap, self.capacity = larger, 2 * self.capacity
        new.bound, new.number = bound, self.pushed
        new.box = <int32_t*>malloc(size * sizeof(int32_t))
        if not new.box:
            return False
        memcpy(new.box, box, size * sizeof(int32_t))
        self.pushed += 1
        self.n += 1
        while at > 0:
            up = (at - 1) // 2
            if not self.before(&new, &self.heap[up]):
                break
            self.heap[at] = self.heap[up]
            at = up
        self.heap[at] = new
        return True

    cdef double pop(self, int32_t* box, Py_ssize_t size) noexcept nogil:
        """Take the first box; return its bound."""
        cdef double bound = self.heap[0].bound
        cdef Py_ssize_t at = 0, down
        cdef Open last
        memcpy(box, self.heap[0].box, size * sizeof(int32_t))
        free(self.heap[0].box)
        self.n -= 1
        last = self.heap[self.n]
        while 2 * at + 1 < self.n:
            down = 2 * at + 1
            if down + 1 < self.n and self.before(&self.heap[down + 1], &self.heap[down]):
                down += 1
            if not self.before(&self.heap[down], &last):
                break
            self.heap[at] = self.heap[down]
            at = down
        if self.n:
            self.heap[at] = last
        return bound


cdef class Prover:
    """Proves how near an inversion can be; it works on one row at a time."""

    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left
    cdef const int32_t[::1] roots, first_bin
    cdef const double[:, ::1] value  # (nodes, scores)
    cdef Py_ssize_t M, T, C, R, n_bins
    cdef double[:, ::1] gain  # (other classes, nodes) of the target
    cdef Py_ssize_t target
    cdef Boxes open
    # Of the row.
    cdef const double* cost  # (bins,)
    cdef const int32_t* home
    cdef int32_t* up  # (bins,): the nearest bin from this one on, away from home, with a finite cost
    cdef double best
    cdef Py_ssize_t most_changed
    # Of the box.
    cdef int32_t* box
    cdef int32_t* low  # (M,): the box as a path narrows it
    cdef int32_t* high
    cdef double* least  # (M,): the least cost of each feature in the box
    cdef double base
    cdef Edge* live
    cdef double* own_price  # of each live node
    cdef double* paid  # on the way to each live node
    cdef int32_t* leaves  # the live nodes that are leaves, and the tree of each
    cdef int32_t* tree
    cdef int32_t* priced  # the live nodes with a price
    cdef int32_t* taken  # those on the way to the leaf of a tree
    cdef int32_t* stamp  # the step in which a live node was taken last
    cdef Py_ssize_t n_live, n_leaves, n_priced, n_taken
    cdef double* price  # (nodes,): of the edge to a node, kept from box to box
    cdef double* best_price
    cdef double* worth  # (rivals,)
    cdef double* earned  # (bins,)
    cdef double* differ  # (bins,): how often trees and row differ about a cut
    cdef int32_t* chosen  # (M,): the bin of the row
    cdef int32_t* accepted  # (M,): the row in ``found`` before a candidate was written there
    cdef int32_t* leaf  # (T,): the live leaf of each tree
    cdef double* least_key  # (T,)
    cdef double* total  # (rivals,)
    cdef uint8_t* used  # (M,): whether some edge is about the feature
    cdef double* top  # (rivals,)
    cdef double deficit, scale
    cdef bint failed
    cdef object ask, error
    cdef Py_ssize_t row

    def __init__(self, land, double ahead):
        trees = land.trees
        self.nodes, self.missing_left = trees.nodes, trees.missing_left
        self.roots, self.first_bin = trees.roots, land.first_bin
        score = land.value / float(ahead)  # so that 1 is what rounding may make of a sum
        self.value = np.ascontiguousarray(score)
        self.M, self.T, self.C = trees.n_features, len(trees.roots), land.value.shape[1]
        self.R = max(1, self.C - 1)
        self.n_bins = self.first_bin[self.M]
        self.gain = np.zeros((self.R, self.nodes.shape[0]))
        self.target = -1
        self.open = Boxes()
        n_nodes = self.nodes.shape[0]
        self.up = <int32_t*>malloc(self.n_bins * sizeof(int32_t))
        self.box = <int32_t*>malloc(2 * self.M * sizeof(int32_t))
        self.low = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.high = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.least = <double*>malloc(self.M * sizeof(double))
        self.live = <Edge*>malloc(n_nodes * sizeof(Edge))
        self.own_price = <double*>malloc(n_nodes * sizeof(double))
        self.paid = <double*>malloc(n_nodes * sizeof(double))
        self.leaves = <int32_t*>malloc(n_nodes * sizeof(int32_t))
        self.tree = <int32_t*>malloc(n_nodes * sizeof(int32_t))
        self.priced = <int32_t*>malloc(n_nodes * sizeof(int32_t))
        self.taken = <int32_t*>malloc(n_nodes * sizeof(int32_t))
        self.stamp = <int32_t*>malloc(n_nodes * sizeof(int32_t))
        self.least_key = <double*>malloc(self.T * sizeof(double))
        self.price = <double*>malloc(n_nodes * sizeof(double))
        self.best_price = <double*>malloc(n_nodes * sizeof(double))
        self.worth = <double*>malloc(2 * self.R * sizeof(double))
        self.earned = <double*>malloc((self.n_bins + 1) * sizeof(double))
        self.differ = <double*>malloc((self.n_bins + 1) * sizeof(double))
        self.chosen = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.accepted = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.leaf = <int32_t*>malloc(self.T * sizeof(int32_t))
        self.top = <double*>malloc(self.R * sizeof(double))
        self.total = <double*>malloc(self.R * sizeof(double))
        self.used = <uint8_t*>malloc(self.M)
        if not (
            self.up and self.box and self.low and self.high and self.least and self.live
            and self.price and self.best_price and self.worth and self.earned and self.differ
            and self.own_price and self.paid and self.leaves and self.tree and self.priced
            and self.taken and self.stamp and self.least_key and self.chosen and self.accepted
            and self.leaf and self.total and self.top and self.used
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.up)
        free(self.box)
        free(self.low)
        free(self.high)
        free(self.least)
        free(self.live)
        free(self.own_price)
        free(self.paid)
        free(self.leaves)
        free(self.tree)
        free(self.priced)
        free(self.taken)
        free(self.stamp)
        free(self.least_key)
        free(self.price)
        free(self.best_price)
        free(self.worth)
        free(self.earned)
        free(self.differ)
        free(self.chosen)
        free(self.accepted)
        free(self.leaf)
        free(self.total)
        free(self.top)
        free(self.used)

    def prove(
        self,
        const double[:, ::1] cost,
        const int32_t[:, ::1] home,
        const Py_ssize_t[::1] target,
        double[::1] distance,
        int32_t[:, ::1] found,
        double[::1] bound,
        uint8_t[::1] nearer,
        Py_ssize_t most_changed,
        bint relaxed,
        Py_ssize_t n_boxes,
        Py_ssize_t n_steps,
        ask,
    ):
        """Write a bound on the distance of every row, and bins that are nearer where there are any.

        ``distance`` holds the best known, and gets what is found; then ``nearer`` is set. Where the
        score is too close to call ``ask(r)`` says of row r whether f puts the bins in ``found``
        into the class. Where the problem is ``relaxed``, rules that the boxes do not know may
        refuse a corner: it is asked about each, and where one is refused the search ends.
        """
        cdef Py_ssize_t r
        self.failed, self.ask = False, ask
        for r in range(cost.shape[0]):
            self.aim(target[r])
            self.row = r
            with nogil:
                self.start(&cost[r, 0], &home[r, 0])
                self.best, self.most_changed = distance[r], most_changed
                bound[r] = self.search(&found[r, 0], &nearer[r], relaxed, n_boxes, n_steps)
                distance[r] = self.best
            if self.error is not None:
                raise self.error
            if self.failed:
                raise MemoryError

    cdef void aim(self, Py_ssize_t target):
        """Write the gains of a class."""
        if target == self.target:
            return
        value, gain = np.asarray(self.value), np.asarray(self.gain)
        if self.C == 1:
            gain[0] = value[:, 0] if target else -value[:, 0]
        else:
            others = [c for c in range(self.C) if c != target]
            gain[:] = (value[:, [target]] - value[:, others]).T
        self.target = target

    cdef void start(self, const double* cost, const int32_t* home) noexcept nogil:
        """Open the box of all bins."""
        cdef Py_ssize_t m
        cdef int32_t b, n, reached
        self.cost, self.home = cost, home
        self.open.clear()
        self.open.pushed = 0
        for m in range(self.M):
            n, reached = self.first_bin[m + 1] - self.first_bin[m], -1
            for b in range(n - 1, -1, -1):  # above home
                if b < home[m]:
                    break
                if cost[self.first_bin[m] + b] != INFINITY:
                    reached = b
                self.up[self.first_bin[m] + b] = reached
            reached = -1
            for b in range(n):  # below it
                if b >= home[m]:
                    break
                if cost[self.first_bin[m] + b] != INFINITY:
                    reached = b
                self.up[self.first_bin[m] + b] = reached
            self.box[2 * m], self.box[2 * m + 1] = 0, n - 1
            if home[m] < 0:
                self.box[2 * m], self.box[2 * m + 1] = -1, -1
        memset(self.price, 0, self.nodes.shape[0] * sizeof(double))
        for m in range(self.R):
            self.worth[m] = -1.0
        if not self.open.push(self.box, 2 * self.M, 0.0):
            self.failed = True

    cdef inline int32_t nearest(self, int32_t m, int32_t low, int32_t high) noexcept nogil:
        """The bin of an interval that costs least, -2 for none."""
        cdef int32_t home = self.home[m], bin
        if low <= home <= high:
            return home
        if high < low:
            return -2
        if low > home:
            bin = self.up[self.first_bin[m] + low]
            return bin if 0 <= bin <= high else -2
        bin = self.up[self.first_bin[m] + high]
        return bin if bin >= low else -2

    cdef inline double least_cost(self, int32_t m, int32_t low, int32_t high) noexcept nogil:
        cdef int32_t bin = self.nearest(m, low, high)
        if bin == -2:
            return INFINITY
        return self.cost[self.first_bin[m] + bin] if bin >= 0 else 0.0

    cdef double search(
        self, int32_t* found, uint8_t* nearer, bint relaxed, Py_ssize_t n_boxes, Py_ssize_t n_steps
    ) noexcept nogil:
        """Return the bound."""
        cdef double bound
        cdef Py_ssize_t done, m
        cdef int32_t feature = 0, cut = 0, last
        cdef int sort
        for done in range(n_boxes):
            if not self.open.n or self.failed:
                break
            if self.open.heap[0].bound >= self.best * NEARLY:
                break
            bound = self.open.pop(self.box, 2 * self.M)
            if not self.narrow():
                continue
            bound = max(bound, self.base)
            if bound >= self.best * NEARLY or not self.find_live():
                continue
            sort = self.corner()
            if sort == SURE or (sort == CLOSE and not self.can_branch()):
                if relaxed and self.open.n and self.open.heap[0].bound < self.base:
                    self.push(self.base)  # others may be nearer
                    continue
                memcpy(self.accepted, found, self.M * sizeof(int32_t))
                memcpy(found, self.chosen, self.M * sizeof(int32_t))
                if (sort == SURE and not relaxed) or self.is_accepted():
                    self.best, nearer[0] = self.base, True
                    continue
                memcpy(found, self.accepted, self.M * sizeof(int32_t))
                if relaxed:
                    return self.base
                continue
            bound = max(bound, self.raise_bound(bound, n_steps if done else 4 * n_steps))
            if bound >= self.best * NEARLY:
                continue
            if not self.find_cut(&feature, &cut):
                continue
            last = self.box[2 * feature + 1]
            self.box[2 * feature + 1] = cut
            self.push(bound)
            self.box[2 * feature], self.box[2 * feature + 1] = cut + 1, last
            self.push(bound)
        bound = self.open.heap[0].bound if self.open.n else INFINITY
        return self.best if bound >= self.best * NEARLY else bound

    cdef inline void push(self, double bound) noexcept nogil:
        if not self.open.push(self.box, 2 * self.M, bound):
            self.failed = True

    cdef bint is_accepted(self) noexcept nogil:
        """Check whether the row that was found is in the class, and keeps all rules."""
        cdef bint accepted = False
        with gil:
            try:
                accepted = self.ask(self.row)
            except BaseException as error:
                self.error, self.failed = error, True
        return accepted

    cdef bint narrow(self) noexcept nogil:
        """Leave out bins that cost too much; say whether there is a row in the box."""
        cdef Py_ssize_t m, changed = 0
        cdef int32_t home, b
        cdef double slack
        self.base = 0.0
        for m in range(self.M):
            self.least[m] = self.least_cost(<int32_t>m, self.box[2 * m], self.box[2 * m + 1])
            self.base += self.least[m]
            home = self.home[m]
            changed += not (self.box[2 * m] <= home <= self.box[2 * m + 1])
        if self.base >= self.best * NEARLY or changed > self.most_changed:
            return False
        for m in range(self.M):
            home = self.home[m]
            if home < 0:
                continue
            if changed == self.most_changed and self.box[2 * m] <= home <= self.box[2 * m + 1]:
                self.box[2 * m] = self.box[2 * m + 1] = home
                continue
            slack = self.best - self.base + self.least[m]
            b = self.box[2 * m]
            while b < home and not self.least_cost(<int32_t>m, b, b) < slack:
                b += 1
            self.box[2 * m] = b
            b = self.box[2 * m + 1]
            while b > home and not self.least_cost(<int32_t>m, b, b) < slack:
                b -= 1
            self.box[2 * m + 1] = b
        return True

    cdef bint find_live(self) noexcept nogil:
        """List the nodes that the box can reach; say whether it can reach the class."""
        cdef Py_ssize_t t, r
        self.n_live = self.n_leaves = 0
        for t in range(self.M):
            self.low[t], self.high[t] = self.box[2 * t], self.box[2 * t + 1]
        for r in range(self.R):
            self.total[r] = 1.0
        for t in range(self.T):
            for r in range(self.R):
                self.top[r] = -INFINITY
            self.visit(<int32_t>t, self.roots[t], -1, -1, 0, LEFT, True, self.base)
            for r in range(self.R):
                self.total[r] += self.top[r]
        for r in range(self.R):
            if self.total[r] < 0:
                return False
        return True

    cdef bint visit(
        self, int32_t tree, int32_t node, int32_t parent, int32_t feature, int32_t cut,
        int32_t side, bint bound, double cost,
    ) noexcept nogil:
        """List a node and what is live below it; say whether any leaf is."""
        cdef int32_t m = self.nodes[node, 0], k = self.nodes[node, 1], at = parent, low, high
        cdef Py_ssize_t r
        cdef double before, here
        cdef bint any_leaf = False, left, right
        cdef Edge* one
        if not bound or parent < 0 or m < 0:  # others have no price, and are passed over
            at = <int32_t>self.n_live
            one = self.live + at
            one.parent, one.feature, one.cut, one.side = parent, feature, cut, side
            one.node, one.bound = node, bound
            self.n_live += 1
        if m < 0:
            for r in range(self.R):
                self.top[r] = max(self.top[r], self.gain[r, node])
            self.leaves[self.n_leaves], self.tree[self.n_leaves] = at, tree
            self.n_leaves += 1
            return True
        low, high = self.low[m], self.high[m]
        if self.home[m] < 0:
            k = 2 if self.missing_left[node] else 3
            any_leaf = self.visit(tree, self.nodes[node, k], at, m, 0, LEFT, True, cost)
        elif high <= k:
            any_leaf = self.visit(tree, self.nodes[node, 2], at, m, k, LEFT, True, cost)
        elif low > k:
            any_leaf = self.visit(tree, self.nodes[node, 3], at, m, k, RIGHT, True, cost)
        else:
            before = self.least_cost(m, low, high)
            here = cost - before + self.least_cost(m, low, k)
            if here < self.best:
                self.high[m] = k
                any_leaf |= self.visit(tree, self.nodes[node, 2], at, m, k, LEFT, False, here)
                self.high[m] = high
            here = cost - before + self.least_cost(m, k + 1, high)
            if here < self.best:
                self.low[m] = k + 1
                any_leaf |= self.visit(tree, self.nodes[node, 3], at, m, k, RIGHT, False, here)
                self.low[m] = low
        if not any_leaf and (not bound or parent < 0):
            self.n_live = at
        return any_leaf

    cdef bint can_branch(self) noexcept nogil:
        """Say whether trees can still choose."""
        cdef Py_ssize_t i
        for i in range(self.n_live):
            if not self.live[i].bound:
                return True
        return False

    cdef int corner(self) noexcept nogil:
        """Say where the corner is: in the class, outside, or undecided within rounding."""
        cdef Py_ssize_t m, r, t
        cdef int32_t node, bin
        cdef double worst = INFINITY
        for m in range(self.M):
            self.chosen[m] = self.nearest(<int32_t>m, self.box[2 * m], self.box[2 * m + 1])
        for r in range(self.R):
            self.total[r] = 0.0
        for t in range(self.T):
            node = self.roots[t]
            while self.nodes[node, 0] >= 0:
                m = self.nodes[node, 0]
                bin = self.chosen[m]
                if bin < 0:
                    node = self.nodes[node, 2 if self.missing_left[node] else 3]
                else:
                    node = self.nodes[node, 2 if bin <= self.nodes[node, 1] else 3]
            for r in range(self.R):
                self.total[r] += self.gain[r, node]
        for r in range(self.R):
            worst = min(worst, self.total[r])
        self.deficit = max(1.0, -worst)
        return SURE if worst > 1.0 else (CLOSE if worst >= -1.0 else OUTSIDE)

    cdef double dual(self, int32_t step) noexcept nogil:
        """Let trees and row choose by the prices; return the bound that this proves."""
        cdef Py_ssize_t i, j, m, r, b, t, start
        cdef Edge* one
        cdef double total = 0.0, key, least, running, here, price
        cdef double* worth = self.worth
        memset(self.earned, 0, (self.n_bins + 1) * sizeof(double))
        for r in range(self.R):
            total -= worth[r]  # what rounding may add
            self.total[r] = 1.0
        for i in range(self.n_live):
            m = self.live[i].parent
            self.paid[i] = (self.paid[m] if m >= 0 else 0.0) + self.own_price[i]
        for j in range(self.n_priced):
            one = self.live + self.priced[j]
            price = self.own_price[self.priced[j]]
            start = self.first_bin[one.feature]
            if one.side == LEFT:
                self.earned[start + self.box[2 * one.feature]] += price
                self.earned[start + one.cut + 1] -= price
            else:
                self.earned[start + one.cut + 1] += price
        for t in range(self.T):
            self.least_key[t] = INFINITY
        for j in range(self.n_leaves):
            i, t = self.leaves[j], self.tree[j]
            key = self.paid[i]
            for r in range(self.R):
                key -= worth[r] * self.gain[r, self.live[i].node]
            if key < self.least_key[t]:
                self.least_key[t], self.leaf[t] = key, <int32_t>i
        for m in range(self.M):
            if not self.used[m]:
                total += self.least[m]
                continue
            start, running, least = self.first_bin[m], 0.0, INFINITY
            for b in range(self.box[2 * m], self.box[2 * m + 1] + 1):
                running += self.earned[start + b]
                here = self.cost[start + b] - running
                if here < least:
                    least, self.chosen[m] = here, <int32_t>b
            total += least
        self.n_taken = 0
        for t in range(self.T):
            total += self.least_key[t]
            i = self.leaf[t]
            for r in range(self.R):
                self.total[r] += self.gain[r, self.live[i].node]
            while i >= 0:
                if not self.live[i].bound:
                    self.stamp[i] = step
                    self.taken[self.n_taken] = <int32_t>i
                    self.n_taken += 1
                i = self.live[i].parent
        return total

    cdef inline bint agrees(self, Py_ssize_t i) noexcept nogil:
        """Say whether the bin of the row lies on the side of an edge."""
        cdef Edge* one = self.live + i
        return (self.chosen[one.feature] > one.cut) == (one.side == RIGHT)

    cdef double raise_bound(self, double known, Py_ssize_t n_steps) noexcept nogil:
        """Raise the bound on the box by steps of the prices; return the best."""
        cdef Py_ssize_t i, j, r, n
        cdef int32_t step
        cdef Edge* one
        cdef double best = -INFINITY, bound, size, norm, wanted, ease = FIRST
        cdef int since = 0
        self.n_priced = 0
        memset(self.used, 0, self.M)
        for i in range(self.n_live):
            one = self.live + i
            self.stamp[i], self.own_price[i] = -1, 0.0
            if not one.bound:
                self.used[one.feature] = True
                self.own_price[i] = self.price[one.node]
                if self.own_price[i] > 0:
                    self.priced[self.n_priced] = <int32_t>i
                    self.n_priced += 1
        memset(self.differ, 0, self.n_bins * sizeof(double))
        wanted = self.best if self.best < INFINITY else 2 * (known + 1)
        if self.worth[0] < 0:
            for r in range(self.R):
                self.worth[r] = wanted / self.deficit / self.R
            self.scale = SCALE / self.deficit
        for step in range(<int32_t>n_steps):
            bound = self.dual(step)
            if bound > best:
                best, since = bound, 0
                for i in range(self.n_live):
                    self.price[self.live[i].node] = self.own_price[i]
                for r in range(self.R):
                    self.worth[self.R + r] = self.worth[r]
                if best >= self.best * NEARLY:
                    break
            else:
                since += 1
                if since >= PATIENCE:
                    ease, since = ease * EASE, 0
            norm = 0.0
            for j in range(self.n_taken):
                if not self.agrees(self.taken[j]):
                    one = self.live + self.taken[j]
                    self.differ[self.first_bin[one.feature] + one.cut] += 1.0
                    norm += 1.0
            for j in range(self.n_priced):
                i = self.priced[j]
                norm += self.stamp[i] != step and self.agrees(i)
            for r in range(self.R):
                if self.total[r] < 0 or self.worth[r] > 0:
                    norm += (self.total[r] * self.scale) ** 2
            if norm == 0:
                break
            size, n = ease * (wanted - bound) / norm, 0
            for j in range(self.n_priced):
                i = self.priced[j]
                if self.stamp[i] != step and self.agrees(i):
                    self.own_price[i] = max(0.0, self.own_price[i] - size)
                if self.own_price[i] > 0:
                    self.priced[n] = <int32_t>i
                    n += 1
            self.n_priced = n
            for j in range(self.n_taken):
                i = self.taken[j]
                if not self.agrees(i):
                    if self.own_price[i] == 0:
                        self.priced[self.n_priced] = <int32_t>i
                        self.n_priced += 1
                    self.own_price[i] += size
            for r in range(self.R):
                self.worth[r] -= size * self.scale ** 2 * self.total[r]
                self.worth[r] = max(0.0, self.worth[r])
        for r in range(self.R):
            self.worth[r] = self.worth[self.R + r]
        return best

    cdef bint find_cut(self, int32_t* feature, int32_t* cut) noexcept nogil:
        """Find the cut that trees and row differ about most, and that costs most to pass."""
        cdef Py_ssize_t i
        cdef int32_t m
        cdef Edge* one
        cdef double most = -1.0, here
        cdef double far = self.best if self.best < INFINITY else 1.0
        for i in range(self.n_live):
            one = self.live + i
            m = one.feature
            if one.bound:
                continue
            here = max(
                self.least_cost(m, self.box[2 * m], one.cut),
                self.least_cost(m, one.cut + 1, self.box[2 * m + 1]),
            )
            here = min(here - self.least[m], far) + FREE * far
            here *= self.differ[self.first_bin[m] + one.cut]
            if here > most:
                most, feature[0], cut[0] = here, m, one.cut
        return most >= 0
