"""GAMO: new rows as convex combinations of real ones, trained against a classifier.

Glossary
    G    generator: noise and class -> hidden space (shared) -> weights over the class's own rows
    M    classifier: row -> probability of each class
    D    discriminator: row and class -> 1 if it is a real row of the class, 0 if generated
    anchors   by class code: the rows that new ones of the class are combined from
    share     how many of a batch's generated rows each class has
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from counterbalance.arrays import Floats, Integers, Mask, Rng, blocks
from counterbalance.methods.base import (
    OVER_CONSTRAINTS,
    OneVsRestOverSampler,
    check_size,
    dense,
    generator,
    shared_doc,
)
from counterbalance.methods.deep import networks as nn
from counterbalance.methods.neighbours import allocate
from counterbalance.sklearn_private import Interval

FAINT = 1e-3  # a weight below this part of the largest of its row counts as none
CELLS = 2**22  # weights that are held in memory at a time


def generated(p: Any, noise: Any, labels: Any, anchors: dict[int, Any], share: Integers) -> Any:
    """Return a batch of new rows by G, class after class."""
    hidden = nn.stack(p, "shared", nn.anp.concatenate([noise, labels], axis=1))
    by_class = nn.anp.split(hidden, np.cumsum(share)[:-1])
    parts = [
        nn.softmax(nn.dense(p, f"unit{code}", own)) @ rows
        for (code, rows), own in zip(anchors.items(), by_class, strict=True)
    ]
    return nn.anp.concatenate(parts, axis=0)


def classified(p: Any, rows: Any) -> Any:
    """Return the probability of each class by M."""
    return nn.softmax(nn.dense(p, "out", nn.stack(p, "hidden", rows)))


def discriminated(p: Any, rows: Any, labels: Any) -> Any:
    """Return the output of D for rows of these classes."""
    return nn.dense(p, "out", nn.stack(p, "hidden", nn.anp.concatenate([rows, labels], axis=1)))


def squares(error: Any) -> Any:
    """Return the mean over the rows of the squared errors of a row."""
    return nn.anp.mean(nn.anp.sum(error**2, axis=1))


@shared_doc
class GAMO(OneVsRestOverSampler):
    """Generative adversarial minority oversampling.

    S. S. Mullick, S. Datta, S. Das, "Generative Adversarial Minority Oversampling", ICCV 2019.

    Three networks are trained against each other. The convex generator maps noise and a class
    into a hidden space that all classes share, and from there, by a unit of the class's own, to a
    softmax over the real rows of the class: a new row is a convex combination of real ones. The
    classifier learns from real and new rows. The generator is trained so that the classifier
    misclassifies the new rows, which puts them at the edge of their class. The conditional
    discriminator separates real rows of a class from new ones, which keeps the generator inside
    the class. All losses are squared errors. The weight of real rows is their number, that of new
    rows the number that is missing, so that all classes have the same weight in the classifier.

    Only the abstract, the start of the introduction and the caption of the model were available
    of the publication; the squared losses are written from memory. Our own choices are: the sizes
    of batches and networks and the number of steps; that a generated batch holds the classes in
    fixed numbers, in proportion to the requested numbers; that the discriminator gets as many real
    rows of a class as new ones and has no final sigmoid; batch norm in the generator only.

    Departures: images are taken as flat rows, without convolutions in front of the classifier.
    The columns are standardised for the networks; the new rows are combined from the rows as they
    are. A weight below a thousandth of the largest of its row is dropped, so that a new row names
    few sources. A class of more than ``max_anchors`` rows combines a seeded choice of them. Slow:
    more than 1,000 times the work of SMOTE on a small table.

    Parameters
    ----------
    {common_parameters}
    n_noise : int, default=100
        Numbers that the generator draws for a row.
    generator_sizes : tuple of int, default=(256, 64)
        Layers of the generator that all classes share.
    hidden_sizes : tuple of int, default=(256, 128)
        Hidden layers of the classifier, and of the discriminator.
    max_anchors : int, default=1000
        Most rows of a class that its new rows are combined from.
    learning_rate : float, default=2e-4
        Step of the optimiser Adam.
    batch_size : int, default=64
        Rows of one training step.
    max_iter : int, default=3000
        Most training steps.
    tol : float, default=1e-4
        A loss that falls by less counts as not falling.
    n_iter_no_change : int or None, default=10
        Training stops after so many times 50 steps without a lower loss of the classifier;
        ``None`` never stops it early.

    Attributes
    ----------
    weights_ : csr_array of shape (n_new, n_samples)
        Provenance: the new rows are ``weights_ @ X``. Weights are positive and add up to one, and
        all rows that have one are of the new row's class.
    losses_ : ndarray of shape (n_intervals, 3)
        Mean losses of classifier, discriminator and generator in every 50 steps; the last two are
        missing if no row was requested.
    n_iter_ : int
        Training steps.

    See Also
    --------
    GAMOClassifier : The classifier that is trained with it.
    """

    _parameter_constraints = (
        OVER_CONSTRAINTS
        | nn.CONSTRAINTS
        | {
            "n_noise": [Interval(Integral, 1, None, closed="left")],
            "generator_sizes": [tuple, list],
            "hidden_sizes": [tuple, list],
            "max_anchors": [Interval(Integral, 1, None, closed="left")],
        }
    )

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_noise: int = 100,
        generator_sizes: Sequence[int] = (256, 64),
        hidden_sizes: Sequence[int] = (256, 128),
        max_anchors: int = 1000,
        learning_rate: float = 2e-4,
        batch_size: int = 64,
        max_iter: int = 3000,
        tol: float = 1e-4,
        n_iter_no_change: int | None = 10,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_noise = n_noise
        self.generator_sizes = generator_sizes
        self.hidden_sizes = hidden_sizes
        self.max_anchors = max_anchors
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng, table = generator(self.random_state), dense(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        wanted = {label: n for label, n in self.sampling_strategy_.items() if n > 0}
        sources = {
            int(np.searchsorted(self.classes_, label)): self._sources(table, y == label, label, rng)
            for label in wanted
        }
        rows, self._mean, self._scale = nn.scaled(table)
        anchors = {code: rows[own] for code, own in sources.items()}
        n_new = np.array(list(wanted.values()), dtype=np.intp)
        share = np.maximum(allocate(n_new, self.batch_size), 1)
        p = self._train(rows, codes, anchors, share, n_new.sum() / len(rows), rng)
        self.weights_ = sparse.csr_array((0, len(table)))
        if wanted:
            self.weights_ = self._convex_weights(p, sources, n_new, share, len(table), rng)
        new = np.asarray(self.weights_ @ table)
        labels = np.repeat(self.classes_[list(sources)], n_new).astype(y.dtype)
        return self._in_form_of(X, np.vstack([table, new])), np.concatenate([y, labels])

    def _sources(self, table: Floats, ours: Mask, label: Any, rng: Rng) -> Integers:
        """Return the positions of the rows that new ones of a class are combined from."""
        own = np.flatnonzero(ours)
        check_size("GAMO", label, len(own), 2)
        self._all_the_same(table[own], label)
        if len(own) > self.max_anchors:
            own = np.sort(rng.choice(own, self.max_anchors, replace=False))
        return own

    def _train(  # the publication's algorithm: M, then D, then G, on every batch
        self,
        rows: nn.Singles,
        codes: Integers,
        anchors: dict[int, nn.Singles],
        share: Integers,
        weight: float,
        rng: Rng,
    ) -> nn.Parameters:
        """Train the networks against each other; return the parameters of G."""
        (n_rows, n_features), n_classes = rows.shape, len(self.classes_)
        sizes = nn.checked_sizes("hidden_sizes", self.hidden_sizes)
        shared = nn.checked_sizes("generator_sizes", self.generator_sizes)
        p_g = nn.new_stack("shared", (self.n_noise + n_classes, *shared), rng, normed=True)
        for code, own in anchors.items():
            p_g |= nn.new_dense(f"unit{code}", shared[-1], len(own), rng)
        p_m = nn.new_stack("hidden", (n_features, *sizes), rng)
        p_m |= nn.new_dense("out", sizes[-1], n_classes, rng)
        p_d = nn.new_stack("hidden", (n_features + n_classes, *sizes), rng)
        p_d |= nn.new_dense("out", sizes[-1], 1, rng)

        def loss_m(p: Any, real: Any, truth: Any, new: Any, wanted: Any) -> Any:
            loss = squares(truth - classified(p, real))
            return loss + weight * squares(wanted - classified(p, new)) if anchors else loss

        def loss_d(p: Any, real: Any, new: Any, wanted: Any) -> Any:
            real_loss = squares(1 - discriminated(p, real, wanted))
            return real_loss + squares(discriminated(p, new, wanted))

        def loss_g(p: Any, m: Any, d: Any, noise: Any, wanted: Any) -> Any:
            new = generated(p, noise, wanted, anchors, share)
            fooled = squares(1 - wanted - classified(m, new))
            return fooled + squares(1 - discriminated(d, new, wanted))

        trainer = partial(nn.Trainer, rate=self.learning_rate, decay=0.5)
        m, d, g = trainer(p_m, loss_m), trainer(p_d, loss_d), trainer(p_g, loss_g)
        truth = nn.one_hot(codes, n_classes)
        wanted = nn.one_hot(np.repeat(np.array(list(anchors), dtype=int), share), n_classes)
        members = [np.flatnonzero(codes == code) for code in anchors]
        order = nn.batches(n_rows, self.batch_size, rng)

        def step() -> list[float]:
            batch = next(order)
            if not anchors:
                return [float(m.step(rows[batch], truth[batch], wanted, wanted)), np.nan, np.nan]
            new = generated(g.p, self._noise(len(wanted), rng), wanted, anchors, share)
            loss_m = m.step(rows[batch], truth[batch], new, wanted)
            drawn = [rng.choice(own, n) for own, n in zip(members, share, strict=True)]
            loss_d = d.step(rows[np.concatenate(drawn)], new, wanted)
            loss_g = g.step(m.p, d.p, self._noise(len(wanted), rng), wanted)
            return [float(loss_m), float(loss_d), float(loss_g)]

        early = (self.n_iter_no_change, self.tol)
        self.n_iter_, self.losses_ = nn.train(step, self.max_iter, *early)
        self._classifier = nn.double(m.p)
        return g.p

    def _noise(self, n: int, rng: Rng) -> nn.Singles:
        return rng.normal(size=(n, self.n_noise)).astype(np.float32)

    def _convex_weights(
        self,
        p: nn.Parameters,
        sources: dict[int, Integers],
        n_new: Integers,
        share: Integers,
        n_rows: int,
        rng: Rng,
    ) -> Any:
        """Draw the weights of the new rows over all rows of the table."""
        eye, many = np.eye(len(self.classes_)), np.repeat(list(sources), share * 16)
        p = nn.with_statistics(p, "shared", np.hstack([self._noise(len(many), rng), eye[many]]))
        parts = []
        for (code, own), n in zip(sources.items(), n_new.tolist(), strict=True):
            for block in blocks(n, len(own), CELLS):
                labels = np.repeat(eye[[code]], n, axis=0)[block]
                noise = np.hstack([self._noise(len(labels), rng), labels])
                weights = nn.softmax(nn.dense(p, f"unit{code}", nn.stack(p, "shared", noise)))
                weights[weights < FAINT * weights.max(axis=1, keepdims=True)] = 0
                kept = sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))
                places = (kept.data, own[kept.indices], kept.indptr)
                parts.append(sparse.csr_array(places, shape=(len(labels), n_rows)))
        return sparse.vstack(parts, format="csr")

    def _probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class for each row by M."""
        return np.asarray(classified(self._classifier, (X - self._mean) / self._scale))


class GAMOClassifier(nn.NetworkClassifier, ClassifierMixin, BaseEstimator):
    """The classifier of generative adversarial minority oversampling.

    It is trained as :class:`GAMO` describes.

    Parameters
    ----------
    sampler : GAMO or None, default=None
        The sampler that it is trained with; ``None`` is ``GAMO()``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    sampler_ : GAMO
        The fitted sampler, with the provenance of the rows that it made.
    n_iter_ : int
        Training steps.
    """

    _parameter_constraints = {"sampler": [GAMO, None]}  # noqa: RUF012  # scikit-learn's way

    def __init__(self, sampler: GAMO | None = None) -> None:
        self.sampler = sampler

    def fit(self, X: Any, y: Any) -> GAMOClassifier:
        """Train sampler and classifier on rows X of classes y."""
        X, y = nn.checked_rows(self, X, y)
        self.sampler_ = GAMO() if self.sampler is None else clone(self.sampler)
        self.sampler_.fit_resample(X, y)
        self.classes_, self.n_iter_ = self.sampler_.classes_, self.sampler_.n_iter_
        return self

    def _probabilities(self, X: Floats) -> Floats:
        return self.sampler_._probabilities(X)  # noqa: SLF001  # the two are one system
