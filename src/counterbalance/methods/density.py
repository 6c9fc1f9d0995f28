"""Methods that heed how dense the classes are around a row: ANS, ProWSyn and CCR.

Glossary of CCR, which clears a sphere around each minority row, then fills it
    energy     budget that a sphere may spend on growing
    radius     (n_min,)  of the sphere around each minority row
    moved      (n_maj, d)  majority rows after they were pushed out of the spheres
"""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    POSITIVE_SHARE,
    Change,
    NeighbourOverSampler,
    PeerOverSampler,
    parameter,
)
from counterbalance.methods.neighbours import (
    allocate,
    drawn_between,
    drawn_of_groups,
    group_starts,
    nearer_than,
    nearest,
    nearest_others,
    repeated,
)


def intruders(minority: Floats, majority: Floats) -> Integers:
    """Count the majority rows nearer to each minority row than its nearest minority row."""
    return nearer_than(minority, majority, distances_to_fellows(minority).min(axis=1))


def distances_to_fellows(rows: Floats) -> Floats:
    """Return the distances between the rows, infinite from a row to itself."""
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart)


def outcasts(n_intruders: Integers, largest: int) -> Mask:
    """Return the rows with more intruders than the tolerance.

    The tolerance grows from 0 until one more step would admit no further row, or until
    ``largest``.
    """
    for tolerance in range(largest + 1):
        out = n_intruders > tolerance
        if out.sum() == (n_intruders > tolerance + 1).sum():
            break
    return out


class ANS(PeerOverSampler):
    """Adaptive neighbour synthetic minority oversampling under 1-NN outcast handling.

    W. Siriseriwan, K. Sinapiromsaran, "Adaptive neighbor synthetic minority oversampling
    technique under 1NN outcast handling", Songklanakarin Journal of Science and Technology
    2017.

    Minority rows with too many majority rows nearer than their nearest fellow are outcasts.
    The largest distance from one of the other rows to its nearest fellow becomes the radius
    within which all fellows are neighbours: dense regions have many, sparse ones few. A new row
    lies between a row and one of its neighbours.

    Departures: the paper's second half, a 1-NN classifier that answers for the outcasts, is not
    resampling and is left out; outcasts stay in the table but are not seeds. If fewer than two
    rows are left, all rows are seeds, with a warning.

    Parameters
    ----------
    outcast_share : float, default=0.25
        Largest tolerance for majority rows nearby, as a share of the class's rows.
    """

    outcast_share: float = parameter(default=0.25, rule=POSITIVE_SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        largest = int(np.ceil(self.outcast_share * len(minority)))
        out = outcasts(intruders(minority, majority), largest)
        rows = minority[~out]
        if len(rows) < 2:  # noqa: PLR2004  # a segment has two ends
            self._warn(
                f"{int(out.sum())} of {len(minority)} minority rows are outcasts",
                "all rows are used as seeds nonetheless",
            )
            rows = minority
        apart = distances_to_fellows(rows)
        neighbour = apart <= apart.min(axis=1).max()
        seeds = rng.integers(len(rows), size=n_samples)
        _, columns = np.nonzero(neighbour)  # the neighbours of a row stand side by side
        ends = columns[drawn_of_groups(seeds, neighbour.sum(axis=1), rng)]
        return drawn_between(rows[seeds], rows[ends], rng)


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


def within_reach(minority: Floats, majority: Floats, energy: float) -> Integers:
    """Return the majority rows that a sphere could reach: no radius exceeds the energy."""
    found = KDTree(majority).query_ball_point(minority, energy, p=1)
    return np.unique(np.concatenate([np.asarray(rows, dtype=np.intp) for rows in found]))


def sphere_radii(distances: Floats, energy: float) -> Floats:
    """Return the radius that each sphere reaches with its energy.

    Growing by ``dr`` costs ``dr`` times one more than the number of majority rows inside, so
    reaching the j-th nearest one costs the sum over i <= j of i * (d_i - d_{i-1}).
    """
    n_inner, n_outer = distances.shape
    ordered = np.hstack([np.zeros((n_inner, 1)), np.sort(distances, axis=1)])
    cost = np.cumsum(np.diff(ordered, axis=1) * np.arange(1, n_outer + 1), axis=1)
    cost = np.hstack([np.zeros((n_inner, 1)), cost])
    inside = (cost <= energy).sum(axis=1) - 1
    rows = np.arange(n_inner)
    reached, spent = ordered[rows, inside], cost[rows, inside]
    radii: Floats = reached + (energy - spent) / (inside + 1)
    return radii


def pushed_out(
    minority: Floats, majority: Floats, distances: Floats, radii: Floats, rng: np.random.Generator
) -> Floats:
    """Return the majority rows after each sphere has pushed those inside it to its surface.

    The pushes of several spheres add up, as in the paper. A majority row at the exact
    centre of a sphere has no direction away from it; one is drawn.
    """
    inner, outer = np.nonzero(distances < radii[:, None])
    away = majority[outer] - minority[inner]
    length = distances[inner, outer]
    centred = length == 0
    away[centred] = rng.laplace(size=(int(centred.sum()), majority.shape[1]))
    away /= np.abs(away).sum(axis=1, keepdims=True)
    moved = majority.copy()
    np.add.at(moved, outer, away * (radii[inner] - length)[:, None])
    return moved


def drawn_in_spheres(centres: Floats, radii: Floats, rng: np.random.Generator) -> Floats:
    """Draw rows in a random direction from each centre, at a uniform fraction of the radius."""
    direction = rng.laplace(size=centres.shape)
    direction /= np.abs(direction).sum(axis=1, keepdims=True)
    return centres + direction * (radii * rng.random(len(radii)))[:, None]


class CCR(PeerOverSampler):
    """Combined cleaning and resampling.

    M. Koziarski, M. Wozniak, "CCR: A combined cleaning and resampling algorithm for imbalanced
    data classification", International Journal of Applied Mathematics and Computer Science
    2017.

    A sphere (in the sum of absolute differences, as in the paper) grows around each minority
    row until its energy is spent; the more majority rows it holds, the sooner that happens.
    Majority rows inside are pushed to its surface. New rows are drawn inside the spheres, in
    inverse proportion to their radii, so that endangered rows get more.

    By definition majority rows are moved: the first rows of the result are the original table
    with those rows at their new positions. The number of rows of each class is exact.

    Departures: none known. Energy is in units of the features: standardise them first, or
    give an energy that fits.

    Parameters
    ----------
    energy : float, default=0.25
        Budget that each sphere may spend on growing.
    """

    _least_minority = 1
    _needs_spread = False
    energy: float = parameter(default=0.25, rule=POSITIVE_REAL)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        minority = table[ours]
        reachable = np.flatnonzero(~ours)[within_reach(minority, table[~ours], self.energy)]
        distances = cdist(minority, table[reachable], "cityblock")
        radii = sphere_radii(distances, self.energy)
        moved = table.copy()
        moved[reachable] = pushed_out(minority, table[reachable], distances, radii, rng)
        seeds = repeated(allocate(1 / radii, n_samples))
        return Change(drawn_in_spheres(minority[seeds], radii[seeds], rng), moved=moved)
