"""Arrays: the names of the array types that the whole package uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]  # positions, class codes, counts
Mask = NDArray[np.bool_]
Small = NDArray[np.int32]  # kept by the million
Words = NDArray[np.uint64]  # states of streams of random numbers
