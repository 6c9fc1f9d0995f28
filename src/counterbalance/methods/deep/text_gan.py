"""Text-GAN: oversampling in data space, on a column of strings such as URLs.

Glossary
    codes   (n, L)     characters as numbers; 0 is the end of a string and what follows it
    hot     (n, L, V)  the same as indicators; nothing stands behind the first end
    known   (n, L)     1 up to and with the first end, 0 behind it
    V, L, C            characters with the end, places with the end, channels

The generator is causal: the probabilities of a place depend on the characters before it. So a
string's likelihood is one pass, and a string is drawn character by character.
"""

import re
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_target_type
from sklearn.utils.validation import check_consistent_length, column_or_1d

from counterbalance.arrays import Integers, Rng
from counterbalance.errors import TableError
from counterbalance.methods.base import (
    OVER_CONSTRAINTS,
    check_size,
    generator,
    shared_doc,
    warn_fallback,
)
from counterbalance.methods.deep import networks as nn
from counterbalance.sklearn_private import Interval, StrOptions

LEAST = 10  # strings of a class below which a generator only repeats them
ONE_COLUMN = "give the column itself, such as frame['url'] or an array of shape (n,)"
INTERVAL = 25  # steps between two looks at the strings held out
WIDTH = 5  # places that a convolution sees
DILATIONS = (1, 2, 4)  # of the generator's layers: 29 characters back
LEAST_TO_HOLD_OUT = 20  # strings below which all are trained on
WORSE = 1.05  # times the best loss of a character, at which the game against the critic ends
STEEPEST = 3.0  # a critic's score beyond this counts as this


def encoded(texts: list[str]) -> tuple[Integers, Any]:
    """Return strings as numbers, and the characters that the numbers stand for."""
    length = max(map(len, texts)) + 1
    # numpy fills a string up with zeros
    points = np.array(texts, dtype=f"U{length}").view(np.uint32).reshape(-1, length)
    letters, codes = np.unique(points, return_inverse=True)
    return codes.reshape(points.shape), letters


def decoded(codes: Integers, letters: Any) -> list[str | None]:
    """Return numbers as strings; one without an end is None."""
    texts = letters[codes].view(f"U{codes.shape[1]}").ravel().tolist()
    ends = (codes[:, -1] == 0).tolist()
    return [text if ended else None for text, ended in zip(texts, ends, strict=True)]


def known_places(codes: Integers) -> nn.Singles:
    """Mark the places up to and with the first end."""
    before = np.cumsum(codes == 0, axis=1) - (codes == 0)
    return np.asarray((before == 0).astype(np.float32))


def indicators(codes: Integers, size: int) -> nn.Singles:
    """Return the indicators of the known places."""
    return np.eye(size, dtype=np.float32)[codes] * known_places(codes)[..., None]


def shifted(hot: nn.Singles) -> nn.Singles:
    """Return what the generator has seen at each place: the character before it."""
    seen = np.zeros_like(hot)
    seen[:, 1:] = hot[:, :-1]
    return seen


def new_generator(size: int, channels: int, rng: Rng) -> nn.Parameters:
    """Draw the weights of a gated causal convolutional generator."""
    p = nn.new_dense("embed", size, channels, rng)
    for i in range(len(DILATIONS)):
        p |= nn.new_dense(f"layer{i}", WIDTH * channels, 2 * channels, rng)
    return p | nn.new_dense("out", channels, size, rng)


def log_likelihoods(p: Any, seen: Any) -> Any:
    """Return the log-probability of every character at every place, given those before."""
    x = nn.dense(p, "embed", seen)
    for i, dilation in enumerate(DILATIONS):
        x = x + nn.gated(nn.convolution(p, f"layer{i}", x, dilation=dilation, causal=True))
    return nn.log_softmax(nn.dense(p, "out", nn.leaky_relu(x)))


def new_critic(size: int, channels: int, rng: Rng) -> nn.Parameters:
    """Draw the weights of a convolutional critic."""
    p = nn.new_dense("first", WIDTH * size, channels, rng)
    p |= nn.new_dense("second", WIDTH * channels, channels, rng)
    return p | nn.new_dense("out", channels, 1, rng)


def scores(p: Any, hot: Any) -> Any:
    """Return the critic's log-odds that a string is real."""
    x = nn.leaky_relu(nn.convolution(p, "first", hot))
    x = nn.leaky_relu(nn.convolution(p, "second", x, dilation=2))
    return nn.dense(p, "out", nn.anp.mean(x, axis=1))[:, 0]


def drawn_codes(p: nn.Parameters, n: int, length: int, rng: Rng) -> Integers:
    """Draw strings character by character; each layer remembers what it has seen."""
    p = nn.single(p)
    channels = p["embed.weight"].shape[1]
    memory = [np.zeros((n, length + (WIDTH - 1) * d, channels), np.float32) for d in DILATIONS]
    codes = np.zeros((n, length), dtype=np.intp)
    going = np.ones(n, dtype=bool)
    x = np.repeat(p["embed.bias"][None], n, axis=0)  # nothing comes before the first character
    for place in range(length):
        for i, (past, dilation) in enumerate(zip(memory, DILATIONS, strict=True)):
            past[:, place + (WIDTH - 1) * dilation] = x
            window = past[:, place : place + (WIDTH - 1) * dilation + 1 : dilation]
            x = x + nn.gated(nn.dense(p, f"layer{i}", window.reshape(n, -1)))
        logits = nn.dense(p, "out", nn.leaky_relu(x))
        reached = np.cumsum(nn.softmax(logits.astype(np.float64)), axis=1)
        # the last one may stay below 1 by rounding
        drawn = (reached[:, :-1] < rng.random(n)[:, None]).sum(axis=1)
        codes[:, place] = np.where(going, drawn, 0)
        going &= codes[:, place] > 0
        if not going.any():
            break
        x = p["embed.weight"][codes[:, place]] + p["embed.bias"]
    codes[going, -1] = np.maximum(codes[going, -1], 1)
    return codes


def generator_loss(p: Any, hot: Any, seen: Any, weight: Any) -> Any:
    """Return minus the weighted log-likelihood of the characters."""
    return -nn.anp.sum(weight * nn.anp.sum(hot * log_likelihoods(p, seen), axis=2))


def critic_loss(p: Any, real: Any, made: Any) -> Any:
    """Return the log-loss of the critic: log(1 + exp(-s)) for real, log(1 + exp(s)) for made."""
    on_real = nn.anp.mean(nn.anp.logaddexp(0.0, -scores(p, real)))
    return on_real + nn.anp.mean(nn.anp.logaddexp(0.0, scores(p, made)))


class StringGenerator:
    """A generator and its critic, trained on the strings of a class; ``settings`` is the sampler.

    After ``fit``, ``losses`` holds the mean loss of a character, on strings held out if there are
    enough, every 25 steps by likelihood and at the end; ``critic_losses`` the critic's, every step.
    """

    def __init__(self, texts: list[str], settings: Any, rng: Rng) -> None:
        self._settings, self._rng = settings, rng
        codes, self._letters = encoded(texts)
        order = rng.permutation(len(codes))
        n_out = len(codes) // 10 if len(codes) >= LEAST_TO_HOLD_OUT else 0
        self._kept = codes[order[n_out:]]
        self._held_out = codes[order[:n_out]] if n_out else self._kept
        sizes, rate = (len(self._letters), settings.n_channels), settings.learning_rate
        self._generator = nn.Trainer(new_generator(*sizes, rng), generator_loss, rate=rate)
        self._critic = nn.Trainer(new_critic(*sizes, rng), critic_loss, rate=rate)
        self._batches = nn.batches(len(self._kept), settings.batch_size, rng)
        self.losses: list[float] = []
        self.critic_losses: list[float] = []

    def fit(self) -> Self:
        """Train by likelihood first, then against the critic."""
        self._fit_by_likelihood()
        self._fit_against_the_critic()
        self.losses.append(self._loss_of_a_character())
        return self

    def drawn(self, n: int) -> list[str | None]:
        """Draw strings; one without an end is None."""
        return decoded(self._drawn_codes(n), self._letters)

    def _drawn_codes(self, n: int) -> Integers:
        return drawn_codes(self._generator.p, n, self._kept.shape[1], self._rng)

    def _indicators(self, codes: Integers) -> nn.Singles:
        return indicators(codes, len(self._letters))

    def _loss_of_a_character(self) -> float:
        """Return the mean loss of a character of the strings held out."""
        hot = self._indicators(self._held_out)
        likely = (hot * log_likelihoods(nn.single(self._generator.p), shifted(hot))).sum()
        return float(-likely / known_places(self._held_out).sum())

    def _fit_by_likelihood(self) -> None:
        """Train on real strings until those held out become less likely."""
        best, n_steps = self._generator.p, self._settings.pretrain_iter
        early = self._settings.n_iter_no_change, self._settings.tol
        for step in range(1, n_steps + 1):
            real = self._kept[next(self._batches)]
            places = known_places(real)
            self._step(self._indicators(real), places / places.sum())
            if step % INTERVAL == 0 or step == n_steps:
                self.losses.append(self._loss_of_a_character())
                if self.losses[-1] <= min(self.losses):
                    best = self._generator.p
                if nn.stalled(self.losses, *early):
                    break
        self._generator.p = best

    def _fit_against_the_critic(self) -> None:
        """Train on real strings and on those that the critic takes for real."""
        best, limit = self._generator.p, WORSE * min(self.losses)
        for step in range(1, self._settings.max_iter + 1):
            real = self._kept[next(self._batches)]
            made = self._drawn_codes(len(real))
            hot_real, hot_made = self._indicators(real), self._indicators(made)
            self.critic_losses.append(float(self._critic.step(hot_real, hot_made)))
            odds = scores(nn.single(self._critic.p), hot_made)
            odds = np.exp(np.clip(odds, -STEEPEST, STEEPEST))
            # a made string counts by how much more real it seems than the others of its batch
            gain = (odds / odds.sum() - 1 / len(odds))[:, None]
            places, ours = known_places(real), known_places(made)
            weight = self._settings.critic_weight * gain * ours * len(ours) / ours.sum()
            self._step(
                np.concatenate([hot_real, hot_made]),
                np.concatenate([places / places.sum(), weight]).astype(np.float32),
            )
            if step % INTERVAL == 0:
                if self._loss_of_a_character() > limit:
                    self._generator.p = best
                    break
                best = self._generator.p

    def _step(self, hot: nn.Singles, weight: Any) -> None:
        """Take a step; the generator does not see all of the characters."""
        seen = shifted(hot)
        if self._settings.dropout > 0:
            seen *= self._rng.random(size=(*seen.shape[:2], 1)) >= self._settings.dropout
        self._generator.step(hot, seen, weight)


def strings_of(X: Any) -> Any:
    """Return a column of strings as an array of its own shape, or say what is wrong with it."""
    package = type(X).__module__.partition(".")[0]
    if package in {"polars", "scipy"}:
        raise TableError(
            f"X must be a list, an array or a column of pandas, it is a {type(X).__name__} of "
            f"{package}; {ONE_COLUMN}"
        )
    is_text = getattr(getattr(X, "dtype", None), "kind", "") == "U"
    values = np.array(X, dtype=None if is_text else object)
    if values.ndim not in {1, 2} or values.size != len(values):
        raise TableError(
            f"X must be one column of strings, it has the shape {values.shape}; {ONE_COLUMN}"
        )
    for row, value in enumerate(values.ravel().tolist()):
        if not isinstance(value, str):
            missing = str(value) in {"None", "nan", "<NA>", "NaT"}
            what = "is missing" if missing else f"is {value!r}, a {type(value).__name__}"
            remedy = "drop such rows" if missing else ONE_COLUMN
            raise TableError(f"X must hold strings, row {row} {what}; {remedy}")
    return values


_URL = re.compile(
    r"https?://(?P<host>[a-z0-9.-]+)(:\d{1,5})?([/?][a-z0-9._~!$&'()*+,;=:@%/?-]*)?"
    r"(#[a-z0-9._~!$&'()*+,;=:@%/?-]*)?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)


def is_url(text: str) -> bool:
    """Say whether a text is a web address: scheme, a host with an end or an address, a path.

    >>> is_url("https://www.garden.example/news?id=3"), is_url("https://garden/news")
    (True, False)
    """
    match = _URL.fullmatch(text)
    labels = match["host"].split(".") if match else [""]
    if all(label.isdigit() for label in labels):
        return len(labels) == 4 and all(len(n) < 4 and int(n) < 256 for n in labels)  # noqa: PLR2004
    named = len(labels) > 1 and len(labels[-1]) > 1 and labels[-1].isalpha()
    return named and all(_LABEL.fullmatch(label) for label in labels)


@shared_doc
class TextGAN(BaseOverSampler):
    """Oversampling by text generative adversarial networks.

    A. Anand, K. Gorde, J. R. A. Moniz, N. Park, T. Chakraborty, B. T. Chu, "Phishing URL
    Detection with Oversampling based on Text Generative Adversarial Networks", IEEE Big Data
    2018.

    New rows are made in data space: a network that writes strings character by character is
    trained on the strings of the minority class, and against a critic that tells real ones from
    written ones. What it writes joins the table as text, and any features are made afterwards.

    Only the publication's abstract was at hand, which names neither the networks nor how they
    are trained; both are our choice. The generator is a causal gated convolution (Dauphin et al.
    2017), trained by likelihood first, as in SeqGAN (Yu et al. 2017), and stopped where strings
    held out become less likely. Then every step trains a convolutional critic, and the generator
    by likelihood on real strings and by the critic's odds on its own, normalised over the batch
    (MaliGAN, Che et al. 2017): what it writes is discrete, so no gradient passes through it. The
    game ends early where strings held out become a twentieth less likely than they were. Strings
    that exist already or are not valid are counted and drawn anew, up to ``max_draws`` times as
    many as asked for. Where that is not enough, new strings are repeated, and real ones where
    there are none, with a warning. Two networks are trained for each class that is enlarged: a
    minute or two for 500 URLs.

    Parameters
    ----------
    {common_parameters}
    n_channels : int, default=48
        Channels of generator and critic.
    pretrain_iter : int, default=400
        Most steps of training by likelihood.
    dropout : float, default=0.3
        Share of the characters that the generator does not see in training, so that it does not
        memorise the strings.
    critic_weight : float, default=0.1
        Weight of what the critic says beside the likelihood; 0 trains by likelihood alone.
    valid : "url", callable or None, default="url"
        Which strings may be returned: web addresses, those for which a function of the string is
        true, or all.
    max_length : int, default=200
        Longer strings are not learnt from.
    max_draws : int, default=20
        Strings that are drawn at most for each one that is asked for.
    learning_rate : float, default=2e-3
        Step of the optimiser Adam.
    batch_size : int, default=64
        Strings of one training step.
    max_iter : int, default=100
        Most steps against the critic.
    tol : float, default=1e-4
        A loss that falls by less counts as not falling.
    n_iter_no_change : int or None, default=4
        Training by likelihood stops after so many times 25 steps without a lower loss; ``None``
        never stops it early.

    Attributes
    ----------
    counts_ : dict of dict
        For each class: how many strings were drawn, had no end ("unfinished"), were invalid, were
        copies of the table's, were drawn before ("duplicates"), were new, and were repeated.
    n_iter_ : int
        Steps against the critic, of the class with most.
    """

    _parameter_constraints = (
        OVER_CONSTRAINTS
        | nn.CONSTRAINTS
        | {
            "n_channels": [Interval(Integral, 1, None, closed="left")],
            "pretrain_iter": [Interval(Integral, 1, None, closed="left")],
            "dropout": [Interval(Real, 0, 1, closed="both")],
            "critic_weight": [Interval(Real, 0, None, closed="left")],
            "valid": [StrOptions({"url"}), callable, None],
            "max_length": [Interval(Integral, 1, None, closed="left")],
            "max_draws": [Interval(Integral, 1, None, closed="left")],
        }
    )

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_channels: int = 48,
        pretrain_iter: int = 400,
        dropout: float = 0.3,
        critic_weight: float = 0.1,
        valid: Any = "url",
        max_length: int = 200,
        max_draws: int = 20,
        learning_rate: float = 2e-3,
        batch_size: int = 64,
        max_iter: int = 100,
        tol: float = 1e-4,
        n_iter_no_change: int | None = 4,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.n_channels = n_channels
        self.pretrain_iter = pretrain_iter
        self.dropout = dropout
        self.critic_weight = critic_weight
        self.valid = valid
        self.max_length = max_length
        self.max_draws = max_draws
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change

    def _check_X_y(self, X: Any, y: Any) -> tuple[Any, Any, bool]:  # noqa: N802  # imbalanced-learn's name
        texts = strings_of(X)
        y, binarize_y = check_target_type(np.asarray(y), indicate_one_vs_all=True)
        y = column_or_1d(y)
        check_consistent_length(texts, y)
        self.n_features_in_ = 1
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        return texts, y, binarize_y

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng, texts = generator(self.random_state), X.ravel().tolist()
        made: list[str] = []
        self.counts_: dict[Any, dict[str, int]] = {}
        self.n_iter_ = 0
        for label, n_samples in self.sampling_strategy_.items():
            if n_samples > 0:
                own = [text for text, ours in zip(texts, y == label, strict=True) if ours]
                made += self._make_samples(own, set(texts), label, n_samples, rng)
        new = np.array(made, dtype=None if X.dtype.kind == "U" else object)
        labels = np.repeat(list(self.sampling_strategy_), list(self.sampling_strategy_.values()))
        rows = np.concatenate([X, new.reshape(-1, *X.shape[1:])])
        return rows, np.concatenate([y, labels.astype(y.dtype)])

    def _make_samples(
        self, own: list[str], real: set[str], label: Any, n_samples: int, rng: Rng
    ) -> list[str]:
        """Train a generator on the strings of a class and return new ones."""
        check_size("text-GAN", label, len(own), LEAST)
        valid = is_url if self.valid == "url" else self.valid or (lambda _: True)
        refused = [text for text in own if not valid(text)]
        if 2 * len(refused) > len(own):
            raise TableError(
                f"valid={self.valid!r} must hold for most strings of class {label}, it refuses "
                f"{len(refused)} of {len(own)}, such as {refused[0][:60]!r}; give valid=None, or a "
                "function of the string that is true for such strings"
            )
        short = [text for text in own if len(text) <= self.max_length]
        if len(short) < LEAST:
            raise TableError(
                f"max_length must leave at least {LEAST} strings of class {label}, "
                f"{self.max_length} leaves {len(short)}; give a larger one, such as "
                f"{int(np.quantile([len(text) for text in own], 0.9))}"
            )
        trained = StringGenerator(short, self, rng).fit()
        self.n_iter_ = max(self.n_iter_, len(trained.critic_losses))
        found, counts = self._drawn(trained, n_samples, valid, real)
        missing = counts["repeated"] = int(n_samples - len(found))
        self.counts_[label] = counts
        if missing:
            source = found or own
            warn_fallback(
                "text-GAN",
                f"of {counts['drawn']} strings drawn for class {label} only {counts['new']} are "
                f"new, distinct and valid, {n_samples} were asked for (max_draws="
                f"{self.max_draws}, pretrain_iter={self.pretrain_iter})",
                "new ones are repeated" if found else "real ones are repeated",
            )
            found = found + [source[i] for i in rng.integers(len(source), size=missing)]
        return found

    def _drawn(
        self, trained: StringGenerator, n_samples: int, valid: Any, real: set[str]
    ) -> tuple[list[str], dict[str, int]]:
        """Draw until there are enough distinct new valid strings, or ``max_draws`` for each."""
        kinds = ("drawn", "unfinished", "invalid", "copies", "duplicates", "new")
        counts, found = dict.fromkeys(kinds, 0), dict[str, None]()
        while counts["new"] < n_samples and counts["drawn"] < n_samples * self.max_draws:
            left = n_samples * self.max_draws - counts["drawn"]
            size = min(max(2 * (n_samples - counts["new"]), 32), 1024, left)
            for text in trained.drawn(size):
                counts["drawn"] += 1
                if text is None:
                    kind = "unfinished"
                elif text in found:
                    kind = "duplicates"
                elif text in real:
                    kind = "copies"
                elif not valid(text):
                    kind = "invalid"
                else:
                    kind = "new"
                    found[text] = None
                counts[kind] += 1
                if counts["new"] == n_samples:
                    break
        return list(found), counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.sparse = False
        return tags
