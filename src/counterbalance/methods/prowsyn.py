"""ProWSyn: the nearer the boundary, the more new rows."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import NeighbourOverSampler
from counterbalance.methods.neighbours import nearest, nearest_others
from counterbalance.methods.parameters import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    parameter,
)
from counterbalance.methods.synthesis import allocate, drawn_between, group_starts, repeated


def proximity_levels(minority: Floats, majority: Floats, n_levels: int, k: int) -> Integers:
    """Return the level of each minority row, from 1 (at the boundary) to ``n_levels``.

    A level holds the ``k`` rows nearest to every majority row among those not in an earlier
    level; the last level takes what remains.
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


def average_linkage(rows: Floats, threshold: float) -> Integers:
    """Return the cluster of each row by average linkage.

    Merging stops at ``threshold`` times the mean distance of a row to its nearest other row.
    """
    distances, _ = nearest_others(rows, 1)
    labels = fcluster(linkage(rows, "average"), threshold * distances.mean(), "distance")
    return np.asarray(labels - 1, dtype=np.intp)


def drawn_other_members(seeds: Integers, labels: Integers, rng: np.random.Generator) -> Integers:
    """Draw for each seed another row of its cluster, all equally likely.

    A seed that is alone in its cluster is returned itself.
    """
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    first = group_starts(sizes)
    place = np.empty(len(labels), dtype=np.intp)
    place[order] = np.arange(len(labels)) - first[labels[order]]
    clusters = labels[seeds]
    drawn = rng.integers(np.maximum(sizes[clusters] - 1, 1))
    # The seed's own place is skipped.
    drawn += (drawn >= place[seeds]) & (sizes[clusters] > 1)
    others: Integers = order[first[clusters] + drawn]
    return others


class ProWSyn(NeighbourOverSampler):
    """Proximity weighted synthetic oversampling.

    S. Barua, M. M. Islam, K. Murase, "ProWSyn: Proximity Weighted Synthetic Oversampling
    Technique for Imbalanced Data Set Learning", PAKDD 2013.

    The minority rows are peeled off in levels, the first being the rows nearest to the
    majority. A row of level L is a seed in proportion to ``exp(-theta * (L - 1))``, and a new
    row lies between a seed and another row of the seed's cluster.

    Departures: the clusters are those of average linkage with the threshold of the authors'
    MWMOTE, and the numbers per row are rounded so that they add up to what was asked for. A
    seed is never its own partner; if it is alone in its cluster, and so would only be copied,
    its partner is the nearest other minority row.

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
