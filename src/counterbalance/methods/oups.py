"""OUPS: neighbours in propensity in place of neighbours in space."""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.interpolation import drawn_between, drawn_neighbours
from counterbalance.methods.neighbours import capped
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter
from counterbalance.methods.propensity import propensity_scores


def next_in_propensity(scores: Floats, n_minority: int, k: int) -> Integers:
    """For each of the first rows the ``k`` that follow it when scores fall.

    At the end of the order, where fewer follow, the ones before it fill up.
    """
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(scores), dtype=np.intp)
    rank[order] = np.arange(len(scores))
    own = rank[:n_minority, None]
    place = own + np.arange(1, k + 1)
    beyond = place - len(scores) + 1
    return order[np.where(beyond <= 0, place, own - beyond)]


class OUPS(PeerOverSampler):
    """Over-sampling using propensity scores.

    W. A. Rivera, P. Xanthopoulos, "A priori synthetic over-sampling methods for increasing
    classification sensitivity in imbalanced data sets", Expert Systems with Applications 2016.

    A logistic regression gives every row its propensity, the probability of being minority,
    and all rows are put in order of it. Each minority row is matched with the rows that follow
    it there, of whatever class, and a new row lies between the two in the space of the
    features.

    Departures: seeds are drawn equally often where the paper walks down the order, so that any
    number of new rows can be asked for.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Rows that follow in the order among which the other end is drawn; ``None`` takes the
        ratio of the other rows to those of the class, rounded up.
    """

    _least_minority = 1
    _needs_spread = False

    n_neighbors: int | None = parameter(default=None, rule=[*POSITIVE_INTEGER, None])

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        wanted = self.n_neighbors or -(-len(majority) // len(minority))
        k = capped(wanted, len(minority) + len(majority) - 1, "OUPS")
        scores = np.concatenate(propensity_scores(minority, majority))
        indices = next_in_propensity(scores, len(minority), k)
        seeds = rng.integers(len(minority), size=n_samples)
        table = np.vstack([minority, majority])
        ends = drawn_neighbours(seeds, indices, rng)
        return drawn_between(minority[seeds], table[ends], rng)
