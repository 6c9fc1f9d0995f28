"""CURE-SMOTE: CURE clusters of the minority, noise removed, new rows towards the centres.

Glossary
    representatives   a few well scattered rows of a cluster
    shrunken          representatives moved towards the centre: merging compares these
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.synthesis import drawn_between


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
