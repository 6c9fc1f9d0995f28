"""Text-GAN: oversampling in data space, on a column of strings; and strings to show it with.

URL-like strings, benign and phishing-like, come from a small grammar of our own. Every host ends
in a name that is reserved for examples (RFC 2606) or is an address reserved for documentation
(RFC 5737): no string points anywhere. The two kinds overlap: an honest shop has a login page too,
and some lures look clean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_sampling_strategy, check_target_type
from sklearn.preprocessing import label_binarize
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from counterbalance.errors import TableError
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    OVER_STRATEGY,
    POSITIVE_INTEGER,
    POSITIVE_REAL,
    SEED,
    SHARE,
    check_size,
    generator,
    parameter,
    warn_fallback,
)
from counterbalance.methods.deep.string_generator import (
    StringCounts,
    TrainedGenerator,
    column_of_strings,
    in_container_of,
    new_strings,
    trained_generator,
)
from counterbalance.methods.deep.training import TrainingParameters

LEAST = 10  # strings of a class below which a generator only repeats them


class TextGAN(TrainingParameters, BaseOverSampler):
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
    game ends early where strings held out become a twentieth less likely than they were. The
    publication does not say what is done with strings that exist already or are no URLs; here
    they are counted and drawn anew, up to ``max_draws`` times as many as asked for. Where that
    is not enough, new strings are repeated, and real ones where there are none, with a warning.

    Cost: two networks for each class that is enlarged; a minute or two for 500 URLs.

    Parameters
    ----------
    n_channels : int, default=48
        Channels of generator and critic.
    pretrain_iter : int, default=400
        Most steps of training by likelihood.
    dropout : float, default=0.3
        Share of the characters that the generator does not see in training, without which it
        learns few strings by heart.
    critic_weight : float, default=0.1
        Weight of what the critic says beside the likelihood; 0 trains by likelihood alone.
    temperature : float, default=1.0
        Below 1 the strings are more likely and less varied.
    valid : "url", callable or None, default="url"
        Which strings may be returned: web addresses, those for which a function of the string is
        true, or all.
    max_length : int, default=200
        Longer strings are not learnt from.
    max_draws : int, default=20
        Strings that are drawn at most for each one that is asked for.
    %(training)s

    Attributes
    ----------
    counts_ : dict of StringCounts
        For each class: how many strings were drawn, had no end, were invalid, were copies of the
        table's, were drawn before, were new, and were repeated.
    generators_ : dict of TrainedGenerator
        For each class: the generator with the losses of its training.
    n_iter_ : int
        Steps against the critic, of the class with most.
    """

    sampling_strategy: Any = parameter(default="auto", rule=OVER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)
    n_channels: int = parameter(default=48, rule=POSITIVE_INTEGER)
    pretrain_iter: int = parameter(default=400, rule=POSITIVE_INTEGER)
    dropout: float = parameter(default=0.3, rule=SHARE)
    critic_weight: float = parameter(default=0.1, rule=NOT_NEGATIVE_REAL)
    temperature: float = parameter(default=1.0, rule=POSITIVE_REAL)
    valid: Any = parameter(default="url", rule=[StrOptions({"url"}), callable, None])
    max_length: int = parameter(default=200, rule=POSITIVE_INTEGER)
    max_draws: int = parameter(default=20, rule=POSITIVE_INTEGER)
    learning_rate: float = parameter(default=2e-3, rule=POSITIVE_REAL)
    max_iter: int = parameter(default=100, rule=POSITIVE_INTEGER)
    n_iter_no_change: Any = parameter(default=4, rule=[*POSITIVE_INTEGER, None])

    def fit_resample(self, X: Any, y: Any, **parameters: Any) -> tuple[Any, Any]:
        """Write new strings for the smaller classes.

        Parameters
        ----------
        X : one column of strings
            A list, an array, or a Series or one-column frame of pandas or polars.
        y : array-like of shape (n_samples,)
            Their classes.
        **parameters : dict
            None is known.

        Returns
        -------
        tuple
            The strings and the classes, in the containers that were given; the given ones first.
        """
        texts, labels, one_vs_all = self._checked(X, y, "fit_resample", parameters)
        made, new_labels = self._fit_resample(texts, labels)
        all_labels = [*labels.tolist(), *new_labels]
        if one_vs_all:  # a column for each class comes back as such
            return in_container_of(X, [*texts, *made]), label_binarize(
                all_labels, classes=np.unique(labels)
            )
        return in_container_of(X, [*texts, *made]), in_container_of(y, all_labels)

    def _fit_resample(self, texts: list[str], labels: Any) -> tuple[list[str], list[Any]]:
        """Return the new strings and their classes."""
        rng = generator(self.random_state)
        made: list[str] = []
        new_labels: list[Any] = []
        self.counts_: dict[Any, StringCounts] = {}
        self.generators_: dict[Any, TrainedGenerator] = {}
        for label, n in self.sampling_strategy_.items():
            if n > 0:
                made += self._made(texts, labels == label, label, n, rng)
                new_labels += [label] * n
        self.n_iter_ = max((g.n_iter for g in self.generators_.values()), default=0)
        return made, new_labels

    def fit(self, X: Any, y: Any, **parameters: Any) -> TextGAN:
        """Check the strings and count the classes, as imbalanced-learn's samplers do.

        Parameters
        ----------
        X : one column of strings
            The strings.
        y : array-like of shape (n_samples,)
            Their classes.
        **parameters : dict
            None is known.

        Returns
        -------
        TextGAN
            The sampler.
        """
        self._checked(X, y, "fit", parameters)
        return self

    def validity(self) -> Callable[[str], bool]:
        """Return the function that says which strings may be returned."""
        if self.valid is None:
            return lambda _: True
        return is_url if self.valid == "url" else self.valid

    def _checked(
        self, X: Any, y: Any, called: str, parameters: dict[str, Any]
    ) -> tuple[list[str], Any, bool]:
        if parameters:
            raise TypeError(f"{called} takes X and y, got {sorted(parameters)}, too")
        self._validate_params()
        texts = column_of_strings(X)
        check_classification_targets(y)
        labels, one_vs_all = check_target_type(np.asarray(y), indicate_one_vs_all=True)
        labels = column_or_1d(labels)
        check_consistent_length(texts, labels)
        self.n_features_in_ = 1
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.sampling_strategy_ = check_sampling_strategy(
            self.sampling_strategy, labels, self._sampling_type
        )
        return texts, labels, one_vs_all

    def _made(
        self, texts: list[str], ours: Any, label: Any, n: int, rng: np.random.Generator
    ) -> list[str]:
        own = [text for text, mine in zip(texts, ours, strict=True) if mine]
        check_size("text-GAN", label, len(own), LEAST)
        self._check_valid(own, label)
        short = [text for text in own if len(text) <= self.max_length]
        if len(short) < LEAST:
            raise TableError(
                f"max_length must leave at least {LEAST} strings of class {label}, "
                f"{self.max_length} leaves {len(short)}; give a larger one, such as "
                f"{int(np.quantile([len(text) for text in own], 0.9))}"
            )
        trained = trained_generator(short, self, rng)
        found, counts = new_strings(trained, n, set(texts), self, rng)
        if len(found) < n:
            counts.repeated = n - len(found)
            source = found or own
            what = "new ones are repeated" if found else "real ones are repeated"
            warn_fallback(
                "text-GAN",
                f"of {counts.drawn} strings drawn for class {label} only {counts.new} are new, "
                f"distinct and valid, {n} were asked for (max_draws={self.max_draws}, "
                f"pretrain_iter={self.pretrain_iter})",
                what,
            )
            found = found + [source[int(i)] for i in rng.integers(len(source), size=n - len(found))]
        self.counts_[label], self.generators_[label] = counts, trained
        return found

    def _check_valid(self, own: list[str], label: Any) -> None:
        valid = self.validity()
        refused = [text for text in own if not valid(text)]
        if 2 * len(refused) > len(own):
            raise TableError(
                f"valid={self.valid!r} must hold for most strings of class {label}, it refuses "
                f"{len(refused)} of {len(own)}, such as {refused[0][:60]!r}; give valid=None, or a "
                "function of the string that is true for such strings"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.sparse = False
        return tags


ENDS = ("example", "test", "com.example", "org.example", "net.test", "co.test")
BRANDS = (
    *("mapletree", "nordbank", "cloudpost", "payriver", "bluecart", "letterbox", "parcelpro"),
    *("quickloan", "streamhub", "homeledger", "skyticket", "farmfoods"),
)
WORDS = (
    *("garden", "history", "travel", "recipes", "music", "science", "village", "cycling", "photo"),
    *("museum", "weather", "library", "coffee", "school", "sports", "river", "theatre", "design"),
)
PAGES = ("index", "about", "news", "article", "products", "contact", "search", "help", "login")
LURES = ("login", "verify", "secure", "account", "update", "signin", "confirm", "billing", "unlock")
LOOKALIKES = {"o": "0", "l": "1", "e": "3", "a": "4", "i": "1"}
QUERIES = ("id", "page", "ref", "lang", "session", "token", "user")

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_URL = re.compile(
    rf"https?://(?:{_LABEL}(?:\.{_LABEL})*\.[a-z]{{2,}}|\d{{1,3}}(?:\.\d{{1,3}}){{3}})(?::\d{{1,5}})?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
    r"(?:#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?",
    re.IGNORECASE,
)


def is_url(text: str) -> bool:
    """Say whether a text is a web address: scheme, a host with an end or an address, a path.

    >>> is_url("https://www.garden.example/news?id=3"), is_url("https://garden/news")
    (True, False)
    """
    if _URL.fullmatch(text) is None:
        return False
    host = re.split(r"[/:?#]", text.split("://", 1)[1])[0]
    return not host.replace(".", "").isdigit() or all(int(n) < 256 for n in host.split("."))  # noqa: PLR2004


def make_urls(
    n_benign: int = 900, n_phishing: int = 100, *, random_state: int | None = 0
) -> tuple[Any, Any]:
    """Make a shuffled sample of distinct URL-like strings.

    Returns
    -------
    urls, labels : ndarray of str objects
        The strings, and ``"benign"`` or ``"phishing"`` for each.

    >>> urls, labels = make_urls(3, 1)
    >>> sorted(labels.tolist())
    ['benign', 'benign', 'benign', 'phishing']
    """
    for name, n in (("n_benign", n_benign), ("n_phishing", n_phishing)):
        if not 0 <= n <= 20_000:  # noqa: PLR2004  # the grammar has more, but not many times more
            raise TableError(f"{name} must be between 0 and 20000, got {n}; ask for fewer")
    rng = np.random.default_rng(random_state)
    found: dict[str, str] = {}
    for label, make, n in (("benign", _benign, n_benign), ("phishing", _phishing, n_phishing)):
        wanted = len(found) + n
        while len(found) < wanted:
            found.setdefault(make(rng), label)
    order = rng.permutation(len(found))
    return (
        np.array(list(found), dtype=object)[order],
        np.array(list(found.values()), dtype=object)[order],
    )


def _one(rng: np.random.Generator, choices: tuple[str, ...]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _query(rng: np.random.Generator, longest: int) -> str:
    pairs = [
        f"{_one(rng, QUERIES)}={rng.integers(10 ** rng.integers(1, longest))}"
        for _ in range(rng.integers(1, 3))
    ]
    return "?" + "&".join(pairs)


def _benign(rng: np.random.Generator) -> str:
    name = _one(rng, WORDS) if rng.random() < 0.6 else _one(rng, BRANDS)  # noqa: PLR2004
    if rng.random() < 0.3:  # noqa: PLR2004
        name += f"-{_one(rng, WORDS)}"
    front = _one(rng, ("www.", "www.", "blog.", "shop.", "secure.", "login.", "", ""))
    scheme = "https" if rng.random() < 0.8 else "http"  # noqa: PLR2004
    pages = (*PAGES, *LURES) if rng.random() < 0.3 else (*PAGES, *WORDS)  # noqa: PLR2004
    path = "".join(f"/{_one(rng, pages)}" for _ in range(rng.integers(0, 4)))
    if path and rng.random() < 0.25:  # noqa: PLR2004
        path += _one(
            rng, (".html", ".php", f"-{rng.integers(100)}", f"/{rng.integers(1990, 2026)}")
        )
    tail = _query(rng, 5) if rng.random() < 0.3 else ""  # noqa: PLR2004
    return f"{scheme}://{front}{name}.{_one(rng, ENDS)}{path or '/'}{tail}"


def _phishing(rng: np.random.Generator) -> str:
    brand = _one(rng, BRANDS)
    disguised = _disguised(rng, brand)
    scheme = "http" if rng.random() < 0.5 else "https"  # noqa: PLR2004
    kind = rng.integers(6)
    if kind == 0:
        network = _one(rng, ("192.0.2", "198.51.100", "203.0.113"))
        host = f"{network}.{rng.integers(1, 255)}"
    elif kind == 1:
        host = f"{disguised}.{_one(rng, ENDS)}"
    elif kind == 2:  # noqa: PLR2004
        host = f"{brand}.{_one(rng, LURES)}-{_one(rng, LURES)}.{_one(rng, ENDS)}"
    elif kind == 3:  # noqa: PLR2004  # an honest host that was broken into
        host = f"{_one(rng, ('www.', ''))}{_one(rng, WORDS)}.{_one(rng, ENDS)}"
    else:
        host = f"{disguised}-{_one(rng, (*LURES, *WORDS))}.{_one(rng, ENDS)}"
    parts = [_one(rng, (*LURES, *PAGES, *WORDS, brand)) for _ in range(rng.integers(1, 4))]
    page = _one(rng, ("", ".php", ".html", "/"))
    tail = _query(rng, 9) if rng.random() < 0.5 else ""  # noqa: PLR2004
    return f"{scheme}://{host}/{'/'.join(parts)}{page}{tail}"


def _disguised(rng: np.random.Generator, brand: str) -> str:
    places = [place for place, letter in enumerate(brand) if letter in LOOKALIKES]
    if rng.random() < 0.3:  # noqa: PLR2004
        place = int(rng.integers(len(brand)))
        return brand[:place] + brand[place] + brand[place:]
    place = places[int(rng.integers(len(places)))]
    return brand[:place] + LOOKALIKES[brand[place]] + brand[place + 1 :]
