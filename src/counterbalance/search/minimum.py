"""Minimum: for each factual the nearest row that f puts into the wanted class.

This solves the objective of Section IV-A of the paper, which the draws of Algorithm 1 only
approximate. The solver depends on the structure of f:

    trees      forests, decision trees and boosting     near the minimum (see ``minimum_kernel``)
    linear     two classes, numbers                     the minimum, in closed form
    any other  predictions only                         ``minimum_any``

Relations between columns and limits on the number of changes concern whole rows; with them the
search uses predictions only. f predicts the class of every row that is found before it is returned.
No change of a returned row can be undone or shortened.

The closed form: the distance is a sum over the features and so is the score, hence the minimum is
that of a fractional knapsack. Features move in the order of their rate |weight| * MAD, each as far
as allowed, until f's class changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.predict import Screen
from counterbalance.constraints.rules import differs
from counterbalance.profile import distance
from counterbalance.search.algorithm_1 import agrees, farthest_first
from counterbalance.search.draws import Space, first_in_sample, sample_number
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum_any import AnyMinimum
from counterbalance.search.structure import Landscape, Structure

try:
    from counterbalance.search import minimum_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]


# How often a row is searched again without the features that made it implausible.
MOST_RETRIES = 5
# Rows of a class that searches may start from, and the numbers of rows of each class and of all
# classes among which they are chosen: a table larger than memory provides these, too.
MOST_REFERENCES = 2048
MOST_CANDIDATES = 20_000
# How many changes a search leaves out in turn, the farthest first.
N_LEFT_OUT = 5
# How many changes the repeated search of a row bound by rules leaves out in turn.
N_LEFT_OUT_BY_RULES = 2


def choose_references(ids: Integers) -> Mask:
    """Choose rows that searches for a class may start from, given the ids of the rows of the class.

    The choice depends neither on the partitioning nor on a seed.
    """
    return first_in_sample(sample_number(ids), MOST_REFERENCES)


@dataclass(frozen=True, eq=False)
class Minimum:
    """Finds the nearest inversion of rows, each by itself."""

    space: Space
    structure: Structure
    references: list[Floats]  # rows that f puts into each class code

    @cached_property
    def by_asking(self) -> AnyMinimum:
        """The search that uses f's predictions only."""
        return AnyMinimum(self.space, self.structure, self.references)

    @cached_property
    def by_trees(self) -> TreeMinimum | None:
        """The search in trees, if f consists of trees and no rule concerns whole rows."""
        land = self.structure.land
        if land is None or not is_compiled() or not self._cell_by_cell:
            return None
        nothing = np.zeros((0, len(self.space.changes)))
        of_f = [self.references[c] if c >= 0 else nothing for c in self.structure.codes]
        return TreeMinimum(self.space, land, of_f)

    @cached_property
    def by_weights(self) -> LinearMinimum | None:
        """The search in closed form, if f is linear with two classes."""
        rules, screen = self.space.rules, self.structure.screen
        usable = self._cell_by_cell and rules.only_steered and not rules.followers
        two = len(self.structure.f.classes) == 2  # noqa: PLR2004
        return LinearMinimum(self.space, screen) if screen is not None and usable and two else None

    @property
    def _cell_by_cell(self) -> bool:
        rules = self.space.rules
        return not rules.relations and rules.most_changed is None

    def find(self, x: Floats, ids: Integers, wanted: Mask) -> Inversions:
        """Find the nearest inversion of every row to each of its wanted classes."""
        row, target = np.nonzero(wanted)
        rows, far = self.nearest(x[row], target, ids[row])
        good = far < self.space.epsilon
        if good.any():
            good[good] = self.structure.f.predict_codes(rows[good], ids[row[good]]) == target[good]
        row, target = row[good], target[good]
        return Inversions.from_rows(ids[row], target, far[good], x[row], rows[good])

    def nearest(self, x: Floats, target: Integers, ids: Integers) -> tuple[Floats, Floats]:
        """Return the nearest row of class ``target`` for each row, and its distance.

        Where there is no row the distance is infinite. A row bound by learned rules or by a grid is
        searched again without some of its changes, as long as the distance falls. The kernel itself
        does this for all other rows.
        """
        no_cells = np.zeros(x.shape, dtype=bool)
        rows, far, bound = self._solve(x, target, ids, no_cells, N_LEFT_OUT)
        going = np.flatnonzero(bound)
        while going.size:
            nearer = np.zeros(len(going), dtype=bool)
            for some, frozen in self.left_out(x[going], rows[going]):
                at = going[some]
                again, least, _ = self._solve(x[at], target[at], ids[at], frozen)
                better = least < far[at]
                rows[at[better]], far[at[better]] = again[better], least[better]
                nearer[some] |= better
            going = going[nearer]
        return self._at_thresholds(x, rows, far, target, ids)

    def _at_thresholds(
        self, x: Floats, rows: Floats, far: Floats, target: Integers, ids: Integers
    ) -> tuple[Floats, Floats]:
        """Shorten to thresholds the rows for which the search in trees did not do so.

        Those are rows with followers, which the kernel does not support, and rows found by
        predictions only.
        """
        if self.structure.land is None:
            return rows, far
        at = np.isfinite(far)
        if self.by_trees is not None:
            at &= differs(rows, x)[:, self.space.rules.moves_more].any(axis=1)
        at = np.flatnonzero(at)
        if at.size:
            some = self.by_asking.refine(x[at], rows[at], target[at], ids[at], exact=True)
            profile, order = self.space.profile, self.space.order
            rows[at], far[at] = some, distance(profile, order, x[at], some)
        return rows, far

    def left_out(self, x: Floats, rows: Floats) -> Iterator[tuple[Integers, Mask]]:
        """Yield masks of cells to keep, for some rows: one of their farthest changes, then all."""
        ranked, changed = farthest_first(self.space, x, rows), differs(rows, x)
        count = changed[:, self.space.order].sum(axis=1)
        for place in range(min(N_LEFT_OUT_BY_RULES, ranked.shape[1])):
            some = np.flatnonzero(count > place)
            frozen = np.zeros((len(some), x.shape[1]), dtype=bool)
            frozen[np.arange(len(some)), ranked[some, place]] = True
            yield some, frozen
        some = np.flatnonzero(count > 1)
        if some.size:
            yield some, changed[some]

    def solve(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask
    ) -> tuple[Floats, Floats]:
        """Return a near row for each row, and its distance; ``frozen`` cells stay."""
        rows, far, _ = self._solve(x, target, ids, frozen)
        return self._at_thresholds(x, rows, far, target, ids)

    def _solve(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask, n_left_out: int = 0
    ) -> tuple[Floats, Floats, Mask]:
        """Return a near row for each row, its distance, and whether rules or a grid bound it.

        ``frozen`` cells stay; ``n_left_out`` is as in the kernel.
        """
        rows, reached, bound = x.copy(), *np.zeros((2, len(x)), dtype=bool)
        if self.by_trees is not None:
            rows, reached, bound = self._in_trees(x, target, ids, frozen, n_left_out)
        elif self.by_weights is not None:
            rows, reached = self.by_weights.nearest(
                x, target, lambda at, new: self._agrees(x[at], new, target[at], ids[at]), frozen
            )
            grid, rules = self.space.grid, self.space.rules
            bound = reached & bool(grid.resolution.any() or rules.levels)
        left = np.flatnonzero(~reached)
        known = self.by_trees is not None or self.by_weights is not None
        if left.size and not (known and frozen.any()):
            found = self.by_asking.nearest(x[left], target[left], ids[left], frozen[left])
            rows[left], reached[left] = found
            if self.by_trees is not None:
                at = left[reached[left]]
                rows[at] = self.by_asking.refine(x[at], rows[at], target[at], ids[at], exact=True)
        far = distance(self.space.profile, self.space.order, x, rows)
        return rows, np.where(reached, far, np.inf), bound

    def _in_trees(
        self, x: Floats, target: Integers, ids: Integers, frozen: Mask, n_left_out: int
    ) -> tuple[Floats, Mask, Mask]:
        trees, rules = self.by_trees, self.space.rules
        assert trees is not None  # noqa: S101  (the caller checked)
        of_f, frozen = self.structure.places[target], frozen.copy()
        plain, far = trees.nearest(x, of_f, frozen, n_left_out)
        rows, bound = rules.complete(plain, x), np.zeros(len(x), dtype=bool)
        left = np.flatnonzero(np.isfinite(far)) if rules.of_the_table else np.zeros(0, np.intp)
        for _ in range(MOST_RETRIES):
            left = left[np.isfinite(far[left]) & ~rules.allow(rows[left], x[left])]
            if not left.size:
                break
            bound[left] = True
            # Implausible changes are undone, and the other features move.
            frozen[left] |= rules.faults(rows[left], x[left]) & differs(rows[left], x[left])
            plain[left], far[left] = trees.nearest(x[left], of_f[left], frozen[left])
            rows[left] = rules.complete(plain[left], x[left])
        reached = np.isfinite(far)
        some = np.flatnonzero(reached)
        reached[some] = self._agrees(x[some], rows[some], target[some], ids[some])
        # The kernel does not move followers. Once they moved, other changes may be undone or
        # shortened.
        moved = np.flatnonzero(reached & differs(rows, x)[:, rules.moves_more].any(axis=1))
        if moved.size:
            rows[moved] = self.by_asking.refine(x[moved], rows[moved], target[moved], ids[moved])
            bound[moved] = True
        return rows, reached, bound & reached

    def _agrees(self, x: Floats, rows: Floats, target: Integers, ids: Integers) -> Mask:
        """Return which rows f puts into the class and keep every rule."""
        rules = self.space.rules
        return agrees(self.structure.predict, rules, x, rows, target, ids)


# How many rows that f puts into a class give starting cells for it.
MOST_CELLS = 512


def is_compiled() -> bool:
    """Return whether the kernel is compiled."""
    return kernel is not None


@dataclass(frozen=True)
class TreeMinimum:
    """The nearest inversions by the structure of the trees."""

    space: Space
    landscape: Landscape
    references: list[Floats]  # rows that f puts into each of its classes

    @cached_property
    def cells(self) -> tuple[Small, Small, Integers]:
        """Where searches start, besides the row itself.

        The lowest and highest bins of the cells, class by class, and where the cells of each class
        begin.
        """
        bins = [self.landscape.trees.bins(some[:MOST_CELLS]) for some in self.references]
        lowest, highest = self.landscape.cells(np.concatenate(bins))
        return lowest, highest, np.cumsum([0, *map(len, bins)], dtype=np.intp)

    def nearest(
        self, x: Floats, target: Integers, frozen: Mask, n_left_out: int = 0
    ) -> tuple[Floats, Floats]:
        """Return the nearest row of each row's class ``target`` of f, and its distance.

        ``frozen`` cells stay. Where no row is found the distance is infinite. ``n_left_out`` is
        as in the kernel.
        """
        land, x = self.landscape, np.ascontiguousarray(x)
        low, high, mutable = self._limits(x)
        mutable &= ~frozen
        origin = np.where(mutable, np.minimum(np.maximum(x, low), high), x)
        for m, levels in self.space.rules.levels.items():
            nearest = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, origin[:, m])]
            origin[:, m] = np.where(mutable[:, m], nearest, x[:, m])
        home = land.trees.bins(origin)
        found, distance = home.copy(), np.empty(len(x))
        given = (x, origin, low, high, home, mutable.astype(np.uint8), target)
        kernel.Walker(land).find(*given, *self.cells, found, distance, n_left_out)
        return np.where(mutable, land.values(found, home, origin), x), distance

    def _limits(self, x: Floats) -> tuple[Floats, Floats, Mask]:
        """Return the bounds of cells, and which may move: missing ones stay."""
        space, order = self.space, self.space.order
        nominal = space.profile.nominal
        low, high = np.full((2, *x.shape), np.inf)
        low *= -1
        numbers = order[~nominal[order]]
        low[:, numbers], high[:, numbers] = space.bounds(x[:, numbers], numbers)
        mutable = np.zeros(x.shape, dtype=bool)
        mutable[:, order] = ~np.isnan(x[:, order])
        return low, high, mutable & (low <= high)


# Returns whether f and the rules accept some rows, given as their positions and cells.
Agrees = Callable[[Integers, Floats], Mask]
# How far beyond the boundary a row is moved, in slacks of the screen. It exceeds f's rounding,
# which depends on the batch and must not decide.
BEYOND = (1e-3, 1.0)


@dataclass(frozen=True)
class LinearMinimum:
    """The nearest inversions of a linear f."""

    space: Space
    screen: Screen

    def nearest(
        self, x: Floats, target: Integers, agrees: Agrees, frozen: Mask
    ) -> tuple[Floats, Mask]:
        """Return the nearest row of the class ``target`` for each row, and whether there is one.

        ``agrees`` returns whether f and the rules accept some rows (their positions come first);
        ``frozen`` cells stay.
        """
        rows, reached = x.copy(), np.zeros(len(x), dtype=bool)
        for share in BEYOND:
            left = np.flatnonzero(~reached)
            if left.size:
                beyond = share * self.screen.slack
                rows[left] = self._move(x[left], target[left], beyond, frozen[left])
                reached[left] = agrees(left, rows[left])
        return rows, reached

    def _move(self, x: Floats, target: Integers, beyond: float, frozen: Mask) -> Floats:
        order, profile = self.space.order, self.space.profile
        weight = self.screen.weight[1] - self.screen.weight[0]
        intercept = self.screen.intercept[1] - self.screen.intercept[0]
        sign = np.where(target == 1, 1.0, -1.0)
        low, high = self.space.bounds(x[:, order], order)
        low, high = (np.broadcast_to(array, (len(x), len(order))) for array in (low, high))
        rows = x.copy()
        open_ = (low <= high) & ~frozen[:, order]
        rows[:, order] = np.where(open_, np.clip(x[:, order], low, high), x[:, order])
        origin = rows.copy()
        score = np.full(len(x), intercept)
        for m in range(x.shape[1]):  # one by one, so that the block size changes no bit
            score += rows[:, m] * weight[m]
        deficit = beyond - sign * score
        rate = np.abs(weight[order]) * profile.scale[order]
        for k in np.argsort(-rate, kind="stable"):
            m = order[k]
            if weight[m] == 0:
                break
            at = np.flatnonzero(open_[:, k] & (deficit >= 0))  # rows still to move
            if not at.size:
                continue
            behind, old, towards = deficit[at], rows[at, m], sign[at]
            up = towards * weight[m] > 0
            bound = np.where(up, high[at, k], low[at, k])
            step = np.where(up, 1, -1) * behind / abs(weight[m])
            enough = np.abs(bound - old) > np.abs(step)
            value = np.where(enough, old + step, bound)
            value = self._beyond(value, bound, m, up)
            left = behind - towards * weight[m] * (value - old)
            # Rounding must not leave a remainder for which another feature would move.
            deficit[at] = np.where(enough, np.minimum(left, -np.finfo(np.float64).tiny), left)
            rows[at, m] = value
        self._shorten(origin, rows, weight, sign, -deficit, np.argsort(rate, kind="stable"))
        return rows

    def _shorten(
        self,
        x: Floats,
        rows: Floats,
        weight: Floats,
        sign: Floats,
        ahead: Floats,
        ranked: Integers,
    ) -> None:
        """Undo the excess of the last step to a grid, the costliest changes first."""
        for m in self.space.order[ranked]:
            at = np.flatnonzero((ahead > 0) & (rows[:, m] != x[:, m]))
            if not at.size or weight[m] == 0:
                continue
            old, value = x[at, m], rows[at, m]
            up = value > old
            step = ahead[at] / abs(weight[m])
            nearer = np.where(np.abs(value - old) > step, value - np.where(up, step, -step), old)
            nearer = self._beyond(nearer, value, m, up)
            ahead[at] -= sign[at] * weight[m] * (value - nearer)
            rows[at, m] = nearer

    def _beyond(self, value: Floats, bound: Floats, m: int, up: Mask) -> Floats:
        """Round values to the grid of their column, away from the factual; never past the bound."""
        grid, levels = self.space.grid, self.space.rules.levels.get(m)
        if levels is not None:
            last = len(levels) - 1
            above = levels[np.minimum(np.searchsorted(levels, value, side="left"), last)]
            below = levels[np.maximum(np.searchsorted(levels, value, side="right") - 1, 0)]
            snapped = np.where(up, np.maximum(above, value), np.minimum(below, value))
            return np.where(up, np.minimum(snapped, bound), np.maximum(snapped, bound))
        if grid.resolution[m] == 0 and grid.width[m] >= value.itemsize:  # any float is allowed
            return np.where(up, np.minimum(value, bound), np.maximum(value, bound))
        at = np.array([m])
        snapped = grid.snap(value.copy()[:, None], at)[:, 0]
        short = np.where(up, snapped < value, snapped > value)
        if grid.resolution[m] > 0:
            step = np.where(up, 1.0, -1.0) / grid.resolution[m]
            snapped = np.where(short, snapped + step, snapped)
            snapped = grid.snap(snapped[:, None], at)[:, 0]
        elif grid.width[m] < value.itemsize:
            narrow = np.dtype(f"f{grid.width[m]}").type
            further = np.nextafter(
                snapped.astype(narrow), np.where(up, np.inf, -np.inf).astype(narrow)
            )
            snapped = np.where(short, further, snapped)
        return np.where(up, np.minimum(snapped, bound), np.maximum(snapped, bound))
