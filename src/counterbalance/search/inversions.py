"""Inversions: what a search found, stored as changed cells, and the selection for each class.

Changed cells take little memory; whole rows would take as much as the result.

Where more inversions were found than requested, a second model chooses (the paper keeps all:
``EVERY``). An inversion with the probability p of the class by a logistic regression gets the key

    -log(u) / p ** POWER

with a uniform u that belongs to (factual, draw, class), and the smallest keys win: a sample without
replacement with the weights p ** POWER (Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.second_opinion import SecondOpinion
from counterbalance.constraints.rules import differs
from counterbalance.search.draws import Space, stream, uniform

# ``Inversions.draw`` of a row that no draw gave.
NOT_DRAWN = -1
COLUMNS = ("factual", "target", "draw", "round", "distance", "count")


@dataclass(frozen=True)
class Inversions:
    """Rows that f puts into a smaller class than that of their factual, one entry each."""

    factual: Integers
    target: Small
    draw: Small
    round: Small  # 0 where no draw gave the row
    distance: Floats
    count: Small  # how many cells of each row changed
    feature: Small  # of the changed cells, row after row
    value: Floats

    def __len__(self) -> int:
        return len(self.factual)

    @classmethod
    def from_rows(
        cls,
        factual: Integers,
        target: Integers,
        distance: Floats,
        old: Floats,
        new: Floats,
        draw: Integers | None = None,
        round_: Integers | None = None,
    ) -> Inversions:
        """Store the rows ``new``, made from the factuals ``old``."""
        changed = differs(new, old)
        row, feature = np.nonzero(changed)
        none = np.full(len(factual), NOT_DRAWN)
        return cls(
            factual,
            target.astype(np.int32),
            (none if draw is None else draw).astype(np.int32),
            (none + 1 if round_ is None else round_).astype(np.int32),
            distance,
            changed.sum(axis=1).astype(np.int32),
            feature.astype(np.int32),
            new[row, feature],
        )

    @classmethod
    def join(cls, parts: list[Inversions]) -> Inversions:
        """Concatenate the parts."""
        nothing = np.zeros((0, 0))
        empty = cls.from_rows(
            np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), nothing, nothing
        )
        columns = zip(*(_columns(part) for part in [empty, *parts]), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def take(self, positions: Integers | Mask | slice) -> Inversions:
        """Return the entries at ``positions``."""
        count = self.count[positions]
        first = (np.cumsum(self.count) - self.count)[positions]
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        cells = np.repeat(first, count) + inside
        columns: dict[str, Any] = {name: getattr(self, name)[positions] for name in COLUMNS}
        return Inversions(**columns, feature=self.feature[cells], value=self.value[cells])

    def rows(self, old: Floats) -> Floats:
        """Return the rows, made from the factuals ``old``."""
        rows = old.copy()
        rows[np.repeat(np.arange(len(rows)), self.count), self.feature] = self.value
        return rows


def _columns(found: Inversions) -> tuple[Any, ...]:
    return tuple(getattr(found, name) for name in (*COLUMNS, "feature", "value"))


# Weight of the second opinion: 0 ignores it, a large value takes only the highest scores.
POWER = 3.0
# The least score: a row to which the second model gives a probability of 0 can still be taken.
LEAST_SCORE = 1e-9
# Smaller counters of a stream are used for the features that it perturbs.
KEY_COUNTER = 2**40
# The sampling strategy of the paper: for N_i < N_j one row of i for each factual of j that inverts.
EVERY = "all"


def is_every(strategy: object) -> bool:
    """Return whether a sampling strategy requests every inversion instead of a number of rows."""
    return isinstance(strategy, str) and strategy == EVERY


def most_inversions(counts: Integers) -> dict[int, int]:
    """Return for each class code the rows of all larger classes: no more can invert to it."""
    larger = {code: int(counts[counts > n].sum()) for code, n in enumerate(counts.tolist())}
    return {code: n for code, n in larger.items() if n}


def keys(space: Space, found: Inversions, rows: Floats, opinion: SecondOpinion) -> Floats:
    """Return the key of each inversion; ``rows`` are the inversions as rows."""
    state = stream(space.seed, found.factual + space.first_row, found.draw)
    u = uniform(state, found.target.astype(np.int64) + KEY_COUNTER)
    score = np.maximum(opinion.scores(rows, found.target), LEAST_SCORE)
    return np.asarray(-np.log(u) / score**POWER)


def smallest(found: Inversions, key: Floats, n: int) -> Inversions:
    """Return the ``n`` inversions of the smallest keys (or all there are), in their order."""
    ranked = np.lexsort((found.draw, found.factual, key))[:n]
    return found.take(np.sort(ranked))


def nearest_of_each(found: Inversions) -> Inversions:
    """Return the nearest inversion of each pair of factual and class, the earlier draw in a tie."""
    ranked = np.lexsort((found.draw, found.distance, found.target, found.factual))
    factual, target = found.factual[ranked], found.target[ranked]
    first = np.append([True], (factual[1:] != factual[:-1]) | (target[1:] != target[:-1]))
    return found.take(np.sort(ranked[first[: len(ranked)]]))
