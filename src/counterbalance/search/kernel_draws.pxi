# What a draw makes of the cells of a factual; a part of search_kernel.

cdef class Draws:
    """What a draw makes of the cells of some factuals.

    How much of the normal distribution lies between the limits of a cell is worked out when a
    draw gets there, for the factual that was begun: most draws end long before the last feature.
    """

    cdef readonly Py_ssize_t n_rows, n_changing, n_draws
    cdef const double[:, ::1] x  # (R, M)
    cdef const int64_t[::1] ids
    cdef const Py_ssize_t[::1] order
    cdef const uint8_t[::1] changes  # (M,): whether a feature is in the order
    cdef const double[:, ::1] lower, upper  # (R, K), or (1, K) if they are those of every factual
    cdef const double[::1] deviation, scale, resolution, median  # (K,)
    # Of the factual that was begun, (K,): see ``Mass``.
    cdef double[::1] below, width, far
    cdef uint8_t[::1] mirrored, weighed
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
        self.below, self.width, self.far = np.empty((3, self.n_changing))
        self.mirrored, self.weighed = np.zeros((2, self.n_changing), dtype=np.uint8)

    def _set(self, name, value):
        if name == "x": self.x = value
        elif name == "ids": self.ids = value
        elif name == "order": self.order = value
        elif name == "changes": self.changes = value
        elif name == "lower": self.lower = value
        elif name == "upper": self.upper = value
        elif name == "deviation": self.deviation = value
        elif name == "scale": self.scale = value
        elif name == "resolution": self.resolution = value
        elif name == "median": self.median = value
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

    cdef inline void begin(self) noexcept nogil:
        """Turn to another factual."""
        memset(&self.weighed[0], 0, self.n_changing)

    cdef inline double cell(self, Py_ssize_t r, Py_ssize_t k) noexcept nogil:
        """Where the draws of a number start from: a missing one that may change, at the median."""
        cdef double cell = self.x[r, self.order[k]]
        return self.median[k] if self.change_missing and isnan(cell) else cell

    cdef inline double low_of(self, Py_ssize_t r, Py_ssize_t k) noexcept nogil:
        return self.lower[r if self.lower.shape[0] > 1 else 0, k]

    cdef inline double high_of(self, Py_ssize_t r, Py_ssize_t k) noexcept nogil:
        return self.upper[r if self.upper.shape[0] > 1 else 0, k]

    cdef inline void weigh(self, Py_ssize_t k, double cell, double low, double high) noexcept nogil:
        """Work out the mass between the limits of a cell, as ``Limits.mass`` does."""
        cdef double a = (low - cell) / self.deviation[k], b = (high - cell) / self.deviation[k]
        self.mirrored[k] = a > 0
        if a > 0:
            a, b = -b, -a
        self.below[k], self.far[k] = ndtr(a), b
        self.width[k] = ndtr(b) - self.below[k]
        self.weighed[k] = True

    cdef inline double value(self, Py_ssize_t r, Py_ssize_t k, uint64_t state) noexcept nogil:
        """What the draw makes of the k-th feature of the order, of the factual that was begun."""
        cdef double u = uniform(state, <uint64_t>self.order[k])
        if self.kind[k] == NOMINAL:
            return self.category(r, k, u)
        cdef double cell = self.cell(r, k), z, low = self.low_of(r, k), high = self.high_of(r, k)
        if isnan(cell):
            return NAN
        if low > high:  # the rules leave this cell no value: it stays
            return cell
        if not self.weighed[k]:
            self.weigh(k, cell, low, high)
        if self.width[k] == 0:
            z = self.far[k]
        else:
            u *= self.width[k]
            u += self.below[k]
            z = ndtri(u)
        if self.mirrored[k]:
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
