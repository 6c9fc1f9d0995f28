"""Baselines: what one would take instead of a resampler, in a study of its own.

    base       histogram boosting of small trees, which takes categories and holes as they are
    encoded    numbers without gaps, as the study gives them to the peers: median, unit
               variance, one column for each category
    SMOTE      encoded -> SMOTE (where there are categories SMOTENC) -> base
    ours       the table as it is -> sampler -> base

All are classifiers that take a table as it is, and answer with probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from imblearn.ensemble import (
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from imblearn.pipeline import make_pipeline
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier

from counterbalance import ResampledClassifier, TablePreparation
from counterbalance.arrays import Floats
from counterbalance.methods import CUSBoostClassifier
from paper.self_paced import SelfPacedEnsembleClassifier
from paper.study.methods import NONE, OURS, WEIGHTS, resampled


@dataclass(frozen=True)
class Baseline:
    """One entry: how it is made from a seed, and what it is."""

    make: Callable[[int], Any]
    about: str
    ours: bool = False
    ensemble: bool = False  # one that balances its members itself


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


def _light_boosting(seed: int) -> Any:
    small: Any = {"learning_rate": 0.05, "num_leaves": 6, "reg_lambda": 1.0}
    return LGBMClassifier(**small, random_state=seed, n_jobs=1, verbose=-1)


def _threshold(base: Callable[[int], Any], scoring: str, seed: int) -> Any:
    return TunedThresholdClassifierCV(base(seed), scoring=scoring, random_state=seed)


def _encoded(classifier: type, seed: int, **settings: Any) -> Any:
    return make_pipeline(TablePreparation(), classifier(random_state=seed, **settings))


def _self_paced(seed: int) -> Any:
    return _encoded(SelfPacedEnsembleClassifier, seed, estimator=boosting(seed))


def _behind(name: str, seed: int) -> Any:
    return make_pipeline(OURS[name](random_state=seed), boosting(seed))


_forest = partial(_encoded, RandomForestClassifier, min_samples_leaf=3)
_logistic = partial(_encoded, LogisticRegression, max_iter=1000)
# RUSBoost's and CUSBoost's papers boost C4.5 trees; the stumps that are the default of the first
# fail on some folds.
_TREE = DecisionTreeClassifier(max_depth=5)
BALANCED, MACRO = "balanced_accuracy", "f1_macro"
BASELINES = {
    NONE: Baseline(boosting, "histogram boosting, the base, with nothing done about the imbalance"),
    "threshold for balanced accuracy": Baseline(
        partial(_threshold, boosting, BALANCED),
        "the base; its threshold is tuned by cross-validation inside the training fold",
    ),
    "threshold for macro-F1": Baseline(
        partial(_threshold, boosting, MACRO), "the same, tuned for the other metric"
    ),
    "LightGBM with threshold for balanced accuracy": Baseline(
        partial(_threshold, _light_boosting, BALANCED), "LightGBM in place of the base"
    ),
    "LightGBM with threshold for macro-F1": Baseline(
        partial(_threshold, _light_boosting, MACRO), "LightGBM in place of the base"
    ),
    "random forest with threshold": Baseline(
        partial(_threshold, _forest, BALANCED), "tuned for balanced accuracy"
    ),
    "logistic regression with threshold": Baseline(
        partial(_threshold, _logistic, BALANCED), "tuned for balanced accuracy"
    ),
    WEIGHTS: Baseline(
        partial(boosting, class_weight="balanced"), "the base; every class weighs the same"
    ),
    "balanced random forest": Baseline(
        partial(_encoded, BalancedRandomForestClassifier),
        "every tree sees as many rows of each class (Chen et al. 2004)",
        ensemble=True,
    ),
    "easy ensemble": Baseline(
        partial(_encoded, EasyEnsembleClassifier),
        "boosted trees on ten balanced parts (Liu et al. 2009)",
        ensemble=True,
    ),
    "RUSBoost": Baseline(
        partial(_encoded, RUSBoostClassifier, estimator=_TREE),
        "boosting that undersamples in every round (Seiffert et al. 2010)",
        ensemble=True,
    ),
    "CUSBoost": Baseline(
        partial(_encoded, CUSBoostClassifier, estimator=_TREE),
        "boosting that undersamples clusters in every round (Rayhan et al. 2017)",
        ensemble=True,
    ),
    "self-paced ensemble": Baseline(
        _self_paced,
        "ten times the base, on parts of the majority by hardness (Liu et al. 2020)",
        ensemble=True,
    ),
    "SMOTE": Baseline(
        lambda seed: Resampled("SMOTE", boosting(seed), random_state=seed),
        "SMOTE before the base; SMOTENC where there are categories",
    ),
    **{n: Baseline(partial(_behind, n), "our sampler before the base", ours=True) for n in OURS},
    "ResampledClassifier": Baseline(
        lambda seed: ResampledClassifier(boosting(seed), random_state=seed),
        "the base behind the interior sampler, with the defaults of ResampledClassifier",
        ours=True,
        ensemble=True,
    ),
}
