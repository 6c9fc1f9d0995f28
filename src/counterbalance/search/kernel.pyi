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
) -> None: ...
