r"""The minimum search in trees, in plain Python: what ``minimum_kernel`` does, step by step.

    landscape   the score of each class over the bins of the features (see ``landscape``)
    margin      the score of the wanted class minus the best other one, a whole number
    cost        what a feature adds to the distance
    home        the bins of the factual
    stretch     bins of one feature between which, all else equal, no score changes

A search starts at home. ``_look_around`` walks every tree once and notes how its leaf
changes if one feature alone moves: at each node of the path that tests the feature, the other
child is entered with the bins that lead there.

            m <= 4                    here: bin 2 of m
           /      \                   m in 5 .. 9:  leaf c, a change at 5
      n <= 1      m <= 9              m in 10 ..:   leaf d, a change at 10
      /    \      /    \
     a     [b]   c      d

So the margin is known after every move of a single feature: into any of its stretches, there
into the bin next to home. Outside the class the search makes the move with the most margin for its
cost (margin beyond what is missing does not count); inside, the move that saves most and stays
inside. A search may start in the nearest *cell*, too: the bins that share all leaves with a
training row that f puts into the class. It is repeated without some of the changes of its result,
as long as the distance falls.

Scores are whole numbers, so the order of adding them does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small
from counterbalance.classifier.trees import AHEAD, FEW_CHANGES, LONGEST
from counterbalance.search.structure import Landscape

NOWHERE = float("inf")


@dataclass
class _Row:
    target: int
    x: list[float]
    origin: list[float]
    low: list[float]
    high: list[float]
    home: list[int]
    mutable: list[bool]  # which features are moved
    free: list[bool]  # which may move at all: a rule may ask for a value that is not the factual's


@dataclass
class _End:
    distance: float
    bins: list[int]
    costs: list[float]


# For each feature, by bin: how the scores change from there on.
_Changes = list[dict[int, list[int]]]
# (first bin, last bin, margin).
_Stretch = tuple[int, int, int]


@dataclass
class Walker:
    """Searches a landscape, one row at a time."""

    land: Landscape
    bins: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    cells: list[tuple[list[int], list[int]]] = field(default_factory=list)  # of the class

    def __post_init__(self) -> None:
        land = self.land
        self.nodes: list[list[int]] = land.trees.nodes.tolist()
        self.value: list[list[int]] = land.value.tolist()
        self.missing_left = land.trees.missing_left.tolist()
        self.roots: list[int] = land.trees.roots.tolist()
        self.first_bin: list[int] = land.first_bin.tolist()
        self.least: list[float] = land.least.tolist()
        self.most: list[float] = land.most.tolist()
        self.next_up, self.next_down = land.next_up.tolist(), land.next_down.tolist()
        self.rate: list[float] = land.rate.tolist()
        self.flat: list[int] = land.flat.tolist()
        self.n_features, self.n_scores = len(self.rate), land.value.shape[1]

    def find(
        self,
        x: Floats,
        origin: Floats,
        low: Floats,
        high: Floats,
        home: Small,
        mutable: NDArray[np.uint8],
        target: NDArray[np.intp],
        lowest: Small,
        highest: Small,
        first_cell: NDArray[np.intp],
        found: Small,
        distance: Floats,
        n_left_out: int,
    ) -> None:
        """Write the bins and the distance of the inversion of every row, infinite for none.

        The search continues without each of the ``n_left_out`` costliest changes of its best
        result, as long as the distance falls.
        """
        for r in range(len(x)):
            arrays = (x[r], origin[r], low[r], high[r], home[r], mutable[r].astype(bool))
            row = _Row(int(target[r]), *(array.tolist() for array in arrays), mutable[r].tolist())
            cells = slice(first_cell[row.target], first_cell[row.target + 1])
            self.cells = list(zip(lowest[cells].tolist(), highest[cells].tolist(), strict=True))
            self.best = _End(NOWHERE, list(row.home), [])
            self._search(row, n_left_out)
            distance[r], found[r] = self.best.distance, self.best.bins

    def _search(self, row: _Row, n_left_out: int) -> None:
        """Search from home, or else from the nearest cell; then without changes."""
        self._start(row)
        self._keep(self._settle(row))
        if self.best.distance == NOWHERE and self._start_at_cell(row):
            self._keep(self._settle(row))
        if not n_left_out or self.best.distance == NOWHERE:
            return
        self._improve(row, n_left_out)
        from_home = self.best.distance
        if len(self._changed()) <= FEW_CHANGES and self._start_at_cell(row):
            self._keep(self._settle(row))
            if self.best.distance < from_home:
                self._improve(row, n_left_out)

    def _changed(self) -> list[int]:
        """Return the features that cost something in the best result, the costliest first."""
        costs = self.best.costs
        return sorted((m for m, cost in enumerate(costs) if cost > 0), key=lambda m: -costs[m])

    def _improve(self, row: _Row, n_left_out: int) -> None:
        """Continue without one of the changes of the best result, as long as the distance falls."""
        before = NOWHERE
        while self.best.distance < before:
            before = self.best.distance
            for m in self._changed()[:n_left_out]:
                self._leave_out(row, m)
                if self.best.distance < before:
                    break

    def _leave_out(self, row: _Row, m: int) -> None:
        """Search from the best result without one of its changes, which stays undone."""
        self.bins, self.costs = list(self.best.bins), list(self.best.costs)
        known = row.origin[m] == row.origin[m]
        self.bins[m], self.costs[m] = row.home[m], self._cost(row, m, row.home[m]) if known else 0.0
        mutable = [free and m != left_out for left_out, free in enumerate(row.free)]
        self._keep(self._settle(replace(row, mutable=mutable)))

    def _keep(self, distance: float) -> None:
        """Store the row if it is nearer than the best result."""
        if distance < self.best.distance:
            self.best = _End(distance, list(self.bins), list(self.costs))

    def _last_bin(self, m: int) -> int:
        return self.first_bin[m + 1] - self.first_bin[m] - 1

    def _goes_right(self, node: int) -> bool:
        feature, cut = self.nodes[node][:2]
        place = self.bins[feature]
        return place > cut if place >= 0 else not self.missing_left[node]

    def _margin(self, score: list[int], target: int) -> int:
        if self.n_scores == 1:
            return score[0] if target else -score[0]
        return score[target] - max(s for c, s in enumerate(score) if c != target)

    def _cost(self, row: _Row, m: int, place: int) -> float:
        value = row.origin[m]
        if place != row.home[m]:
            at = self.first_bin[m] + place
            value = min(max(value, self.least[at]), self.most[at])
            if value < row.low[m] or value > row.high[m]:
                return NOWHERE
        if self.flat[m]:
            return 1.0 if value != row.x[m] else 0.0
        return abs(value - row.x[m]) * self.rate[m]

    def _look_around(self, row: _Row) -> tuple[list[int], _Changes]:
        """Return the scores here, and how they change with every single feature."""
        score = [0] * self.n_scores
        changes: _Changes = [{} for _ in range(self.n_features)]
        for root in self.roots:
            box: dict[int, tuple[int, int]] = {}
            path, node = [], root
            while self.nodes[node][0] >= 0:
                m, cut, left, right = self.nodes[node]
                goes_right = self._goes_right(node)
                if row.mutable[m]:
                    low, high = box.get(m, (0, self._last_bin(m)))
                    if goes_right:
                        path.append((m, low, min(cut, high), left))
                        box[m] = (max(low, cut + 1), high)
                    else:
                        path.append((m, max(cut + 1, low), high, right))
                        box[m] = (low, min(high, cut))
                node = right if goes_right else left
            score = [s + v for s, v in zip(score, self.value[node], strict=True)]
            for m, low, high, other in path:
                if low <= high:
                    self._branch(changes[m], other, m, low, high, node)
        return score, changes

    def _branch(
        self, changes: dict[int, list[int]], node: int, m: int, low: int, high: int, here: int
    ) -> None:
        """Record the leaves below a node that are reached if feature m moves into [low, high]."""
        stack = [(node, low, high)]
        while stack:
            node, low, high = stack.pop()
            while self.nodes[node][0] >= 0:
                feature, cut, left, right = self.nodes[node]
                if feature != m:
                    node = right if self._goes_right(node) else left
                elif high <= cut:
                    node = left
                elif low > cut:
                    node = right
                else:
                    stack.append((right, cut + 1, high))
                    node, high = left, cut
            for bin_, old, new in ((low, here, node), (high + 1, node, here)):
                change = changes.setdefault(bin_, [0] * self.n_scores)
                for c in range(self.n_scores):
                    change[c] += self.value[new][c] - self.value[old][c]

    def _stretches(
        self, m: int, score: list[int], change: dict[int, list[int]], row: _Row
    ) -> Iterator[list[_Stretch]]:
        """Yield the stretches of a feature: at home, then below and above it.

        On either side the stretches nearest to home come first.
        """
        end, home, running = self._last_bin(m) + 1, row.home[m], list(score)
        begins = sorted({0, *change} - {end})
        at_home: list[_Stretch] = []
        below: list[_Stretch] = []
        above: list[_Stretch] = []
        for low, stop in zip(begins, [*begins[1:], end], strict=True):
            added = change.get(low, [0] * self.n_scores)
            running = [s + d for s, d in zip(running, added, strict=True)]
            side = below if stop <= home else above if low > home else at_home
            side.append((low, stop - 1, self._margin(running, row.target)))
        yield at_home
        yield below[::-1]
        yield above

    def _nearest_bin(self, m: int, home: int, low: int, high: int) -> int:
        """Return the bin from low to high that is nearest to home and holds a value, or -1."""
        if low <= home <= high:
            return home
        at = self.first_bin[m] + (high if high < home else low)
        nearest = (self.next_down if high < home else self.next_up)[at]
        return nearest if low <= nearest <= high else -1

    def _best_move(
        self, score: list[int], changes: _Changes, row: _Row
    ) -> tuple[int, int, float] | None:
        """Return (feature, bin, cost) of the best move of a single feature."""
        here = self._margin(score, row.target)
        best, top = None, 0.0
        for m in np.flatnonzero(row.mutable).tolist():
            # A stretch beyond another one must gain more; more than enough is never needed.
            nearest = reached = AHEAD if here > AHEAD else min(here, 0) + AHEAD
            for place, side in enumerate(self._stretches(m, score, changes[m], row)):
                reached = nearest
                for low, high, margin in side:
                    to = self._nearest_bin(m, row.home[m], low, high)
                    cost = self._cost(row, m, to) if to >= 0 else NOWHERE
                    if not margin > reached or cost == NOWHERE or (place and reached > AHEAD):
                        continue
                    reached = margin
                    if here > AHEAD:  # what is saved
                        gain, dearer = self.costs[m] - cost, 1.0
                    else:  # the gain for the cost
                        gain, dearer = float(min(margin, AHEAD + 1) - here), cost - self.costs[m]
                        if not dearer > 0:
                            gain, dearer = NOWHERE, 1.0
                    if gain > top * dearer:
                        best, top = (m, to, cost), gain / dearer
                if not place:
                    nearest = reached
        return best

    def _settle(self, row: _Row) -> float:
        """Move until the class is reached and nothing can be saved; return the distance."""
        inside = False
        for _ in range(LONGEST * self.n_features):
            score, changes = self._look_around(row)
            move = self._best_move(score, changes, row)
            inside = self._margin(score, row.target) > AHEAD
            if move is None:
                break
            m, self.bins[m], self.costs[m] = move[0], move[1], move[2]
        total = 0.0
        for cost in self.costs:
            total += cost
        return total if inside else NOWHERE

    def _start(self, row: _Row) -> None:
        self.bins = list(row.home)
        self.costs = [
            self._cost(row, m, place) if row.free[m] else 0.0 for m, place in enumerate(row.home)
        ]

    def _start_at_cell(self, row: _Row) -> bool:
        """Step into the nearest cell; return whether there is one."""
        best, least = None, NOWHERE
        for low, high in self.cells:
            total, steps = 0.0, []
            for m, home in enumerate(row.home):
                place = home if home < 0 else self._nearest_bin(m, home, low[m], high[m])
                if place != home:
                    reached = row.mutable[m] and place >= 0
                    cost = self._cost(row, m, place) if reached else NOWHERE
                    steps.append((m, place, cost))
                    total += cost
            if total < least:
                best, least = steps, total
        if best is None:
            return False
        self._start(row)
        for m, place, cost in best:
            self.bins[m], self.costs[m] = place, cost
        return True
