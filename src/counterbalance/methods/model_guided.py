"""New rows where a model says: OUPS and NRAS by propensity score, SSO by a network's sensitivity.

Glossary of SSO
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
from sklearn.linear_model import LogisticRegression

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import (
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    SHARE,
    Change,
    NeighbourOverSampler,
    PeerOverSampler,
    capped,
    parameter,
)
from counterbalance.methods.neighbours import (
    allocate,
    drawn_between,
    drawn_neighbours,
    k_means,
    nearest,
    nearest_in_table,
    nearest_others,
    repeated,
    scale_of,
    standardised,
    towards_neighbours,
)


def propensity_scores(minority: Floats, majority: Floats) -> tuple[Floats, Floats]:
    """Return the scores, from 0 to 1, of minority and majority rows by logistic regression."""
    ours, theirs = standardised(minority, majority)
    target = np.repeat([1, 0], [len(ours), len(theirs)])
    table = np.vstack([ours, theirs])
    scores = LogisticRegression(max_iter=1000).fit(table, target).predict_proba(table)[:, 1]
    return scores[: len(ours)], scores[len(ours) :]


def next_in_propensity(scores: Floats, n_minority: int, k: int) -> Integers:
    """Return for each minority row, which come first, the ``k`` rows of next lower score.

    At the end of the order, where fewer follow, the rows before it make up the number.
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
    and all rows are sorted by it. Each minority row is matched with the rows that follow it in
    that order, of whatever class, and a new row lies between the two in feature space.

    Departures: seeds are drawn with equal probability, whereas the paper walks down the order,
    so that any number of new rows can be asked for.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Rows that follow in the order from which the other end is drawn; ``None`` takes the
        ratio of the other rows to those of the class, rounded up.
    """

    _least_minority = 1
    _needs_spread = False

    n_neighbors: int | None = parameter(default=None, rule=[*POSITIVE_INTEGER, None])

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        wanted = self.n_neighbors or -(-len(majority) // len(minority))
        k = capped(wanted, len(minority) + len(majority) - 1, self._method_name)
        scores = np.concatenate(propensity_scores(minority, majority))
        indices = next_in_propensity(scores, len(minority), k)
        seeds = rng.integers(len(minority), size=n_samples)
        table = np.vstack([minority, majority])
        ends = drawn_neighbours(seeds, indices, rng)
        return drawn_between(minority[seeds], table[ends], rng)


class NRAS(NeighbourOverSampler):
    """Noise reduction a priori synthetic over-sampling.

    W. A. Rivera, "Noise Reduction A Priori Synthetic Over-Sampling for class imbalanced data
    sets", Information Sciences 2017.

    The propensity score, the probability of being minority by a logistic regression, joins the
    standardised features. A minority row is noise if less than ``threshold`` of its nearest
    rows in that space are minority. Noise is removed, and SMOTE makes rows between the
    remaining rows and their neighbours in that space.

    By definition noise rows of the enlarged class leave the table; the others keep their order
    and come first, and the removed rows are replaced by as many new ones, so the number of rows
    of each class is exact.

    Departures: if fewer than two rows would remain, none is removed, with a warning.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours, both for the noise test and for SMOTE.
    threshold : float, default=0.4
        Least share of minority rows among the neighbours of a row that is kept.
    """

    threshold: float = parameter(default=0.4, rule=SHARE)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        minority, majority = table[ours], table[~ours]
        own, other = propensity_scores(minority, majority)
        # The score is one more feature.
        near, far = standardised(
            np.column_stack([minority, own]), np.column_stack([majority, other])
        )
        _, indices = nearest_in_table(near, far, self.n_neighbors)
        noise = (indices < len(minority)).mean(axis=1) < self.threshold
        if len(minority) - noise.sum() < 2:  # noqa: PLR2004  # a segment has two ends
            self._warn(
                f"{int(noise.sum())} of {len(minority)} minority rows are noise",
                "none of them was removed; a smaller threshold avoids this",
            )
            noise[:] = False
        kept = minority[~noise]
        _, indices = nearest_others(near[~noise], self._neighbours_within(len(kept)))
        seeds = rng.integers(len(kept), size=n_samples + int(noise.sum()))
        new = towards_neighbours(kept, seeds, indices, rng)
        dropped = np.zeros(len(table), dtype=bool)
        dropped[np.flatnonzero(ours)[noise]] = True
        return Change(new, dropped=dropped)


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
        return self.hidden(rows) @ self.weights


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
