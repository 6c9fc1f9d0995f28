"""Selection: how many inversions each class gets, and which.

The paper keeps every one it finds: ``EVERY``. A user mostly asks for a count, so where
more were found than asked for some must be left out:

    nearest      those with the smallest distance
    random       any, with equal chance, by a number that belongs to the factual
    agreement    any, those rather that judges unlike f call the class, too (``agreement``)

Every inversion has a key, and those with the smallest keys are taken. For the last one it is

    -log(u) / score ** POWER

with a uniform u that belongs to (factual, draw, class): the smallest of such keys are a sample
without putting back, by weights score ** POWER (Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from counterbalance.arrays import Floats, Integers, Words
from counterbalance.classifier.agreement import Agreement
from counterbalance.search.draws import uniform
from counterbalance.search.inversions import Inversions

Selection = Literal["nearest", "random", "agreement"]
# How much the agreement counts: 0 not at all, and a large one takes the highest scores only.
POWER = 3.0
# The least score: a row that no judge would have is the last to be taken, but can be.
LEAST_SCORE = 1e-9
# Smaller counters of a stream belong to the features that it perturbs.
LOT_COUNTER = 2**40
# The sampling strategy of the paper: for N_i < N_j one row of i for each factual of j that inverts.
EVERY = "all"


def is_every(strategy: object) -> bool:
    """Return whether a sampling strategy asks for every inversion, and for no number of rows."""
    return isinstance(strategy, str) and strategy == EVERY


def most_inversions(counts: Integers) -> dict[int, int]:
    """Return for each class code the rows of all larger classes: no more can invert to it."""
    larger = {code: int(counts[counts > n].sum()) for code, n in enumerate(counts.tolist())}
    return {code: n for code, n in larger.items() if n}


@dataclass(frozen=True)
class Ranking:
    """Which inversions are taken first."""

    how: Selection = "nearest"
    judges: Agreement | None = None  # for "agreement"

    def keys(self, found: Inversions, state: Words, rows: Floats | None) -> Floats:
        """Return the key of each inversion, where it is not the distance.

        ``state`` is the stream of its factual and draw; ``rows`` are for the judges, if any.
        """
        u = uniform(state, found.target.astype(np.int64) + LOT_COUNTER)
        if self.judges is None or rows is None:
            return u
        score = np.maximum(self.judges.scores(rows, found.target), LEAST_SCORE)
        return np.asarray(-np.log(u) / score**POWER)


def rank(found: Inversions) -> Integers:
    """Return the positions of the inversions, those of the smallest keys first."""
    return np.lexsort((found.draw, found.factual, found.key))


def select(found: Inversions, n: int) -> Inversions:
    """Return the ``n`` inversions of the smallest keys (or all there are), ordered by factual."""
    chosen = rank(found)[:n]
    return found.take(chosen[np.lexsort((found.draw[chosen], found.factual[chosen]))])
