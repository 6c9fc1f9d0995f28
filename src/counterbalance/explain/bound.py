"""Bound: a proved lower bound on the distance to a row of another class.

    answer     a row of the class that a search found, and how far it is
    bound      no row of the class is nearer: proved
    gap        distance / bound - 1; 0 means that no row is nearer than the answer

    trees      branch and bound over the boxes of the ensemble (``bound_kernel``)
    linear     the search is exact
    any other  there are only predictions, and nothing is proved

f is the classifier (f in the paper). The boxes represent ranges, levels, directions, categories,
missing cells, costs, transitions, the least change of a column, and how many columns may change.
They do not represent relations between columns, nor pairs of values. With those, the bound is that
of a problem with fewer rules, which is valid but lower. If the nearest row of that problem keeps
all rules, it is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Integers, Small
from counterbalance.classifier.trees import AHEAD
from counterbalance.constraints.rules import Rules
from counterbalance.profile import distance as distance_of
from counterbalance.search.algorithm_1 import agrees
from counterbalance.search.draws import Space
from counterbalance.search.minimum import Minimum
from counterbalance.search.structure import Landscape

try:
    from counterbalance.explain import bound_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# Boxes that are examined for each row: by default, and with ``certify``.
N_BOXES, MANY_BOXES = 150, 20_000
# Steps that raise the bound of a box; the first box gets four times as many.
N_STEPS = 8
# Cells of the costs that are in memory at a time.
MOST_CELLS = 2**22


@dataclass(frozen=True)
class Proof:
    """Answers, their distances, and the bounds."""

    rows: Floats
    distance: Floats
    bound: Floats  # nan where nothing is proved


def prove(
    minimum: Minimum,
    x: Floats,
    target: Integers,
    ids: Integers,
    rows: Floats,
    far: Floats,
    n_boxes: int = N_BOXES,
) -> Proof:
    """Return a lower bound on the distance from each row to ``target``, and nearer answers.

    ``rows`` are the answers so far.
    """
    structure = minimum.structure
    if minimum.by_weights is not None:
        return Proof(rows, far, np.where(np.isfinite(far), far, np.nan))
    if structure.land is None or kernel is None:
        return Proof(rows, far, np.full(len(x), np.nan))
    rows, far, bound = rows.copy(), far.copy(), np.zeros(len(x))
    each = max(1, MOST_CELLS // int(structure.land.first_bin[-1]))
    prover = kernel.Prover(structure.land, float(AHEAD))
    for start in range(0, len(x), each):
        some = slice(start, start + each)
        rows[some], far[some], bound[some] = _prove_block(
            minimum, prover, x[some], target[some], ids[some], rows[some], far[some], n_boxes
        )
    return Proof(rows, far, bound)


def _prove_block(
    minimum: Minimum,
    prover: kernel.Prover,
    x: Floats,
    target: Integers,
    ids: Integers,
    rows: Floats,
    far: Floats,
    n_boxes: int,
) -> tuple[Floats, Floats, Floats]:
    structure, space = minimum.structure, minimum.space
    rules, land = space.rules, structure.land
    assert land is not None  # noqa: S101  (the caller checked)
    boxes = Boxes.around(space, land, x)
    found = boxes.home.copy()
    distance, bound, is_nearer = far.copy(), np.zeros(len(x)), np.zeros(len(x), dtype=np.uint8)

    def row_of(r: int) -> Floats:
        return rules.complete(boxes.values(np.array([r]), found[[r]]), x[[r]])

    def ask(r: int) -> bool:
        at = [r]
        return bool(agrees(structure.predict, rules, x[at], row_of(r), target[at], ids[at])[0])

    relaxed = bool(rules.relations or rules.usual or rules.followers or rules.together is not None)
    most = len(x[0]) if rules.most_changed is None else rules.most_changed
    prover.prove(
        boxes.cost,
        boxes.home,
        structure.places[target],
        distance,
        found,
        bound,
        is_nearer,
        most,
        relaxed,
        n_boxes,
        N_STEPS,
        ask,
    )
    at = np.flatnonzero(is_nearer)
    if at.size:
        new = rules.complete(boxes.values(at, found[at]), x[at])
        good = agrees(structure.predict, rules, x[at], new, target[at], ids[at])
        at, new = at[good], new[good]
        new = minimum.by_asking.refine(x[at], new, target[at], ids[at], exact=True)
        rows[at] = new
        far[at] = distance_of(space.profile, space.order, x[at], new)
    # A sum in another order differs by rounding.
    return rows, far, np.where(bound >= far * (1 - 1e-9), far, bound)


def _nearest_in_bins(
    rules: Rules, land: Landscape, m: int, origin: Floats, least: Floats, most: Floats
) -> Floats:
    """Return the nearest allowed value of each bin, nan if there is none."""
    near = np.minimum(np.maximum(origin[:, None], least), most)
    if m in rules.at_least:
        step, bins = rules.at_least[m], np.arange(len(least))
        home = land.trees.bins(np.tile(origin[:, None], land.trees.n_features))[:, [m]]
        up = bins > home
        far = np.where(up, step.beyond(origin, np.ones(len(origin), dtype=bool))[:, None], near)
        far = np.where(
            bins < home, step.beyond(origin, np.zeros(len(origin), dtype=bool))[:, None], far
        )
        near = np.where(up, np.maximum(near, far), np.minimum(near, far))
        near = np.where((near < least) | (near > most), np.nan, near)
    if m in rules.transitions:
        allowed = rules.transitions[m]
        levels = np.arange(allowed.shape[1], dtype=float)
        near[:] = np.nan
        for before in np.unique(origin[~np.isnan(origin)]):
            may = levels[allowed[int(before)]]
            may = may[np.isin(may, rules.levels[m])] if m in rules.levels else may
            ranked = may[np.argsort(-np.abs(may - before), kind="stable")]  # the nearest last
            place = land.trees.bins(np.tile(ranked[:, None], land.trees.n_features))[:, m]
            row = np.full(len(least), np.nan)
            row[place] = ranked
            near[origin == before] = row
    return near


@dataclass(frozen=True, eq=False)
class Boxes:
    """The bins that rows may move to, and the distance that each adds."""

    x: Floats
    land: Landscape
    home: Small
    cost: Floats  # (rows, bins)
    value: Floats  # (rows, bins): the nearest value of each bin

    @classmethod
    def around(cls, space: Space, land: Landscape, x: Floats) -> Boxes:
        """Compute the cost of every bin around the rows ``x``."""
        rules, profile = space.rules, space.profile
        low, high = np.full((2, *x.shape), np.inf)
        low *= -1
        numbers = space.order[~profile.nominal[space.order]]
        low[:, numbers], high[:, numbers] = rules.bounds(
            x[:, numbers], numbers, profile.lower[numbers], profile.upper[numbers]
        )
        mutable = np.zeros(x.shape, dtype=bool)
        mutable[:, space.order] = ~np.isnan(x[:, space.order])
        mutable &= low <= high
        origin = np.where(mutable, np.minimum(np.maximum(x, low), high), x)
        for m, levels in rules.levels.items():
            nearest = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, origin[:, m])]
            origin[:, m] = np.where(mutable[:, m], nearest, x[:, m])
        home = land.trees.bins(origin)
        n_bins = int(land.first_bin[-1])
        cost, value = np.full((2, len(x), n_bins), np.inf)
        for m in range(x.shape[1]):
            bins = slice(land.first_bin[m], land.first_bin[m + 1])
            least, most = land.least[bins], land.most[bins]
            near = _nearest_in_bins(rules, land, m, origin[:, m], least, most)
            bad = (
                np.isnan(near)
                | (least > most)
                | (near < low[:, [m]])
                | (near > high[:, [m]])
                | ~mutable[:, [m]]
            )
            at = np.flatnonzero(home[:, m] >= 0)
            near[at, home[at, m]], bad[at, home[at, m]] = origin[at, m], False
            change = np.abs(near - x[:, [m]])
            change = ((change > 0) if land.flat[m] else change) * land.rate[m]
            cost[:, bins], value[:, bins] = np.where(bad, np.inf, change), near
        for follower in rules.followers:  # moves by itself, which adds nothing
            m = follower.column
            bins = slice(land.first_bin[m], land.first_bin[m + 1])
            cost[:, bins] = np.where(home[:, [m]] >= 0, 0.0, np.inf)
        return cls(x, land, home, cost, value)

    def values(self, at: Integers, bins: Small) -> Floats:
        """Return the rows ``at`` with the nearest value of each of the given bins."""
        place = self.land.first_bin[:-1] + np.maximum(bins, 0)
        values = self.value[at[:, None], place]
        moved = (bins >= 0) & ((bins != self.home[at]) | (self.cost[at[:, None], place] > 0))
        return np.where(moved, values, self.x[at])
