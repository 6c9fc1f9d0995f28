"""New rows on the segment between two rows: what SMOTE and its descendants share.

Glossary
    start, end   (n, d)  the two ends of each segment
    fraction     (n,)    where on it the new row lies: 0 is the start, 1 the end
"""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.allocation import repeated
from counterbalance.methods.neighbours import nearest_others


def between(start: Floats, end: Floats, fraction: Floats) -> Floats:
    """Rows at ``fraction`` of the way from ``start`` to ``end``."""
    row: Floats = start + fraction[:, None] * (end - start)
    return row


def drawn_between(start: Floats, end: Floats, rng: np.random.Generator) -> Floats:
    """Rows at a uniform draw of the way from ``start`` to ``end``."""
    return between(start, end, rng.random(len(start)))


def evenly_between(start: Floats, end: Floats, counts: Integers) -> Floats:
    """Rows at equal steps inside each segment, ``counts`` of them, neither end included."""
    segment = repeated(counts)
    step = np.arange(len(segment)) - (np.cumsum(counts) - counts)[segment] + 1
    return between(start[segment], end[segment], step / (counts[segment] + 1))


def drawn_neighbours(seeds: Integers, indices: Integers, rng: np.random.Generator) -> Integers:
    """One of the neighbours ``indices[seed]`` of each seed, each equally likely."""
    drawn: Integers = indices[seeds, rng.integers(indices.shape[1], size=len(seeds))]
    return drawn


def smote(
    minority: Floats,
    n_samples: int,
    k: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> Floats:
    """SMOTE: a drawn row, one of its ``k`` nearest minority rows, a drawn place between.

    ``weights`` gives the probability of each row as a seed; ``None`` makes all equal.
    """
    seeds = rng.choice(len(minority), size=n_samples, p=weights)
    _, indices = nearest_others(minority, k)
    ends = drawn_neighbours(seeds, indices, rng)
    return drawn_between(minority[seeds], minority[ends], rng)
