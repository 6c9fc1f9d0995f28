"""The game of GAMO: a convex generator, the classifier it must fool, a conditional discriminator.

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

from counterbalance.arrays import Floats, Integers, blocks
from counterbalance.methods.deep import networks as nn
from counterbalance.methods.deep.training import INTERVAL, Bar, Patience, Singles, batches, one_hot

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

    def labels(self) -> Integers:
        """Return the class of each row of a generated batch."""
        return np.repeat(np.array(self.enlarged, dtype=np.intp), self.share)

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


@dataclass(frozen=True)
class Trained:
    """The players after the game."""

    generator: nn.Parameters
    classifier: nn.Parameters
    n_iter: int
    losses: Floats
    """Mean losses of classifier, discriminator and generator, a line for every 50 steps."""


def play(  # the publication's algorithm: M, then D, then G, on every batch
    game: Game, rows: Singles, codes: Integers, settings: Any, rng: np.random.Generator
) -> Trained:
    """Train the three players against each other."""
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
    labels = game.labels()
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
    return Trained(trainer_g.p, nn.double(trainer_m.p), n_iter, _by_interval(losses))


def _by_interval(losses: list[list[float]]) -> Floats:
    cut = range(0, len(losses), INTERVAL)
    return np.array([np.mean(losses[start : start + INTERVAL], axis=0) for start in cut])


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
