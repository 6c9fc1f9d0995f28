"""DOS: a network whose embeddings are drawn to synthetic targets among in-class neighbours.

Glossary
    f          embedding network: row -> deep features, (n, e)
    g          softmax classifier on the deep features
    neighbours (n, k + 1)  a row itself and its k nearest of its class, in the deep features
    target     convex combination of the deep features of a row's neighbours
    overload   how many targets a row gets: more in a smaller class
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    SEED,
    generator,
    parameter,
)
from counterbalance.methods.deep import networks as nn
from counterbalance.methods.deep.training import (
    SIZES,
    Bar,
    NetworkClassifier,
    Patience,
    Singles,
    TrainingParameters,
    batches,
    checked_rows,
    checked_sizes,
    one_hot,
    scaled,
    scaling,
)
from counterbalance.methods.neighbours import allocate, repeated


@dataclass(frozen=True)
class Targets:
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
        near = min(k, len(own) - 1)
        # asked without rows, a row is not its own neighbour
        index = NearestNeighbors(n_neighbors=near).fit(deep[own])
        others = own[index.kneighbors(return_distance=False)]
        padded = np.pad(others, ((0, 0), (0, k - near)), mode="edge")
        found[own] = np.column_stack([own, padded])
    return found


def drawn_targets(deep: Floats, codes: Integers, k: int, rng: np.random.Generator) -> Targets:
    """Draw targets between in-class neighbours: as many for each class as the largest has rows."""
    neighbours = in_class_neighbours(deep, codes, k)
    most = int(np.bincount(codes).max())
    rows = []
    for code in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == code))
        rows.append(own[repeated(allocate(np.ones(len(own)), most))])
    chosen = np.concatenate(rows)
    weights = rng.uniform(size=(len(chosen), k + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.einsum("tk,tke->te", weights, deep[neighbours[chosen]])
    return Targets(chosen, neighbours[chosen], weights, values)


class DOSClassifier(
    TrainingParameters,
    NetworkClassifier,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Deep over-sampling: a classifier that oversamples in its own deep features.

    S. Ando, C. Y. Huang, "Deep Over-sampling Framework for Classifying Imbalanced Data",
    ECML PKDD 2017.

    A network embeds the rows and a softmax layer classifies the embeddings. It is first trained
    plainly. Then rounds alternate: each row gets synthetic targets, random convex combinations
    of the embeddings of itself and of its nearest rows of its class, in the embedding of the
    moment, and rows of smaller classes are overloaded with more targets, until all classes have
    as many; then the network is trained to bring every row to its targets and to classify. So
    the classes are balanced, and the embeddings of a class move together from round to round.

    Of the publication its abstract and introduction were at hand. Left open there, and our
    choice: the number of steps of a round, the weight of the two losses, the distribution of the
    convex weights, which are uniform draws divided by their sum, that the row itself is among its
    neighbours, and that the classifier learns from the row's embedding and from the target alike.
    Bringing a row near to each neighbour by its weight, or to the target, differs by a constant
    in the squared distance, so the latter is what is minimised.

    Departures: the publication embeds images by convolutions, here dense layers serve any table.
    A class with fewer rows than neighbours repeats its farthest.

    Cost: a classifier, not a sampler: one network, and a search for neighbours in every round.

    Parameters
    ----------
    n_components : int, default=32
        Deep features.
    hidden_sizes : tuple of int, default=(128,)
        Hidden layers in front of them.
    n_neighbors : int, default=5
        Nearest rows of the class that a target lies between, beside the row itself.
    n_rounds : int, default=5
        How often targets are drawn anew; the first training, without targets, takes as many
        steps as a round.
    target_weight : float, default=1.0
        Weight of the distance to the targets beside the loss of the classification.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    %(training)s

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

    random_state: Any = parameter(default=None, rule=SEED)
    n_components: int = parameter(default=32, rule=POSITIVE_INTEGER)
    hidden_sizes: Any = parameter(default=(128,), rule=SIZES)
    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    n_rounds: int = parameter(default=5, rule=POSITIVE_INTEGER)
    target_weight: float = parameter(default=1.0, rule=NOT_NEGATIVE_REAL)

    def fit(self, X: Any, y: Any) -> DOSClassifier:
        """Train the network, round after round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        DOSClassifier
            The fitted classifier.
        """
        X, y = checked_rows(self, X, y, dtype=np.float64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._check_classes(codes)
        rng = generator(self.random_state)
        self._mean, self._scale = scaling(X)
        self._depth = len(checked_sizes("hidden_sizes", self.hidden_sizes)) + 1
        targets = self._train(scaled(X, self._mean, self._scale), codes, rng)
        self.targets_, self.target_labels_ = targets.values, self.classes_[codes[targets.rows]]
        self.target_rows_, self.target_neighbours_ = targets.rows, targets.neighbours
        self.target_weights_ = targets.weights
        return self

    def _check_classes(self, codes: Integers) -> None:
        counts = np.bincount(codes)
        if len(counts) < 2:  # noqa: PLR2004  # there is nothing to tell apart
            raise TableError(
                f"y must hold more than one class, it holds only {self.classes_[0]}; "
                "add rows of another class"
            )
        if counts.min() < 2:  # noqa: PLR2004  # a target lies between two rows
            raise TableError(
                f"y must hold at least 2 rows of each class for DOS, it holds {counts.min()} of "
                f"class {self.classes_[counts.argmin()]}; leave the class out or add rows of it"
            )

    def _train(self, rows: Singles, codes: Integers, rng: np.random.Generator) -> Targets:
        backend = nn.backend_named(self.backend)
        xp, depth, weight = backend.np, self._depth, self.target_weight
        sizes = (rows.shape[1], *self.hidden_sizes, self.n_components)
        p = nn.new_stack("embed", sizes, rng)
        p |= nn.new_dense("out", self.n_components, len(self.classes_), rng)
        truth = one_hot(codes, len(self.classes_))

        def entropy(p: Any, deep: Any, truth: Any) -> Any:
            scores = nn.log_softmax(xp, nn.dense(p, "out", deep))
            return -xp.mean(xp.sum(truth * scores, axis=1))

        def plain(p: Any, x: Any, truth: Any) -> Any:
            return entropy(p, nn.stack(xp, p, "embed", x, depth), truth)

        def overloaded(p: Any, x: Any, truth: Any, target: Any) -> Any:
            deep = nn.stack(xp, p, "embed", x, depth)
            apart = xp.mean(xp.sum((deep - target) ** 2, axis=1))
            classified = entropy(p, deep, truth) + entropy(p, target, truth)
            return 0.5 * classified + weight * apart

        steps = np.diff(np.linspace(0, self.max_iter, self.n_rounds + 2).astype(int))
        spread: list[float] = []
        self.n_iter_, self.loss_curve_ = 0, np.empty(0)
        with Bar("DOS", self.max_iter, self.progress) as bar:
            first = nn.Trainer(backend, p, plain, rate=self.learning_rate)
            self._steps(first, steps[0], batches(len(rows), self.batch_size, rng), bar, rows, truth)
            trainer = nn.Trainer(backend, first.p, overloaded, rate=self.learning_rate)
            for n_steps in steps[1:]:
                deep = self._embedded(trainer.p, rows)
                spread.append(within_share(deep, codes))
                targets = drawn_targets(deep, codes, self.n_neighbors, rng)
                order = batches(len(targets.rows), self.batch_size, rng)
                values = targets.values.astype(np.float32)
                pairs = (rows[targets.rows], truth[targets.rows], values)
                self._steps(trainer, n_steps, order, bar, *pairs)
        self._p = nn.double(trainer.p)
        self.spread_ = np.array([*spread, within_share(self._embedded(trainer.p, rows), codes)])
        return targets

    def _steps(self, trainer: nn.Trainer, n: int, order: Any, bar: Bar, *data: Any) -> None:
        """Train on one set of targets, for so many steps or until its loss no longer falls."""
        patience = Patience(self.n_iter_no_change, self.tol)
        for _ in range(n):
            batch = next(order)
            loss = trainer.step(*(part[batch] for part in data))
            self.n_iter_ += 1
            bar.advance(self.n_iter_)
            if patience.over(loss):
                break
        else:
            patience.judged()
        self.loss_curve_ = np.concatenate([self.loss_curve_, patience.history])

    def _embedded(self, p: nn.Parameters, rows: Any) -> Floats:
        return np.asarray(nn.stack(np, nn.double(p), "embed", np.float64(rows), self._depth))

    def transform(self, X: Any) -> Floats:
        """Return the deep features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Deep features.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._embedded(self._p, (X - self._mean) / self._scale)

    def _probabilities(self, X: Floats) -> Floats:
        deep = self._embedded(self._p, (X - self._mean) / self._scale)
        return np.asarray(nn.softmax(np, nn.dense(self._p, "out", deep)))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)


def within_share(deep: Floats, codes: Integers) -> float:
    """Return the part of the variance of embeddings that lies within the classes."""
    total = ((deep - deep.mean(axis=0)) ** 2).sum()
    own = [deep[codes == code] for code in np.unique(codes)]
    within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in own)
    return float(within / total) if total > 0 else 0.0
