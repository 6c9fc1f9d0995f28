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
def judge_forest(forest: Forest, x: NDArray[np.float64], answer: NDArray[np.intp]) -> None: ...
def take_back_forest(
    forest: Forest,
    x: NDArray[np.float64],
    rows: NDArray[np.float64],
    target: NDArray[np.intp],
    order: NDArray[np.intp],
    scale: NDArray[np.float64],
    nominal: NDArray[np.uint8],
) -> None: ...
def take_back_linear(
    weight: NDArray[np.float64],
    intercept: NDArray[np.float64],
    slack: float,
    said: NDArray[np.uint8],
    sure: NDArray[np.uint8],
    x: NDArray[np.float64],
    rows: NDArray[np.float64],
    target: NDArray[np.intp],
    order: NDArray[np.intp],
    scale: NDArray[np.float64],
    nominal: NDArray[np.uint8],
) -> None: ...
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
def rebuild(
    draws: Draws,
    draw: NDArray[np.int32],
    round_: NDArray[np.int32],
    taken: NDArray[np.uint8],
    rows: NDArray[np.float64],
) -> None: ...
