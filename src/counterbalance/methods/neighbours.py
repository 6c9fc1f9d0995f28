"""Which rows are near which, how many new rows each gets, and where on a segment they lie.

Glossary
    points       (n, d)  rows whose neighbours are wanted
    among        (m, d)  rows that may be neighbours
    k                    number of neighbours; never more than there are rows
    counts       (n,)    new rows per seed or per segment
    start, end   (n, d)  the two ends of each segment
    fraction     (n,)    position of the new row on it: 0 is the start, 1 the end
    indices      (m, k)  neighbours of each row
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from counterbalance.arrays import Floats, Integers, Rng

_BLOCK = 512  # rows whose distances are held in memory at a time


def nearest(points: Floats, among: Floats, k: int) -> tuple[Floats, Integers]:
    """Return distances and indices of the ``k`` rows of ``among`` nearest to each point."""
    found = NearestNeighbors(n_neighbors=min(k, len(among))).fit(among).kneighbors(points)
    return found[0], found[1]


def nearest_others(points: Floats, k: int) -> tuple[Floats, Integers]:
    """Return distances and indices of the ``k`` points nearest to each point except itself."""
    found = NearestNeighbors(n_neighbors=min(k, len(points) - 1)).fit(points).kneighbors()
    return found[0], found[1]


def nearest_in_table(minority: Floats, majority: Floats, k: int) -> Integers:
    """Return the neighbours of each minority row in the whole table, excluding itself.

    The table is the minority followed by the majority, so an index below ``len(minority)``
    is a minority row. A row and its duplicates are distinguished by index, not by distance.
    """
    _, indices = nearest(minority, np.vstack([minority, majority]), k + 1)
    own = indices == np.arange(len(minority))[:, None]
    # Among many duplicates the row itself may be missing from the list: drop the last one then.
    own[~own.any(axis=1), -1] = True
    return np.asarray(indices[~own].reshape(len(minority), -1))


def minority_share(points: Floats, minority: Floats, majority: Floats, k: int) -> Floats:
    """Return the share of minority rows among the ``k`` rows of the table nearest to each point."""
    _, indices = nearest(points, np.vstack([minority, majority]), k)
    return np.asarray((indices < len(minority)).mean(axis=1))


def balls_holding(points: Floats, centres: Floats, radii: Floats) -> Integers:
    """Count the balls around ``centres`` that hold each point, surface included."""
    parts = gen_batches(len(points), _BLOCK)
    return np.concatenate([(cdist(points[part], centres) <= radii).sum(axis=1) for part in parts])


def nearer_than(points: Floats, among: Floats, limits: Floats) -> Integers:
    """Count the rows of ``among`` that are nearer to each point than its limit."""
    parts = gen_batches(len(points), _BLOCK)
    return np.concatenate(
        [(cdist(points[part], among) < limits[part, None]).sum(axis=1) for part in parts]
    )


def scale_of(rows: Floats) -> Floats:
    """Return the standard deviation of each feature, or 1 where it is constant."""
    deviation = rows.std(axis=0)
    return np.where(deviation > 0, deviation, 1.0)


def standardised(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Standardise both tables by the mean and standard deviation of the two together."""
    table = np.vstack([minority, majority])
    mean, scale = table.mean(axis=0), scale_of(table)
    return (minority - mean) / scale, (majority - mean) / scale


def seed_from(rng: Rng) -> int:
    """Draw a seed for a scikit-learn estimator."""
    return int(rng.integers(2**31 - 1))


def k_means(
    rows: Floats, n_clusters: int, rng: Rng, *, n_init: int = 1, max_iter: int = 300
) -> tuple[Floats, Integers]:
    """Return centres and each row's cluster; never more clusters than distinct rows."""
    n_clusters = min(n_clusters, len(np.unique(rows, axis=0)))
    found = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=seed_from(rng))
    found.fit(rows)
    return found.cluster_centers_, found.labels_.astype(np.intp)


def allocate(weights: Floats | Integers, total: int) -> Integers:
    """Split ``total`` in proportion to ``weights`` into whole numbers that add up exactly.

    Each weight gets the floor of its share; the remainder goes to the largest fractional parts
    (the earlier one on a tie). If all weights are zero they count as equal.

    >>> allocate(np.array([1.0, 1.0, 2.0]), 5)
    array([1, 1, 3])
    """
    if not weights.sum() > 0:
        weights = np.ones(len(weights))
    shares = weights / weights.sum() * total
    counts: Integers = np.floor(shares).astype(np.intp)
    left = total - int(counts.sum())
    order = np.argsort(-(shares - counts), kind="stable")
    counts[order[:left]] += 1
    return counts


def repeated(counts: Integers) -> Integers:
    """Return each index as many times as its count says.

    >>> repeated(np.array([2, 0, 1]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(len(counts)), counts)


def group_starts(counts: Integers) -> Integers:
    """Return where each group starts when groups of these sizes are laid end to end.

    >>> group_starts(np.array([2, 0, 1]))
    array([0, 2, 2])
    """
    return np.cumsum(counts) - counts


def drawn_of_groups(groups: Integers, counts: Integers, rng: Rng) -> Integers:
    """Draw a position in each of ``groups``, uniformly, counted over all groups end to end."""
    return group_starts(counts)[groups] + rng.integers(counts[groups])


def between(start: Floats, end: Floats, fraction: Floats) -> Floats:
    """Return rows at ``fraction`` of the way from ``start`` to ``end``."""
    return start + fraction[:, None] * (end - start)


def drawn_between(start: Floats, end: Floats, rng: Rng) -> Floats:
    """Return rows at a uniformly drawn position between ``start`` and ``end``."""
    return between(start, end, rng.random(len(start)))


def evenly_between(start: Floats, end: Floats, counts: Integers) -> Floats:
    """Return ``counts`` evenly spaced rows inside each segment, without its ends."""
    segment = repeated(counts)
    step = np.arange(len(segment)) - group_starts(counts)[segment] + 1
    return between(start[segment], end[segment], step / (counts[segment] + 1))


def drawn_neighbours(seeds: Integers, indices: Integers, rng: Rng) -> Integers:
    """Draw one of the neighbours ``indices[seed]`` of each seed, all equally likely."""
    return indices[seeds, rng.integers(indices.shape[1], size=len(seeds))]


def towards_neighbours(rows: Floats, seeds: Integers, indices: Integers, rng: Rng) -> Floats:
    """Return for each seed a row between it and one of its neighbours: SMOTE's own step."""
    ends = drawn_neighbours(seeds, indices, rng)
    return drawn_between(rows[seeds], rows[ends], rng)


def smote(minority: Floats, n_samples: int, k: int, rng: Rng) -> Floats:
    """SMOTE: a drawn row, one of its ``k`` nearest minority rows, a drawn point between them."""
    seeds = rng.choice(len(minority), size=n_samples)
    _, indices = nearest_others(minority, k)
    return towards_neighbours(minority, seeds, indices, rng)
