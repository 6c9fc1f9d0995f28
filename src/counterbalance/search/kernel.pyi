from typing import Any

import numpy as np
from numpy.typing import NDArray

class Draws:
    def __init__(self, **arrays: Any) -> None: ...

class Forest:
    def __init__(
        self, trees: Any, code: NDArray[np.intp], prior: NDArray[np.float64] | None
    ) -> None: ...

def search_forest(
    draws: Draws,
    forest: Forest,
    wanted: NDArray[np.uint8],
    distance: NDArray[np.float64],
    draw: NDArray[np.intp],
    round_: NDArray[np.intp],
) -> int: ...
def next_hopeful(
    draws: Draws,
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
    slack: float,
    wanted: NDArray[np.uint8],
    distance: NDArray[np.float64],
    draw: NDArray[np.intp],
    round_: NDArray[np.intp],
    said: NDArray[np.intp],
) -> None: ...
def take_back_linear(
    draws: Draws,
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
    slack: float,
    target: NDArray[np.int32],
    draw: NDArray[np.int32],
    round_: NDArray[np.int32],
    taken: NDArray[np.uint8],
    distance: NDArray[np.float64],
    unsure: NDArray[np.uint8],
) -> None: ...
def rebuild(
    draws: Draws,
    draw: NDArray[np.int32],
    round_: NDArray[np.int32],
    taken: NDArray[np.uint8],
    rows: NDArray[np.float64],
) -> None: ...
