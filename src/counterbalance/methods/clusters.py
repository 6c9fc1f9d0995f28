"""Groups of rows."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.neighbours import nearest_others


def k_means(
    rows: Floats,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int = 1,
    max_iter: int = 300,
) -> tuple[Floats, Integers]:
    """Centres and the cluster of each row; never more clusters than distinct rows."""
    # Adding zero turns -0.0 into 0.0, which has other bytes and is the same number.
    n_clusters = min(n_clusters, len({row.tobytes() for row in rows + 0.0}))
    seed = int(rng.integers(2**31 - 1))
    found = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=seed).fit(rows)
    return found.cluster_centers_, found.labels_.astype(np.intp)


def average_linkage(rows: Floats, threshold: float) -> Integers:
    """Cluster of each row, by average linkage.

    Merging stops at ``threshold`` times the mean distance of a row to its nearest other row.
    """
    distances, _ = nearest_others(rows, 1)
    labels = fcluster(linkage(rows, "average"), threshold * distances.mean(), "distance")
    return np.asarray(labels - 1, dtype=np.intp)


def drawn_members(clusters: Integers, labels: Integers, rng: np.random.Generator) -> Integers:
    """For each cluster named in ``clusters`` a row of it, each of its rows equally likely."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    drawn: Integers = order[first[clusters] + rng.integers(sizes[clusters])]
    return drawn


def drawn_other_members(seeds: Integers, labels: Integers, rng: np.random.Generator) -> Integers:
    """For each seed another row of its cluster, each equally likely.

    A seed that is alone in its cluster stands for itself.
    """
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    place = np.empty(len(labels), dtype=np.intp)
    place[order] = np.arange(len(labels)) - first[labels[order]]
    clusters = labels[seeds]
    drawn = rng.integers(np.maximum(sizes[clusters] - 1, 1))
    # The seed's own place is skipped.
    drawn += (drawn >= place[seeds]) & (sizes[clusters] > 1)
    others: Integers = order[first[clusters] + drawn]
    return others
