"""USS: keep the majority rows that class imbalance affects most."""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats, Integers
from counterbalance.peers.base import PeerUnderSampler
from counterbalance.peers.neighbours import nearest_in_table
from counterbalance.peers.rules import POSITIVE_INTEGER, UNDER_RULES, Rules


def imbalance_sensitivity(n_minority_near: Integers, k: int, ratio: float) -> Floats:
    """How much a row's posterior of the minority moves when the classes are balanced.

    With ``m`` minority rows among ``k`` neighbours the posterior is ``p = (m + s) / (k + 1)``,
    where ``s = 1 / (1 + ratio)``, the minority's prior, keeps it off zero and one. Balanced
    priors turn it into ``q = ratio * p / (ratio * p + 1 - p)``; the sensitivity is ``q - p``.
    """
    p = (n_minority_near + 1 / (1 + ratio)) / (k + 1)
    q = ratio * p / (ratio * p + 1 - p)
    sensitivity: Floats = np.abs(q - p)
    return sensitivity


class SensitivityUnderSampler(PeerUnderSampler):
    """Undersampling using sensitivity (USS).

    J. Zhang, T. Wang, W. W. Y. Ng, S. Zhang, C. D. Nugent, "Undersampling Near Decision
    Boundary for Imbalance Problems", ICMLC 2019, the undersampler that the paper cites; W. W.
    Y. Ng, J. Hu, D. S. Yeung, S. Yin, F. Roli, "Diversified Sensitivity-Based Undersampling for
    Imbalance Classification Problems", IEEE Transactions on Cybernetics 2015, is its forerunner.

    A majority row is sensitive if the answer there depends on the balance of the classes:
    borderline rows are, safe rows and noise are not. Rows are kept by a draw in which the
    sensitive ones are more likely.

    Departures: the sensitivity is the change of the nearest-neighbour posterior when the
    class priors are made equal, in closed form, where the authors compare trained classifiers;
    it has the properties the paper asks for (low for safe rows and noise, high at the border)
    and needs no training. In a table of several classes the smaller ones together are the
    minority of the class that is reduced.

    Cost: the neighbours of every majority row in the table, by definition more than 20 times
    the work of SMOTE.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Neighbours from which the posterior is estimated.
    """

    _parameter_constraints: ClassVar[Rules] = {**UNDER_RULES, "n_neighbors": POSITIVE_INTEGER}

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, n_neighbors: int = 5
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors

    def _pick(
        self, table: Floats, y: Any, ours: Integers, n_samples: int, rng: np.random.Generator
    ) -> Integers:
        classes, counts = np.unique(y, return_counts=True)
        smaller = np.isin(y, classes[counts < len(ours)])
        rivals = table[smaller]
        k = min(self.n_neighbors, len(ours) + len(rivals) - 1)
        _, indices = nearest_in_table(table[ours], rivals, k)
        near = (indices >= len(ours)).sum(axis=1)
        sensitivity = imbalance_sensitivity(near, k, len(ours) / max(len(rivals), 1))
        weights = np.maximum(sensitivity, 1e-12)
        return rng.choice(len(ours), size=n_samples, replace=False, p=weights / weights.sum())
