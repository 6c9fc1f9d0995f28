from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Small
from counterbalance.search.structure import Landscape

class Prover:
    def __init__(self, land: Landscape, ahead: float) -> None: ...
    def prove(
        self,
        cost: Floats,
        home: Small,
        target: Integers,
        distance: Floats,
        found: Small,
        bound: Floats,
        nearer: NDArray[np.uint8],
        most_changed: int,
        relaxed: Any,
        n_boxes: int,
        n_steps: int,
        ask: Callable[[int], bool],
    ) -> None: ...
