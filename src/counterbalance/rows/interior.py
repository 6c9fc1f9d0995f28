"""Interior: new rows inside a class, made from the rows that it already has.

    x          encoded rows of one class, (n, M)
    lot        the number that all draws of one new row belong to
    base       the row a new one starts from
    partner    one of its nearest rows of the same class
    step       how far it goes towards the partner, uniform on (0, 1)
    a, b       any two rows of the class
    h          the bandwidth: how wide a new row is spread around its base

    between    base + step (partner - base)
    around     base + h (a - b) / sqrt(2)

``between`` is interpolation: it fills a class where inversions are too few. Where
nothing can be interpolated, rows can only be copied.

``around`` is the smoothed bootstrap (Silverman and Young, 1987): (a - b) / sqrt(2) has the
covariance of the class, so new rows follow its shape, and are not drawn together as
interpolated ones are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, Mask, Words, blocks
from counterbalance.constraints.rules import differs
from counterbalance.profile import Profile, middle
from counterbalance.search.draws import stream, uniform
from counterbalance.search.nearest import Space
from counterbalance.search.problem import Problem

try:
    from counterbalance.rows import interior_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

N_NEIGHBOURS = 5
# With more features than these a tree of rows is slower than to compare all with all.
MOST_IN_TREE = 15
# Distances that are held at a time where all rows are compared with all.
CELLS_COMPARED = 2**20
# Rows that break a rule or change nothing are drawn again so many times.
MOST_TRIES = 10
# Numbers for the interior samples of one class, far more than are ever used.
LOTS_PER_CLASS = 2**40


@dataclass(frozen=True)
class Interior:
    """One class, ready to be interpolated."""

    rows: Integers  # where the rows are in the table
    x: Floats
    partners: Integers  # (n, k)
    space: Space
    first_lot: int
    cells_at_once: int
    bandwidth: float | None = None  # h; None makes rows between neighbours only
    between: float = 0.0  # with h: the share of rows that are between neighbours even so

    @classmethod
    def of(cls, problem: Problem, target: int) -> Self:
        """Take a class, ready to be interpolated: find the partners of every row."""
        rows = np.flatnonzero(problem.labels.codes == target)
        x, space = problem.table.rows(rows), problem.space
        return cls(
            rows,
            x,
            _partners(x, space.perturbation.profile),
            space,
            target * LOTS_PER_CLASS,
            problem.effort.cells_at_once,
        )

    def around(self, spread: float, between: float) -> Self:
        """Spread new rows around every row, by Silverman's bandwidth times ``spread``.

        A share of ``between`` goes between neighbours all the same: where a feature is skewed,
        a difference of two rows leads out of the class and a neighbour does not.
        """
        n, d = max(1, len(self.x)), len(self.space.order)
        bandwidth = spread * (4 / ((d + 2) * n)) ** (1 / (d + 4))
        return replace(self, bandwidth=bandwidth, between=between)

    @property
    def _has_nominal(self) -> bool:
        return bool(self.space.perturbation.profile.nominal.any())

    def blocks(self, n: int) -> list[slice]:
        """Cut lots into blocks whose rows fit the memory."""
        return blocks(n, 8 * self.x.shape[1], self.cells_at_once)

    def at(self, lots: Integers) -> tuple[Floats, Integers]:
        """Return the new row of each lot, and the position in ``x`` of its base.

        A cell that is missing in a row that it is made from is the base's, and so is one
        that may not change.
        """
        state = stream(self.space.seed, lots, 0)
        base = (uniform(state, 0) * len(self.x)).astype(np.intp)
        alone = not self.partners.shape[1]
        if self.bandwidth is None:
            return self.x[base] if alone else self._between(state, base), base
        if alone or not self.between:
            return self._around(state, base, self.bandwidth), base
        towards = uniform(stream(self.space.seed, lots, 3), 0) < self.between
        new = np.empty((len(lots), self.x.shape[1]))
        new[towards] = self._between(state[towards], base[towards])
        new[~towards] = self._around(state[~towards], base[~towards], self.bandwidth)
        return new, base

    def _between(self, state: Words, base: Integers) -> Floats:
        """Go a step towards a partner; a nominal cell is that of the nearer of the two."""
        choice = (uniform(state, 1) * self.partners.shape[1]).astype(np.intp)
        step = uniform(state, 2)[:, None]
        start, end = self.x[base], self.x[self.partners[base, choice]]
        new = start + step * (end - start)
        nominal = np.where(step < 0.5, start, end) if self._has_nominal else None  # noqa: PLR2004
        limits = np.minimum(start, end), np.maximum(start, end)
        return self._settle(state, start, new, nominal, limits)

    def _around(self, state: Words, base: Integers, h: float) -> Floats:
        """Add h times the difference of two rows; h is the chance of a nominal cell to be a's."""
        profile = self.space.perturbation.profile
        start = self.x[base]
        a, b = (self.x[(uniform(state, k) * len(self.x)).astype(np.intp)] for k in (1, 2))
        new = start + h * (a - b) / np.sqrt(2)
        nominal = None
        if self._has_nominal:
            each = uniform(stream(self.space.seed, state, 1)[:, None], np.arange(self.x.shape[1]))
            nominal = np.where((each < h) & ~np.isnan(a), a, start)
        return self._settle(state, start, new, nominal, (profile.lower, profile.upper))

    def _settle(
        self,
        state: Words,
        start: Floats,
        new: Floats,
        nominal: Floats | None,
        limits: tuple[Floats, Floats],
    ) -> Floats:
        """Put new cells onto their grids, inside their limits, and where rules allow a change.

        ``new`` is written over; ``nominal`` holds the cells of features that have no order.
        """
        perturbation, rules = self.space.perturbation, self.space.perturbation.rules
        features = np.arange(self.x.shape[1])
        perturbation.snap(new, features)
        lower, upper = rules.bounds(start, features, *limits)
        np.minimum(np.maximum(new, lower, out=new), upper, out=new)
        if nominal is not None:
            new = np.where(perturbation.profile.nominal, nominal, new)
        fixed = ~np.isin(features, self.space.order) | (lower > upper)
        keep = np.isnan(new)  # so it is where a cell that it is made from is missing
        if nominal is not None:
            keep |= np.isnan(start)
        if fixed.any():
            keep |= fixed
        if keep.any():
            new = np.where(keep, start, new)
        if rules.most_changed is not None:
            lot = uniform(state[:, None], 3 + features)
            lot = np.where(differs(new, start), lot, np.inf)
            late = np.argsort(np.argsort(lot, axis=1), axis=1) >= rules.most_changed
            new = np.where(late, start, new)
        return new

    def accept(self, n: int) -> Integers:
        """Return ``n`` lots whose rows keep the rules and are no copies, fewer if they are rare."""
        lots = np.zeros(0, dtype=np.intp)
        for number in range(MOST_TRIES):
            more = self.first_lot + number * n + np.arange(n)
            for block in self.blocks(n):
                good = self.sound(*self.at(more[block]))
                lots = np.append(lots, more[block][good])[:n]
            if len(lots) == n:
                break
        return lots

    def sound(self, new: Floats, base: Integers) -> Mask:
        """Return which new rows keep the rules and are no copies of their base."""
        changed = differs(new, self.x[base]).any(axis=1)
        return np.asarray(self.space.perturbation.rules.allow(new) & changed)

    def copies(self, n: int) -> Integers:
        """Return where ``n`` rows to copy are in the table, none where none keeps the rules."""
        allowed = self.rows[self.space.perturbation.rules.allow(self.x)]
        return np.resize(allowed, n if allowed.size else 0)


def _partners(x: Floats, profile: Profile) -> Integers:
    """Return the nearest rows of each row by the method's distance, without itself."""
    k = min(N_NEIGHBOURS, len(x) - 1)
    space = _space(x, profile.nominal, profile.scale)
    if space.shape[1] > MOST_IN_TREE:
        return _nearest(space, k)
    search = NearestNeighbors(n_neighbors=k + 1, metric="manhattan").fit(space)
    near = search.kneighbors(space, return_distance=False)
    # Among duplicates a row need not come first in its own list: drop it where it
    # is, or the farthest where it is not there at all.
    own = near == np.arange(len(x))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(near[~own].reshape(len(x), k))


def _nearest(x: Floats, k: int) -> Integers:
    """Compare all rows with all; of rows that are equally far take the first ones."""
    near = np.zeros((len(x), k), dtype=np.intp)
    if not k:
        return near
    if kernel is not None:
        kernel.nearest(np.ascontiguousarray(x), near)
        return near
    for block in blocks(len(x), len(x), CELLS_COMPARED):
        far = cdist(x[block], x, "cityblock")
        far[np.arange(len(far)), np.arange(len(x))[block]] = np.inf
        row, column = np.nonzero(far <= np.partition(far, k - 1, axis=1)[:, k - 1 : k])
        order = np.lexsort((column, far[row, column], row))
        first = np.searchsorted(row, np.arange(len(far)))
        near[block] = column[order][first[:, None] + np.arange(k)]
    return near


def _space(x: Floats, nominal: Mask, scale: Floats) -> Floats:
    """Lay the rows out so that the Manhattan distance is the method's distance."""
    columns: list[Floats] = []
    for m, is_nominal in enumerate(nominal):
        column = x[:, m]
        known = column[~np.isnan(column)]
        if is_nominal:
            columns.extend((column == level) * 0.5 for level in np.unique(known))
        elif known.size:
            columns.append(np.where(np.isnan(column), middle(known), column) / scale[m])
    return np.column_stack(columns) if columns else np.zeros((len(x), 1))
