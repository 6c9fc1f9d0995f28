"""DOS: a network that is trained towards synthetic targets in its own embedding.

Glossary
    f          embedding network: row -> deep features, (n, e)
    g          softmax classifier on the deep features
    neighbours (n, k + 1)  a row itself and its k nearest of its class, in the deep features
    target     convex combination of the deep features of a row's neighbours
    overload   how many targets a row gets: more in a smaller class
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.errors import TableError
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import generator
from counterbalance.methods.deep import networks as nn
from counterbalance.sklearn_private import Interval


class Targets(NamedTuple):
    """Synthetic targets in the deep features, the classes equally many."""

    rows: Integers  # (t,) the row that each target is for
    neighbours: Integers  # (t, k + 1) the rows that it lies between; the row itself first
    weights: Floats  # (t, k + 1) positive, and they add up to one
    values: Floats  # (t, e) the targets


def in_class_neighbours(deep: Floats, codes: Integers, k: int) -> Integers:
    """Return each row and its k nearest of its class; a small class repeats its farthest."""
    found = np.empty((len(deep), k + 1), dtype=np.intp)
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        _, near = nb.nearest_others(deep[own], k)
        padded = np.pad(own[near], ((0, 0), (0, k - near.shape[1])), mode="edge")
        found[own] = np.column_stack([own, padded])
    return found


def drawn_targets(deep: Floats, codes: Integers, k: int, rng: Rng) -> Targets:
    """Draw targets between in-class neighbours: as many for each class as the largest has rows."""
    neighbours = in_class_neighbours(deep, codes, k)
    most = int(np.bincount(codes).max())
    rows = []
    for code in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == code))
        rows.append(own[nb.repeated(nb.allocate(np.ones(len(own)), most))])
    chosen = np.concatenate(rows)
    weights = rng.uniform(size=(len(chosen), k + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.einsum("tk,tke->te", weights, deep[neighbours[chosen]])
    return Targets(chosen, neighbours[chosen], weights, values)


def within_share(deep: Floats, codes: Integers) -> float:
    """Return the part of the variance of embeddings that lies within the classes."""
    total = ((deep - deep.mean(axis=0)) ** 2).sum()
    own = [deep[codes == code] for code in np.unique(codes)]
    within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in own)
    return float(within / total) if total > 0 else 0.0


class DOSClassifier(
    nn.NetworkClassifier,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Deep over-sampling: a classifier that oversamples in its own deep features.

    S. Ando, C. Y. Huang, "Deep Over-sampling Framework for Classifying Imbalanced Data",
    ECML PKDD 2017.

    A network embeds the rows and a softmax layer classifies the embeddings. It is first trained
    without targets. Then each round has two steps. First, each row gets synthetic targets: random
    convex combinations of the current embeddings of itself and of its nearest rows of its class.
    Rows of smaller classes are overloaded with more targets, until all classes have equally many.
    Then the network is trained to move the embedding of every row to its targets and to classify.
    So the classes are balanced, and the embeddings of a class move together from round to round.

    Only abstract and introduction of the publication were available. Our own choices are: the
    number of steps of a round, the weight of the two losses, the distribution of the convex
    weights (uniform draws divided by their sum), that the row itself is among its neighbours, and
    that the classifier learns from the row's embedding and from the target alike. The weighted
    squared distances to the neighbours and the squared distance to the target differ by a
    constant, so the latter is minimised.

    Departures: the publication embeds images by convolutions; here dense layers embed any table.
    A class with fewer rows than neighbours repeats its farthest.

    Parameters
    ----------
    n_components : int, default=32
        Deep features.
    hidden_sizes : tuple of int, default=(128,)
        Hidden layers before them.
    n_neighbors : int, default=5
        Nearest rows of the class that a target lies between, beside the row itself.
    n_rounds : int, default=5
        How often new targets are drawn; the first training, without targets, takes as many
        steps as a round.
    target_weight : float, default=1.0
        Weight of the distance to the targets beside the loss of the classification.
    learning_rate : float, default=1e-3
        Step of the optimiser Adam.
    batch_size : int, default=64
        Rows of one training step.
    max_iter : int, default=2000
        Most training steps, of all rounds together.
    tol : float, default=1e-4
        A loss that falls by less counts as not falling.
    n_iter_no_change : int or None, default=10
        A round ends after so many times 50 steps without a lower loss; ``None``: never early.
    random_state : int, RandomState or None, default=None
        Seed of all draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    targets_ : ndarray of shape (n_targets, n_components)
        The synthetic targets of the last round, class after class.
    target_labels_ : ndarray of shape (n_targets,)
        Their classes, equally many.
    target_rows_ : ndarray of shape (n_targets,)
        The row that each is for.
    target_neighbours_ : ndarray of shape (n_targets, n_neighbors + 1)
        The rows that each lies between.
    target_weights_ : ndarray of shape (n_targets, n_neighbors + 1)
        Their weights.
    spread_ : ndarray of shape (n_rounds + 1,)
        Mean squared distance of embeddings from the mean of their class, over the variance of
        all embeddings: before each round, and at the end.
    n_iter_ : int
        Training steps.
    """

    _parameter_constraints = nn.CONSTRAINTS | {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "hidden_sizes": [tuple, list],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "target_weight": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_components: int = 32,
        hidden_sizes: Sequence[int] = (128,),
        n_neighbors: int = 5,
        n_rounds: int = 5,
        target_weight: float = 1.0,
        learning_rate: float = 1e-3,
        batch_size: int = 64,
        max_iter: int = 2000,
        tol: float = 1e-4,
        n_iter_no_change: int | None = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_sizes = hidden_sizes
        self.n_neighbors = n_neighbors
        self.n_rounds = n_rounds
        self.target_weight = target_weight
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network, round after round, on rows X of classes y."""
        X, y = nn.checked_rows(self, X, y, dtype=np.float64)
        self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(counts) < 2:  # noqa: PLR2004  # one class cannot be classified
            raise TableError(
                f"y must hold more than one class, it holds only {self.classes_[0]}; "
                "add rows of another class"
            )
        if counts.min() < 2:  # noqa: PLR2004  # a target lies between two rows
            raise TableError(
                f"y must hold at least 2 rows of each class for DOS, it holds {counts.min()} of "
                f"class {self.classes_[counts.argmin()]}; leave the class out or add rows of it"
            )
        rows, self._mean, self._scale = nn.scaled(X)
        targets = self._train(rows, codes, generator(self.random_state))
        self.target_rows_, self.target_neighbours_, self.target_weights_, self.targets_ = targets
        self.target_labels_ = self.classes_[codes[targets.rows]]
        self._n_features_out = self.n_components
        return self

    def _train(self, rows: nn.Singles, codes: Integers, rng: Rng) -> Targets:
        truth = nn.one_hot(codes, len(self.classes_))
        hidden_sizes = nn.checked_sizes("hidden_sizes", self.hidden_sizes)
        p = nn.new_stack("embed", (rows.shape[1], *hidden_sizes, self.n_components), rng)
        p |= nn.new_dense("out", self.n_components, len(self.classes_), rng)

        def entropy(p: Any, deep: Any, truth: Any) -> Any:
            scores = nn.log_softmax(nn.dense(p, "out", deep))
            return -nn.anp.mean(nn.anp.sum(truth * scores, axis=1))

        def plain(p: Any, x: Any, truth: Any) -> Any:
            return entropy(p, nn.stack(p, "embed", x), truth)

        def overloaded(p: Any, x: Any, truth: Any, target: Any) -> Any:
            deep = nn.stack(p, "embed", x)
            apart = nn.anp.mean(nn.anp.sum((deep - target) ** 2, axis=1))
            classified = entropy(p, deep, truth) + entropy(p, target, truth)
            return 0.5 * classified + self.target_weight * apart

        n_steps = np.diff(np.linspace(0, self.max_iter, self.n_rounds + 2).astype(int)).tolist()
        trainer = nn.Trainer(p, plain, rate=self.learning_rate)
        self.n_iter_ = self._steps(trainer, n_steps[0], (rows, truth), rng)
        trainer = nn.Trainer(trainer.p, overloaded, rate=self.learning_rate)
        spread = []
        for n in n_steps[1:]:
            deep = self._embedded(trainer.p, rows)
            spread.append(within_share(deep, codes))
            targets = drawn_targets(deep, codes, self.n_neighbors, rng)
            data = (rows[targets.rows], truth[targets.rows], targets.values.astype(np.float32))
            self.n_iter_ += self._steps(trainer, n, data, rng)
        self._p = nn.double(trainer.p)
        self.spread_ = np.array([*spread, within_share(self._embedded(self._p, rows), codes)])
        return targets

    def _steps(self, trainer: nn.Trainer, n: int, data: tuple[Any, ...], rng: Rng) -> int:
        """Train for ``n`` steps or until the loss no longer falls; return the number of steps."""
        order = nn.batches(len(data[0]), self.batch_size, rng)

        def step() -> list[float]:
            batch = next(order)
            return [float(trainer.step(*(part[batch] for part in data)))]

        return nn.train(step, n, self.n_iter_no_change, self.tol)[0]

    def _embedded(self, p: nn.Parameters, rows: Any) -> Floats:
        return np.asarray(nn.stack(nn.double(p), "embed", np.float64(rows)))

    def transform(self, X: Any) -> Floats:
        """Return the deep features of rows: (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._embedded(self._p, (X - self._mean) / self._scale)

    def _probabilities(self, X: Floats) -> Floats:
        deep = self._embedded(self._p, (X - self._mean) / self._scale)
        return np.asarray(nn.softmax(nn.dense(self._p, "out", deep)))
