"""SSO: new rows where small perturbations change the output of a network most.

Glossary
    h             hidden units
    centres       (h, d)
    widths        (h,)
    Q             (n, d)  half the side of the cube around each minority row, per feature
    change        (n,)    stochastic sensitivity: mean square of f(x + perturbation) - f(x)
    sensitivity   (n,)    its root, for perturbations within the mean of Q
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.base import NeighbourOverSampler
from counterbalance.methods.neighbours import k_means, nearest, nearest_others, scale_of
from counterbalance.methods.parameters import POSITIVE_INTEGER, POSITIVE_REAL, parameter
from counterbalance.methods.synthesis import allocate, repeated


@dataclass(frozen=True)
class RadialNetwork:
    """A fitted radial basis function network with one output."""

    centres: Floats
    widths: Floats
    weights: Floats

    def hidden(self, rows: Floats) -> Floats:
        """Return the activations of the hidden units, and a constant one."""
        squares = (
            (rows**2).sum(axis=1)[:, None]
            + (self.centres**2).sum(axis=1)
            - 2 * rows @ self.centres.T
        )
        activations = np.exp(-np.maximum(squares, 0) / (2 * self.widths**2))
        return np.hstack([activations, np.ones((len(rows), 1))])

    def output(self, rows: Floats) -> Floats:
        """Return the output of the network: near 1 in the minority, near 0 in the majority."""
        output: Floats = self.hidden(rows) @ self.weights
        return output


def untrained_network(
    minority: Floats, majority: Floats, n_hidden: int, rng: np.random.Generator
) -> RadialNetwork:
    """Place centres by k-means in each class; set widths by the two nearest other centres.

    The widths are twice the mean of those distances, so that the units overlap: otherwise the
    output drops between the centres of a class and is more sensitive there than at the boundary.
    """
    # Centres need to cover the classes, not to be optimal: a few passes of k-means suffice.
    centres = np.vstack(
        [k_means(rows, n_hidden, rng, max_iter=10)[0] for rows in (minority, majority)]
    )
    distances, _ = nearest_others(centres, 2)
    spread = 2 * distances.mean(axis=1)
    widths = np.where(spread > 0, spread, 1.0)
    return RadialNetwork(centres, widths, np.zeros(len(centres) + 1))


def trained_network(network: RadialNetwork, minority: Floats, majority: Floats) -> RadialNetwork:
    """Fit the weights by least squares in which both classes have the same weight."""
    sizes = [len(minority), len(majority)]
    target = np.repeat([1.0, 0.0], sizes)
    root = np.repeat(1 / np.sqrt(sizes), sizes)
    hidden = network.hidden(np.vstack([minority, majority])) * root[:, None]
    # A small ridge term: coinciding centres would make the system singular.
    gram = hidden.T @ hidden + 1e-6 * np.eye(hidden.shape[1])
    weights = np.asarray(np.linalg.solve(gram, hidden.T @ (target * root)), dtype=np.float64)
    return replace(network, weights=weights)


def stochastic_sensitivity(
    network: RadialNetwork, rows: Floats, q: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return the mean square change of the output under perturbations uniform within ``q``."""
    shifts = rng.uniform(-q, q, size=(n_draws, *rows.shape))
    perturbed = network.output((rows + shifts).reshape(-1, rows.shape[1])).reshape(n_draws, -1)
    change: Floats = ((perturbed - network.output(rows)) ** 2).mean(axis=0)
    return change


def neighbourhoods(seeds: Floats, rest: Floats, k: int) -> Floats:
    """Return half the side of the cube around each seed, one number per row.

    A corner of the cube is as far from the seed as the ``k``-th nearest different row of the
    table: new rows stay where there are rows.
    """
    different = np.unique(np.vstack([seeds, rest]), axis=0)
    distances, _ = nearest(seeds, different, k + 1)
    varies = max(int((different != different[0]).any(axis=0).sum()), 1)
    half: Floats = distances[:, -1:] / np.sqrt(varies)
    return half


class SSO(NeighbourOverSampler):
    """Stochastic sensitivity oversampling.

    T. Rong, H. Gong, W. W. Y. Ng, "Stochastic Sensitivity Oversampling Technique for
    Imbalanced Data", ICMLC 2014.

    A radial basis function network is trained on the table. The stochastic sensitivity of a
    minority row is the mean square change of the network's output under random perturbations
    in the cube of half side Q around it: large near the boundary, small inside. Rows are made
    in the Q-neighbourhoods of the minority rows, more where it is large, and the larger it is
    the nearer they stay to their seed; after each round the output layer is retrained on the
    enlarged table.

    Departures: written from the paper's abstract and from what the package smote-variants says
    about its steps. The features are standardised internally, so that Q means the same for
    each; both classes have the same weight in the network's training, without which a rare
    minority leaves the output flat. The number of new rows is proportional to the root of the
    sensitivity, and the neighbourhood shrinks by that root: it is in units of the output, which
    is 0 in one class and 1 in the other. The sensitivity itself would give nearly all new rows
    to a few rows among the majority. New rows are uniform over the neighbourhood, whereas the
    paper draws from a normal distribution. Q, these two roots, the widths and number of the
    hidden units, and the numbers of rounds and draws are our choice.

    Parameters
    ----------
    n_neighbors : int, default=5
        Which neighbour determines Q if ``q`` is ``None``.
    q : float or None, default=None
        Half the side of the neighbourhood, in standard deviations of each feature. ``None``
        derives it from the table: each row's distance to its ``n_neighbors``-th neighbour over
        the root of the number of features.
    n_hidden : int, default=10
        Hidden units of the network for each of the two classes.
    n_rounds : int, default=3
        Rounds in which the new rows are made.
    n_draws : int, default=20
        Perturbations per row from which its sensitivity is estimated.
    """

    _needs_spread = False
    q: Any = parameter(default=None, rule=[*POSITIVE_REAL, None])
    n_hidden: int = parameter(default=10, rule=POSITIVE_INTEGER)
    n_rounds: int = parameter(default=3, rule=POSITIVE_INTEGER)
    n_draws: int = parameter(default=20, rule=POSITIVE_INTEGER)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        mean, scale = table.mean(axis=0), scale_of(table)
        varies = table.std(axis=0) > 0
        seeds, rest = (minority - mean) / scale, (majority - mean) / scale
        half = neighbourhoods(seeds, rest, self.n_neighbors) if self.q is None else self.q
        # A constant feature is not perturbed: nothing is known about how it might vary.
        q = np.where(varies, half, np.zeros(seeds.shape))
        made = seeds[:0]
        network = untrained_network(seeds, rest, self.n_hidden, rng)
        for n_round in np.diff(np.linspace(0, n_samples, self.n_rounds + 1).astype(int)):
            network = trained_network(network, np.vstack([seeds, made]), rest)
            # One Q for all: otherwise a row would be sensitive just because its neighbours are far.
            change = stochastic_sensitivity(network, seeds, q.mean(axis=0), self.n_draws, rng)
            sensitivity = np.sqrt(change)
            chosen = repeated(allocate(sensitivity, n_round))
            reach = q[chosen] * np.maximum(1 - sensitivity[chosen, None], 0)
            made = np.vstack([made, seeds[chosen] + rng.uniform(-reach, reach)])
        back: Floats = made * scale + mean
        return back
