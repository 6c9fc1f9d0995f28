# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
r"""The minimum search in trees, compiled.

    landscape   the score of each class over the bins of the features (see ``landscape``)
    margin      the score of the wanted class minus the best other one, a whole number
    cost        what a feature adds to the distance
    home        the bins of the factual
    stretch     bins of one feature between which, all else equal, no score changes
    slopes      how the scores change where one feature moves

A search starts at home; if that leads nowhere, in the nearest *cell*: the bins that share all leaves
with a training row that f puts into the class. In every step each tree is read once, to record how
its leaf changes if one feature alone moves:

            m <= 4                    here: bin 2 of m
           /      \                   m in 5 .. 9:  leaf c, a change at 5
      n <= 1      m <= 9              m in 10 ..:   leaf d, a change at 10
      /    \      /    \
     a     [b]   c      d

So the margin is known after every move of a single feature: into any of its stretches, there
into the bin next to home. Outside the class the search makes the move with the most margin for its
cost (margin beyond what is missing does not count); inside, the move that saves most and stays
inside. It ends inside where no move saves anything: no change can be undone or shortened. Then one
change after the other is undone for good, the costliest first, and the search continues from there,
as long as the distance falls. A result with few changes is compared with one from the nearest cell.

Slopes are found by leaf sets for small trees (``minimum_sets``), by walking for large ones
(``minimum_branches``). Scores are whole numbers, so the order of adding them does not matter. The
tests compare all this with a plain version (``tests/naive_minimum.py``).
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from counterbalance.classifier.trees import AHEAD as _AHEAD
from counterbalance.classifier.trees import FEW_CHANGES as _FEW
from counterbalance.classifier.trees import LONGEST as _LONGEST

cdef int64_t AHEAD = _AHEAD
cdef Py_ssize_t LONGEST = _LONGEST, FEW = _FEW

include "leaf_sets.pxi"
include "minimum_slopes.pxi"
include "minimum_sets.pxi"
include "minimum_branches.pxi"


cdef struct Move:
    int32_t feature  # -1: none
    int32_t bin
    double cost


cdef struct Step:
    # A possible move of a feature: no bin nearer to home gains as much.
    int64_t brings
    double cost
    int32_t bin


cdef struct Steps:
    # The number of steps: at home, then below it, then above.
    int32_t home, below, above


cdef class Walker:
    """Searches a landscape; it holds the state of one row, so every thread has its own."""

    cdef const double[::1] least, most, rate
    cdef const int32_t[::1] next_up, next_down, first_bin
    cdef const uint8_t[::1] flat
    cdef Py_ssize_t M, C
    cdef Slopes slopes
    cdef Sets sets  # None where trees are too large
    cdef Branches branches  # None where they are not
    cdef int32_t* bins
    cdef double* costs
    cdef int32_t* window  # (M, 2): the bins that are considered
    cdef Step* steps  # (bins,): of each feature
    cdef Steps* counts  # (M,)
    cdef uint8_t* mutable  # (M,): which features may move, except one that is left out
    cdef int32_t* queue  # (M,)
    cdef double* best_costs  # (M,)
    cdef bint failed

    def __init__(self, land):
        self.first_bin, self.flat = land.first_bin, land.flat
        self.least, self.most, self.rate = land.least, land.most, land.rate
        self.next_up, self.next_down = land.next_up, land.next_down
        self.M, self.C = self.rate.shape[0], land.value.shape[1]
        self.slopes = Slopes(self.first_bin, self.C)
        if land.trees.leaf_sets is not None:
            self.sets = Sets(land, self.slopes)
        else:
            self.branches = Branches(land, self.slopes)
        self.bins = <int32_t*>malloc(self.M * sizeof(int32_t))
        self.costs = <double*>malloc(self.M * sizeof(double))
        self.window = <int32_t*>malloc(2 * self.M * sizeof(int32_t))
        self.steps = <Step*>malloc(self.first_bin[self.M] * sizeof(Step))
        self.counts = <Steps*>malloc(self.M * sizeof(Steps))
        self.mutable = <uint8_t*>malloc(self.M + 1)
        self.queue = <int32_t*>malloc((self.M + 1) * sizeof(int32_t))
        self.best_costs = <double*>malloc((self.M + 1) * sizeof(double))
        if not (
            self.bins and self.costs and self.window and self.steps and self.counts
            and self.mutable and self.queue and self.best_costs
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.bins)
        free(self.costs)
        free(self.window)
        free(self.steps)
        free(self.counts)
        free(self.mutable)
        free(self.queue)
        free(self.best_costs)

    cdef inline int32_t last_bin(self, Py_ssize_t m) noexcept nogil:
        return self.first_bin[m + 1] - self.first_bin[m] - 1

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
            return self.rate[m] if v != row.x[m] else 0.0
        return fabs(v - row.x[m]) * self.rate[m]

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
        """Choose the bins to consider: all, or only those that cost less than now."""
        cdef int32_t m
        cdef double reach
        for m in range(<int32_t>self.M):
            if not row.mutable[m]:
                continue
            self.window[2 * m], self.window[2 * m + 1] = 0, self.last_bin(m)
            if only_nearer and not self.costs[m] > 0:
                self.window[2 * m + 1] = -1
            elif only_nearer and not self.flat[m]:
                reach = self.costs[m] / self.rate[m] * (1 + 1e-9)
                self.window[2 * m] = self.first_not_below(m, row.x[m] - reach)
                self.window[2 * m + 1] = self.last_not_above(m, row.x[m] + reach)

    cdef inline int32_t nearest_bin(
        self, int32_t m, int32_t home, int32_t low, int32_t high
    ) noexcept nogil:
        """The bin from low to high that is the nearest to home and holds a value, -1 for none."""
        cdef int32_t bin
        if high < home:
            bin = self.next_down[self.first_bin[m] + high]
            return bin if bin >= low else -1
        if low > home:
            bin = self.next_up[self.first_bin[m] + low]
            return bin if bin <= high else -1
        return home

    cdef Move best_move(self, Row* row) noexcept nogil:
        cdef Move best
        cdef int32_t m
        cdef int64_t here = self.slopes.margin(self.slopes.score, row.target)
        cdef bint inside = here > AHEAD
        # With two classes, the gain of a step does not depend on the current bins of the row.
        cdef bint known = self.slopes.C == 1 and here <= 0
        cdef double top = 0.0
        best.feature, best.bin, best.cost = -1, -1, 0.0
        for m in range(<int32_t>self.M):
            if not self.mutable[m] or (inside and not self.costs[m] > 0):
                continue
            # A stretch beyond another one must gain more; more than enough is never needed.
            if not known:
                self.find_steps(row, m, AHEAD - here if inside else min(here, 0) + AHEAD - here)
            elif self.slopes.touched[m]:
                self.find_steps(row, m, AHEAD)
            self.slopes.touched[m] = not known
            self.try_steps(m, here, &best, &top)
        return best

    cdef void find_steps(self, Row* row, int32_t m, int64_t enough) noexcept nogil:
        """Write the steps of a feature that gain more than enough, and more than any nearer one.
        Steps beyond one that leads into the class are not needed, now and where the row is nearer.
        """
        cdef const int64_t* margins = self.slopes.margins
        cdef int64_t here = self.slopes.margin(self.slopes.score, row.target)
        cdef int32_t n = self.slopes.find_stretches(m, row.target, here, row.home[m])
        cdef int32_t i, at_home = self.slopes.at_home
        cdef int64_t reached = here + enough, nearest
        cdef Step* step = self.steps + self.first_bin[m]
        cdef Steps* count = self.counts + m
        count.home = count.below = count.above = 0
        if margins[at_home] > reached and self.can_step(row, m, at_home, here, step):
            reached, count.home = margins[at_home], 1
            step += 1
        nearest = reached
        for i in range(at_home - 1, -1, -1):
            if reached > AHEAD:
                break
            if margins[i] > reached and self.can_step(row, m, i, here, step):
                reached = margins[i]
                count.below += 1
                step += 1
        reached = nearest
        for i in range(at_home + 1, n):
            if reached > AHEAD:
                break
            if margins[i] > reached and self.can_step(row, m, i, here, step):
                reached = margins[i]
                count.above += 1
                step += 1

    cdef inline bint can_step(
        self, Row* row, int32_t m, int32_t i, int64_t here, Step* step
    ) noexcept nogil:
        """Write the step into stretch i; return whether there is any."""
        cdef int32_t low = self.slopes.ends[i], high = self.slopes.ends[i + 1] - 1
        step.bin = self.nearest_bin(m, row.home[m], low, high)
        if step.bin < 0:
            return False
        step.cost, step.brings = self.cost(row, m, step.bin), self.slopes.margins[i] - here
        return step.cost != INFINITY

    cdef inline void try_steps(self, int32_t m, int64_t here, Move* best, double* top) noexcept nogil:
        """Keep a step of a feature if it is the best so far; those beyond enough are not needed."""
        cdef const Step* step = self.steps + self.first_bin[m]
        cdef const Steps* count = self.counts + m
        cdef int32_t i
        if count.home:
            self.try_step(m, here, step, best, top)
            if here + step.brings > AHEAD:
                return
            step += 1
        for i in range(count.below):
            self.try_step(m, here, step + i, best, top)
            if here + step[i].brings > AHEAD:
                break
        step += count.below
        for i in range(count.above):
            self.try_step(m, here, step + i, best, top)
            if here + step[i].brings > AHEAD:
                break

    cdef inline void try_step(
        self, int32_t m, int64_t here, const Step* step, Move* best, double* top
    ) noexcept nogil:
        cdef double gain, dearer
        if here > AHEAD:  # what is saved
            gain, dearer = self.costs[m] - step.cost, 1.0
        else:  # the gain for the cost
            gain = <double>(min(here + step.brings, AHEAD + 1) - here)
            dearer = step.cost - self.costs[m]
            if not dearer > 0:
                gain, dearer = INFINITY, 1.0
        if gain > top[0] * dearer:
            top[0], best.feature, best.bin, best.cost = gain / dearer, m, step.bin, step.cost

    cdef double settle(self, Row* row, bint restored=False) noexcept nogil:
        """Move until nothing is saved; return the distance, infinite outside of the class.

        The slopes of the row are not known, unless they were ``restored``.
        """
        cdef Move move
        cdef Py_ssize_t m, steps
        cdef double total = 0.0
        cdef bint inside = False
        if self.sets is not None and not restored:
            self.sets.start(self.bins)
        for steps in range(LONGEST * self.M):
            if self.sets is not None:
                self.sets.look_around(row)
            else:
                self.open_windows(row, inside)
                memset(self.slopes.touched, 1, self.M)
                if not self.branches.look_around(row, self.bins, self.window):
                    self.failed = True
                    return INFINITY
            move = self.best_move(row)
            inside = self.slopes.margin(self.slopes.score, row.target) > AHEAD
            if move.feature < 0:
                break
            self.bins[move.feature], self.costs[move.feature] = move.bin, move.cost
            if self.sets is not None:
                self.sets.move(move.feature, move.bin)
        if not inside:
            return INFINITY
        for m in range(self.M):
            total += self.costs[m]
        return total

    cdef inline double home_cost(self, Row* row, int32_t m) noexcept nogil:
        """The least move that a rule requires of a feature, whether or not it is left out."""
        return self.cost(row, m, row.home[m]) if row.origin[m] == row.origin[m] else 0.0

    cdef void start(self, Row* row) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.M):
            self.bins[m] = row.home[m]
            self.costs[m] = self.home_cost(row, <int32_t>m)

    cdef bint start_at_cell(
        self, Row* row, const int32_t[:, ::1] lowest, const int32_t[:, ::1] highest
    ) noexcept nogil:
        """Step into the nearest cell; return whether there is one."""
        cdef Py_ssize_t z, best = -1
        cdef int32_t m, bin
        cdef double total, cost, least = INFINITY
        for z in range(lowest.shape[0]):
            total = 0.0
            for m in range(self.M):
                if row.home[m] < 0:
                    continue
                bin = self.nearest_bin(m, row.home[m], lowest[z, m], highest[z, m])
                if bin == row.home[m]:
                    continue
                cost = self.cost(row, m, bin) if self.mutable[m] and bin >= 0 else INFINITY
                total += cost
                if not total < least:
                    break
            if total < least:
                best, least = z, total
        if best < 0:
            return False
        self.start(row)
        for m in range(self.M):
            if row.home[m] >= 0:
                bin = self.nearest_bin(m, row.home[m], lowest[best, m], highest[best, m])
                if bin != row.home[m]:
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
        Py_ssize_t n_left_out,
    ):
        """Write the bins and the distance of the inversion of every row, infinite for none.

        The search continues without each of the ``n_left_out`` costliest changes of its best
        result, as long as the distance falls.
        """
        cdef Py_ssize_t r, t
        cdef Row row
        self.failed = False
        with nogil:
            for r in range(x.shape[0]):
                row.x, row.origin, row.home = &x[r, 0], &origin[r, 0], &home[r, 0]
                row.low, row.high, row.mutable = &low[r, 0], &high[r, 0], &mutable[r, 0]
                row.target = t = target[r]
                distance[r] = INFINITY
                self.search(
                    &row, lowest[first_cell[t] : first_cell[t + 1]],
                    highest[first_cell[t] : first_cell[t + 1]], n_left_out, &distance[r],
                    &found[r, 0],
                )
        if self.failed:
            raise MemoryError

    cdef void search(
        self, Row* row, const int32_t[:, ::1] lowest, const int32_t[:, ::1] highest,
        Py_ssize_t n_left_out, double* least, int32_t* found,
    ) noexcept nogil:
        """Search from home, or else from the nearest cell; then without changes."""
        cdef double from_home
        memcpy(self.mutable, row.mutable, self.M)
        self.start(row)
        self.keep(self.settle(row), least, found)
        if least[0] == INFINITY and self.start_at_cell(row, lowest, highest):
            self.keep(self.settle(row), least, found)
        if not n_left_out or least[0] == INFINITY:
            return
        self.improve(row, n_left_out, least, found)
        from_home = least[0]
        memcpy(self.mutable, row.mutable, self.M)
        if self.line_up() <= FEW and self.start_at_cell(row, lowest, highest):
            self.keep(self.settle(row), least, found)
            if least[0] < from_home:
                self.improve(row, n_left_out, least, found)

    cdef void improve(
        self, Row* row, Py_ssize_t n_left_out, double* least, int32_t* found
    ) noexcept nogil:
        """Continue without one of the changes of the best result, as long as the distance falls."""
        cdef Py_ssize_t j
        cdef double before = INFINITY
        while least[0] < before:
            before = least[0]
            for j in range(min(self.line_up(), n_left_out)):
                self.leave_out(row, self.queue[j], least, found)
                if least[0] < before:
                    break

    cdef void leave_out(self, Row* row, int32_t m, double* least, int32_t* found) noexcept nogil:
        """Search from the best result without one of its changes, which stays undone."""
        memcpy(self.mutable, row.mutable, self.M)
        memcpy(self.bins, found, self.M * sizeof(int32_t))
        memcpy(self.costs, self.best_costs, self.M * sizeof(double))
        self.mutable[m] = 0
        if self.sets is not None:
            self.sets.restore(self.bins)
            self.sets.move(m, row.home[m])
        self.bins[m], self.costs[m] = row.home[m], self.home_cost(row, m)
        self.keep(self.settle(row, True), least, found)

    cdef inline void keep(self, double far, double* least, int32_t* found) noexcept nogil:
        """Save the row if its distance is the smallest so far."""
        if far < least[0]:
            least[0] = far
            memcpy(found, self.bins, self.M * sizeof(int32_t))
            memcpy(self.best_costs, self.costs, self.M * sizeof(double))
            if self.sets is not None:
                self.sets.keep()

    cdef Py_ssize_t line_up(self) noexcept nogil:
        """List the features that cost something in the best result, the costliest first."""
        cdef Py_ssize_t n = 0, j
        cdef int32_t m
        for m in range(<int32_t>self.M):
            if self.best_costs[m] > 0:
                j = n
                while j > 0 and self.best_costs[self.queue[j - 1]] < self.best_costs[m]:
                    self.queue[j] = self.queue[j - 1]
                    j -= 1
                self.queue[j] = m
                n += 1
        return n
