"""Interior: new rows inside a class, made from its existing rows.

    x          encoded rows of one class, (n, M): all, or those of one part of the table
    rank       the position of a row among the rows of its class
    sample     the rows from which partners and differences come: all of the class, or MOST_SAMPLED,
               one of each of as many equal stretches, so that a class can be processed in parts
    sample id  the number that seeds all draws of one new row; each try has its own ids
    base       the row a new one starts from
    partner    one of the sampled rows nearest to the base
    step       how far it goes towards the partner, uniform on (0, 1)
    a, b       any two sampled rows
    h          the bandwidth: how far a new row is spread around its base

    between    base + step (partner - base): interpolation, as in SMOTE
    around     base + h (a - b) / sqrt(2): the smoothed bootstrap (Silverman and Young, 1987);
               (a - b) / sqrt(2) has the covariance of the class, so new rows follow its shape

Where interpolation is impossible, rows are copied. If the number of sample ids is known, the bases
are in the order of the ids, and a part of a class has its own run of ids.

Neighbours in few features are found with a tree, in many features by comparing every row with every
sampled one. The first rows win ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, Mask, Unsigned
from counterbalance.constraints.rules import differs
from counterbalance.prepare import Prepared
from counterbalance.profile import Profile, middle
from counterbalance.search.draws import Space, stream, uniform

try:
    from counterbalance.plausible import nearest_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

N_NEIGHBOURS = 5
# With more features than this a tree is slower than comparing all pairs.
MOST_IN_TREE = 15
# Finding the partners of n rows among all n takes time quadratic in n, and every worker of a
# cluster would need all rows.
MOST_SAMPLED = 10_000
# Sample ids of one class, far more than are ever used.
IDS_PER_CLASS = 2**40
# Draws 0 to 3 of a sample id make its new row; this one chooses the sample.
RANKS_DRAW = 4
NOWHERE, MISSING = -1, -1.0
# How often rows that break a rule or change nothing are drawn again.
MOST_TRIES = 10


@dataclass(frozen=True)
class ClassSample:
    """The rows of a class from which partners and differences are taken."""

    x: Floats
    rank: Integers  # ascending
    n: int  # number of rows of the class

    @classmethod
    def from_class(cls, x: Floats, seed: int, target: int) -> Self:
        """Choose the sample among all rows of a class."""
        rank = sample_ranks(len(x), seed, target)
        return cls(x if len(rank) == len(x) else x[rank], rank, len(x))

    @property
    def are_all(self) -> bool:
        """Whether no row of the class is left out."""
        return len(self.rank) == self.n

    def nearest(self, x: Floats, first: int, profile: Profile) -> Integers:
        """Return the positions of the nearest sampled rows of each row, without the row itself.

        ``first`` is the rank of the first row.
        """
        k = min(N_NEIGHBOURS, len(self.x) - 1)
        near = np.zeros((len(x), max(0, k)), dtype=np.intp)
        if not near.size:
            return near
        ranks = first + np.arange(len(x))
        layout = _one_hot(self.x, self.x, profile)
        if kernel is None or layout.shape[1] <= MOST_IN_TREE:
            # A tree finds the neighbours of every row on its own, however a class is partitioned.
            tree = NearestNeighbors(n_neighbors=k + 1, metric="manhattan", algorithm="kd_tree")
            rows = _one_hot(x, self.x, profile)
            found = tree.fit(layout).kneighbors(rows, return_distance=False)
            # Among duplicates a row need not be first in its own list: drop it where it is, or the
            # farthest one if it is not in the list.
            own = self.rank[found] == ranks[:, None]
            own[~own.any(axis=1), -1] = True
            return np.asarray(found[~own].reshape(len(x), k))
        place = np.minimum(np.searchsorted(self.rank, ranks), len(self.rank) - 1)
        own = np.where(self.rank[place] == ranks, place, NOWHERE)
        of_x = _numbers_and_codes(self.x, self.x, profile)
        kernel.nearest(*_numbers_and_codes(x, self.x, profile), *of_x, own, near)
        return near


def sample_ranks(n: int, seed: int, target: int) -> Integers:
    """Return the ranks of the sampled rows in a class of ``n`` rows, ascending."""
    if n <= MOST_SAMPLED:
        return np.arange(n)
    numbers = np.arange(MOST_SAMPLED)
    state = stream(seed, target * IDS_PER_CLASS + numbers, RANKS_DRAW)
    return in_stretches(numbers, MOST_SAMPLED, n, uniform(state, 0))


def in_stretches(numbers: Integers, n_stretches: int, n: int, u: Floats) -> Integers:
    """Return a position in the stretch of each number, for ``n`` positions cut into stretches.

    Positions increase with the numbers. A stretch shorter than a position gives the one it lies in.
    """
    start, stop = numbers * n // n_stretches, (numbers + 1) * n // n_stretches
    return np.asarray(start + (u * np.maximum(1, stop - start)).astype(np.intp))


def _one_hot(x: Floats, sample: Floats, profile: Profile) -> Floats:
    """Encode rows so that the Manhattan distance to sampled rows is the method's distance.

    A level that no sampled row has is equally far from all of them, so it needs no column.
    """
    columns: list[Floats] = []
    for m, is_nominal in enumerate(profile.nominal):
        column, known = x[:, m], _known(sample[:, m])
        if is_nominal:
            columns.extend((column == level) * 0.5 for level in np.unique(known))
        elif known.size:
            columns.append(_scaled(column, known, profile.scale[m]))
    return np.column_stack(columns) if columns else np.zeros((len(x), 1))


def _numbers_and_codes(x: Floats, sample: Floats, profile: Profile) -> tuple[Floats, Floats]:
    """Split rows into scaled numbers and category codes; the distance equals one-hot's."""
    known = {m: _known(sample[:, m]) for m in np.flatnonzero(~profile.nominal)}
    numbers = [_scaled(x[:, m], some, profile.scale[m]) for m, some in known.items() if some.size]
    codes = x[:, profile.nominal]
    return (
        np.column_stack(numbers) if numbers else np.zeros((len(x), 0)),
        np.ascontiguousarray(np.where(np.isnan(codes), MISSING, codes)),
    )


def _known(column: Floats) -> Floats:
    return np.asarray(column[~np.isnan(column)])


def _scaled(column: Floats, known: Floats, scale: float) -> Floats:
    missing = np.isnan(column)
    return (np.where(missing, middle(known), column) if missing.any() else column) / scale


@dataclass(frozen=True)
class Interior:
    """The rows of one class, or of a part of it, prepared to make new rows from."""

    rows: Integers  # where the rows are in the table
    x: Floats
    partners: Integers  # (n, k), positions among the sampled rows
    sample: ClassSample
    target: int
    space: Space
    blocks: Callable[[int], list[slice]]  # cuts sample ids into blocks whose rows fit the memory
    first: int = 0  # rank of the first of the rows
    n_ids: int | None = None  # sample ids of one try, if they are known
    bandwidth: float | None = None  # h; None makes rows between neighbours only
    between: float = 0.0  # with h: the share of rows that still lie between neighbours

    @classmethod
    def from_class(
        cls,
        prepared: Prepared,
        target: int,
        sample: ClassSample | None = None,
        first: int = 0,
        partners: Integers | None = None,
    ) -> Self:
        """Prepare a class, and find the partners of every row.

        A part of a class needs the ``sample`` of the whole one and the rank of its ``first``
        row; known ``partners`` are not searched again.
        """
        rows = np.flatnonzero(prepared.labels.codes == target)
        x, space = prepared.table.rows(rows), prepared.space
        if sample is None:
            sample = ClassSample.from_class(x, space.seed, target)
        if partners is None:
            partners = sample.nearest(x, first, space.profile)
        return cls(rows, x, partners, sample, target, space, prepared.blocks, first)

    def with_ids(self, n: int) -> Self:
        """Return the class with ``n`` sample ids in each try."""
        return replace(self, n_ids=n)

    def around(self, spread: float, between: float, n_ids: int) -> Self:
        """Spread new rows around every row, with Silverman's bandwidth times ``spread``.

        A share ``between`` of them still lies between neighbours: where a feature is skewed, adding
        a difference of two rows leads out of the class, but a neighbour does not.
        """
        n, d = max(1, self.sample.n), len(self.space.order)
        bandwidth = spread * (4 / ((d + 2) * n)) ** (1 / (d + 4))
        return replace(self, n_ids=n_ids, bandwidth=bandwidth, between=between)

    @property
    def in_order(self) -> bool:
        """Whether the bases are in the order of the sample ids."""
        return self.n_ids is not None and not self.sample.are_all

    def first_id(self, number: int = 0) -> int:
        """Return the first sample id of a try."""
        return self.target * IDS_PER_CLASS + number * (self.n_ids or 0)

    def own_ids(self, number: int = 0) -> Integers:
        """Return the sample ids of a try, ascending; if in order, those that start from these rows.

        The total number of ids must be known.
        """
        total, n, stop = self.n_ids or 0, self.sample.n, self.first + len(self.x)
        if not self.in_order:
            return self.first_id(number) + np.arange(total)
        # Even steps give the ends of the run to within one id.
        low, high = self.first * total // n - 1, -(-stop * total // n) + 1
        ids = self.first_id(number) + np.arange(max(0, low), min(total, high))
        base = self._base(ids, stream(self.space.seed, ids, 0))
        return ids[(base >= self.first) & (base < stop)]

    def _base(self, ids: Integers, state: Unsigned) -> Integers:
        """Return the rank of the base row of each id, drawn with replacement.

        In order, each id has its own stretch of the rows and starts from one of them; each try
        passes over the rows again.
        """
        u = uniform(state, 0)
        if self.n_ids is None or not self.in_order:
            return (u * self.sample.n).astype(np.intp)
        return in_stretches((ids - self.first_id()) % self.n_ids, self.n_ids, self.sample.n, u)

    def at(self, ids: Integers) -> tuple[Floats, Integers]:
        """Return the new row of each sample id, and the position in ``x`` of its base.

        A cell keeps the base's value if it is missing in a row that it is made from, or if it may
        not change.
        """
        state = stream(self.space.seed, ids, 0)
        base = self._base(ids, state) - self.first
        alone = not self.partners.shape[1]
        if self.bandwidth is None:
            return self.x[base] if alone else self._between(state, base), base
        if alone or not self.between:
            return self._around(state, base, self.bandwidth), base
        towards = uniform(stream(self.space.seed, ids, 3), 0) < self.between
        new = np.empty((len(ids), self.x.shape[1]))
        new[towards] = self._between(state[towards], base[towards])
        new[~towards] = self._around(state[~towards], base[~towards], self.bandwidth)
        return new, base

    def _between(self, state: Unsigned, base: Integers) -> Floats:
        """Move a step towards a partner; a nominal cell is that of the nearer of the two."""
        choice = (uniform(state, 1) * self.partners.shape[1]).astype(np.intp)
        step = uniform(state, 2)[:, None]
        start, end = self.x[base], self.sample.x[self.partners[base, choice]]
        new = start + step * (end - start)
        has_nominal = self.space.profile.nominal.any()
        nominal = np.where(step < 0.5, start, end) if has_nominal else None  # noqa: PLR2004
        limits = np.minimum(start, end), np.maximum(start, end)
        return self._settle(state, start, new, nominal, limits)

    def _around(self, state: Unsigned, base: Integers, h: float) -> Floats:
        """Add h times the difference of two rows; a nominal cell is a's with probability h."""
        profile, sample = self.space.profile, self.sample.x
        start = self.x[base]
        a, b = (sample[(uniform(state, k) * len(sample)).astype(np.intp)] for k in (1, 2))
        new = a - b
        new *= h
        new /= np.sqrt(2)
        new += start
        nominal = None
        if profile.nominal.any():
            each = uniform(stream(self.space.seed, state, 1)[:, None], np.arange(self.x.shape[1]))
            nominal = np.where((each < h) & ~np.isnan(a), a, start)
        return self._settle(state, start, new, nominal, (profile.lower, profile.upper))

    def _settle(
        self,
        state: Unsigned,
        start: Floats,
        new: Floats,
        nominal: Floats | None,
        limits: tuple[Floats, Floats],
    ) -> Floats:
        """Round new cells to their grids, clip them to their limits, and undo forbidden changes.

        ``new`` is written over; ``nominal`` holds the cells of features that have no order.
        """
        space, rules = self.space, self.space.rules
        features = np.arange(self.x.shape[1])
        space.snap(new, features)
        lower, upper = rules.bounds(start, features, *limits)
        np.minimum(np.maximum(new, lower, out=new), upper, out=new)
        if nominal is not None:
            new = np.where(space.profile.nominal, nominal, new)
        fixed = ~self.space.changes | (lower > upper)
        keep = np.isnan(new)  # also where a cell that it is made from is missing
        if nominal is not None:
            keep |= np.isnan(start)
        if fixed.any():
            keep |= fixed
        if keep.any():
            new = np.where(keep, start, new)
        if rules.most_changed is not None:
            number = uniform(state[:, None], 3 + features)
            number = np.where(differs(new, start), number, np.inf)
            late = np.argsort(np.argsort(number, axis=1), axis=1) >= rules.most_changed
            new = np.where(late, start, new)
        return rules.mend(new, start)

    def accept(self) -> Integers:
        """Return as many sample ids as a try has, fewer if valid rows are rare."""
        ids, n = np.zeros(0, dtype=np.intp), self.n_ids or 0
        for number in range(MOST_TRIES):
            if len(ids) < n:
                ids = np.append(ids, self.sound_ones(self.own_ids(number)))[:n]
        return ids

    def sound_ones(self, ids: Integers) -> Integers:
        """Return the sample ids whose rows keep the rules and are not copies."""
        good = [self.sound(*self.at(ids[block])) for block in self.blocks(len(ids))]
        return np.asarray(ids[np.concatenate([np.zeros(0, dtype=bool), *good])])

    def sound(self, new: Floats, base: Integers) -> Mask:
        """Return which new rows keep the rules and differ from their base."""
        changed = differs(new, self.x[base]).any(axis=1)
        return np.asarray(self.space.rules.allow(new, self.x[base]) & changed)

    def copies(self, n: int) -> Integers:
        """Return the table positions of ``n`` rows to copy, none if no row keeps the rules."""
        allowed = self.rows[self.space.rules.allow(self.x, self.x)]
        return np.resize(allowed, n if allowed.size else 0)
