"""GAMO: new rows as convex combinations of real ones, learnt against a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from counterbalance.methods.base import (
    PeerOverSampler,
    check_size,
    dense,
    generator,
    in_form_of,
    stacked,
    warn_fallback,
)
from counterbalance.methods.deep.convex_game import Game, Network, convex_weights, play
from counterbalance.methods.deep.training import (
    SIZES,
    NetworkClassifier,
    TrainingParameters,
    checked_rows,
    checked_sizes,
    scaled,
    scaling,
)
from counterbalance.methods.neighbours import allocate
from counterbalance.methods.parameters import (
    OVER_STRATEGY,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    SEED,
    parameter,
)

if TYPE_CHECKING:
    from counterbalance.arrays import Floats, Integers


class _Players(TrainingParameters):
    """The parameters of both faces of GAMO: of the sampler and of the classifier."""

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
    n_noise : int, default=100
        Numbers that the generator draws for a row.
    generator_sizes : tuple of int, default=(256, 64)
        Layers of the generator that all classes share.
    hidden_sizes : tuple of int, default=(256, 128)
        Hidden layers of the classifier, and of the discriminator.
    max_anchors : int, default=1000
        Most rows of a class that its new rows are combined from.
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
        game = Game(
            checked_sizes("hidden_sizes", self.hidden_sizes),
            checked_sizes("generator_sizes", self.generator_sizes),
            self.n_noise,
            len(classes),
            tuple(wanted),
            tuple(rows[own] for own in positions),
            self._share(list(wanted.values())),
            sum(wanted.values()) / len(rows),
        )
        trained = play(game, rows, codes, self, rng)
        self.network_ = Network(trained.classifier, len(game.sizes), mean, scale, classes)
        self.n_iter_, self.losses_ = trained.n_iter, trained.losses
        parts = convex_weights(game, trained.generator, list(wanted.values()), rng)
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
            warn_fallback(
                "GAMO",
                f"all {len(own)} rows of class {label} are the same",
                "the new rows are copies of them",
            )
        if len(own) > self.max_anchors:
            own = np.sort(rng.choice(own, self.max_anchors, replace=False))
        return own

    def _share(self, wanted: list[int]) -> tuple[int, ...]:
        if not wanted:
            return ()
        return tuple(np.maximum(allocate(np.array(wanted, dtype=float), self.batch_size), 1))

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
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_noise : int, default=100
        Numbers that the generator draws for a row.
    generator_sizes : tuple of int, default=(256, 64)
        Layers of the generator that all classes share.
    hidden_sizes : tuple of int, default=(256, 128)
        Hidden layers of the classifier, and of the discriminator.
    max_anchors : int, default=1000
        Most rows of a class that its new rows are combined from.
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
