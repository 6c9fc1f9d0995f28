"""OUPS: neighbours in propensity in place of neighbours in space."""

import numpy as np

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import NeighbourOverSampler
from counterbalance.peers.interpolation import drawn_between, drawn_neighbours
from counterbalance.peers.neighbours import capped, nearest_others
from counterbalance.peers.propensity import propensity_scores


class OUPS(NeighbourOverSampler):
    """Over-sampling using propensity scores.

    W. A. Rivera, P. Xanthopoulos, "A priori synthetic over-sampling methods for increasing
    classification sensitivity in imbalanced data sets", Expert Systems with Applications 2016.

    A logistic regression gives every row its propensity, the probability of being minority.
    Each minority row is matched with the minority rows nearest to it in propensity, and a new
    row lies between the two in the space of the features.

    Departures: seeds are drawn equally often where the paper walks through the sorted scores,
    so that any number of new rows can be asked for.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Minority rows nearest in propensity among which the other end is drawn.
    """

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "OUPS")
        scores, _ = propensity_scores(minority, majority)
        _, indices = nearest_others(scores[:, None], k)
        seeds = rng.integers(len(minority), size=n_samples)
        ends = drawn_neighbours(seeds, indices, rng)
        return drawn_between(minority[seeds], minority[ends], rng)
