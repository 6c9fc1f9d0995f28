"""How many new rows each seed gets, and where they lie: what SMOTE and its descendants share.

Glossary
    counts       (n,)    new rows per seed or per segment
    start, end   (n, d)  the two ends of each segment
    fraction     (n,)    position of the new row on it: 0 is the start, 1 the end
    indices      (m, k)  neighbours of each row
"""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.neighbours import nearest_others


def allocate(weights: Floats, total: int) -> Integers:
    """Split ``total`` in proportion to ``weights`` into whole numbers that add up exactly.

    Each weight gets the floor of its share; the remainder goes to the largest fractional parts
    (the earlier one on a tie). If all weights are zero they count as equal.

    >>> allocate(np.array([1.0, 1.0, 2.0]), 5)
    array([1, 1, 3])
    """
    weights = np.asarray(weights, dtype=float)
    if not weights.sum() > 0:
        weights = np.ones_like(weights)
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
    index: Integers = np.repeat(np.arange(len(counts)), counts)
    return index


def group_starts(counts: Integers) -> Integers:
    """Return where each group starts when groups of these sizes are laid end to end.

    >>> group_starts(np.array([2, 0, 1]))
    array([0, 2, 2])
    """
    starts: Integers = np.cumsum(counts) - counts
    return starts


def between(start: Floats, end: Floats, fraction: Floats) -> Floats:
    """Return rows at ``fraction`` of the way from ``start`` to ``end``."""
    row: Floats = start + fraction[:, None] * (end - start)
    return row


def drawn_between(start: Floats, end: Floats, rng: np.random.Generator) -> Floats:
    """Return rows at a uniformly drawn position between ``start`` and ``end``."""
    return between(start, end, rng.random(len(start)))


def evenly_between(start: Floats, end: Floats, counts: Integers) -> Floats:
    """Return ``counts`` evenly spaced rows inside each segment, without its ends."""
    segment = repeated(counts)
    step = np.arange(len(segment)) - group_starts(counts)[segment] + 1
    return between(start[segment], end[segment], step / (counts[segment] + 1))


def drawn_neighbours(seeds: Integers, indices: Integers, rng: np.random.Generator) -> Integers:
    """Draw one of the neighbours ``indices[seed]`` of each seed, all equally likely."""
    drawn: Integers = indices[seeds, rng.integers(indices.shape[1], size=len(seeds))]
    return drawn


def towards_neighbours(
    rows: Floats, seeds: Integers, indices: Integers, rng: np.random.Generator
) -> Floats:
    """Return for each seed a row between it and one of its neighbours: SMOTE's own step."""
    ends = drawn_neighbours(seeds, indices, rng)
    return drawn_between(rows[seeds], rows[ends], rng)


def smote(minority: Floats, n_samples: int, k: int, rng: np.random.Generator) -> Floats:
    """SMOTE: a drawn row, one of its ``k`` nearest minority rows, a drawn point between them."""
    seeds = rng.choice(len(minority), size=n_samples)
    _, indices = nearest_others(minority, k)
    return towards_neighbours(minority, seeds, indices, rng)
