"""Selection: how many inversions each class gets, and which.

The paper keeps every one it finds. A user asks for a count, so where more were
found than asked for some must be left out:

    nearest    those with the smallest distance
    random     any, with equal chance, by a number that belongs to the factual
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterbalance.draws import stream, uniform
from counterbalance.search import Inversions

Integers = NDArray[np.intp]
Selection = Literal["nearest", "random"]


def select(found: Inversions, n: int, how: Selection, seed: int) -> Inversions:
    """Return ``n`` of the inversions (all, if there are fewer), ordered by factual."""
    if how == "nearest":
        ranked = np.lexsort((found.draw, found.factual, found.distance))
    else:
        lot = uniform(stream(seed, found.factual, found.draw), found.target)
        ranked = np.lexsort((found.factual, lot))
    chosen = ranked[:n]
    return found.take(chosen[np.lexsort((found.draw[chosen], found.factual[chosen]))])
