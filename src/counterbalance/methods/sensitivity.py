"""A radial basis network and how much its answer shakes: the stochastic sensitivity measure.

Glossary
    h             hidden units
    centres       (h, d)
    widths        (h,)
    Q             half the side of the cube around a row from which perturbations are drawn
    sensitivity   mean square of f(x + perturbation) - f(x)
"""

from dataclasses import dataclass, replace

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.clusters import k_means
from counterbalance.methods.neighbours import nearest_others


@dataclass(frozen=True)
class RadialNetwork:
    """A fitted radial basis function network with one output."""

    centres: Floats
    widths: Floats
    weights: Floats

    def hidden(self, rows: Floats) -> Floats:
        """Activations of the hidden units, and a constant one."""
        squares = (
            (rows**2).sum(axis=1)[:, None]
            + (self.centres**2).sum(axis=1)
            - 2 * rows @ self.centres.T
        )
        activations = np.exp(-np.maximum(squares, 0) / (2 * self.widths**2))
        return np.hstack([activations, np.ones((len(rows), 1))])

    def output(self, rows: Floats) -> Floats:
        """Answer of the network: near 1 in the minority, near 0 in the majority."""
        answer: Floats = self.hidden(rows) @ self.weights
        return answer


def untrained_network(
    minority: Floats, majority: Floats, n_hidden: int, rng: np.random.Generator
) -> RadialNetwork:
    """Centres by k-means in each class, widths by the two nearest other centres.

    The widths are twice that distance, so that the units overlap: else the answer sinks
    between the centres of one class, and shakes there more than at the boundary.
    """
    # Centres need to cover the classes, not to be optimal: a few passes of k-means do.
    centres = np.vstack(
        [k_means(rows, n_hidden, rng, max_iter=10)[0] for rows in (minority, majority)]
    )
    distances, _ = nearest_others(centres, 2)
    spread = 2 * distances.mean(axis=1)
    widths = np.where(spread > 0, spread, 1.0)
    return RadialNetwork(centres, widths, np.zeros(len(centres) + 1))


def trained_network(network: RadialNetwork, minority: Floats, majority: Floats) -> RadialNetwork:
    """Weights by least squares, in which both classes count the same."""
    sizes = [len(minority), len(majority)]
    target = np.repeat([1.0, 0.0], sizes)
    root = np.repeat(1 / np.sqrt(sizes), sizes)
    hidden = network.hidden(np.vstack([minority, majority])) * root[:, None]
    # A touch of ridge: centres that coincide would make the system singular.
    gram = hidden.T @ hidden + 1e-6 * np.eye(hidden.shape[1])
    weights = np.asarray(np.linalg.solve(gram, hidden.T @ (target * root)), dtype=np.float64)
    return replace(network, weights=weights)


def stochastic_sensitivity(
    network: RadialNetwork, rows: Floats, q: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Mean square change of the answer over uniform perturbations within ``q`` per feature."""
    shifts = rng.uniform(-q, q, size=(n_draws, *rows.shape))
    shaken = network.output((rows + shifts).reshape(-1, rows.shape[1])).reshape(n_draws, -1)
    change: Floats = ((shaken - network.output(rows)) ** 2).mean(axis=0)
    return change
