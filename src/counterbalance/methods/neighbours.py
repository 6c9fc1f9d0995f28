"""Who is near whom.

Glossary
    points   (n, d)  rows whose neighbours are asked for
    among    (m, d)  rows that may be neighbours
    k                how many neighbours; never more than there are
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.fallback import warn_fallback

_BLOCK = 512  # rows whose distances are in memory at one time


def capped(k: int, available: int, method: str) -> int:
    """Return ``k``, or what is available with a warning where that is less."""
    if k <= available:
        return k
    warn_fallback(
        method,
        f"{k} neighbours were asked for and only {available} can be had",
        f"{available} are used; a smaller number of neighbours avoids this",
    )
    return available


def nearest(points: Floats, among: Floats, k: int) -> tuple[Floats, Integers]:
    """Distances and indices of the ``k`` rows of ``among`` nearest to each point."""
    found = NearestNeighbors(n_neighbors=min(k, len(among))).fit(among).kneighbors(points)
    return found[0], found[1]


def nearest_others(points: Floats, k: int) -> tuple[Floats, Integers]:
    """Distances and indices of the ``k`` points nearest to each point but itself."""
    found = NearestNeighbors(n_neighbors=min(k, len(points) - 1)).fit(points).kneighbors()
    return found[0], found[1]


def nearest_in_table(minority: Floats, majority: Floats, k: int) -> tuple[Floats, Integers]:
    """Neighbours of each minority row in the whole table, itself left out.

    The table is the minority followed by the majority, so an index below ``len(minority)``
    is a minority row. A row is told from its duplicates by its index, not its distance.
    """
    table = np.vstack([minority, majority])
    distances, indices = nearest(minority, table, k + 1)
    own = indices == np.arange(len(minority))[:, None]
    # Among many duplicates the row itself may not be in the list: then the last one goes.
    own[~own.any(axis=1), -1] = True
    rows = len(minority)
    return distances[~own].reshape(rows, -1), indices[~own].reshape(rows, -1)


def minority_share(points: Floats, minority: Floats, majority: Floats, k: int) -> Floats:
    """Share of minority rows among the ``k`` rows of the table nearest to each point."""
    _, indices = nearest(points, np.vstack([minority, majority]), k)
    share: Floats = (indices < len(minority)).mean(axis=1)
    return share


def balls_holding(points: Floats, centres: Floats, radii: Floats) -> Integers:
    """How many of the balls around ``centres`` hold each point, surface included.

    In blocks, so that the memory stays small.
    """
    blocks = [
        (cdist(points[start : start + _BLOCK], centres) <= radii).sum(axis=1)
        for start in range(0, len(points), _BLOCK)
    ]
    return np.concatenate(blocks).astype(np.intp)


def nearer_than(points: Floats, among: Floats, limits: Floats) -> Integers:
    """How many rows of ``among`` are nearer to each point than its limit."""
    blocks = [
        (cdist(points[start : start + _BLOCK], among) < limits[start : start + _BLOCK, None]).sum(
            axis=1
        )
        for start in range(0, len(points), _BLOCK)
    ]
    return np.concatenate(blocks).astype(np.intp)
