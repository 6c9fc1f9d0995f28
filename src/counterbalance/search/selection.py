"""Selection: which inversions a class gets, where more were found than are asked for.

The paper keeps every one it finds: ``EVERY``. A user mostly asks for a count. Then a second model
chooses: f calls all of them the class, and those are likelier taken that a logistic regression
calls the class, too. An inversion of the score p gets the key

    -log(u) / p ** POWER

with a uniform u that belongs to (factual, draw, class), and the smallest keys win: that is a sample
without replacement by the weights p ** POWER (Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier.second_opinion import SecondOpinion
from counterbalance.search.draws import stream, uniform
from counterbalance.search.inversions import Inversions
from counterbalance.search.space import Space

# How much the second opinion counts: 0 not at all, and a large one takes the highest scores only.
POWER = 3.0
# The least score: a row that the second model would never call the class can still be taken.
LEAST_SCORE = 1e-9
# Smaller counters of a stream belong to the features that it perturbs.
KEY_COUNTER = 2**40
# The sampling strategy of the paper: for N_i < N_j one row of i for each factual of j that inverts.
EVERY = "all"


def is_every(strategy: object) -> bool:
    """Return whether a sampling strategy asks for every inversion, and for no number of rows."""
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
