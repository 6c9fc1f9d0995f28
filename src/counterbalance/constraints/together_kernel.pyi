import numpy as np
from numpy.typing import NDArray

def allow(
    x: NDArray[np.float64],
    good: NDArray[np.uint8],
    features: NDArray[np.intp],
    first: NDArray[np.intp],
    is_number: NDArray[np.uint8],
    numbers: NDArray[np.intp],
    seen: NDArray[np.uint8],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> None: ...
def faults(
    x: NDArray[np.float64],
    faults: NDArray[np.uint8],
    features: NDArray[np.intp],
    first: NDArray[np.intp],
    is_number: NDArray[np.uint8],
    numbers: NDArray[np.intp],
    seen: NDArray[np.uint8],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
) -> None: ...
