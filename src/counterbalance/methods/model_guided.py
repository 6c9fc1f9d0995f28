"""New rows by a model: OUPS and NRAS by propensity score, SSO by a network's sensitivity.

Glossary of SSO
    h             hidden units
    centres       (h, d)
    widths        (h,)
    Q             (n, d)  half the side of the cube around each minority row, per feature
    change        (n,)    stochastic sensitivity: mean square of f(x + perturbation) - f(x)
    sensitivity   (n,)    its root, for perturbations within the mean of Q
"""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval

_DRAWS = 20  # perturbations of a row from which SSO estimates its sensitivity


def propensity_scores(minority: Floats, majority: Floats) -> Any:
    """Return the scores, from 0 to 1, of minority and majority rows by logistic regression."""
    target = np.repeat([1, 0], [len(minority), len(majority)])
    table = np.vstack(nb.standardised(minority, majority))
    return LogisticRegression(max_iter=1000).fit(table, target).predict_proba(table)[:, 1]


def next_in_propensity(scores: Floats, n_minority: int, k: int) -> Integers:
    """Return for each minority row, which come first, the ``k`` rows of next lower score.

    At the end of the order, where fewer follow, the rows before it make up the number.
    """
    order = np.argsort(-scores, kind="stable")
    own = np.argsort(order)[:n_minority, None]  # its place in the order
    place = own + np.arange(1, k + 1)
    beyond = place - len(scores) + 1
    return order[np.where(beyond <= 0, place, own - beyond)]


@shared_doc
class OUPS(OneVsRestOverSampler):
    """Over-sampling using propensity scores.

    W. A. Rivera, P. Xanthopoulos, "A priori synthetic over-sampling methods for increasing
    classification sensitivity in imbalanced data sets", Expert Systems with Applications 2016.

    A logistic regression gives every row its propensity, the probability of being minority,
    and all rows are sorted by it. Each minority row is matched with the rows that follow it in
    that order, of whatever class, and a new row lies between the two in feature space.

    Departures: seeds are drawn with equal probability, whereas the paper walks down the order,
    so that any number of new rows can be requested.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int or None, default=None
        Rows that follow in the order from which the other end is drawn; ``None`` takes the
        ratio of the other rows to those of the class, rounded up.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int | None = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        wanted = self.n_neighbors or -(-len(majority) // len(minority))
        k = self._capped(wanted, len(minority) + len(majority) - 1)
        scores = propensity_scores(minority, majority)
        indices = next_in_propensity(scores, len(minority), k)
        seeds = rng.integers(len(minority), size=n_samples)
        table = np.vstack([minority, majority])
        ends = nb.drawn_neighbours(seeds, indices, rng)
        return nb.drawn_between(minority[seeds], table[ends], rng)


@shared_doc
class NRAS(OneVsRestOverSampler):
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
    {common_parameters}
    n_neighbors : int, default=5
        Neighbours, both for the noise test and for SMOTE.
    threshold : float, default=0.4
        Least share of minority rows among the neighbours of a row that is kept.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        threshold: float = 0.4,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.threshold = threshold

    def _resample_class(
        self, table: Floats, y: Any, label: Any, n_samples: int, rng: Rng
    ) -> tuple[Floats, Any, Floats]:
        ours = y == label
        minority, majority = table[ours], table[~ours]
        scores = np.split(propensity_scores(minority, majority), [len(minority)])
        # The score is one more feature.
        near, far = nb.standardised(
            np.column_stack([minority, scores[0]]), np.column_stack([majority, scores[1]])
        )
        indices = nb.nearest_in_table(near, far, self.n_neighbors)
        noise = (indices < len(minority)).mean(axis=1) < self.threshold
        if len(minority) - noise.sum() < 2:  # noqa: PLR2004  # a segment has two ends
            self._warn(
                f"{int(noise.sum())} of {len(minority)} minority rows are noise",
                "none of them was removed; a smaller threshold avoids this",
            )
            noise[:] = False
        kept = minority[~noise]
        _, indices = nb.nearest_others(near[~noise], self._capped(self.n_neighbors, len(kept) - 1))
        seeds = rng.integers(len(kept), size=n_samples + int(noise.sum()))
        new = nb.towards_neighbours(kept, seeds, indices, rng)
        removed = np.flatnonzero(ours)[noise]
        return np.delete(table, removed, axis=0), np.delete(y, removed), new


class RadialNetwork:
    """A radial basis function network with one output."""

    def __init__(self, centres: Floats, widths: Floats, weights: Any = 0.0) -> None:
        self.centres, self.widths, self.weights = centres, widths, weights

    def hidden(self, rows: Floats) -> Floats:
        """Return the activations of the hidden units, and a constant one."""
        products = rows @ self.centres.T
        squares = (rows**2).sum(axis=1)[:, None] + (self.centres**2).sum(axis=1) - 2 * products
        activations = np.exp(-np.maximum(squares, 0) / (2 * self.widths**2))
        return np.hstack([activations, np.ones((len(rows), 1))])

    def output(self, rows: Floats) -> Floats:
        """Return the output of the network: near 1 in the minority, near 0 in the majority."""
        return np.asarray(self.hidden(rows) @ self.weights)

    def fit(self, minority: Floats, majority: Floats) -> Self:
        """Fit the weights by least squares in which both classes have the same weight."""
        sizes = [len(minority), len(majority)]
        target = np.repeat([1.0, 0.0], sizes)
        root = np.repeat(1 / np.sqrt(sizes), sizes)
        hidden = self.hidden(np.vstack([minority, majority])) * root[:, None]
        # A small ridge term: coinciding centres would make the system singular.
        gram = hidden.T @ hidden + 1e-6 * np.eye(hidden.shape[1])
        self.weights = np.linalg.solve(gram, hidden.T @ (target * root))
        return self


def untrained_network(minority: Floats, majority: Floats, n_hidden: int, rng: Rng) -> RadialNetwork:
    """Place centres by k-means in each class; set widths by the two nearest other centres.

    The widths are twice the mean of those distances, so that the units overlap: otherwise the
    output drops between the centres of a class and is more sensitive there than at the boundary.
    """
    # Centres need to cover the classes, not to be optimal: a few passes of k-means suffice.
    centres = np.vstack(
        [nb.k_means(rows, n_hidden, rng, max_iter=10)[0] for rows in (minority, majority)]
    )
    distances, _ = nb.nearest_others(centres, 2)
    spread = 2 * distances.mean(axis=1)
    return RadialNetwork(centres, np.where(spread > 0, spread, 1.0))


def stochastic_sensitivity(
    network: RadialNetwork, rows: Floats, q: Floats, n_draws: int, rng: Rng
) -> Floats:
    """Return the mean square change of the output under perturbations uniform within ``q``."""
    shifts = rng.uniform(-q, q, size=(n_draws, *rows.shape))
    perturbed = network.output((rows + shifts).reshape(-1, rows.shape[1])).reshape(n_draws, -1)
    return np.asarray(((perturbed - network.output(rows)) ** 2).mean(axis=0))


def neighbourhoods(seeds: Floats, rest: Floats, k: int) -> Floats:
    """Return half the side of the cube around each seed, one number per row.

    A corner of the cube is as far from the seed as the ``k``-th nearest different row of the
    table: new rows stay where there are rows.
    """
    different = np.unique(np.vstack([seeds, rest]), axis=0)
    distances, _ = nb.nearest(seeds, different, k + 1)
    varies = max(int((different != different[0]).any(axis=0).sum()), 1)
    return np.asarray(distances[:, -1:] / np.sqrt(varies))


@shared_doc
class SSO(OneVsRestOverSampler):
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
    {common_parameters}
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
    """

    _needs_spread = False
    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "q": [Interval(Real, 0, None, closed="neither"), None],
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        q: float | None = None,
        n_hidden: int = 10,
        n_rounds: int = 3,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.q = q
        self.n_hidden = n_hidden
        self.n_rounds = n_rounds

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        table = np.vstack([minority, majority])
        mean, scale = table.mean(axis=0), nb.scale_of(table)
        seeds, rest = (minority - mean) / scale, (majority - mean) / scale
        half = neighbourhoods(seeds, rest, self.n_neighbors) if self.q is None else self.q
        # A constant feature is not perturbed: nothing is known about how it might vary.
        q = np.where(table.std(axis=0) > 0, half, np.zeros(seeds.shape))
        made = seeds[:0]
        network = untrained_network(seeds, rest, self.n_hidden, rng)
        for n_round in np.diff(np.linspace(0, n_samples, self.n_rounds + 1).astype(int)):
            network.fit(np.vstack([seeds, made]), rest)
            # One Q for all: otherwise a row would be sensitive just because its neighbours are far.
            change = stochastic_sensitivity(network, seeds, q.mean(axis=0), _DRAWS, rng)
            sensitivity = np.sqrt(change)
            chosen = nb.repeated(nb.allocate(sensitivity, n_round))
            reach = q[chosen] * np.maximum(1 - sensitivity[chosen, None], 0)
            made = np.vstack([made, seeds[chosen] + rng.uniform(-reach, reach)])
        return np.asarray(made * scale + mean)
