import numpy as np
from numpy.typing import NDArray

def put_in_bins(
    column: NDArray[np.float64],
    cuts: NDArray[np.float64],
    missing: int,
    bins: NDArray[np.uint8],
) -> None: ...
def grow(
    bins: NDArray[np.uint8],
    by_row: NDArray[np.uint8],
    n_cuts: NDArray[np.int32],
    width: int,
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    total_gradient: float,
    total_hessian: float,
    max_leaves: int,
    min_rows: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]: ...
def add_trees(
    x: NDArray[np.float64],
    nodes: NDArray[np.int32],
    cuts: NDArray[np.float64],
    values: NDArray[np.float64],
    roots: NDArray[np.int32],
    depths: NDArray[np.int32],
    raw: NDArray[np.float64],
) -> None: ...
