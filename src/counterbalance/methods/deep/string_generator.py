"""The generator of new strings of a class, its critic, what is drawn; columns of strings.

Glossary
    codes   (n, L)     characters as numbers; 0 is the end of a string and what follows it
    hot     (n, L, V)  the same as indicators; nothing stands behind the first end
    known   (n, L)     1 up to and with the first end, 0 behind it
    V, L, C            characters with the end, places with the end, channels

The generator is causal: the probabilities of a place depend on the characters before it. So a
string's likelihood is one pass, and a string is drawn character by character.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.deep import networks as nn
from counterbalance.methods.deep.training import Bar, Patience, Singles, batches

INTERVAL = 25  # steps between two looks at the strings held out
WIDTH = 5  # places that a convolution sees
DILATIONS = (1, 2, 4)  # of the generator's layers: 29 characters back
LEAST_TO_HOLD_OUT = 20  # strings below which all are trained on
WORSE = 1.05  # times the best loss of a character, at which the game against the critic ends
ONE_COLUMN = (
    "give the column itself, such as frame['url'], frame[['url']] or an array of shape (n,)"
)
STEEPEST = 3.0  # a critic's score beyond this counts as this


@dataclass(frozen=True)
class Alphabet:
    """The characters of a class's strings, and the room they take."""

    letters: str
    length: int  # places of the longest string, with its end

    @property
    def size(self) -> int:
        """Characters and the end."""
        return len(self.letters) + 1

    def encoded(self, texts: list[str]) -> Integers:
        """Write strings as numbers."""
        number = {letter: i for i, letter in enumerate(self.letters, start=1)}
        codes = np.zeros((len(texts), self.length), dtype=np.intp)
        for row, text in zip(codes, texts, strict=True):
            row[: len(text)] = [number[letter] for letter in text]
        return codes

    def decoded(self, codes: Integers) -> list[str | None]:
        """Read strings; one without an end is None."""
        texts: list[str | None] = []
        for row in codes:
            ends = np.flatnonzero(row == 0)
            cut = row[: ends[0]] if len(ends) else None
            texts.append(None if cut is None else "".join(self.letters[c - 1] for c in cut))
        return texts


def known_places(codes: Integers) -> Singles:
    """Mark the places up to and with the first end."""
    before = np.cumsum(codes == 0, axis=1) - (codes == 0)
    known: Singles = (before == 0).astype(np.float32)
    return known


def indicators(codes: Integers, size: int) -> Singles:
    """Give the indicators of the known places."""
    return np.eye(size, dtype=np.float32)[codes] * known_places(codes)[..., None]


def shifted(hot: Singles, dropout: float = 0.0, rng: np.random.Generator | None = None) -> Singles:
    """Give what the generator has seen at each place: the character before it, unless dropped."""
    seen = np.zeros_like(hot)
    seen[:, 1:] = hot[:, :-1]
    if rng is not None and dropout > 0:
        seen *= rng.random(size=(*seen.shape[:2], 1)) >= dropout
    return seen


def new_generator(size: int, channels: int, rng: np.random.Generator) -> nn.Parameters:
    """Draw the weights of a gated causal convolutional generator."""
    p = nn.new_dense("embed", size, channels, rng)
    for i in range(len(DILATIONS)):
        p |= nn.new_convolution(f"layer{i}", WIDTH, channels, 2 * channels, rng)
    return p | nn.new_dense("out", channels, size, rng)


def log_likelihoods(xp: Any, p: Any, seen: Any) -> Any:
    """Log-probability of every character at every place, given those before."""
    x = nn.dense(p, "embed", seen)
    for i, dilation in enumerate(DILATIONS):
        x = x + nn.gated(xp, nn.convolution(xp, p, f"layer{i}", x, dilation=dilation, causal=True))
    return nn.log_softmax(xp, nn.dense(p, "out", nn.leaky_relu(xp, x)))


def new_critic(size: int, channels: int, rng: np.random.Generator) -> nn.Parameters:
    """Draw the weights of a convolutional critic."""
    p = nn.new_convolution("first", WIDTH, size, channels, rng)
    p |= nn.new_convolution("second", WIDTH, channels, channels, rng)
    return p | nn.new_dense("out", channels, 1, rng)


def scores(xp: Any, p: Any, hot: Any) -> Any:
    """Log-odds that a string is real: two convolutions, the mean over the places, a dense layer."""
    x = nn.leaky_relu(xp, nn.convolution(xp, p, "first", hot))
    x = nn.leaky_relu(xp, nn.convolution(xp, p, "second", x, dilation=2))
    return nn.dense(p, "out", xp.mean(x, axis=1))[:, 0]


def drawn_codes(p: Any, n: int, length: int, temperature: float, rng: np.random.Generator) -> Any:
    """Draw strings character by character; each layer remembers what it has seen."""
    p = {name: np.asarray(value, dtype=np.float32) for name, value in p.items()}
    channels = p["embed.weight"].shape[1]
    memory = [np.zeros((n, length + (WIDTH - 1) * d, channels), np.float32) for d in DILATIONS]
    codes = np.zeros((n, length), dtype=np.intp)
    going = np.ones(n, dtype=bool)
    x = np.repeat(p["embed.bias"][None], n, axis=0)  # nothing comes before the first character
    for place in range(length):
        for i, (past, dilation) in enumerate(zip(memory, DILATIONS, strict=True)):
            past[:, place + (WIDTH - 1) * dilation] = x
            window = past[:, place : place + (WIDTH - 1) * dilation + 1 : dilation]
            x = x + nn.gated(np, nn.dense(p, f"layer{i}", window.reshape(n, -1)))
        logits = nn.dense(p, "out", nn.leaky_relu(np, x)) / np.float32(temperature)
        reached = np.cumsum(nn.softmax(np, logits.astype(np.float64)), axis=1)
        # the last one may stay below 1 by rounding
        drawn = (reached[:, :-1] < rng.random(n)[:, None]).sum(axis=1)
        codes[:, place] = np.where(going, drawn, 0)
        going &= codes[:, place] > 0
        if not going.any():
            break
        x = p["embed.weight"][codes[:, place]] + p["embed.bias"]
    if going.any():
        codes[going, -1] = np.maximum(codes[going, -1], 1)
    return codes


@dataclass(frozen=True)
class TrainedGenerator:
    """A generator after its training."""

    p: nn.Parameters
    alphabet: Alphabet
    n_pretrain: int
    n_iter: int
    likelihood: Floats
    """Mean loss of a character, on strings held out if there are enough, every 25 steps."""
    critic_losses: Floats


def trained_generator(
    texts: list[str], settings: Any, rng: np.random.Generator
) -> TrainedGenerator:
    """Train by likelihood first, then against the critic."""
    training = _Training(texts, settings, rng)
    total = settings.pretrain_iter + settings.max_iter
    with Bar("text-GAN", total, settings.progress) as bar:
        n_pretrain = training.by_likelihood(bar)
        critic_losses = training.against_the_critic(bar)
    return TrainedGenerator(
        nn.single(training.generator.p),
        training.alphabet,
        n_pretrain,
        len(critic_losses),
        np.array([*training.patience.history, training.loss_of_a_character()]),
        critic_losses,
    )


class _Training:
    """A generator and its critic in training on the strings of a class."""

    def __init__(self, texts: list[str], settings: Any, rng: np.random.Generator) -> None:
        backend = nn.backend_named(settings.backend)
        xp = backend.np
        self.alphabet = Alphabet("".join(sorted(set("".join(texts)))), max(map(len, texts)) + 1)
        self._settings, self._rng = settings, rng
        codes = self.alphabet.encoded(texts)
        order = rng.permutation(len(codes))
        n_out = len(codes) // 10 if len(codes) >= LEAST_TO_HOLD_OUT else 0
        self._kept = codes[order[n_out:]]
        self._judged = codes[order[:n_out]] if n_out else self._kept

        def loss(p: Any, hot: Any, seen: Any, weight: Any) -> Any:
            likely = xp.sum(hot * log_likelihoods(xp, p, seen), axis=2)
            return -xp.sum(weight * likely)

        def critic_loss(p: Any, real: Any, made: Any) -> Any:
            # log(1 + exp(-s)) for real strings, log(1 + exp(s)) for made ones
            return xp.mean(xp.logaddexp(0.0, -scores(xp, p, real))) + xp.mean(
                xp.logaddexp(0.0, scores(xp, p, made))
            )

        sizes = (self.alphabet.size, settings.n_channels)
        rate = settings.learning_rate
        self.generator = nn.Trainer(backend, new_generator(*sizes, rng), loss, rate=rate)
        self._critic = nn.Trainer(backend, new_critic(*sizes, rng), critic_loss, rate=rate)
        self.patience = Patience(settings.n_iter_no_change, settings.tol)
        self._stream = batches(len(self._kept), settings.batch_size, rng)

    def loss_of_a_character(self) -> float:
        """Return the mean loss of a character of the strings held out."""
        hot = indicators(self._judged, self.alphabet.size)
        likely = (hot * log_likelihoods(np, nn.single(self.generator.p), shifted(hot))).sum()
        return float(-likely / known_places(self._judged).sum())

    def by_likelihood(self, bar: Bar) -> int:
        """Train on real strings until those held out become less likely; return the steps."""
        best, most = self.generator.p, self._settings.pretrain_iter
        for step in range(1, most + 1):
            real = self._kept[next(self._stream)]
            places = known_places(real)
            self._step(indicators(real, self.alphabet.size), places / places.sum())
            bar.advance(step)
            if step % INTERVAL == 0 or step == most:
                over = self.patience.spent(self.loss_of_a_character())
                if self.patience.history[-1] <= min(self.patience.history):
                    best = self.generator.p
                if over:
                    break
        self.generator.p = best
        return step

    def against_the_critic(self, bar: Bar) -> Floats:
        """Train on real strings and on those that the critic takes for real; return its losses."""
        best, losses = self.generator.p, []
        for step in range(1, self._settings.max_iter + 1):
            real = self._kept[next(self._stream)]
            made = drawn_codes(self.generator.p, len(real), self.alphabet.length, 1.0, self._rng)
            hot_real, hot_made = (indicators(codes, self.alphabet.size) for codes in (real, made))
            losses.append(float(self._critic.step(hot_real, hot_made)))
            odds = scores(np, nn.single(self._critic.p), hot_made)
            odds = np.exp(np.clip(odds, -STEEPEST, STEEPEST))
            # a made string counts by how much more real it seems than the others of its batch
            gain = (odds / odds.sum() - 1 / len(odds))[:, None]
            places, ours = known_places(real), known_places(made)
            weight = self._settings.critic_weight * gain * ours * len(ours) / ours.sum()
            self._step(
                np.concatenate([hot_real, hot_made]),
                np.concatenate([places / places.sum(), weight]).astype(np.float32),
            )
            bar.advance(self._settings.pretrain_iter + step)
            if step % INTERVAL == 0:
                if self.loss_of_a_character() > WORSE * min(self.patience.history):
                    self.generator.p = best
                    break
                best = self.generator.p
        return np.array(losses)

    def _step(self, hot: Singles, weight: Any) -> None:
        seen = shifted(hot, self._settings.dropout, self._rng)
        self.generator.step(hot, seen, weight)


@dataclass
class StringCounts:
    """What became of the strings that were drawn for a class."""

    drawn: int = 0
    unfinished: int = 0  # had no end within the length of the longest real one
    invalid: int = 0  # refused by ``valid``
    copies: int = 0  # were strings of the table already
    duplicates: int = 0  # had been drawn before
    new: int = 0  # distinct, valid, and not in the table
    repeated: int = 0  # taken a second time to reach the number that was asked for

    def shares(self) -> dict[str, float]:
        """Return each count over the drawn strings."""
        return {name: n / max(self.drawn, 1) for name, n in asdict(self).items() if name != "drawn"}


def new_strings(
    trained: TrainedGenerator, n: int, real: set[str], settings: Any, rng: np.random.Generator
) -> tuple[list[str], StringCounts]:
    """Draw until there are ``n`` distinct new valid strings, or ``max_draws`` for each."""
    counts = StringCounts()
    found: dict[str, None] = {}
    valid = settings.validity()
    while counts.new < n and counts.drawn < n * settings.max_draws:
        size = min(max(2 * (n - counts.new), 32), 1024, n * settings.max_draws - counts.drawn)
        codes = drawn_codes(trained.p, size, trained.alphabet.length, settings.temperature, rng)
        for text in trained.alphabet.decoded(codes):
            counts.drawn += 1
            if text is None:
                counts.unfinished += 1
            elif text in found:
                counts.duplicates += 1
            elif text in real:
                counts.copies += 1
            elif not valid(text):
                counts.invalid += 1
            else:
                found[text] = None
                counts.new += 1
                if counts.new == n:
                    break
    return list(found), counts


def column_of_strings(X: Any) -> list[str]:
    """Return the strings of a list, an array, a Series or a frame of one column."""
    if hasattr(X, "columns"):
        if len(X.columns) != 1:
            raise TableError(
                f"X must be one column of strings, it has {len(X.columns)}; {ONE_COLUMN}"
            )
        X = X[X.columns[0]]
    if hasattr(X, "toarray"):
        raise TableError(f"X must be one column of strings, it is sparse; {ONE_COLUMN}")
    values = np.array(X.to_list() if hasattr(X, "to_list") else X, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:  # noqa: PLR2004  # a column
        values = values[:, 0]
    if values.ndim != 1:
        raise TableError(
            f"X must be one column of strings, it has the shape {values.shape}; {ONE_COLUMN}"
        )
    for row, value in enumerate(values):
        if not isinstance(value, str):
            missing = value is None or value != value  # noqa: PLR0124  # nan is not itself
            what = "is missing" if missing else f"is {value!r}, a {type(value).__name__}"
            remedy = "drop such rows" if missing else ONE_COLUMN
            raise TableError(f"X must hold strings, row {row} {what}; {remedy}")
    return list(values)


def in_container_of(given: Any, values: list[Any]) -> Any:
    """Put values into the container that was given: its type, its names, its kind of values."""
    if hasattr(given, "columns"):
        name = given.columns[0]
        return type(given)({name: in_container_of(given[name], values)})
    module = type(given).__module__.partition(".")[0]
    if module == "pandas":
        return type(given)(values, dtype=given.dtype, name=given.name)
    if module == "polars":
        return type(given)(given.name, values, dtype=given.dtype)
    if not isinstance(given, np.ndarray):
        return values
    kind = None if given.dtype.kind == "U" else given.dtype
    array = np.array(values, dtype=kind)
    return array.reshape(-1, 1) if given.ndim == 2 else array  # noqa: PLR2004  # a column
