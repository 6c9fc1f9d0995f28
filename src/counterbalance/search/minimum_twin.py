r"""The minimum search in trees, in plain Python: what ``minimum_kernel`` does, step by step.

    landscape   the score of each class over the bins of the features (see ``landscape``)
    margin      the score of the wanted class minus the best other one, a whole number
    cost        what a feature adds to the distance
    event       a bin from which on, seen from here, moving one feature changes the scores

A search starts at the factual. ``_look_around`` walks every tree once and notes how its leaf
changes if one feature alone moves: at each node of the path that tests the feature, the other
child is entered with the bins that lead there.

            m <= 4                    here: bin 2 of m
           /      \                   m in 5 .. 9:  leaf c, an event at 5
      n <= 1      m <= 9              m in 10 ..:   leaf d, an event at 10
      /    \      /    \
     a     [b]   c      d

From the events the margin after every move of a single feature is known. Outside the class
the move is made that brings most margin for its cost (no more counts than what is missing);
inside, the one that saves most and stays inside. Where no move helps and the class is not
reached, the search starts anew in the nearest *cell*: the bins that share all leaves with a
training row that f puts into the class.

It is used where the kernel is not there, and is its oracle: scores are whole numbers, so
that no order of adding them matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Small
from counterbalance.search.landscape import ONE, Landscape

# A class is reached if its score is ahead by more than rounding can make of f's own sum.
AHEAD = int(ONE * 1e-9)
# A search ends after so many moves for each feature; none was ever seen to take as many.
LONGEST = 16
NOWHERE = float("inf")


@dataclass
class _Row:
    target: int
    x: list[float]
    origin: list[float]
    low: list[float]
    high: list[float]
    home: list[int]
    mutable: list[bool]


@dataclass
class _Events:
    """For each feature and direction: (bin, sign, change of the scores)."""

    lists: list[list[tuple[int, int, list[int]]]]


@dataclass
class Walker:
    """Walks in a landscape, one row at a time."""

    land: Landscape
    bins: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

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
        self.scale: list[float] = land.scale.tolist()
        self.flat: list[int] = land.flat.tolist()
        self.n_features, self.n_scores = len(self.scale), land.value.shape[1]

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
    ) -> None:
        """Write the bins and the distance of the inversion of every row, infinite for none."""
        for r in range(len(x)):
            arrays = (x[r], origin[r], low[r], high[r], home[r], mutable[r].astype(bool))
            row = _Row(int(target[r]), *(array.tolist() for array in arrays))
            self._start(row)
            distance[r] = self._settle(row)
            cells = slice(first_cell[row.target], first_cell[row.target + 1])
            if distance[r] == NOWHERE and self._start_at_cell(row, lowest[cells], highest[cells]):
                distance[r] = self._settle(row)
            found[r] = self.bins

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
        return abs(value - row.x[m]) / self.scale[m]

    def _look_around(self, row: _Row) -> tuple[list[int], _Events]:
        """Return the scores here, and how they change with every single feature."""
        score = [0] * self.n_scores
        events = _Events([[] for _ in range(2 * self.n_features)])
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
                    self._branch(events, other, m, low, high, node)
        return score, events

    def _branch(self, events: _Events, node: int, m: int, low: int, high: int, here: int) -> None:
        """Note the leaves below a node that are reached if feature m moves into [low, high]."""
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
            self._note(events, m, low, high, node, here)

    def _note(self, events: _Events, m: int, low: int, high: int, leaf: int, here: int) -> None:
        """Note an event where the way enters [low, high], and one where it leaves it."""
        if self.value[leaf] == self.value[here]:
            return
        delta = [a - b for a, b in zip(self.value[leaf], self.value[here], strict=True)]
        if low > self.bins[m]:
            events.lists[2 * m + 1].append((low, 1, delta))
            if high < self._last_bin(m):
                events.lists[2 * m + 1].append((high + 1, -1, delta))
        else:
            events.lists[2 * m].append((high, 1, delta))
            if low > 0:
                events.lists[2 * m].append((low - 1, -1, delta))

    def _moves(self, score: list[int], events: _Events, row: _Row) -> list[tuple[int, int, int]]:
        """Return (feature, bin, margin) of every move that some tree answers to."""
        moves = []
        for place, unsorted in enumerate(events.lists):
            m, up = divmod(place, 2)
            ranked = sorted(unsorted, key=lambda event: event[0] if up else -event[0])
            running, e = list(score), 0
            while e < len(ranked):
                at = ranked[e][0]
                while e < len(ranked) and ranked[e][0] == at:
                    _, sign, delta = ranked[e]
                    running = [s + sign * d for s, d in zip(running, delta, strict=True)]
                    e += 1
                limit = ranked[e][0] if e < len(ranked) else -1
                nearest = (self.next_up if up else self.next_down)[self.first_bin[m] + at]
                beyond = limit >= 0 and (nearest >= limit if up else nearest <= limit)
                if nearest >= 0 and not beyond:
                    moves.append((m, nearest, self._margin(running, row.target)))
        return moves

    def _best_move(
        self, score: list[int], events: _Events, row: _Row
    ) -> tuple[int, int, float] | None:
        """Return (feature, bin, cost) of the best move of a single feature."""
        here = self._margin(score, row.target)
        best, top = None, 0.0
        for m, place, margin in self._moves(score, events, row):
            if not (margin > AHEAD if here > AHEAD else margin - here > AHEAD):
                continue
            cost = self._cost(row, m, place)
            if cost == NOWHERE:
                continue
            if here > AHEAD:
                gain = self.costs[m] - cost
            else:
                brings = min(margin, AHEAD + 1) - here
                dearer = cost - self.costs[m]
                gain = brings / dearer if dearer > 0 else NOWHERE
            if gain > top:
                best, top = (m, place, cost), gain
        return best

    def _settle(self, row: _Row) -> float:
        """Move until the class is reached and nothing can be saved; return the distance."""
        inside = False
        for _ in range(LONGEST * self.n_features):
            score, events = self._look_around(row)
            move = self._best_move(score, events, row)
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
            self._cost(row, m, place) if row.mutable[m] else 0.0 for m, place in enumerate(row.home)
        ]

    def _start_at_cell(self, row: _Row, lowest: Small, highest: Small) -> bool:
        """Step into the nearest cell; say whether there is one."""
        best, least = None, NOWHERE
        for low, high in zip(lowest.tolist(), highest.tolist(), strict=True):
            total, steps = 0.0, []
            for m, home in enumerate(row.home):
                place = min(max(home, low[m]), high[m])
                if place != home and home >= 0:
                    cost = self._cost(row, m, place) if row.mutable[m] else NOWHERE
                    steps.append((m, place, cost))
                    total += cost
            if total < least:
                best, least = steps, total
        self._start(row)
        for m, place, cost in best or []:
            self.bins[m], self.costs[m] = place, cost
        return best is not None
