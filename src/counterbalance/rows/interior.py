"""Interior: new rows inside a class, made from the rows that it already has.

    x          encoded rows of one class, (n, M): all, or those of one part of the table
    rank       the place of a row among the rows of its class
    lot        the number that all draws of one new row belong to
    base       the row a new one starts from
    fellows    the rows that it may be moved by: all of the class, or MOST_FELLOWS of them
    partner    one of the fellows nearest to the base
    step       how far it goes towards the partner, uniform on (0, 1)
    a, b       any two fellows
    h          the bandwidth: how wide a new row is spread around its base

    between    base + step (partner - base)
    around     base + h (a - b) / sqrt(2)

``between`` is interpolation: it fills a class where inversions are too few. Where
nothing can be interpolated, rows can only be copied.

``around`` is the smoothed bootstrap (Silverman and Young, 1987): (a - b) / sqrt(2) has the
covariance of the class, so new rows follow its shape, and are not drawn together as
interpolated ones are.

A class of more than MOST_FELLOWS rows is met by a sample of that size, one row of each of so many
equal stretches of the class. So a class can be worked on in parts, each of which needs its own
rows and the fellows. If the number of lots is known as well, the bases follow each other as the
lots do, and a part of the class has a run of lots for its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Words
from counterbalance.constraints.rules import differs
from counterbalance.prepare import Prepared
from counterbalance.rows.fellows import LOTS_PER_CLASS, Fellows, in_stretches
from counterbalance.search.draws import stream, uniform
from counterbalance.search.space import Space

# Rows that break a rule or change nothing are drawn again so many times.
MOST_TRIES = 10


@dataclass(frozen=True)
class Lots:
    """The lots of one class, and the row that each of them starts from."""

    seed: int
    target: int
    n: int  # the rows of the class
    sampled: bool = False  # whether its fellows are a sample of them
    total: int | None = None  # how many lots there are, if that is known

    @property
    def first(self) -> int:
        """The first lot of the class."""
        return self.target * LOTS_PER_CLASS

    @property
    def in_order(self) -> bool:
        """Whether the bases follow each other as the lots do."""
        return self.total is not None and self.sampled

    def base(self, lots: Integers, state: Words | None = None) -> Integers:
        """Return the rank of the row that each lot starts from: any one, drawn with putting back.

        In order, each lot has a stretch of the rows for its own and starts from one of them; with
        each try the rows are gone through again. ``state`` is the stream of the lots, if known.
        """
        u = uniform(stream(self.seed, lots, 0) if state is None else state, 0)
        if self.total is None or not self.in_order:
            return (u * self.n).astype(np.intp)
        return in_stretches((lots - self.first) % self.total, self.total, self.n, u)

    def of_rows(self, first: int, stop: int, number: int = 0) -> Integers:
        """Return the lots, ascending, that start from the rows of these ranks, if in order.

        Otherwise they are all that there are. ``number`` is that of the try.
        """
        total = self.total or 0
        start = self.first + number * total
        if not self.in_order:
            return start + np.arange(total)
        # The run begins and ends within a lot of where even steps would put it.
        low, high = first * total // self.n - 1, -(-stop * total // self.n) + 1
        lots = start + np.arange(max(0, low), min(total, high))
        base = self.base(lots)
        return lots[(base >= first) & (base < stop)]


@dataclass(frozen=True)
class Interior:
    """The rows of one class, or of a part of it, ready to be interpolated."""

    rows: Integers  # where the rows are in the table
    x: Floats
    partners: Integers  # (n, k), places among the fellows
    fellows: Fellows
    lots: Lots
    space: Space
    blocks: Callable[[int], list[slice]]  # cuts lots into blocks whose rows fit the memory
    first: int = 0  # rank of the first of the rows
    bandwidth: float | None = None  # h; None makes rows between neighbours only
    between: float = 0.0  # with h: the share of rows that are between neighbours even so

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        target: int,
        fellows: Fellows | None = None,
        first: int = 0,
        partners: Integers | None = None,
    ) -> Self:
        """Take a class, ready to be interpolated: find the partners of every row.

        A part of a class needs the ``fellows`` of the whole one and the rank of its ``first``
        row; ``partners`` that were found before are not looked for again.
        """
        rows = np.flatnonzero(prepared.labels.codes == target)
        x, space = prepared.table.rows(rows), prepared.space
        if fellows is None:
            fellows = Fellows.among(x, space.seed, target)
        if partners is None:
            partners = fellows.nearest(x, first, space.perturbation.profile)
        lots = Lots(space.seed, target, fellows.n, not fellows.are_all)
        return cls(rows, x, partners, fellows, lots, space, prepared.blocks, first)

    def for_rows(self, n: int) -> Self:
        """Return the class with ``n`` lots in each try."""
        return replace(self, lots=replace(self.lots, total=n))

    def around(self, spread: float, between: float, n_lots: int) -> Self:
        """Spread new rows around every row, by Silverman's bandwidth times ``spread``.

        A share of ``between`` goes between neighbours all the same: where a feature is skewed,
        a difference of two rows leads out of the class and a neighbour does not.
        """
        n, d = max(1, self.fellows.n), len(self.space.order)
        bandwidth = spread * (4 / ((d + 2) * n)) ** (1 / (d + 4))
        return replace(self.for_rows(n_lots), bandwidth=bandwidth, between=between)

    def own_lots(self, number: int = 0) -> Integers:
        """Return the lots of these rows in a try; how many there are in all must be known."""
        return self.lots.of_rows(self.first, self.first + len(self.x), number)

    @property
    def _has_nominal(self) -> bool:
        return bool(self.space.perturbation.profile.nominal.any())

    def at(self, lots: Integers) -> tuple[Floats, Integers]:
        """Return the new row of each lot, and the position in ``x`` of its base.

        A cell that is missing in a row that it is made from is the base's, and so is one
        that may not change.
        """
        state = stream(self.space.seed, lots, 0)
        base = self.lots.base(lots, state) - self.first
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
        start, end = self.x[base], self.fellows.x[self.partners[base, choice]]
        new = start + step * (end - start)
        nominal = np.where(step < 0.5, start, end) if self._has_nominal else None  # noqa: PLR2004
        limits = np.minimum(start, end), np.maximum(start, end)
        return self._settle(state, start, new, nominal, limits)

    def _around(self, state: Words, base: Integers, h: float) -> Floats:
        """Add h times the difference of two rows; h is the chance of a nominal cell to be a's."""
        profile, fellows = self.space.perturbation.profile, self.fellows.x
        start = self.x[base]
        a, b = (fellows[(uniform(state, k) * len(fellows)).astype(np.intp)] for k in (1, 2))
        new = a - b
        new *= h
        new /= np.sqrt(2)
        new += start
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
        fixed = ~self.space.changes | (lower > upper)
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
        return rules.mend(new, start)

    def accept(self) -> Integers:
        """Return as many lots as there are in a try, fewer if those of sound rows are rare."""
        lots, n = np.zeros(0, dtype=np.intp), self.lots.total or 0
        for number in range(MOST_TRIES):
            if len(lots) < n:
                lots = np.append(lots, self.sound_ones(self.own_lots(number)))[:n]
        return lots

    def sound_ones(self, lots: Integers) -> Integers:
        """Return the lots whose rows keep the rules and are no copies."""
        good = [self.sound(*self.at(lots[block])) for block in self.blocks(len(lots))]
        return np.asarray(lots[np.concatenate([np.zeros(0, dtype=bool), *good])])

    def sound(self, new: Floats, base: Integers) -> Mask:
        """Return which new rows keep the rules and are no copies of their base."""
        changed = differs(new, self.x[base]).any(axis=1)
        return np.asarray(self.space.perturbation.rules.allow(new, self.x[base]) & changed)

    def copies(self, n: int) -> Integers:
        """Return where ``n`` rows to copy are in the table, none where none keeps the rules."""
        allowed = self.rows[self.space.perturbation.rules.allow(self.x, self.x)]
        return np.resize(allowed, n if allowed.size else 0)
