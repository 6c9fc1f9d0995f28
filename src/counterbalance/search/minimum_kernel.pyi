import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Small
from counterbalance.search.structure import Landscape

class Walker:
    def __init__(self, land: Landscape) -> None: ...
    def find(
        self,
        x: Floats,
        origin: Floats,
        low: Floats,
        high: Floats,
        home: Small,
        mutable: NDArray[np.uint8],
        target: Integers,
        lowest: Small,
        highest: Small,
        first_cell: Integers,
        found: Small,
        distance: Floats,
        n_left_out: int,
    ) -> None: ...
