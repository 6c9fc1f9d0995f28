import numpy as np
from numpy.typing import NDArray

def first_pass(
    cells: NDArray[np.float64],
    y: NDArray[np.int64],
    lower: float,
    width: float,
    cuts: NDArray[np.float64],
    start: NDArray[np.int64],
    low: float,
    high: float,
    bins: NDArray[np.int64],
    inside: NDArray[np.float64],
) -> tuple[int, int, int, int]: ...
def second_pass(
    cells: NDArray[np.float64],
    lower: float,
    width: float,
    mean: float,
    median: float,
    low: float,
    high: float,
    inside: NDArray[np.float64],
) -> tuple[int, int, int, int, int]: ...
