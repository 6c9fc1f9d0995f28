"""SSO: new rows where a network's answer is most easily shaken.

Glossary
    Q             (n, d)  half the side of the neighbourhood of each minority row, per feature
    sensitivity   (n,)    root mean square change of the answer within the mean of Q
"""

from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.allocation import allocate, repeated
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.neighbours import nearest
from counterbalance.methods.parameters import POSITIVE_INTEGER, POSITIVE_REAL, parameter
from counterbalance.methods.sensitivity import (
    stochastic_sensitivity,
    trained_network,
    untrained_network,
)


def neighbourhoods(seeds: Floats, rest: Floats, k: int) -> Floats:
    """Half the side of the cube of each seed, one number a row.

    The cube is as long across, from its middle to a corner, as it is far from the seed to the
    ``k``-th nearest row of the table that is not the same: new rows stay where there are rows.
    """
    different = np.unique(np.vstack([seeds, rest]), axis=0)
    distances, _ = nearest(seeds, different, k + 1)
    varies = max(int((different != different[0]).any(axis=0).sum()), 1)
    half: Floats = distances[:, -1:] / np.sqrt(varies)
    return half


class SSO(PeerOverSampler):
    """Stochastic sensitivity oversampling.

    T. Rong, H. Gong, W. W. Y. Ng, "Stochastic Sensitivity Oversampling Technique for
    Imbalanced Data", ICMLC 2014.

    A radial basis function network is trained on the table. The stochastic sensitivity of a
    minority row is the mean square change of the network's answer under random perturbations
    in the cube of half side Q around it: large near the boundary, small inside. Rows are made
    in the Q-neighbourhoods of the minority rows, more where it is large, and the larger it is
    the nearer they stay to their seed; after each round the network's output is trained anew on
    the enlarged table.

    Departures: written from the paper's abstract and from what the package smote-variants says
    of its steps. The features are standardised inside, so that Q means the same in each; the
    two classes weigh the same in the network's training, without which a rare minority leaves
    its answer flat. The number of new rows is in proportion to the root of the sensitivity, and
    the neighbourhood shrinks by that root: it is in units of the answer, which is 0 in one class
    and 1 in the other. The sensitivity itself gives a few rows among the majority nearly all new
    ones. New rows are spread evenly over the neighbourhood where the paper draws from a normal
    distribution. Q, these two roots, the widths of the hidden units, their number, and that of
    rounds and of draws are our choice.

    Parameters
    ----------
    q : float or None, default=None
        Half the side of the neighbourhood, in standard deviations of each feature. ``None`` asks
        the table: each row's distance to its ``n_neighbors``-th neighbour over the root of the
        number of features.
    n_neighbors : int, default=5
        Which neighbour sets Q.
    n_hidden : int, default=10
        Hidden units of the network for each of the two classes.
    n_rounds : int, default=3
        Rounds in which the new rows are made.
    n_draws : int, default=20
        Perturbations per row from which its sensitivity is estimated.
    """

    _needs_spread = False
    q: Any = parameter(default=None, rule=[*POSITIVE_REAL, None])
    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
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
        seeds, rest = (minority - mean) / scale, (majority - mean) / scale
        half = neighbourhoods(seeds, rest, self.n_neighbors) if self.q is None else self.q
        # A constant feature is not perturbed: nothing is known of how it might vary.
        q = np.where(varies, half, np.zeros(seeds.shape))
        made = seeds[:0]
        network = untrained_network(seeds, rest, self.n_hidden, rng)
        for n_round in np.diff(np.linspace(0, n_samples, self.n_rounds + 1).astype(int)):
            network = trained_network(network, np.vstack([seeds, made]), rest)
            # One Q for all, or a row would be sensitive only because its neighbours are far.
            change = stochastic_sensitivity(network, seeds, q.mean(axis=0), self.n_draws, rng)
            sensitivity = np.sqrt(change)
            chosen = repeated(allocate(sensitivity, n_round))
            reach = q[chosen] * np.maximum(1 - sensitivity[chosen, None], 0)
            made = np.vstack([made, seeds[chosen] + rng.uniform(-reach, reach)])
        back: Floats = made * scale + mean
        return back
