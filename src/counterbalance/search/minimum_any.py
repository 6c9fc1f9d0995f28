"""Near inversions of any f, found from its predictions only.

    start      a row that f puts into the wanted class: a row of the table, from which the factual
               takes every cell that may change, or what a draw of Algorithm 1 inverts
    prune      give a changed cell its old value, if f still predicts the class
    shorten    move a changed number to the value nearest to the old one that f accepts

    thresholds   where f consists of trees its answer can only change where the feature, or a column
                 that is computed from it (a follower), crosses a threshold. The values on both
                 sides of each are tried, the nearest to the old one first
    halves       bisection between a value that is refused and one that is accepted

Every step calls f on all factuals at once, one batch for each feature in turn. The result is an
inversion without needless changes; it need not be the nearest. For trees, thresholds and halves
leave no nearer value that f and the rules accept, up to rounding. Any other f gets a few bisection
steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.constraints.follower import Follower, Lookup
from counterbalance.constraints.rules import differs
from counterbalance.search.algorithm_1 import (
    agrees,
    build,
    farthest_first,
    first_inversions,
    prune,
    put,
)
from counterbalance.search.draws import Space
from counterbalance.search.structure import Landscape, Structure

# Steps of the bisection, for any f and for trees: the second ends a billionth away.
HALVES = 8
ALL_HALVES = 30
# Values that are tried at a time for each row; twice as many the next time.
FIRST_TRIED = 8
# Tolerance between a threshold crossing and its linear interpolation.
NEAR = 1e-11


def shorten(
    space: Space,
    structure: Structure,
    x: Floats,
    rows: Floats,
    m: Integers,
    target: Integers,
    ids: Integers,
    *,
    exact: bool = False,
) -> None:
    """Move feature ``m`` of each row as near to its old value as f and the rules accept, in place.

    With ``exact`` the thresholds of trees are tried.
    """
    nominal = space.profile.nominal[m]
    at = np.flatnonzero(~nominal & (rows[np.arange(len(m)), m] != x[np.arange(len(m)), m]))
    refused, halves = x[at, m[at]], HALVES
    rules = space.rules
    if exact and structure.land is not None:
        refused = _to_thresholds(space, structure, x, rows, at, m, target, ids)
        tried = rows[at]
        tried[np.arange(len(at)), m[at]] = refused
        tried = rules.complete(tried, x[at])
        by_rules = structure.predict(tried, ids[at]) == target[at] if len(at) else at > 0
        at, refused, halves = at[by_rules], refused[by_rules], ALL_HALVES
    for _ in range(halves):
        good = rows[at, m[at]]
        middle = _snap(space, refused + (good - refused) / 2, m[at])
        open_ = (middle != refused) & (np.abs(middle - good) < np.abs(refused - good))
        open_ &= middle != good
        at, refused, middle = at[open_], refused[open_], middle[open_]
        if not at.size:
            break
        accepted = put(structure.predict, rules, x, rows, at, m[at], middle, target, ids)
        refused = np.where(accepted, refused, middle)


def _to_thresholds(
    space: Space,
    structure: Structure,
    x: Floats,
    rows: Floats,
    at: Integers,
    m: Integers,
    target: Integers,
    ids: Integers,
) -> Floats:
    """Move rows to the first threshold that f and the rules accept, in place.

    Returns for each of the rows ``at`` the last value before it, which is refused.
    """
    rules, predict = space.rules, structure.predict
    assert structure.land is not None  # noqa: S101  (the caller checked)
    place, value = _thresholds(space, structure.land, x[at], rows[at], m[at])
    first = np.searchsorted(place, np.arange(len(at)))
    end = np.append(first[1:], len(place))
    going, n = np.flatnonzero(first < end), FIRST_TRIED
    while going.size:
        take = np.minimum(end[going] - first[going], n)
        one = np.repeat(going, take)
        entry = np.arange(len(one)) + np.repeat(first[going] - np.cumsum(take) + take, take)
        tried = rows[at[one]]
        tried[np.arange(len(one)), m[at[one]]] = value[entry]
        tried = rules.complete(tried, x[at[one]])
        row = at[one]
        good = np.flatnonzero(agrees(predict, rules, x[row], tried, target[row], ids[row]))
        hit = good[np.unique(one[good], return_index=True)[1]]  # the nearest of each row
        rows[row[hit]] = tried[hit]
        first[going] += take
        first[one[hit]] = end[one[hit]]
        going, n = going[first[going] < end[going]], 2 * n
    # All nearer values are refused. The last of them on the side of the new value counts.
    old, new = x[at, m[at]], rows[at, m[at]]
    step = (value - old[place]) * np.sign(new - old)[place]
    step[step >= np.abs(new - old)[place]] = 0.0
    farthest = np.zeros(len(at))
    np.maximum.at(farthest, place, step)
    return np.asarray(old + farthest * np.sign(new - old))


def _thresholds(
    space: Space, land: Landscape, x: Floats, rows: Floats, m: Integers
) -> tuple[Integers, Floats]:
    """Return values beside thresholds that are nearer to the old one than the new one is.

    They lie on either side of the old value. Each comes with its row. They are sorted by row, then
    by their distance from the old value.
    """
    places, values = [np.zeros(0, dtype=np.intp)], [np.zeros(0)]
    for j in np.unique(m):
        here = np.flatnonzero(m == j)
        feature, old, new = np.array([j]), x[here, j], rows[here, j]
        low, high = space.bounds(old[:, None], feature)
        low, high = (np.broadcast_to(bound, (len(here), 1))[:, 0] for bound in (low, high))
        bins = slice(land.first_bin[j], land.first_bin[j + 1])
        least, most = land.least[bins], land.most[bins]
        for end in (new, np.clip(old - (new - old), np.minimum(low, old), np.maximum(high, old))):
            for beside in (least[1:], most[:-1]):
                one, cut = np.nonzero(_between(beside, old, end))
                places.append(here[one])
                values.append(beside[cut])
            for follower in space.rules.followers:
                one, value = _crossings(space, land, x[here], rows[here], end, int(j), follower)
                places.append(here[one])
                values.append(value)
    place, value = np.concatenate(places), np.concatenate(values)
    old, new = x[place, m[place]], rows[place, m[place]]
    nearer = (np.abs(value - old) < np.abs(new - old)) & (value != old)
    place, value, old = place[nearer], value[nearer], old[nearer]
    order = np.lexsort((np.abs(value - old), place))
    return place[order], value[order]


def _between(values: Floats, old: Floats, new: Floats) -> np.ndarray:
    low, high = np.minimum(old, new)[:, None], np.maximum(old, new)[:, None]
    return np.asarray((values > low) & (values < high))


def _crossings(
    space: Space,
    land: Landscape,
    x: Floats,
    rows: Floats,
    new: Floats,
    j: int,
    follower: Follower,
) -> tuple[Integers, Floats]:
    """Return values of feature ``j``, up to ``new``, beside thresholds of a follower."""
    rules, c = space.rules, follower.column
    old = x[:, j]
    if isinstance(follower.rule, Lookup):
        if j != follower.sources[0]:
            return np.zeros(0, dtype=np.intp), np.zeros(0)
        middle = (follower.rule.source[1:] + follower.rule.source[:-1]) / 2
        one, cut = np.nonzero(_between(middle, old, new))
        return _beyond(space, one, middle[cut], middle[cut], j, old, new)

    def follow(one: Integers, value: Floats) -> Floats:
        tried = rows[one]
        tried[:, j] = value
        return rules.complete(tried, x[one])[:, c]

    every = np.arange(len(x))
    start, stop = follow(every, old), follow(every, new)
    bins = slice(land.first_bin[c], land.first_bin[c + 1])
    ends = (land.most[bins][:-1] + land.least[bins][1:]) / 2
    one, cut = np.nonzero(_between(ends, start, stop) & np.isfinite(ends))
    if not one.size:
        return one, np.zeros(0)
    end, side = ends[cut], start[one] > ends[cut]
    share = (end - start[one]) / (stop[one] - start[one])
    span = new[one] - old[one]
    before, after = np.maximum(share - NEAR, 0.0), np.minimum(share + NEAR, 1.0)
    before = np.where((follow(one, old[one] + before * span) > end) == side, before, 0.0)
    after = np.where((follow(one, old[one] + after * span) > end) != side, after, 1.0)
    curved = np.flatnonzero(after - before > 4 * NEAR)
    for _ in range(ALL_HALVES if curved.size else 0):
        middle = (before[curved] + after[curved]) / 2
        row = one[curved]
        passed = (follow(row, old[row] + middle * span[curved]) > end[curved]) != side[curved]
        after[curved] = np.where(passed, middle, after[curved])
        before[curved] = np.where(passed, before[curved], middle)
    return _beyond(space, one, old[one] + before * span, old[one] + after * span, j, old, new)


def _beyond(
    space: Space, one: Integers, before: Floats, after: Floats, j: int, old: Floats, new: Floats
) -> tuple[Integers, Floats]:
    """Round the ends of crossings to the grid of the feature; include one step on both sides."""
    resolution = space.grid.resolution[j]
    feature = np.full(len(one), j)
    levels = space.rules.levels.get(j)
    if levels is not None:
        places = np.searchsorted(levels, np.concatenate([before, after]))
        near = [np.clip(places + side, 0, len(levels) - 1) for side in (-1, 0)]
        return np.tile(one, 4), levels[np.concatenate(near)]
    step = 1 / resolution if resolution else 0.0
    step = np.copysign(step, (new - old)[one])
    ends = [before, after, after + step] if resolution else [before, after]
    return np.tile(one, len(ends)), np.concatenate([_snap(space, e, feature) for e in ends])


def _snap(space: Space, values: Floats, m: Integers) -> Floats:
    snapped = values.copy()
    space.snap(snapped, m)
    return snapped


# Rows of the class that are tried as starts, the nearest first.
STARTS = 5
# How often the pass over all changes is repeated.
MOST_SWEEPS = 20


@dataclass(frozen=True)
class AnyMinimum:
    """Near inversions of any f."""

    space: Space
    structure: Structure
    references: list[Floats]  # rows that f puts into each class code

    def nearest(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Mask]:
        """Return a near row of the class ``target`` for each row, and whether there is one."""
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        for code in np.unique(target):
            here = np.flatnonzero(target == code)
            rows[here], reached[here] = self._start(x[here], int(code), ids[here], frozen[here])
        some = np.flatnonzero(reached)
        rows[some] = self.refine(x[some], rows[some], target[some], ids[some])
        return rows, reached

    def _start(self, x: Floats, code: int, ids: Integers, frozen: Mask) -> tuple[Floats, Mask]:
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        pool, target = self.references[code], np.full(len(x), code)
        pool = pool[self.space.rules.allow(pool)]
        if len(pool) and len(x):
            for column in self._nearest_references(x, pool).T:
                left = np.flatnonzero(~reached)
                rows[left] = self._towards(x[left], pool[column[left]], frozen[left])
                reached[left] = self._agrees(x[left], rows[left], target[left], ids[left])
                if reached.all():
                    break
        left = np.flatnonzero(~reached)
        if left.size:
            rows[left], reached[left] = self._drawn(x[left], code, ids[left], frozen[left])
        return rows, reached

    def _drawn(self, x: Floats, code: int, ids: Integers, frozen: Mask) -> tuple[Floats, Mask]:
        """Return the first inversion of any draw, if the frozen cells allow one."""
        rules = self.space.rules
        wanted = np.zeros((len(x), len(self.references)), dtype=bool)
        wanted[:, code] = True
        rounds = first_inversions(
            self.space, self.structure, x, ids, wanted, any_draw=True, checked=rules.checked
        )[:, :, code]
        some = np.flatnonzero((rounds > 0).any(axis=1))
        draw = (rounds[some] > 0).argmax(axis=1)
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        new = build(self.space, x, ids, some, draw, rounds[some, draw].astype(np.intp))
        new = rules.complete(np.where(frozen[some], x[some], new), x[some])
        rows[some] = new
        reached[some] = self._agrees(x[some], new, np.full(len(some), code), ids[some])
        return rows, reached

    def _agrees(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        rules = self.space.rules
        return agrees(self.structure.predict, rules, x, rows, target, ids)

    def _nearest_references(self, x: Floats, pool: Floats) -> Integers:
        profile, order = self.space.profile, self.space.order
        median = np.where(profile.nominal, 0.0, profile.median)[order]

        def scaled(rows: Floats) -> Floats:
            cells = rows[:, order]
            return np.where(np.isnan(cells), median, cells) / profile.scale[order]

        n = min(STARTS, len(pool))
        # The tree is queried row by row, so that ties have the same order in any batch.
        neighbours = NearestNeighbors(n_neighbors=n, algorithm="kd_tree", metric="manhattan")
        neighbours.fit(scaled(pool))
        return np.asarray(neighbours.kneighbors(scaled(x), return_distance=False))

    def _towards(self, x: Floats, reference: Floats, frozen: Mask) -> Floats:
        """Give every free cell the value of the reference, or the nearest allowed one."""
        space, order = self.space, self.space.order
        nominal = space.profile.nominal[order]
        cells, wanted = x[:, order], reference[:, order].copy()
        lower, upper = space.bounds(cells, order)
        inside = np.minimum(np.maximum(wanted, lower), upper)
        wanted = np.where(nominal | (lower > upper), wanted, inside)
        keep = np.isnan(wanted) | np.isnan(cells) | frozen[:, order] | (~nominal & (lower > upper))
        rows = x.copy()
        rows[:, order] = np.where(keep, cells, wanted)
        return space.rules.complete(rows, x)

    def refine(
        self, x: Floats, rows: Floats, target: Integers, ids: Integers, *, exact: bool = False
    ) -> Floats:
        """Prune and shorten in turn until the distance no longer falls."""
        rows = prune(self.space, self.structure, x, rows, target, ids)
        going = np.arange(len(rows))
        for _ in range(MOST_SWEEPS):
            if not going.size:
                break
            before = rows[going].copy()
            some, old = before.copy(), x[going]
            for m in farthest_first(self.space, old, some).T:
                some_ids = ids[going]
                shorten(
                    self.space, self.structure, old, some, m, target[going], some_ids, exact=exact
                )
            some = prune(self.space, self.structure, old, some, target[going], ids[going])
            rows[going] = some
            going = going[differs(some, before).any(axis=1)]
        return rows
