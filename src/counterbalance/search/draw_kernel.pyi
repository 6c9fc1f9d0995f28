import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.search.draws import Space
from counterbalance.search.structure import Landscape

class Draws:
    def __init__(
        self,
        x: Floats,
        ids: NDArray[np.int64],
        lower: Floats,
        upper: Floats,
        space: Space,
    ) -> None: ...

class Ensemble:
    def __init__(self, land: Landscape) -> None: ...

def first_inversions(
    draws: Draws,
    ensemble: Ensemble,
    wanted: NDArray[np.uint8],
    any_draw: bool,
    round_: NDArray[np.int32],
    tied: NDArray[np.uint8],
) -> None: ...
def first_inversions_linear(
    draws: Draws,
    weight: Floats,
    start: Floats,
    slack: float,
    wanted: NDArray[np.uint8],
    any_draw: bool,
    round_: NDArray[np.int32],
) -> None: ...
def build_rows(
    draws: Draws, row: Integers, draw: Integers, round_: Integers, out: Floats
) -> None: ...
def prune(
    ensemble: Ensemble,
    x: Floats,
    rows: Floats,
    target: Integers,
    order: Integers,
    scale: Floats,
    nominal: NDArray[np.uint8],
    tied: NDArray[np.uint8],
) -> None: ...
def predict(ensemble: Ensemble, x: Floats, answer: Integers) -> None: ...
