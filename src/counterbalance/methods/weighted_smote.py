"""Weighted SMOTE: more new rows where the minority is dense."""

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats
from counterbalance.methods.allocation import allocate, repeated
from counterbalance.methods.base import NeighbourOverSampler
from counterbalance.methods.interpolation import drawn_between, drawn_neighbours
from counterbalance.methods.neighbours import capped, nearest_others


def closeness_weights(minority: Floats) -> Floats:
    """Weight of each row: 1 for the row nearest to all others, 0 for the farthest.

    The sum of a row's Euclidean distances to the others is scaled to [0, 1] and turned over.
    """
    total = cdist(minority, minority).sum(axis=1)
    width = total.max() - total.min()
    if width <= 1e-12 * total.max():
        return np.ones(len(minority))
    weights: Floats = 1 - (total - total.min()) / width
    return weights


class WeightedSMOTE(NeighbourOverSampler):
    """Weighted SMOTE.

    M. R. Prusty, T. Jayanthi, K. Velusamy, "Weighted-SMOTE: A modification to SMOTE for event
    classification in sodium cooled fast reactors", Progress in Nuclear Energy 2017.

    SMOTE in which the number of new rows per seed is not the same: it is in proportion to one
    minus the scaled sum of the seed's distances to all minority rows, so that rows in the
    thick of the class get more and the outermost row none.

    Departures: the numbers are rounded so that they add up to what was asked for.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows among which the other end of the segment is drawn.
    """

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "WeightedSMOTE")
        _, indices = nearest_others(minority, k)
        seeds = repeated(allocate(closeness_weights(minority), n_samples))
        ends = drawn_neighbours(seeds, indices, rng)
        return drawn_between(minority[seeds], minority[ends], rng)
