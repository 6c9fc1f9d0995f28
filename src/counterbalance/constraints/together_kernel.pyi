import numpy as np
from numpy.typing import NDArray

def faults(
    x: NDArray[np.float64],
    old: NDArray[np.float64],
    has_old: bool,
    faults: NDArray[np.uint8],
    features: NDArray[np.intp],
    first: NDArray[np.intp],
    is_number: NDArray[np.uint8],
    value: NDArray[np.float64],
    numbers: NDArray[np.intp],
    allowed: NDArray[np.uint8],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> None: ...
