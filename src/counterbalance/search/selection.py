"""Selection: how many inversions each class gets, and which.

The paper keeps every one it finds: ``EVERY``. A user mostly asks for a count, so where
more were found than asked for some must be left out:

    nearest    those with the smallest distance
    random     any, with equal chance, by a number that belongs to the factual
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.search.draws import stream, uniform
from counterbalance.search.inversions import Inversions

Selection = Literal["nearest", "random"]
# The sampling strategy of the paper: for N_i < N_j one row of i for each factual of j that inverts.
EVERY = "all"


def is_every(strategy: object) -> bool:
    """Return whether a sampling strategy asks for every inversion, and for no number of rows."""
    return isinstance(strategy, str) and strategy == EVERY


def most_inversions(counts: Integers) -> dict[int, int]:
    """Return for each class code the rows of all larger classes: no more can invert to it."""
    larger = {code: int(counts[counts > n].sum()) for code, n in enumerate(counts.tolist())}
    return {code: n for code, n in larger.items() if n}


def select(found: Inversions, n: int, how: Selection, seed: int) -> Inversions:
    """Return ``n`` of the inversions (all, if there are fewer), ordered by factual."""
    if how == "nearest":
        ranked = np.lexsort((found.draw, found.factual, found.distance))
    else:
        lot = uniform(stream(seed, found.factual, found.draw), found.target)
        ranked = np.lexsort((found.factual, lot))
    chosen = ranked[:n]
    return found.take(chosen[np.lexsort((found.draw[chosen], found.factual[chosen]))])
