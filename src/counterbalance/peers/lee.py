"""Lee: SMOTE that rejects new rows among the majority."""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.interpolation import smote
from counterbalance.peers.neighbours import capped, minority_share
from counterbalance.peers.rejection import drawn_until_accepted
from counterbalance.peers.rules import OVER_RULES, POSITIVE_INTEGER, SHARE, Rules


class Lee(PeerOverSampler):
    """Over-sampling with rejection.

    J. Lee, N. Kim, J.-H. Lee, "An Over-sampling Technique with Rejection for Imbalanced Class
    Learning", IMCOM 2015.

    A row made by SMOTE is kept only if at most ``rejection_level`` of its nearest neighbours
    in the original table belong to other classes; otherwise it is rejected and another one is
    drawn.

    Departures: after ``max_rounds`` rounds the least faulty of the rejected rows are taken,
    with a warning, where the paper would go on drawing for ever.

    Cost: every candidate needs its neighbours in the whole table, so the definition demands
    more than 20 times the work of SMOTE where many candidates are rejected.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Neighbours, both for SMOTE and for the rejection.
    rejection_level : float, default=0.5
        Largest share of other classes among a new row's neighbours.
    max_rounds : int, default=20
        Rounds of drawing before the least faulty rows are taken.
    """

    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "n_neighbors": POSITIVE_INTEGER,
        "rejection_level": SHARE,
        "max_rounds": POSITIVE_INTEGER,
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        rejection_level: float = 0.5,
        max_rounds: int = 20,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.rejection_level = rejection_level
        self.max_rounds = max_rounds

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        k = capped(self.n_neighbors, len(minority) - 1, "Lee")
        return drawn_until_accepted(
            n_samples,
            draw=lambda n: smote(minority, n, k, rng),
            fault=lambda rows: 1 - minority_share(rows, minority, majority, self.n_neighbors),
            limit=self.rejection_level,
            max_rounds=self.max_rounds,
            method="Lee",
        )
