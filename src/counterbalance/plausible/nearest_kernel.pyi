import numpy as np
from numpy.typing import NDArray

def nearest(
    x: NDArray[np.float64],
    codes: NDArray[np.float64],
    of_x: NDArray[np.float64],
    of_codes: NDArray[np.float64],
    own: NDArray[np.intp],
    near: NDArray[np.intp],
) -> None: ...
def how_far(
    numbers: NDArray[np.float64],
    codes: NDArray[np.float64],
    of_numbers: NDArray[np.float64],
    of_codes: NDArray[np.float64],
    k: int,
    far: NDArray[np.float64],
) -> None: ...
