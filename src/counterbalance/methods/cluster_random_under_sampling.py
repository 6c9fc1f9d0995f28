"""The sampling step of CUSBoost: every cluster of a class gives its part."""

from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.allocation import allocate
from counterbalance.methods.base import PeerUnderSampler
from counterbalance.methods.clusters import k_means
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter


def drawn_from_clusters(labels: Integers, n_samples: int, rng: np.random.Generator) -> Integers:
    """Rows drawn at random inside each cluster, the clusters sharing by their size."""
    counts = allocate(np.bincount(labels).astype(float), n_samples)
    drawn = [
        rng.choice(np.flatnonzero(labels == cluster), size=n, replace=False)
        for cluster, n in enumerate(counts)
        if n
    ]
    return np.sort(np.concatenate(drawn))


class ClusterRandomUnderSampler(PeerUnderSampler):
    """The sampling step of CUSBoost: random undersampling inside clusters.

    F. Rayhan, S. Ahmed, A. Mahbub, R. Jani, S. Shatabda, D. M. Farid, "CUSBoost: Cluster-based
    Under-sampling with Boosting for Imbalanced Classification", CSITSS 2017.

    k-means divides each class that is to shrink into clusters, and rows are drawn from each of
    them in proportion to its size, so that the part keeps the shape of the whole.

    Parameters
    ----------
    n_clusters : int, default=20
        Clusters of each class.
    """

    n_clusters: int = parameter(default=20, rule=POSITIVE_INTEGER)

    def _pick(
        self,
        table: Floats,
        y: Any,  # noqa: ARG002  # a class is clustered by itself
        ours: Integers,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Integers:
        _, labels = k_means(table[ours], self.n_clusters, rng)
        return drawn_from_clusters(labels, n_samples, rng)
