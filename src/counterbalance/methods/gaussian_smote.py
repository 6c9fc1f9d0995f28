"""Gaussian-SMOTE: SMOTE whose place on the segment is blurred."""

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.interpolation import between, drawn_neighbours
from counterbalance.methods.neighbours import capped, nearest_others
from counterbalance.methods.parameters import NOT_NEGATIVE_REAL, POSITIVE_INTEGER, parameter


class GaussianSMOTE(PeerOverSampler):
    """Gaussian-based SMOTE.

    H. Lee, J. Kim, S. Kim, "Gaussian-Based SMOTE Algorithm for Solving Skewed Class
    Distributions", International Journal of Fuzzy Logic and Intelligent Systems 2017.

    As in SMOTE a seed and one of its nearest minority rows make a segment. The place on it is
    drawn from a normal distribution whose mean is a uniform draw between 0 and 1, so that new
    rows spread more and may lie a little beyond the two rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows among which the other end is drawn.
    sigma : float, default=0.05
        Standard deviation of the place on the segment, in lengths of the segment.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    sigma: float = parameter(default=0.05, rule=NOT_NEGATIVE_REAL)

    def _from_minority(self, minority: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "GaussianSMOTE")
        _, indices = nearest_others(minority, k)
        seeds = rng.integers(len(minority), size=n_samples)
        ends = drawn_neighbours(seeds, indices, rng)
        place = rng.normal(rng.random(n_samples), self.sigma)
        return between(minority[seeds], minority[ends], place)
