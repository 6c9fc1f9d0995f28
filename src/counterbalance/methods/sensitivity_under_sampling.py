"""USS: keep the majority rows that class imbalance affects most."""

from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import PeerUnderSampler
from counterbalance.methods.neighbours import nearest_in_table
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter


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

    Departures: written from the paper's abstract, which does not give the formula of the
    sensitivity. Here it is the change of the nearest-neighbour posterior when the class priors
    are made equal, in closed form: it has the properties the abstract asks for (low for safe
    rows and noise, high at the border). In a table of several classes the smaller ones together
    are the minority of the class that is reduced.

    Cost: the neighbours of every majority row in the table, by definition more than 20 times
    the work of SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours from which the posterior is estimated.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)

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
