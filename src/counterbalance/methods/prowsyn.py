"""ProWSyn: the nearer the boundary, the more new rows."""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.allocation import allocate, repeated
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.clusters import average_linkage, drawn_other_members
from counterbalance.methods.interpolation import drawn_between
from counterbalance.methods.neighbours import nearest, nearest_others
from counterbalance.methods.parameters import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    parameter,
)


def proximity_levels(minority: Floats, majority: Floats, n_levels: int, k: int) -> Integers:
    """Level of each minority row, from 1 (at the boundary) to ``n_levels``.

    The rows of a level are the ``k`` nearest of every majority row among the rows that no
    earlier level took; the last level takes what remains.
    """
    levels = np.full(len(minority), n_levels, dtype=np.intp)
    left = np.arange(len(minority))
    for level in range(1, n_levels):
        if not len(left):
            break
        _, indices = nearest(majority, minority[left], k)
        taken = np.unique(indices)
        levels[left[taken]] = level
        left = np.delete(left, taken)
    return levels


class ProWSyn(PeerOverSampler):
    """Proximity weighted synthetic oversampling.

    S. Barua, M. M. Islam, K. Murase, "ProWSyn: Proximity Weighted Synthetic Oversampling
    Technique for Imbalanced Data Set Learning", PAKDD 2013.

    The minority rows are peeled off in levels, the first being the rows nearest to the
    majority. A row of level L is a seed in proportion to ``exp(-theta * (L - 1))``, and a new
    row lies between a seed and another row of the seed's cluster.

    Departures: the clusters are those of average linkage with the threshold of the authors'
    MWMOTE, and the numbers per row are rounded so that they add up to what was asked for. A
    seed is never its own partner; one that is alone in its cluster, which would only be copied,
    gets the nearest other minority row.

    Parameters
    ----------
    n_neighbors : int, default=5
        Minority rows that each majority row puts into a level.
    n_levels : int, default=5
        Number of levels.
    theta : float, default=1.0
        How fast the weight falls from level to level.
    cluster_threshold : float, default=3.0
        Where the merging of clusters stops, in mean nearest-neighbour distances.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    n_levels: int = parameter(default=5, rule=POSITIVE_INTEGER)
    theta: float = parameter(default=1.0, rule=NOT_NEGATIVE_REAL)
    cluster_threshold: float = parameter(default=3.0, rule=POSITIVE_REAL)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        levels = proximity_levels(minority, majority, self.n_levels, self.n_neighbors)
        seeds = repeated(allocate(np.exp(-self.theta * (levels - 1.0)), n_samples))
        labels = average_linkage(minority, self.cluster_threshold)
        ends = drawn_other_members(seeds, labels, rng)
        _, near = nearest_others(minority, 1)
        ends = np.where(ends == seeds, near[seeds, 0], ends)
        return drawn_between(minority[seeds], minority[ends], rng)
