"""Methods that use how dense the classes are around a row: ANS, ProWSyn and CCR.

Glossary of CCR, which clears a sphere around each minority row, then fills it
    energy     budget that a sphere may spend on growing
    radius     (n_min,)  of the sphere around each minority row
    moved      (n_maj, d)  majority rows after they were pushed out of the spheres
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, Mask, Rng
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval


def intruders(minority: Floats, majority: Floats) -> Integers:
    """Count the majority rows nearer to each minority row than its nearest minority row."""
    return nb.nearer_than(minority, majority, distances_to_others(minority).min(axis=1))


def distances_to_others(rows: Floats) -> Floats:
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


@shared_doc
class ANS(OneVsRestOverSampler):
    """Adaptive neighbour synthetic minority oversampling under 1-NN outcast handling.

    W. Siriseriwan, K. Sinapiromsaran, "Adaptive neighbor synthetic minority oversampling
    technique under 1NN outcast handling", Songklanakarin Journal of Science and Technology
    2017.

    Minority rows with too many majority rows nearer than their nearest minority row are
    outcasts. The largest distance from one of the other rows to its nearest becomes the radius
    within which all of them are neighbours: dense regions have many, sparse ones few. A new row
    lies between a row and one of its neighbours.

    Departures: the paper's second half, a 1-NN classifier for the outcasts, is not resampling
    and is left out; outcasts stay in the table but are not seeds. If fewer than two rows are
    left, all rows are seeds, with a warning.

    Parameters
    ----------
    {common_parameters}
    outcast_share : float, default=0.25
        Largest tolerance for majority rows nearby, as a share of the class's rows.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "outcast_share": [Interval(Real, 0, 1, closed="right")]
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        outcast_share: float = 0.25,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.outcast_share = outcast_share

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        largest = int(np.ceil(self.outcast_share * len(minority)))
        out = outcasts(intruders(minority, majority), largest)
        rows = minority[~out]
        if len(rows) < 2:  # noqa: PLR2004  # a segment has two ends
            self._warn(
                f"{int(out.sum())} of {len(minority)} minority rows are outcasts",
                "all rows are used as seeds nonetheless",
            )
            rows = minority
        apart = distances_to_others(rows)
        neighbour = apart <= apart.min(axis=1).max()
        seeds = rng.integers(len(rows), size=n_samples)
        _, columns = np.nonzero(neighbour)  # the neighbours of a row are adjacent
        ends = columns[nb.drawn_of_groups(seeds, neighbour.sum(axis=1), rng)]
        return nb.drawn_between(rows[seeds], rows[ends], rng)


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
        _, indices = nb.nearest(majority, minority[left], k)
        taken = np.unique(indices)
        levels[left[taken]] = level
        left = np.delete(left, taken)
    return levels


def drawn_other_members(seeds: Integers, labels: Integers, rng: Rng) -> Integers:
    """Draw for each seed another row of its cluster; a seed that is alone is returned itself."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    first = nb.group_starts(sizes)
    place = np.argsort(order) - first[labels]  # of each row inside its cluster
    clusters = labels[seeds]
    drawn = rng.integers(np.maximum(sizes[clusters] - 1, 1))
    # The seed's own place is skipped.
    drawn += (drawn >= place[seeds]) & (sizes[clusters] > 1)
    return np.asarray(order[first[clusters] + drawn])


@shared_doc
class ProWSyn(OneVsRestOverSampler):
    """Proximity weighted synthetic oversampling.

    S. Barua, M. M. Islam, K. Murase, "ProWSyn: Proximity Weighted Synthetic Oversampling
    Technique for Imbalanced Data Set Learning", PAKDD 2013.

    The minority rows are divided into levels, the first being the rows nearest to the
    majority. A row of level L is a seed in proportion to ``exp(-theta * (L - 1))``, and a new
    row lies between a seed and another row of the seed's cluster.

    Departures: the clusters are those of average linkage with the threshold of the authors'
    MWMOTE, and the numbers per row are rounded so that they add up to the requested number. A
    seed that is alone in its cluster, and so would only be copied, is paired with the nearest
    other minority row.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Minority rows that each majority row puts into a level.
    n_levels : int, default=5
        Number of levels.
    theta : float, default=1.0
        How fast the weight falls from level to level.
    cluster_threshold : float, default=3.0
        Where the merging of clusters stops, in mean nearest-neighbour distances.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_levels": [Interval(Integral, 1, None, closed="left")],
        "theta": [Interval(Real, 0, None, closed="left")],
        "cluster_threshold": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        n_levels: int = 5,
        theta: float = 1.0,
        cluster_threshold: float = 3.0,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.n_levels = n_levels
        self.theta = theta
        self.cluster_threshold = cluster_threshold

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        levels = proximity_levels(minority, majority, self.n_levels, self.n_neighbors)
        seeds = nb.repeated(nb.allocate(np.exp(-self.theta * (levels - 1.0)), n_samples))
        distances, near = nb.nearest_others(minority, 1)
        threshold = self.cluster_threshold * distances.mean()
        labels = fcluster(linkage(minority, "average"), threshold, "distance")
        ends = drawn_other_members(seeds, labels.astype(np.intp) - 1, rng)
        ends = np.where(ends == seeds, near[seeds, 0], ends)
        return nb.drawn_between(minority[seeds], minority[ends], rng)


def sphere_radii(distances: Floats, energy: float) -> Floats:
    """Return the radius that each sphere reaches with its energy.

    Growing by ``dr`` costs ``dr`` times one more than the number of majority rows inside, so
    reaching the j-th nearest one costs the sum over i <= j of i * (d_i - d_{i-1}).
    """
    zeros = np.zeros((len(distances), 1))
    ordered = np.hstack([zeros, np.sort(distances, axis=1)])
    steps = np.diff(ordered, axis=1) * np.arange(1, ordered.shape[1])
    cost = np.hstack([zeros, np.cumsum(steps, axis=1)])
    rows, inside = np.arange(len(distances)), (cost <= energy).sum(axis=1) - 1
    return np.asarray(ordered[rows, inside] + (energy - cost[rows, inside]) / (inside + 1))


def pushed_out(
    minority: Floats, majority: Floats, distances: Floats, radii: Floats, rng: Rng
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


@shared_doc
class CCR(OneVsRestOverSampler):
    """Combined cleaning and resampling.

    M. Koziarski, M. Wozniak, "CCR: A combined cleaning and resampling algorithm for imbalanced
    data classification", International Journal of Applied Mathematics and Computer Science
    2017.

    A sphere (in the sum of absolute differences, as in the paper) grows around each minority
    row until its energy is spent; the more majority rows it holds, the sooner that happens.
    Majority rows inside are pushed to its surface. New rows are drawn inside the spheres, in
    inverse proportion to their radii, so that rows near the majority get more.

    By definition majority rows are moved: the first rows of the result are the original table
    with those rows at their new positions. The number of rows of each class is exact.

    Departures: none known. Energy is in units of the features: standardise them first, or
    give an energy that fits.

    Parameters
    ----------
    {common_parameters}
    energy : float, default=0.25
        Budget that each sphere may spend on growing.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints = OVER_CONSTRAINTS | {
        "energy": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, energy: float = 0.25
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.energy = energy

    def _resample_class(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: Rng
    ) -> tuple[Floats, Any, Floats]:
        minority, others = table[y == label], np.flatnonzero(y != label)
        # No radius exceeds the energy, so most majority rows are beyond all spheres.
        near = KDTree(table[others]).query_ball_point(minority, self.energy, p=1)
        others = others[np.unique(np.concatenate(near)).astype(np.intp)]
        distances = cdist(minority, table[others], "cityblock")
        radii = sphere_radii(distances, self.energy)
        moved = table.copy()
        moved[others] = pushed_out(minority, table[others], distances, radii, rng)
        seeds = nb.repeated(nb.allocate(1 / radii, n_samples))
        # In a drawn direction from the seed, at a uniform fraction of the radius.
        direction = rng.laplace(size=minority[seeds].shape)
        direction /= np.abs(direction).sum(axis=1, keepdims=True)
        reach = radii[seeds] * rng.random(n_samples)
        return moved, y, minority[seeds] + direction * reach[:, None]
