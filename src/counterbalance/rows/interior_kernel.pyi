import numpy as np
from numpy.typing import NDArray

def nearest(x: NDArray[np.float64], near: NDArray[np.intp]) -> None: ...
