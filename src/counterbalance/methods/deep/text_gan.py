"""Text-GAN: oversampling in data space, on a column of strings."""

from __future__ import annotations

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
    new_strings,
    trained_generator,
)
from counterbalance.methods.deep.training import TrainingParameters
from counterbalance.methods.deep.urls import is_url

LEAST = 10  # strings of a class below which a generator only repeats them
ONE_COLUMN = (
    "give the column itself, such as frame['url'], frame[['url']] or an array of shape (n,)"
)


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
        if parameters:
            raise TypeError(f"fit_resample takes X and y, got {sorted(parameters)}, too")
        self._validate_params()
        texts, labels, one_vs_all = self._checked(X, y)
        made, new_labels = self._fit_resample(texts, labels)
        all_labels = [*labels.tolist(), *new_labels]
        if one_vs_all:  # a column for each class comes back as such
            return _like(X, [*texts, *made]), label_binarize(all_labels, classes=np.unique(labels))
        return _like(X, [*texts, *made]), _like(y, all_labels)

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
        if parameters:
            raise TypeError(f"fit takes X and y, got {sorted(parameters)}, too")
        self._validate_params()
        self._checked(X, y)
        return self

    def validity(self) -> Callable[[str], bool]:
        """Return the function that says which strings may be returned."""
        if self.valid is None:
            return lambda _: True
        return is_url if self.valid == "url" else self.valid

    def _checked(self, X: Any, y: Any) -> tuple[list[str], Any, bool]:
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


def _like(given: Any, values: list[Any]) -> Any:
    """Put values into the container that was given: its type, its names, its kind of values."""
    if hasattr(given, "columns"):
        name = given.columns[0]
        return type(given)({name: _like(given[name], values)})
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
