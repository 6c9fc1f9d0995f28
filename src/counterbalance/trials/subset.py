"""A subset of a table's rows that keeps the share of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST_OF_CLASS = 10


def share_of_rows(y: NDArray[Any], rows: int) -> NDArray[np.intp]:
    """Choose rows by class share, at least ten of a class, always the same ones.

    Examples
    --------
    >>> kept = share_of_rows(np.array(["a"] * 900 + ["b"] * 100), 200)
    >>> np.unique(np.array(["a"] * 900 + ["b"] * 100)[kept], return_counts=True)[1].tolist()
    [180, 20]
    """
    rng = np.random.default_rng(0)
    kept = []
    for label in np.unique(y):
        ours = np.flatnonzero(y == label)
        wanted = max(round(rows * len(ours) / len(y)), FEWEST_OF_CLASS)
        kept.append(rng.permutation(ours)[:wanted])
    return np.sort(np.concatenate(kept))
