"""Minimum inversions of a linear f with two classes, in closed form.

    weight     of each feature in the score of the wanted class minus that of the other
    deficit    by how much the score of a row is behind
    rate       |weight| * MAD: what a feature brings for a distance of one

The distance is a sum over the features and so is the score, hence the minimum is that of a
fractional knapsack: move the features in the order of their rate, each as far as it may go,
until the score turns. No row of the class is nearer, up to the last step to a grid and the
rounding of f's own sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.linear import Screen
from counterbalance.search.space import Space

# Says of rows, by their places and as they are, whether f and the rules accept them.
Agrees = Callable[[Integers, Floats], Mask]
# How far beyond the boundary a row is put, in slacks of the screen: more than f's own rounding,
# which depends on the rows that it is asked about together and must not decide.
BEYOND = (1e-3, 1.0)


@dataclass(frozen=True)
class LinearMinimum:
    """The nearest inversions of a linear f."""

    space: Space
    screen: Screen

    def nearest(
        self, x: Floats, target: Integers, agrees: Agrees, frozen: Mask
    ) -> tuple[Floats, Mask]:
        """Return the nearest row of the class ``target`` for each row, and where there is one.

        ``agrees`` says of some of the rows (their places come first) whether f and the rules
        accept them; ``frozen`` cells stay.
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
        perturbation, order = self.space.perturbation, self.space.order
        profile = perturbation.profile
        weight = self.screen.weight[1] - self.screen.weight[0]
        intercept = self.screen.intercept[1] - self.screen.intercept[0]
        sign = np.where(target == 1, 1.0, -1.0)
        low, high = perturbation.rules.bounds(
            x[:, order], order, profile.lower[order], profile.upper[order]
        )
        low, high = (np.broadcast_to(array, (len(x), len(order))) for array in (low, high))
        rows = x.copy()
        open_ = (low <= high) & ~frozen[:, order]
        rows[:, order] = np.where(open_, np.clip(x[:, order], low, high), x[:, order])
        origin = rows.copy()
        score = np.full(len(x), intercept)
        for m in range(x.shape[1]):  # one after the other, so that no block changes a bit
            score += rows[:, m] * weight[m]
        deficit = beyond - sign * score
        rate = np.abs(weight[order]) * profile.scale[order]
        for k in np.argsort(-rate, kind="stable"):
            m = order[k]
            if weight[m] == 0:
                break
            at = np.flatnonzero(open_[:, k] & (deficit >= 0))  # who is not there yet
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
            # Rounding must not leave a rest that another feature would be moved for.
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
        """Give back what the last step to a grid brought too much, the dearest changes first."""
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
        """Put values onto the grid of their column, on the far side; never past the bound."""
        grid, levels = self.space.perturbation.grid, self.space.perturbation.rules.levels.get(m)
        if levels is not None:
            last = len(levels) - 1
            above = levels[np.minimum(np.searchsorted(levels, value, side="left"), last)]
            below = levels[np.maximum(np.searchsorted(levels, value, side="right") - 1, 0)]
            snapped = np.where(up, np.maximum(above, value), np.minimum(below, value))
            return np.where(up, np.minimum(snapped, bound), np.maximum(snapped, bound))
        if grid.resolution[m] == 0 and grid.width[m] >= value.itemsize:  # any float will do
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
