"""SMOTE-D: SMOTE without chance."""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.allocation import allocate
from counterbalance.methods.base import NeighbourOverSampler
from counterbalance.methods.interpolation import evenly_between
from counterbalance.methods.neighbours import capped, nearest_others


def rows_per_segment(distances: Floats, n_samples: int) -> Integers:
    """How many new rows the segment from each row to each of its neighbours carries.

    A row gets its share by the standard deviation of its distances, and gives each segment
    its share by length. Both are rounded at once, over all segments.
    """
    deviation = distances.std(axis=1)
    of_row = deviation if deviation.sum() > 0 else np.ones(len(distances))
    total = distances.sum(axis=1, keepdims=True)
    of_segment = np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
    return allocate((of_row[:, None] * of_segment).ravel(), n_samples)


class SMOTED(NeighbourOverSampler):
    """SMOTE-D, a deterministic version of SMOTE.

    F. R. Torres, J. A. Carrasco-Ochoa, J. F. Martinez-Trinidad, "SMOTE-D a Deterministic
    Version of SMOTE", MCPR 2016.

    A minority row gets new rows in proportion to the standard deviation of the distances to
    its nearest minority rows; each segment to such a neighbour gets its part by its length,
    and the new rows stand on it at equal steps. Nothing is drawn, and the seed has no effect:
    the same table always gives the same rows.

    Departures: the numbers are rounded so that they add up to what was asked for.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows to which segments are drawn.
    """

    def _from_minority(
        self,
        minority: Floats,
        n_samples: int,
        rng: np.random.Generator,  # noqa: ARG002  # nothing is drawn
    ) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "SMOTED")
        distances, indices = nearest_others(minority, k)
        counts = rows_per_segment(distances, n_samples)
        start = np.repeat(minority, k, axis=0)
        return evenly_between(start, minority[indices.ravel()], counts)
