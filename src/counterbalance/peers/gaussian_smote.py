"""Gaussian-SMOTE: SMOTE whose place on the segment is blurred."""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.interpolation import between, drawn_neighbours
from counterbalance.peers.neighbours import capped, nearest_others
from counterbalance.peers.rules import NOT_NEGATIVE_REAL, OVER_RULES, POSITIVE_INTEGER, Rules


class GaussianSMOTE(PeerOverSampler):
    """Gaussian-based SMOTE.

    H. Lee, J. Kim, S. Kim, "Gaussian-Based SMOTE Algorithm for Solving Skewed Class
    Distributions", International Journal of Fuzzy Logic and Intelligent Systems 2017.

    As in SMOTE a seed and one of its nearest minority rows make a segment. The place on it is
    drawn from a normal distribution whose mean is a uniform draw between 0 and 1, so that new
    rows spread more and may lie a little beyond the two rows.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Nearest minority rows among which the other end is drawn.
    sigma : float, default=0.05
        Standard deviation of the place on the segment, in lengths of the segment.
    """

    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "n_neighbors": POSITIVE_INTEGER,
        "sigma": NOT_NEGATIVE_REAL,
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        sigma: float = 0.05,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.sigma = sigma

    def _synthesise(
        self,
        minority: Floats,
        majority: Floats,  # noqa: ARG002  # the method does not look at it
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "GaussianSMOTE")
        _, indices = nearest_others(minority, k)
        seeds = rng.integers(len(minority), size=n_samples)
        ends = drawn_neighbours(seeds, indices, rng)
        place = rng.normal(rng.random(n_samples), self.sigma)
        return between(minority[seeds], minority[ends], place)
