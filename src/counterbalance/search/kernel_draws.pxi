# What a draw makes of the cells of a factual; a part of search_kernel.

cdef class Draws:
    """What a draw makes of the cells of some factuals; arrays of a cell are (R, K)."""

    cdef readonly Py_ssize_t n_rows, n_changing, n_draws
    cdef const double[:, ::1] x  # (R, M)
    cdef const int64_t[::1] ids
    cdef const Py_ssize_t[::1] order
    cdef const uint8_t[::1] changes  # (M,): whether a feature is in the order
    cdef const double[:, ::1] cells, below, width, far, lower, upper
    cdef const uint8_t[:, ::1] mirrored
    cdef const double[::1] deviation, scale, resolution  # (K,)
    cdef const uint8_t[::1] kind
    cdef const double[::1] low, high  # (M,): fixed bounds that a whole row must keep
    cdef const double[::1] share, cumulative  # of the categories, feature by feature
    cdef const Py_ssize_t[::1] used, first_level, first_used
    cdef uint64_t key
    cdef Py_ssize_t first_draw
    cdef double epsilon
    cdef Py_ssize_t most_changed  # -1: any
    cdef bint change_missing, bounded

    def __init__(self, *, seed, **arrays):
        for name, array in arrays.items():
            self._set(name, array)
        self.n_rows, self.n_changing = self.x.shape[0], self.order.shape[0]
        self.key = mix(<uint64_t>seed + GOLDEN)

    def _set(self, name, value):
        if name == "x": self.x = value
        elif name == "ids": self.ids = value
        elif name == "order": self.order = value
        elif name == "changes": self.changes = value
        elif name == "cells": self.cells = value
        elif name == "below": self.below = value
        elif name == "width": self.width = value
        elif name == "far": self.far = value
        elif name == "lower": self.lower = value
        elif name == "upper": self.upper = value
        elif name == "mirrored": self.mirrored = value
        elif name == "deviation": self.deviation = value
        elif name == "scale": self.scale = value
        elif name == "resolution": self.resolution = value
        elif name == "kind": self.kind = value
        elif name == "low": self.low = value
        elif name == "high": self.high = value
        elif name == "share": self.share = value
        elif name == "cumulative": self.cumulative = value
        elif name == "used": self.used = value
        elif name == "first_level": self.first_level = value
        elif name == "first_used": self.first_used = value
        elif name == "n_draws": self.n_draws = value
        elif name == "first_draw": self.first_draw = value
        elif name == "epsilon": self.epsilon = value
        elif name == "most_changed": self.most_changed = value
        elif name == "change_missing": self.change_missing = value
        elif name == "bounded": self.bounded = value
        else: raise TypeError(f"Draws has no {name!r}")

    cdef inline uint64_t stream(self, Py_ssize_t r, Py_ssize_t t) noexcept nogil:
        cdef uint64_t state = mix(self.key + (<uint64_t>self.ids[r] + 1) * GOLDEN)
        return mix(state + (<uint64_t>(self.first_draw + t) + 1) * GOLDEN)

    cdef inline double value(self, Py_ssize_t r, Py_ssize_t k, uint64_t state) noexcept nogil:
        """What the draw makes of the k-th feature of the order."""
        cdef double u = uniform(state, <uint64_t>self.order[k])
        if self.kind[k] == NOMINAL:
            return self.category(r, k, u)
        cdef double cell = self.cells[r, k], z, low = self.lower[r, k], high = self.upper[r, k]
        if isnan(cell):
            return NAN
        if low > high:  # the rules leave this cell no value: it stays
            return cell
        if self.width[r, k] == 0:
            z = self.far[r, k]
        else:
            u *= self.width[r, k]
            u += self.below[r, k]
            z = ndtri(u)
        if self.mirrored[r, k]:
            z = -z
        z *= self.deviation[k]
        z += cell
        if self.resolution[k] > 0:
            z = rint(z * self.resolution[k]) / self.resolution[k] + 0.0
        if self.kind[k] == NARROW:
            z = <double>(<float>z)
        if not z >= low:
            z = low
        if not z <= high:
            z = high
        return z

    cdef inline double category(self, Py_ssize_t r, Py_ssize_t k, double u) noexcept nogil:
        """Another category by its frequency, as ``perturbation`` draws it."""
        cdef Py_ssize_t first = self.first_level[k], last = self.first_level[k + 1] - 1
        cdef Py_ssize_t start = self.first_used[k], n_used = self.first_used[k + 1] - start
        cdef double cell = self.x[r, self.order[k]]
        cdef Py_ssize_t own, drawn, place
        if isnan(cell):
            if not self.change_missing:
                return NAN
            own = last - first
        else:
            own = <Py_ssize_t>cell
        cdef double mine = self.share[first + own]
        u *= self.cumulative[last] - mine
        if u >= self.cumulative[first + own] - mine:
            u += mine
        drawn = 0
        while first + drawn <= last and self.cumulative[first + drawn] <= u:
            drawn += 1
        place = 0
        while place < n_used - 1 and self.used[start + place] < drawn:
            place += 1
        if n_used > 1 and self.used[start + place] == own:
            place = place - 1 if place > 0 else 1
        return <double>self.used[start + place]

    cdef inline double distance_share(self, Py_ssize_t r, Py_ssize_t k, double v) noexcept nogil:
        cdef double cell = self.x[r, self.order[k]], share
        if isnan(cell):
            return 0.0 if isnan(v) else 1.0
        share = fabs(v - cell) / self.scale[k]
        if self.kind[k] == NOMINAL:
            return 1.0 if share > 0 else 0.0
        return share

    cdef inline bint outside(self, Py_ssize_t m, double v) noexcept nogil:
        return v < self.low[m] or v > self.high[m]
