"""SMOTE within groups of the minority: CURE-SMOTE in clusters, SOMO on a self-organising map.

Glossary
    representatives   a few well scattered rows of a cluster
    shrunken          representatives moved towards the centre: merging compares these
    side       the map is a square of side x side units
    units      (side * side, d)  prototypes, row by row
    radius     how far on the map a row's best unit pulls its neighbours along
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval

_MAX_ROWS = 1000  # of a class that CURE clusters


def scattered(rows: Floats, members: Integers, centre: Floats, n_most: int) -> Integers:
    """Pick the member farthest from the centre, then repeatedly the one farthest from those."""
    if len(members) <= n_most:
        return members
    apart = ((rows[members] - centre) ** 2).sum(axis=1)
    chosen = [int(np.argmax(apart))]
    apart = np.full(len(members), np.inf)
    while len(chosen) < n_most:
        newest = rows[members[chosen[-1]]]
        apart = np.minimum(apart, ((rows[members] - newest) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(apart)))
    return members[chosen]


def cure(rows: Floats, n_clusters: int, n_representatives: int, shrinkage: float) -> list[Integers]:
    """Merge the two clusters with the nearest shrunken representatives; return their members.

    When twice as many as wanted are left, those that still have one row are dropped as noise,
    unless all of them do.
    """
    clusters = {i: np.array([i]) for i in range(len(rows))}
    shrunken = np.repeat(rows[:, None], n_representatives, axis=1)
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    cleaned = False
    while len(clusters) > n_clusters:
        if not cleaned and len(clusters) <= 2 * n_clusters:
            cleaned = True
            singles = [i for i, members in clusters.items() if len(members) == 1]
            if len(singles) < len(clusters):
                for i in singles:
                    del clusters[i]
                    apart[i] = apart[:, i] = np.inf
                continue
        i, j = (int(k) for k in np.unravel_index(np.argmin(apart), apart.shape))
        clusters[i] = np.concatenate([clusters[i], clusters.pop(j)])
        centre = rows[clusters[i]].mean(axis=0)
        chosen = rows[scattered(rows, clusters[i], centre, n_representatives)]
        drawn_in = chosen + shrinkage * (centre - chosen)
        # If there are too few representatives the last one is repeated: it changes no distance.
        shrunken[i] = drawn_in[np.minimum(np.arange(n_representatives), len(drawn_in) - 1)]
        apart[j] = apart[:, j] = np.inf
        others = np.array([k for k in clusters if k != i], dtype=np.intp)
        if len(others):
            gaps = cdist(shrunken[i], shrunken[others].reshape(-1, rows.shape[1]))
            nearest = gaps.reshape(n_representatives, len(others), -1).min(axis=(0, 2))
            apart[i, others] = apart[others, i] = nearest
    return list(clusters.values())


@shared_doc
class CURESMOTE(OneVsRestOverSampler):
    """CURE-SMOTE.

    L. Ma, S. Fan, "CURE-SMOTE algorithm and hybrid algorithm for feature selection and
    parameter optimization based on random forests", BMC Bioinformatics 2017.

    The minority is clustered by CURE: a cluster is represented by a few scattered rows, shrunken
    towards its centre, and clusters merge by the distance between these; clusters that do not
    grow are noise and make nothing. A new row lies between a representative of a cluster and
    the cluster's centre.

    Departures: the rows are made from the representatives before shrinking, which are real
    rows; shrunken ones would contract the class. Noise rows stay in the table but are not
    seeds. Noise is looked for when twice the wanted number of clusters is left; CURE does so at
    a third of the rows, which takes good rows for noise if the class is small. As in CURE
    itself, a class of more than 1,000 rows is clustered by a sample of it.

    Parameters
    ----------
    {common_parameters}
    n_clusters : int, default=5
        Clusters at which merging stops.
    n_representatives : int, default=5
        Representatives of a cluster.
    shrinkage : float, default=0.5
        How far representatives are moved towards the centre for merging.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_representatives": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_clusters: int = 5,
        n_representatives: int = 5,
        shrinkage: float = 0.5,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_clusters = n_clusters
        self.n_representatives = n_representatives
        self.shrinkage = shrinkage

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        rows = minority
        if len(rows) > _MAX_ROWS:
            rows = rows[rng.choice(len(rows), size=_MAX_ROWS, replace=False)]
        # A cluster of one row cannot make anything new: at least two rows per cluster.
        n_clusters = min(self.n_clusters, max(1, len(rows) // 2))
        clusters = cure(rows, n_clusters, self.n_representatives, self.shrinkage)
        centres = [rows[members].mean(axis=0) for members in clusters]
        chosen = [
            scattered(rows, members, centre, self.n_representatives)
            for members, centre in zip(clusters, centres, strict=True)
        ]
        sizes = np.array([len(representatives) for representatives in chosen])
        start, end = rows[np.concatenate(chosen)], np.repeat(centres, sizes, axis=0)
        # A cluster is drawn in proportion to its members, its representatives with equal chance.
        weights = np.repeat([len(members) for members in clusters] / sizes, sizes)
        seeds = rng.choice(len(start), size=n_samples, p=weights / weights.sum())
        return nb.drawn_between(start[seeds], end[seeds], rng)


def best_unit(rows: Any, units: Any) -> Integers:
    """Return the unit nearest to each row."""
    return np.asarray(np.argmin((units**2).sum(axis=1) - 2 * rows @ units.T, axis=1))


def trained_map(rows: Floats, side: int, n_epochs: int, rng: Rng) -> Floats:
    """Return the prototypes after batch training with a shrinking Gaussian neighbourhood.

    They start on the plane of the first two principal axes of the rows, so that the map unfolds;
    with one feature there is no second axis and the start is jittered instead.
    """
    place = np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)
    apart = ((place[:, None] - place[None]) ** 2).sum(axis=2)
    mean = rows.mean(axis=0)
    covariance = np.cov(rows, rowvar=False).reshape(rows.shape[1], -1)
    _, singular, directions = np.linalg.svd(covariance)
    reach = np.sqrt(singular[:2])[:, None] * directions[:2]
    centred = place[:, : len(reach)] / max(side - 1, 1) * 2 - 1
    units = mean + centred @ reach
    units = units + 1e-3 * rng.normal(size=units.shape) * rows.std(axis=0)
    # Finding the best unit does not need double precision and takes half the time without.
    single, columns = rows.astype(np.float32), np.ascontiguousarray(rows.T)
    for radius in np.geomspace(max(side / 2, 0.5), 0.5, n_epochs):
        best = best_unit(single, units.astype(np.float32))
        counts = np.bincount(best, minlength=len(units)).astype(float)
        sums = np.stack([np.bincount(best, column, len(units)) for column in columns], axis=1)
        pull = np.exp(-apart / (2 * radius**2))
        units = (pull @ sums) / np.maximum(pull @ counts, 1e-12)[:, None]
    return np.asarray(units)


def adjacent_units(side: int) -> Integers:
    """Return the pairs of units that are side by side or one above the other."""
    numbers = np.arange(side * side).reshape(side, side)
    beside = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    above = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.vstack([beside, above])


def mean_distance(rows: Floats) -> float:
    """Return the mean Euclidean distance over the pairs of rows; zero for a single row."""
    return float(pdist(rows).mean()) if len(rows) > 1 else 0.0


@shared_doc
class SOMO(OneVsRestOverSampler):
    """Self-organising map oversampling.

    G. Douzas, F. Bacao, "Self-Organizing Map Oversampling (SOMO) for imbalanced data set
    learning", Expert Systems with Applications 2017.

    The units of a self-organising map of the whole table are clusters; those with more minority
    than other rows are kept. Their density is the number of minority rows over the square of
    their mean distance. One part of the new rows is made by SMOTE inside the kept clusters, the
    other between minority rows of kept clusters that are neighbours on the map; both parts are
    distributed in inverse proportion to density, so that sparse regions get more.

    Departures: the map is a square with about as many units as the square root of the number
    of rows, trained in batches on standardised features. If no cluster can be kept the paper
    makes nothing; here SMOTE is used on the whole minority, with a warning.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Neighbours for SMOTE inside a cluster; fewer if the cluster has fewer.
    side : int or None, default=None
        Side of the map; ``None`` is the fourth root of the number of rows, at least 2.
    n_epochs : int, default=15
        Passes over the table in the training of the map.
    between_share : float, default=0.5
        Share of the new rows that are made between neighbouring clusters.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "side": [Interval(Integral, 1, None, closed="left"), None],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "between_share": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        side: int | None = None,
        n_epochs: int = 15,
        between_share: float = 0.5,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.side = side
        self.n_epochs = n_epochs
        self.between_share = between_share

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        table = np.vstack([minority, majority])
        side = self.side or max(2, round(len(table) ** 0.25))
        units = self._units(table, side, rng)
        ours, others = units[: len(minority)], units[len(minority) :]
        n_units = side * side
        kept = np.bincount(ours, minlength=n_units) > np.bincount(others, minlength=n_units)
        # One over the density: the squared mean distance over the number of rows.
        sparse = np.zeros(n_units)
        for unit in np.flatnonzero(kept):
            rows = minority[ours == unit]
            sparse[unit] = mean_distance(rows) ** 2 / len(rows)
        pairs = adjacent_units(side)
        pairs = pairs[(sparse[pairs] > 0).all(axis=1)]
        if not sparse.any():
            self._warn(
                "no unit of the map holds two different minority rows and fewer others",
                "SMOTE was used on the whole minority",
            )
            return nb.smote(
                minority, n_samples, self._capped(self.n_neighbors, len(minority) - 1), rng
            )
        n_between = round(n_samples * self.between_share) if len(pairs) else 0
        made = []
        counts = nb.allocate(sparse, n_samples - n_between)
        for unit in np.flatnonzero(counts):
            rows = minority[ours == unit]
            k = min(self.n_neighbors, len(rows) - 1)
            made.append(nb.smote(rows, int(counts[unit]), k, rng))
        if n_between:
            # The density of a pair is the sum of both densities; its weight is the inverse.
            weights = 1 / (1 / sparse[pairs]).sum(axis=1)
            chosen = pairs[nb.repeated(nb.allocate(weights, n_between))]
            members, sizes = np.argsort(ours, kind="stable"), np.bincount(ours)
            start, end = (members[nb.drawn_of_groups(units, sizes, rng)] for units in chosen.T)
            made.append(nb.drawn_between(minority[start], minority[end], rng))
        return np.vstack(made)

    def _units(self, table: Floats, side: int, rng: Rng) -> Integers:
        scaled = (table - table.mean(axis=0)) / nb.scale_of(table)
        return best_unit(scaled, trained_map(scaled, side, self.n_epochs, rng))
