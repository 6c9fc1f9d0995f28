"""GAMO: new rows as convex combinations of real ones, learnt in a game against a classifier.

Glossary
    G    generator: noise and class -> hidden space (shared) -> weights over the class's own rows
    M    classifier: row -> probability of each class
    D    discriminator: row and class -> 1 if it is a real row of the class, 0 if generated
    anchors   rows of a class that its new rows are combined from, n_i of them
    share     how many of a batch's generated rows each class has
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from counterbalance.arrays import Floats, Integers, blocks
from counterbalance.methods.base import (
    OVER_STRATEGY,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    SEED,
    PeerOverSampler,
    check_size,
    dense,
    generator,
    in_form_of,
    parameter,
    stacked,
)
from counterbalance.methods.deep import networks as nn
from counterbalance.methods.deep.training import (
    INTERVAL,
    SHARED_DOC,
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
from counterbalance.methods.neighbours import allocate

FAINT = 1e-3  # a weight below this part of the row's heaviest counts as none
CELLS = 2**22  # weights that are held in memory at a time


@dataclass(frozen=True)
class Network:
    """A trained classifier: double precision, scaled inside."""

    p: nn.Parameters
    n_hidden: int
    mean: Floats
    scale: Floats
    classes: Any

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class for each row."""
        rows = (X - self.mean) / self.scale
        return np.asarray(_classified(np, self.p, rows, self.n_hidden))


@dataclass(frozen=True)
class Game:
    """What the three players are made of and what they play on."""

    sizes: tuple[int, ...]
    generator_sizes: tuple[int, ...]
    n_noise: int
    n_classes: int
    enlarged: tuple[int, ...]  # codes of the classes that get new rows
    anchors: tuple[Singles, ...]  # scaled anchors of each of them
    share: tuple[int, ...]  # rows of each of them in a generated batch
    weight: float  # weight of generated rows beside real ones in the classifier's loss

    def generated(self, xp: Any, p: Any, noise: Any, labels: Any) -> Any:
        """Return a batch of new rows, class after class."""
        n_layers = len(self.generator_sizes)
        hidden = nn.stack(
            xp, p, "shared", xp.concatenate([noise, labels], axis=1), n_layers, normed=True
        )
        by_class = xp.split(hidden, np.cumsum(self.share)[:-1])
        parts = [
            nn.softmax(xp, nn.dense(p, f"unit{code}", own)) @ anchors
            for code, anchors, own in zip(self.enlarged, self.anchors, by_class, strict=True)
        ]
        return xp.concatenate(parts, axis=0)

    def noise(self, n: int, rng: np.random.Generator) -> Any:
        """Draw the generator's noise."""
        return rng.normal(size=(n, self.n_noise)).astype(np.float32)

    def new_players(self, n_features: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Draw the parameters of G, M and D."""
        g = nn.new_stack(
            "shared", (self.n_noise + self.n_classes, *self.generator_sizes), rng, normed=True
        )
        for code, anchors in zip(self.enlarged, self.anchors, strict=True):
            g |= nn.new_dense(f"unit{code}", self.generator_sizes[-1], len(anchors), rng)
        m = nn.new_stack("hidden", (n_features, *self.sizes), rng)
        m |= nn.new_dense("out", self.sizes[-1], self.n_classes, rng)
        d = nn.new_stack("hidden", (n_features + self.n_classes, *self.sizes), rng)
        return g, m, d | nn.new_dense("out", self.sizes[-1], 1, rng)


def _classified(xp: Any, p: Any, rows: Any, n_layers: int) -> Any:
    return nn.softmax(xp, nn.dense(p, "out", nn.stack(xp, p, "hidden", rows, n_layers)))


def _judged(xp: Any, p: Any, rows: Any, labels: Any, n_layers: int) -> Any:
    seen = nn.stack(xp, p, "hidden", xp.concatenate([rows, labels], axis=1), n_layers)
    return nn.dense(p, "out", seen)


def _squares(xp: Any, error: Any) -> Any:
    """Mean over the rows of the squared errors of a row."""
    return xp.mean(xp.sum(error**2, axis=1))


def play(  # the publication's algorithm: M, then D, then G, on every batch
    game: Game, rows: Singles, codes: Integers, settings: Any, rng: np.random.Generator
) -> tuple[nn.Parameters, nn.Parameters, Floats, int]:
    """Train the players against each other; return G, M, the losses of 50 steps each, the steps."""
    backend = nn.backend_named(settings.backend)
    xp, depth, made = backend.np, len(game.sizes), bool(game.enlarged)
    g, m, d = game.new_players(rows.shape[1], rng)

    def loss_m(p: Any, real: Any, truth: Any, new: Any, asked: Any) -> Any:
        loss = _squares(xp, truth - _classified(xp, p, real, depth))
        if made:
            loss = loss + game.weight * _squares(xp, asked - _classified(xp, p, new, depth))
        return loss

    def loss_d(p: Any, real: Any, new: Any, asked: Any) -> Any:
        return _squares(xp, 1 - _judged(xp, p, real, asked, depth)) + _squares(
            xp, _judged(xp, p, new, asked, depth)
        )

    def loss_g(p: Any, m: Any, d: Any, noise: Any, asked: Any) -> Any:
        new = game.generated(xp, p, noise, asked)
        fooled = _squares(xp, 1 - asked - _classified(xp, m, new, depth))
        return fooled + _squares(xp, 1 - _judged(xp, d, new, asked, depth))

    adam = {"rate": settings.learning_rate, "decay": 0.5}
    trainer_m, trainer_d, trainer_g = (
        nn.Trainer(backend, p, loss, **adam) for p, loss in ((m, loss_m), (d, loss_d), (g, loss_g))
    )
    labels = np.repeat(np.array(game.enlarged, dtype=np.intp), game.share)
    asked = one_hot(labels, game.n_classes)
    truth = one_hot(codes, game.n_classes)
    members = [np.flatnonzero(codes == code) for code in game.enlarged]
    generate = backend.compiled(lambda p, noise: game.generated(backend.plain, p, noise, asked))
    patience = Patience(settings.n_iter_no_change, settings.tol)
    order = batches(len(rows), settings.batch_size, rng)
    new, losses = asked, []
    with Bar("GAMO", settings.max_iter, settings.progress) as bar:
        for n_iter in range(1, settings.max_iter + 1):
            batch = next(order)
            if made:
                new = generate(trainer_g.p, game.noise(len(labels), rng))
            loss = [trainer_m.step(rows[batch], truth[batch], new, asked)]
            if made:
                alike = np.concatenate(
                    [rng.choice(own, n) for own, n in zip(members, game.share, strict=True)]
                )
                loss.append(trainer_d.step(rows[alike], new, asked))
                noise = game.noise(len(labels), rng)
                loss.append(trainer_g.step(trainer_m.p, trainer_d.p, noise, asked))
            losses.append([float(value) for value in loss] + [np.nan] * (3 - len(loss)))
            bar.advance(n_iter)
            if patience.over(loss[0]):
                break
        else:
            patience.judged()
    starts = range(0, len(losses), INTERVAL)
    means = [np.mean(losses[start : start + INTERVAL], axis=0) for start in starts]
    return trainer_g.p, nn.double(trainer_m.p), np.array(means), n_iter


def convex_weights(
    game: Game, p: nn.Parameters, wanted: list[int], rng: np.random.Generator
) -> list[sparse.csr_array]:
    """Draw the convex weights of the new rows of each class over its anchors."""
    if not wanted:
        return []
    n_layers, eye = len(game.generator_sizes), np.eye(game.n_classes)
    many = np.repeat(np.array(game.enlarged), np.maximum(np.array(game.share) * 16, 16))
    seen = np.hstack([game.noise(len(many), rng), eye[many]])
    p = nn.with_statistics(p, "shared", seen, n_layers)
    drawn = []
    for code, anchors, n_new in zip(game.enlarged, game.anchors, wanted, strict=True):
        parts = []
        for block in blocks(n_new, len(anchors), CELLS):
            n = len(range(*block.indices(n_new)))
            noise = np.hstack([game.noise(n, rng), np.repeat(eye[[code]], n, axis=0)])
            hidden = nn.stack(np, p, "shared", noise, n_layers, normed=True)
            weights = nn.softmax(np, nn.dense(p, f"unit{code}", hidden))
            weights[weights < FAINT * weights.max(axis=1, keepdims=True)] = 0
            parts.append(sparse.csr_array(weights / weights.sum(axis=1, keepdims=True)))
        drawn.append(sparse.vstack(parts, format="csr"))
    return drawn


class _Players(TrainingParameters):
    """The parameters of both faces of GAMO: of the sampler and of the classifier."""

    _shared_doc = (
        """
    n_noise : int, default=100
        Numbers that the generator draws for a row.
    generator_sizes : tuple of int, default=(256, 64)
        Layers of the generator that all classes share.
    hidden_sizes : tuple of int, default=(256, 128)
        Hidden layers of the classifier, and of the discriminator.
    max_anchors : int, default=1000
        Most rows of a class that its new rows are combined from."""
        + SHARED_DOC
    )
    sampling_strategy: Any = parameter(default="auto", rule=OVER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)
    n_noise: int = parameter(default=100, rule=POSITIVE_INTEGER)
    generator_sizes: Any = parameter(default=(256, 64), rule=SIZES)
    hidden_sizes: Any = parameter(default=(256, 128), rule=SIZES)
    max_anchors: int = parameter(default=1000, rule=POSITIVE_INTEGER)
    learning_rate: float = parameter(default=2e-4, rule=POSITIVE_REAL)
    max_iter: int = parameter(default=3000, rule=POSITIVE_INTEGER)


class GAMO(_Players, PeerOverSampler):
    """Generative adversarial minority oversampling.

    S. S. Mullick, S. Datta, S. Das, "Generative Adversarial Minority Oversampling", ICCV 2019.

    Three networks play against each other. The convex generator maps noise and a class into a
    hidden space that all classes share, and from there, by a unit of the class's own, to a
    softmax over the real rows of the class: a new row is a convex combination of real ones. The
    classifier learns from real and new rows; the generator wants it to get the new ones wrong,
    which puts them at the edge of their class. The conditional discriminator tells real rows of
    a class from new ones, which keeps the generator inside of the class. All losses are squared
    errors; real rows weigh as often as they occur and new ones as often as are missing, so that
    all classes weigh the same to the classifier.

    Of the publication its abstract, the start of its introduction and the caption of its model
    were at hand; the squared losses are written from memory of it. Our own choice is:
    the sizes of batches and networks and the number of steps for a table; that a generated batch
    holds the classes in fixed numbers, in proportion to what is asked for; that the
    discriminator sees as many real rows of a class as new ones and has no sigmoid at its end;
    batch norm in the generator only.

    Departures: images are taken as flat rows, without convolutions in front of the classifier.
    The columns are standardised for the networks; the new rows are combined from the rows as they
    are. A weight below a thousandth of the heaviest of its row is dropped, so that a new row names
    few sources. A class of more than ``max_anchors`` rows combines a seeded choice of them.

    Cost: a classifier, a discriminator and a generator are trained: more than 1,000 times the
    work of SMOTE on a small table.

    Parameters
    ----------
    %(training)s

    Attributes
    ----------
    weights_ : csr_array of shape (n_new, n_samples)
        Provenance: the new rows are ``weights_ @ X``. Weights are positive and add up to one, and
        all rows that have one are of the new row's class.
    classifier_ : GAMOClassifier
        The classifier that was trained in the game, fitted.
    losses_ : ndarray of shape (n_intervals, 3)
        Mean losses of classifier, discriminator and generator in every 50 steps; the last two are
        missing where no row was asked for.
    n_iter_ : int
        Training steps.
    """

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table = dense(X)
        classes, codes = np.unique(y, return_inverse=True)
        wanted = {
            int(np.searchsorted(classes, label)): n
            for label, n in self.sampling_strategy_.items()
            if n > 0
        }
        positions = [self._anchors(table, codes, code, classes[code], rng) for code in wanted]
        mean, scale = scaling(table)
        rows = scaled(table, mean, scale)
        sizes = np.array(list(wanted.values()), dtype=float)
        game = Game(
            checked_sizes("hidden_sizes", self.hidden_sizes),
            checked_sizes("generator_sizes", self.generator_sizes),
            self.n_noise,
            len(classes),
            tuple(wanted),
            tuple(rows[own] for own in positions),
            tuple(np.maximum(allocate(sizes, self.batch_size), 1)),
            sum(wanted.values()) / len(rows),
        )
        maker, classifier, self.losses_, self.n_iter_ = play(game, rows, codes, self, rng)
        self.network_ = Network(classifier, len(game.sizes), mean, scale, classes)
        parts = convex_weights(game, maker, list(wanted.values()), rng)
        self.weights_ = sparse.csr_array((0, len(table)))
        new = table[:0]
        if wanted:
            spread = [
                sparse.csr_array(
                    (part.data, own[part.indices], part.indptr), shape=(part.shape[0], len(table))
                )
                for part, own in zip(parts, positions, strict=True)
            ]
            self.weights_ = sparse.vstack(spread, format="csr")
            self.weights_.sort_indices()
            new = np.asarray(self.weights_ @ table)
        labels = np.repeat(classes[list(wanted)], list(wanted.values()))
        return stacked(X, in_form_of(X, new)), np.concatenate([y, labels.astype(y.dtype)])

    def _anchors(
        self, table: Floats, codes: Integers, code: int, label: Any, rng: np.random.Generator
    ) -> Integers:
        own = np.flatnonzero(codes == code)
        check_size("GAMO", label, len(own), 2)
        if (table[own] == table[own[0]]).all():
            self._warn(
                f"all {len(own)} rows of class {label} are the same",
                "the new rows are copies of them",
            )
        if len(own) > self.max_anchors:
            own = np.sort(rng.choice(own, self.max_anchors, replace=False))
        return own

    @property
    def classifier_(self) -> GAMOClassifier:
        """The classifier of the game, fitted."""
        check_is_fitted(self, "network_")
        fitted = GAMOClassifier(**self.get_params(deep=False))
        fitted.network_, fitted.classes_ = self.network_, self.network_.classes
        fitted.n_iter_, fitted.n_features_in_ = self.n_iter_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            fitted.feature_names_in_ = self.feature_names_in_
        return fitted


class GAMOClassifier(_Players, NetworkClassifier, ClassifierMixin, BaseEstimator):
    """The classifier of generative adversarial minority oversampling.

    Trained in the game that :class:`GAMO` describes, with its parameters; ``sampler_`` holds the
    sampler of the same game, with the provenance of the rows that it made.

    Parameters
    ----------
    %(training)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    sampler_ : GAMO
        The sampler of the game.
    n_iter_ : int
        Training steps.
    """

    def fit(self, X: Any, y: Any) -> GAMOClassifier:
        """Play the game.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        GAMOClassifier
            The fitted classifier.
        """
        X, y = checked_rows(self, X, y)
        self.sampler_ = GAMO(**self.get_params(deep=False))
        self.sampler_.fit_resample(X, y)
        self.network_, self.n_iter_ = self.sampler_.network_, self.sampler_.n_iter_
        self.classes_ = self.network_.classes
        return self

    def _probabilities(self, X: Floats) -> Floats:
        return self.network_.probabilities(X)
