"""Lee: SMOTE that rejects new rows among the majority."""

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.interpolation import smote
from counterbalance.methods.neighbours import capped, minority_share
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.rejection import drawn_until_accepted


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
    n_neighbors : int, default=5
        Neighbours, both for SMOTE and for the rejection.
    rejection_level : float, default=0.5
        Largest share of other classes among a new row's neighbours.
    max_rounds : int, default=20
        Rounds of drawing before the least faulty rows are taken.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    rejection_level: float = parameter(default=0.5, rule=SHARE)
    max_rounds: int = parameter(default=20, rule=POSITIVE_INTEGER)

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
