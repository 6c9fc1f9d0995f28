"""SMOTE within groups of the minority: CURE-SMOTE in clusters, SOMO on a self-organising map.

Glossary
    representatives   a few well scattered rows of a cluster
    shrunken          representatives moved towards the centre: merging compares these
    side       the map is a square of side x side units
    units      (side * side, d)  prototypes, row by row
    radius     how far on the map a row's best unit pulls its neighbours along
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import (
    POSITIVE_INTEGER,
    SHARE,
    NeighbourOverSampler,
    PeerOverSampler,
    parameter,
)
from counterbalance.methods.neighbours import (
    allocate,
    drawn_between,
    drawn_of_groups,
    repeated,
    scale_of,
    smote,
)


@dataclass(frozen=True)
class Cluster:
    """Members, representatives and centre of a cluster."""

    members: Integers
    representatives: Integers
    centre: Floats


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


def cure(rows: Floats, n_clusters: int, n_representatives: int, shrinkage: float) -> list[Cluster]:
    """Merge the two clusters with the nearest shrunken representatives until few are left.

    When twice as many as wanted are left, those that still have one row are dropped as noise,
    unless all of them do.
    """
    n_rows = len(rows)
    clusters: dict[int, Cluster] = {
        i: Cluster(np.array([i]), np.array([i]), rows[i]) for i in range(n_rows)
    }
    shrunken = np.repeat(rows[:, None], n_representatives, axis=1)
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    cleaned = False
    while len(clusters) > n_clusters:
        if not cleaned and len(clusters) <= 2 * n_clusters:
            cleaned = True
            lonely = [i for i, c in clusters.items() if len(c.members) == 1]
            if len(lonely) < len(clusters):
                for i in lonely:
                    del clusters[i]
                    apart[i] = apart[:, i] = np.inf
                continue
        i, j = (int(k) for k in np.unravel_index(np.argmin(apart), apart.shape))
        members = np.concatenate([clusters[i].members, clusters.pop(j).members])
        centre = rows[members].mean(axis=0)
        representatives = scattered(rows, members, centre, n_representatives)
        clusters[i] = Cluster(members, representatives, centre)
        drawn_in = rows[representatives] + shrinkage * (centre - rows[representatives])
        # If there are too few representatives the last one is repeated: it changes no distance.
        shrunken[i] = drawn_in[np.minimum(np.arange(n_representatives), len(drawn_in) - 1)]
        apart[j] = apart[:, j] = np.inf
        others = np.array([k for k in clusters if k != i], dtype=np.intp)
        if len(others):
            gaps = cdist(shrunken[i], shrunken[others].reshape(-1, rows.shape[1]))
            nearest = gaps.reshape(n_representatives, len(others), -1).min(axis=(0, 2))
            apart[i, others] = apart[others, i] = nearest
    return list(clusters.values())


class CURESMOTE(PeerOverSampler):
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
    itself, a large class is clustered by a sample of it.

    Cost: one merge after another, each against all clusters: by definition more than 20 times
    the work of SMOTE.

    Parameters
    ----------
    n_clusters : int, default=5
        Clusters at which merging stops.
    n_representatives : int, default=5
        Representatives of a cluster.
    shrinkage : float, default=0.5
        How far representatives are moved towards the centre for merging.
    max_rows : int, default=1000
        Most rows of a class that are clustered; from a larger class this many are drawn.
    """

    n_clusters: int = parameter(default=5, rule=POSITIVE_INTEGER)
    n_representatives: int = parameter(default=5, rule=POSITIVE_INTEGER)
    shrinkage: float = parameter(default=0.5, rule=SHARE)
    max_rows: int = parameter(default=1000, rule=POSITIVE_INTEGER)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        rows = minority
        if len(rows) > self.max_rows:
            rows = rows[rng.choice(len(rows), size=self.max_rows, replace=False)]
        # A cluster of one row cannot make anything new: at least two rows per cluster.
        n_clusters = min(self.n_clusters, max(1, len(rows) // 2))
        clusters = cure(rows, n_clusters, self.n_representatives, self.shrinkage)
        start = np.vstack([rows[c.representatives] for c in clusters])
        sizes = [len(c.representatives) for c in clusters]
        end = np.repeat([c.centre for c in clusters], sizes, axis=0)
        # A cluster is drawn in proportion to its members, its representatives with equal chance.
        weights = np.concatenate(
            [
                np.full(len(c.representatives), len(c.members) / len(c.representatives))
                for c in clusters
            ]
        )
        seeds = rng.choice(len(start), size=n_samples, p=weights / weights.sum())
        return drawn_between(start[seeds], end[seeds], rng)


Singles = npt.NDArray[np.float32]


def grid(side: int) -> Floats:
    """Return the place of each unit on the map."""
    return np.stack(np.divmod(np.arange(side * side), side), axis=1).astype(float)


def best_unit(rows: Floats | Singles, units: Floats | Singles) -> Integers:
    """Return the unit nearest to each row."""
    best: Integers = np.argmin((units**2).sum(axis=1) - 2 * rows @ units.T, axis=1)
    return best


def trained_map(rows: Floats, side: int, n_epochs: int, rng: np.random.Generator) -> Floats:
    """Return the prototypes after batch training with a shrinking Gaussian neighbourhood.

    They start on the plane of the first two principal axes of the rows, so that the map unfolds;
    with one feature there is no second axis and the start is jittered instead.
    """
    place = grid(side)
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
    if len(rows) == 1:
        return 0.0
    squares = (rows**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    return float(apart[np.triu_indices(len(rows), k=1)].mean())


def sparsity(rows: Floats) -> float:
    """Return one over the density: the squared mean distance over the number of rows."""
    return mean_distance(rows) ** 2 / len(rows)


class SOMO(NeighbourOverSampler):
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
    n_neighbors : int, default=5
        Neighbours for SMOTE inside a cluster; fewer if the cluster has fewer.
    side : int or None, default=None
        Side of the map; ``None`` is the fourth root of the number of rows, at least 2.
    n_epochs : int, default=15
        Passes over the table in the training of the map.
    between_share : float, default=0.5
        Share of the new rows that are made between neighbouring clusters.
    """

    side: int | None = parameter(default=None, rule=[*POSITIVE_INTEGER, None])
    n_epochs: int = parameter(default=15, rule=POSITIVE_INTEGER)
    between_share: float = parameter(default=0.5, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        side = self.side or max(2, round(len(table) ** 0.25))
        units = self._units(table, side, rng)
        ours, others = units[: len(minority)], units[len(minority) :]
        n_units = side * side
        kept = np.bincount(ours, minlength=n_units) > np.bincount(others, minlength=n_units)
        sparse = np.array(
            [sparsity(minority[ours == unit]) if kept[unit] else 0.0 for unit in range(n_units)]
        )
        pairs = adjacent_units(side)
        pairs = pairs[(sparse[pairs] > 0).all(axis=1)]
        if not sparse.any():
            self._warn(
                "no unit of the map holds two different minority rows and fewer others",
                "SMOTE was used on the whole minority",
            )
            return smote(minority, n_samples, self._neighbours_within(len(minority)), rng)
        n_between = round(n_samples * self.between_share) if len(pairs) else 0
        return np.vstack(
            [
                self._inside(minority, ours, sparse, n_samples - n_between, rng),
                self._across(minority, ours, sparse, pairs=pairs, n_samples=n_between, rng=rng),
            ]
        )

    def _units(self, table: Floats, side: int, rng: np.random.Generator) -> Integers:
        scaled = (table - table.mean(axis=0)) / scale_of(table)
        return best_unit(scaled, trained_map(scaled, side, self.n_epochs, rng))

    def _inside(
        self,
        minority: Floats,
        ours: Integers,
        sparse: Floats,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        made = [minority[:0]]
        for unit, n_rows in enumerate(allocate(sparse, n_samples)):
            if n_rows:
                rows = minority[ours == unit]
                made.append(smote(rows, n_rows, min(self.n_neighbors, len(rows) - 1), rng))
        return np.vstack(made)

    def _across(
        self,
        minority: Floats,
        ours: Integers,
        sparse: Floats,
        *,
        pairs: Integers,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        if n_samples == 0:
            return minority[:0]
        # The density of a pair is the sum of both densities; its weight is the inverse.
        weights = 1 / (1 / sparse[pairs]).sum(axis=1)
        chosen = pairs[repeated(allocate(weights, n_samples))]
        members, sizes = np.argsort(ours, kind="stable"), np.bincount(ours)
        start, end = (members[drawn_of_groups(units, sizes, rng)] for units in chosen.T)
        return drawn_between(minority[start], minority[end], rng)
