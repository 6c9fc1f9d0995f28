"""The rivals by name: classifiers that take a table as it is, and answer with probabilities.

    base       histogram boosting of small trees, which takes categories and holes as they are
    encoded    numbers without gaps, as the study gives them to the peers: median, unit
               variance, one column for each category
    SMOTE      encoded -> SMOTE (where there are categories SMOTENC) -> base
    ours       the table as it is -> sampler -> base

A rival more is an entry more; its name has no comma, because commas separate names on the command
line.

In the self-paced ensemble each member sees the smallest class and a part of the others:

hardness   of a row: one minus the mean probability that the members so far give its class
bin        rows of a class whose hardness lies in the same of k equal intervals
alpha      tan(pi / 2 * i / n) for member i of the n that follow the first: it grows without bound
weight     of a bin: 1 / (its mean hardness + alpha), so that at first every bin contributes
           the same hardness, and at last the same number of rows
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from imblearn.ensemble import (
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from counterbalance.errors import TableError
from counterbalance.estimators.counterfactual import CounterfactualClassifier
from counterbalance.estimators.resampled import ResampledClassifier
from counterbalance.methods.neighbours import allocate
from counterbalance.methods.under_sampling import CUSBoostClassifier
from counterbalance.samplers.interior import InteriorOverSampler
from counterbalance.studies.study.methods import NONE, OURS, WEIGHTS, resampled
from counterbalance.table.encoder import TablePreparation
from counterbalance.table.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from counterbalance.arrays import Floats, Integers

LARGEST_SEED = 2**31 - 1
FEWEST_CLASSES = 2


class SelfPacedEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """An ensemble that undersamples by hardness.

    Z. Liu, W. Cao, Z. Gao, J. Bian, H. Chen, Y. Chang, T.-Y. Liu, "Self-paced Ensemble for Highly
    Imbalanced Massive Data Classification", ICDE 2020.

    Departures: the first member, which sees a random part, votes like the others. With more
    than two classes every class but the smallest is drawn from.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A member, with ``predict_proba``; ``None`` is a decision tree.
    n_estimators : int, default=10
        Members.
    n_bins : int, default=20
        Intervals of hardness.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        n_bins: int = 20,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_bins = n_bins
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the members one after another."""
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < FEWEST_CLASSES:
            raise TableError(
                f"y must have at least two classes, got one class, {self.classes_[0]!r}; add rows "
                "of another"
            )
        seeds = check_random_state(self.random_state).randint(LARGEST_SEED, size=self.n_estimators)
        self.estimators_: list[Any] = []
        votes = np.zeros((len(codes), len(self.classes_)))
        for i, seed in enumerate(seeds.tolist()):
            rng = np.random.default_rng(seed)
            hardness = 1 - votes[np.arange(len(codes)), codes] / max(i, 1)
            alpha = np.tan(np.pi / 2 * i / (self.n_estimators - 1)) if i else None
            part = self._part(codes, hardness, alpha, rng)
            member = clone(DecisionTreeClassifier() if self.estimator is None else self.estimator)
            if "random_state" in member.get_params():
                member.set_params(random_state=seed)
            self.estimators_.append(member.fit(X[part], codes[part]))
            votes += member.predict_proba(X)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the mean of the members' probabilities."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(np.mean([f.predict_proba(X) for f in self.estimators_], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest mean probability."""
        answer = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[answer])

    def _part(
        self, codes: Integers, hardness: Floats, alpha: float | None, rng: np.random.Generator
    ) -> Integers:
        """Return the rows of one member: as many of every class as the smallest has, or fewer."""
        counts = np.bincount(codes)
        parts = []
        for code, count in enumerate(counts):
            rows = np.flatnonzero(codes == code)
            if count == counts.min():
                parts.append(rows)
            elif alpha is None:
                parts.append(rng.choice(rows, counts.min(), replace=False))
            else:
                places = drawn_by_hardness(hardness[rows], counts.min(), self.n_bins, alpha, rng)
                parts.append(rows[places])
        return np.sort(np.concatenate(parts))


def drawn_by_hardness(
    hardness: Floats, n_samples: int, n_bins: int, alpha: float, rng: np.random.Generator
) -> Integers:
    """Draw rows from bins of hardness; a bin with too few rows gives all that it has.

    Examples
    --------
    >>> hardness = np.repeat([0.1, 0.9], [90, 10])
    >>> easy = drawn_by_hardness(hardness, 20, 2, 0.0, np.random.default_rng(0)) < 90
    >>> int(easy.sum()), int((~easy).sum())  # 1 / 0.1 against 1 / 0.9
    (18, 2)
    >>> late = drawn_by_hardness(hardness, 20, 2, 1e9, np.random.default_rng(0)) < 90
    >>> int(late.sum()), int((~late).sum())
    (10, 10)
    """
    low, width = hardness.min(), np.ptp(hardness) / n_bins
    place = np.zeros(len(hardness), dtype=np.intp)
    if width > 0:
        place = np.minimum((hardness - low) / width, n_bins - 1).astype(np.intp)
    sizes = np.bincount(place, minlength=n_bins)
    mean = np.bincount(place, weights=hardness, minlength=n_bins) / np.maximum(sizes, 1)
    weights = np.where(sizes > 0, 1 / np.maximum(mean + alpha, np.finfo(float).tiny), 0.0)
    wanted = np.minimum(allocate(weights / weights.max(), n_samples), sizes)
    drawn = [
        rng.choice(np.flatnonzero(place == b), size, replace=False)
        for b, size in enumerate(wanted)
        if size
    ]
    return np.sort(np.concatenate(drawn))


@dataclass(frozen=True)
class Rival:
    """One entry: how it is made from a seed, and what it is."""

    make: Callable[[int], Any]
    about: str
    ours: bool = False
    ensemble: bool = False  # one that balances its members itself
    requires: str | None = None  # the optional package that it needs


class Encoded(TransformerMixin, BaseEstimator):
    """Makes a table the numbers that most classifiers take."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn medians, scales and categories."""
        self.preparation_ = TablePreparation().fit_kinds(X, read_table(X).kinds)
        return self

    def transform(self, X: Any) -> Floats:
        """Return a table as numbers."""
        return self.preparation_.transform(X)


class Resampled(ClassifierMixin, BaseEstimator):
    """A classifier behind a peer of the study, which resamples encoded rows."""

    def __init__(self, method: str, estimator: Any, random_state: int | None = None) -> None:
        self.method = method
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[np.intp]) -> Self:
        """Resample and fit."""
        fold = resampled(self.method, X, y, int(self.random_state or 0))
        self.preparation_ = fold.preparation
        self.estimator_ = clone(self.estimator).fit(fold.rows, fold.labels)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes."""
        return np.asarray(self.estimator_.predict(self.preparation_.transform(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        return np.asarray(self.estimator_.predict_proba(self.preparation_.transform(X)))


# Small trees and steps: with scikit-learn's defaults boosting overfits tables of this size, and
# whatever is done about the imbalance looks like a remedy. The one setting that was tried beside
# the defaults, on the open half of the field; the page says what else was chosen there.
SMALL_STEPS = {"learning_rate": 0.05, "max_leaf_nodes": 6, "l2_regularization": 1.0}


def boosting(seed: int, **settings: Any) -> Any:
    """Return the base that all resamplers stand before."""
    return HistGradientBoostingClassifier(
        **SMALL_STEPS, early_stopping=False, random_state=seed, **settings
    )


def light_boosting(seed: int) -> Any:
    """Return LightGBM's boosting, whose optional package is imported here alone."""
    from lightgbm import LGBMClassifier  # noqa: PLC0415 - an extra

    return LGBMClassifier(
        learning_rate=0.05, num_leaves=6, reg_lambda=1.0, random_state=seed, n_jobs=1, verbose=-1
    )


def forest(seed: int) -> Any:
    """Return a random forest, on encoded rows."""
    return _encoded(RandomForestClassifier, seed, min_samples_leaf=3)


def logistic(seed: int) -> Any:
    """Return a logistic regression, on encoded rows."""
    return _encoded(LogisticRegression, seed, max_iter=1000)


def _threshold(base: Callable[[int], Any], scoring: str, seed: int) -> Any:
    return TunedThresholdClassifierCV(base(seed), scoring=scoring, random_state=seed)


def _encoded(classifier: type, seed: int, **settings: Any) -> Any:
    return make_pipeline(Encoded(), classifier(random_state=seed, **settings))


def _self_paced(seed: int) -> Any:
    return _encoded(SelfPacedEnsembleClassifier, seed, estimator=boosting(seed))


def _ours(name: str, seed: int) -> Any:
    return make_pipeline(OURS[name](random_state=seed), boosting(seed))


def _smote(seed: int) -> Any:
    return Resampled("SMOTE", boosting(seed), random_state=seed)


BALANCED, MACRO = "balanced_accuracy", "f1_macro"
_ALL = {
    NONE: Rival(boosting, "histogram boosting, the base, with nothing done about the imbalance"),
    "threshold for balanced accuracy": Rival(
        partial(_threshold, boosting, BALANCED),
        "the base; its threshold is tuned by cross-validation inside the training fold",
    ),
    "threshold for macro-F1": Rival(
        partial(_threshold, boosting, MACRO), "the same, tuned for the other metric"
    ),
    "LightGBM with threshold for balanced accuracy": Rival(
        partial(_threshold, light_boosting, BALANCED),
        "LightGBM in place of the base",
        requires="lightgbm",
    ),
    "LightGBM with threshold for macro-F1": Rival(
        partial(_threshold, light_boosting, MACRO),
        "LightGBM in place of the base",
        requires="lightgbm",
    ),
    "random forest with threshold": Rival(
        partial(_threshold, forest, BALANCED), "tuned for balanced accuracy"
    ),
    "logistic regression with threshold": Rival(
        partial(_threshold, logistic, BALANCED), "tuned for balanced accuracy"
    ),
    WEIGHTS: Rival(
        partial(boosting, class_weight="balanced"), "the base; every class weighs the same"
    ),
    "balanced random forest": Rival(
        partial(_encoded, BalancedRandomForestClassifier),
        "every tree sees as many rows of each class (Chen et al. 2004)",
        ensemble=True,
    ),
    "easy ensemble": Rival(
        partial(_encoded, EasyEnsembleClassifier),
        "boosted trees on ten balanced parts (Liu et al. 2009)",
        ensemble=True,
    ),
    "RUSBoost": Rival(
        # its paper boosts C4.5 trees; the stumps that are the default here fail on some folds
        partial(_encoded, RUSBoostClassifier, estimator=DecisionTreeClassifier(max_depth=5)),
        "boosting that undersamples in every round (Seiffert et al. 2010)",
        ensemble=True,
    ),
    "CUSBoost": Rival(
        # its paper boosts C4.5 trees too
        partial(_encoded, CUSBoostClassifier, estimator=DecisionTreeClassifier(max_depth=5)),
        "boosting that undersamples clusters in every round (Rayhan et al. 2017)",
        ensemble=True,
    ),
    "self-paced ensemble": Rival(
        _self_paced,
        "ten times the base, on parts of the majority by hardness (Liu et al. 2020)",
        ensemble=True,
    ),
    "SMOTE": Rival(_smote, "SMOTE before the base; SMOTENC where there are categories"),
    **{
        name: Rival(partial(_ours, name), "our sampler before the base", ours=True) for name in OURS
    },
    "ResampledClassifier": Rival(
        lambda seed: ResampledClassifier(
            boosting(seed),
            InteriorOverSampler(random_state=seed),
            threshold="balanced_accuracy",
            calibration="sigmoid",
            random_state=seed,
        ),
        "interior sampler before the base; calibrated, threshold tuned for balanced accuracy",
        ours=True,
    ),
    "CounterfactualClassifier": Rival(
        lambda seed: CounterfactualClassifier(random_state=seed),
        "f learned in rounds with its counterfactuals, with its defaults",
        ours=True,
        ensemble=True,
    ),
}
RIVALS = {
    name: rival
    for name, rival in _ALL.items()
    if rival.requires is None or find_spec(rival.requires) is not None
}
