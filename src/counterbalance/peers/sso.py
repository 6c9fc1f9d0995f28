"""SSO: new rows where a network's answer is most easily shaken."""

import numpy as np

from counterbalance.peers.allocation import Floats, allocate, repeated
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.parameters import POSITIVE_INTEGER, POSITIVE_REAL, parameter
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
    its answer flat. Q, the number of hidden units, of rounds and of draws are our choice, and
    so is the number of new rows in proportion to the sensitivity.

    Parameters
    ----------
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
    q: float = parameter(default=0.3, rule=POSITIVE_REAL)
    n_hidden: int = parameter(default=10, rule=POSITIVE_INTEGER)
    n_rounds: int = parameter(default=3, rule=POSITIVE_INTEGER)
    n_draws: int = parameter(default=20, rule=POSITIVE_INTEGER)

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
