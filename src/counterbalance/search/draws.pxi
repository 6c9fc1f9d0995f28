# The cells of a factual after a draw; included by the draw kernel.

cdef enum:
    NUMBER = 0
    NARROW = 1  # a float32
    NOMINAL = 2

cdef extern from *:
    """
    /* The quantiles of the normal distribution: cubic between so many points, with an error below
       2e-9. At the ends, where the function is steep, SciPy's own is asked. */
    #define POINTS 4096
    #define ENDS 41
    static double QUANTILE[POINTS + 1], SLOPE[POINTS + 1];
    """
    enum: POINTS
    enum: ENDS
    double[1] QUANTILE, SLOPE


def _fill_quantiles():
    """Write the table of quantiles; a slope is that of a whole step between two points."""
    cdef Py_ssize_t i
    cdef double z
    for i in range(1, POINTS):
        z = ndtri(<double>i / POINTS)
        QUANTILE[i], SLOPE[i] = z, np.sqrt(2 * np.pi) * np.exp(z * z / 2) / POINTS


_fill_quantiles()


cdef inline double normal_quantile(double u) noexcept nogil:
    cdef double place = u * POINTS, step, t, left, right
    cdef int i = <int>place
    if i < ENDS or i >= POINTS - ENDS:
        return ndtri(u)
    t, step = place - i, QUANTILE[i + 1] - QUANTILE[i]
    left, right = SLOPE[i], SLOPE[i + 1]
    return QUANTILE[i] + t * (left + t * (3 * step - 2 * left - right + t * (left + right - 2 * step)))


cdef inline uint64_t mix(uint64_t state) noexcept nogil:
    state ^= state >> 30
    state *= 0xBF58476D1CE4E5B9ULL
    state ^= state >> 27
    state *= 0x94D049BB133111EBULL
    return state ^ (state >> 31)


cdef inline double uniform(uint64_t state, uint64_t counter) noexcept nogil:
    cdef uint64_t word = (mix(state + (counter + 1) * GOLDEN) >> 12) | 0x3FF0000000000000ULL
    cdef double u
    memcpy(&u, &word, 8)
    return u - (1 - 2.0**-53)


cdef class Draws:
    """Computes the cells of factuals after a draw, as ``Space.values`` does.

    The mass of the normal distribution between the limits of a cell is computed when a draw of the
    current factual first needs it: many draws end before the last feature.
    """

    cdef readonly Py_ssize_t n_rows, n_changing, n_draws
    cdef const double[:, ::1] x  # (R, M)
    cdef const int64_t[::1] ids
    cdef const Py_ssize_t[::1] order
    cdef const uint8_t[::1] changes  # (M,): whether a feature is in the order
    cdef const double[:, ::1] lower, upper  # (R, K), or (1, K) if they are those of every factual
    cdef const double[::1] deviation, scale, resolution  # (K,)
    # Of the current factual, (K,): see ``Mass``.
    cdef double[::1] below, width, far
    cdef uint8_t[::1] mirrored, weighed
    cdef const uint8_t[::1] kind
    cdef const double[::1] share, cumulative  # of the categories, feature by feature
    cdef const Py_ssize_t[::1] used, first_level, first_used, first_listed
    cdef const double[::1] listed  # the values that numbers may take, where they are listed
    cdef uint64_t key
    cdef double epsilon

    def __init__(self, x, ids, lower, upper, space):
        arrays = space.draw_arrays
        self.x, self.ids, self.lower, self.upper = x, ids, lower, upper
        self.order, self.changes, self.kind = arrays["order"], arrays["changes"], arrays["kind"]
        self.deviation, self.scale = arrays["deviation"], arrays["scale"]
        self.resolution = arrays["resolution"]
        self.share, self.cumulative = arrays["share"], arrays["cumulative"]
        self.used, self.first_level = arrays["used"], arrays["first_level"]
        self.first_used = arrays["first_used"]
        self.listed, self.first_listed = arrays["listed"], arrays["first_listed"]
        self.n_draws, self.epsilon = space.n_draws, space.epsilon
        self.n_rows, self.n_changing = self.x.shape[0], self.order.shape[0]
        self.key = mix(<uint64_t>space.seed + GOLDEN)
        self.below, self.width, self.far = np.empty((3, self.n_changing))
        self.mirrored, self.weighed = np.zeros((2, self.n_changing), dtype=np.uint8)

    cdef inline uint64_t stream(self, Py_ssize_t r, Py_ssize_t t) noexcept nogil:
        cdef uint64_t state = mix(self.key + (<uint64_t>self.ids[r] + 1) * GOLDEN)
        return mix(state + (<uint64_t>t + 1) * GOLDEN)

    cdef inline void begin(self) noexcept nogil:
        """Make another factual the current one."""
        memset(&self.weighed[0], 0, self.n_changing)

    cdef inline double low_of(self, Py_ssize_t r, Py_ssize_t k) noexcept nogil:
        return self.lower[r if self.lower.shape[0] > 1 else 0, k]

    cdef inline double high_of(self, Py_ssize_t r, Py_ssize_t k) noexcept nogil:
        return self.upper[r if self.upper.shape[0] > 1 else 0, k]

    cdef inline void weigh(self, Py_ssize_t k, double cell, double low, double high) noexcept nogil:
        """Compute the mass between the limits of a cell."""
        cdef double a = (low - cell) / self.deviation[k], b = (high - cell) / self.deviation[k]
        self.mirrored[k] = a > 0
        if a > 0:
            a, b = -b, -a
        self.below[k], self.far[k] = ndtr(a), b
        self.width[k] = ndtr(b) - self.below[k]
        self.weighed[k] = True

    cdef inline double value(self, Py_ssize_t r, Py_ssize_t k, uint64_t state) noexcept nogil:
        """The k-th feature of the order of the current factual, after the draw."""
        cdef double u = uniform(state, <uint64_t>self.order[k])
        if self.kind[k] == NOMINAL:
            return self.category(r, k, u)
        cdef double cell = self.x[r, self.order[k]], z
        cdef double low = self.low_of(r, k), high = self.high_of(r, k)
        if isnan(cell) or low > high:  # a cell that is missing or has no allowed value stays
            return cell
        if not self.weighed[k]:
            self.weigh(k, cell, low, high)
        # So far out that the mass rounds to 0: take the near bound.
        z = self.far[k] if self.width[k] == 0 else normal_quantile(u * self.width[k] + self.below[k])
        if self.mirrored[k]:
            z = -z
        z = z * self.deviation[k] + cell
        if self.resolution[k] > 0:
            z = rint(z * self.resolution[k]) / self.resolution[k] + 0.0
        if self.kind[k] == NARROW:
            z = <double>(<float>z)
        if self.first_listed[k] < self.first_listed[k + 1]:
            z = self.nearest_listed(k, z)
        if not z >= low:
            z = low
        if not z <= high:
            z = high
        return z

    cdef inline double nearest_listed(self, Py_ssize_t k, double z) noexcept nogil:
        """The nearest value that the feature may take; of two, the smaller one."""
        cdef Py_ssize_t low = self.first_listed[k], high = self.first_listed[k + 1] - 1, middle
        while low < high:
            middle = (low + high) // 2
            if (self.listed[middle] + self.listed[middle + 1]) / 2 < z:
                low = middle + 1
            else:
                high = middle
        return self.listed[low]

    cdef inline double category(self, Py_ssize_t r, Py_ssize_t k, double u) noexcept nogil:
        """Another category, drawn by its frequency."""
        cdef Py_ssize_t first = self.first_level[k], last = self.first_level[k + 1] - 1
        cdef Py_ssize_t start = self.first_used[k], n_used = self.first_used[k + 1] - start
        cdef double cell = self.x[r, self.order[k]]
        cdef Py_ssize_t own, drawn, place
        if isnan(cell):
            return NAN
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

    cdef inline double distance_between(
        self, Py_ssize_t r, Py_ssize_t first, Py_ssize_t stop, uint64_t state
    ) noexcept nogil:
        """The sum that some features of the order add to the distance of a draw."""
        cdef Py_ssize_t k
        cdef double far = 0.0
        for k in range(first, stop):
            far += self.distance_share(r, k, self.value(r, k, state))
        return far
