"""Arrays: the names of their types, and how they are cut to fit the memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]  # positions, class codes, counts
Mask = NDArray[np.bool_]
Small = NDArray[np.int32]  # kept by the million
Unsigned = NDArray[np.uint64]  # states of streams of random numbers, sets as bits
Rng = np.random.Generator

# Memory that work on one cell takes: its value, its share of the distance, their sums, the
# ranking, and what numpy holds in between; in a frame: the file's form, pandas', the code.
BYTES_PER_CELL = 64


def cells_in(mebibytes: float) -> int:
    """Return how many cells may be worked on at a time in so much memory."""
    return int(mebibytes * 2**20 / BYTES_PER_CELL) + 1


def blocks(n_rows: int, cells_per_row: int, cells_at_once: int) -> list[slice]:
    """Cut rows into blocks of at most ``cells_at_once`` cells (but at least one row)."""
    size = max(1, cells_at_once // max(1, cells_per_row))
    return [slice(start, start + size) for start in range(0, n_rows, size)]
