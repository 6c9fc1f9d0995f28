"""SSO: new rows where a network's answer is most easily shaken."""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats, allocate, repeated
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.rules import OVER_RULES, POSITIVE_INTEGER, POSITIVE_REAL, Rules
from counterbalance.peers.sensitivity import (
    stochastic_sensitivity,
    trained_network,
    untrained_network,
)


class SSO(PeerOverSampler):
    """Stochastic sensitivity oversampling.

    T. Rong, H. Gong, W. W. Y. Ng, "Stochastic Sensitivity Oversampling Technique for
    Imbalanced Data", ICMLC 2014.

    A radial basis function network is trained on the table. The stochastic sensitivity of a
    minority row is the mean square change of the network's answer under random perturbations
    in the cube of half side Q around it: large near the boundary, small inside. Rows are made
    in the Q-neighbourhoods of the minority rows in proportion to their sensitivity; after each
    round the network's output is trained anew on the enlarged table.

    Departures: the features are standardised inside, so that Q means the same in each; the
    two classes weigh the same in the network's training, without which a rare minority leaves
    its answer flat. The paper leaves the number of hidden units to a search; here it is a
    parameter.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    q : float, default=0.3
        Half the side of the neighbourhood, in standard deviations of each feature.
    n_hidden : int, default=10
        Hidden units of the network for each of the two classes.
    n_rounds : int, default=3
        Rounds in which the new rows are made.
    n_draws : int, default=20
        Perturbations per row from which its sensitivity is estimated.
    """

    _needs_spread = False
    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "q": POSITIVE_REAL,
        "n_hidden": POSITIVE_INTEGER,
        "n_rounds": POSITIVE_INTEGER,
        "n_draws": POSITIVE_INTEGER,
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        q: float = 0.3,
        n_hidden: int = 10,
        n_rounds: int = 3,
        n_draws: int = 20,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.q = q
        self.n_hidden = n_hidden
        self.n_rounds = n_rounds
        self.n_draws = n_draws

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        mean, scale = table.mean(axis=0), table.std(axis=0)
        varies = scale > 0
        scale = np.where(varies, scale, 1.0)
        # A constant feature is not perturbed: nothing is known of how it might vary.
        q = np.where(varies, self.q, 0.0)
        seeds, rest = (minority - mean) / scale, (majority - mean) / scale
        made = seeds[:0]
        network = untrained_network(seeds, rest, self.n_hidden, rng)
        for n_round in np.diff(np.linspace(0, n_samples, self.n_rounds + 1).astype(int)):
            network = trained_network(network, np.vstack([seeds, made]), rest)
            sensitivity = stochastic_sensitivity(network, seeds, q, self.n_draws, rng)
            chosen = seeds[repeated(allocate(sensitivity, n_round))]
            made = np.vstack([made, chosen + rng.uniform(-q, q, size=chosen.shape)])
        back: Floats = made * scale + mean
        return back
