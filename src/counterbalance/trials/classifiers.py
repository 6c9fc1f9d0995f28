"""The six classifiers of the paper, the preparation before them, and both as text for a page.

The paper names the classifiers and gives no settings. They get scaled features and otherwise
scikit-learn's defaults, with these exceptions: gradient boosting is the histogram kind, the only
one that is quick on 784 pixels, and logistic regression may iterate longer, so that it converges.
The small ones are for a study of some ten thousand fits. None of them weighs the classes: the
resampling is what is compared. The net is scikit-learn's to the last bit, in less time (`net`).

A setting that is typed into a text goes stale when the code changes. So `as_call` reads the text
from the object itself: the parameters that a reader should see, whatever their value, and every
other one that is not at its default.
"""

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from counterbalance.arrays import Floats
from counterbalance.trials.net import MLPClassifier
from counterbalance.trials.resamplers import expected_warnings

CLASSIFIERS = ("SVM", "KNN", "NN", "GBDT", "RF", "LR")
SMALL_NET = {"hidden_layer_sizes": (50,), "learning_rate_init": 0.005, "max_iter": 100}
SMALL_FOREST = {"n_estimators": 50}
SVM_CACHE = 1000  # MB of kernel rows kept: less time, the same result
# What is written of a class even at its default, in this order.
SHOWN = {
    "CounterfactualOverSampler": (
        *("estimator", "n_draws", "epsilon", "sampling_strategy", "on_shortfall"),
    ),
    "InteriorOverSampler": ("estimator", "spread", "between", "agreement", "sampling_strategy"),
    "KMeansSMOTE": ("cluster_balance_threshold",),
    "SVC": ("kernel", "C", "gamma"),
    "KNeighborsClassifier": ("n_neighbors",),
    "MLPClassifier": ("hidden_layer_sizes", "learning_rate_init", "max_iter"),
    "HistGradientBoostingClassifier": ("max_iter", "learning_rate", "early_stopping"),
    "Boosting": ("n_rounds", "step", "max_rows"),
    "RandomForestClassifier": ("n_estimators", "min_samples_leaf"),
    "ExtraTreesClassifier": ("n_estimators", "min_samples_leaf"),
    "LogisticRegression": ("C", "class_weight"),
    "RidgeClassifier": ("alpha", "class_weight"),
}
# A longer value, such as a user's array, is cut.
LONGEST = 120
# Seeds belong to a trial; the others change the speed and never a result.
HIDDEN = ("random_state", "n_jobs", "working_memory", "cache_size", "verbose")


def prepare() -> Any:
    """Return the imputer, encoder and scaler that every classifier gets its rows from, unfitted.

    It is fitted to a training fold, like everything else that learns from rows.
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    nominal = make_column_selector(dtype_include=["category", "object"])
    plain = make_column_selector(dtype_exclude=["category", "object"])
    return make_column_transformer((numbers, plain), (categories, nominal))


def make_classifier(name: str, seed: int, *, small: bool = False) -> Any:
    """Return a classifier of the paper, unfitted; `small` nets and forests fit faster.

    >>> make_classifier("KNN", seed=0)
    KNeighborsClassifier()
    """
    net, forest = (SMALL_NET, SMALL_FOREST) if small else ({}, {})
    makers = {
        "SVM": lambda: SVC(cache_size=SVM_CACHE),
        "KNN": KNeighborsClassifier,
        "NN": lambda: MLPClassifier(**net, random_state=seed),
        "GBDT": lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
        "RF": lambda: RandomForestClassifier(**forest, random_state=seed),
        "LR": lambda: LogisticRegression(max_iter=1000, random_state=seed),
    }
    return makers[name]()


def fit_weighted(f: Any, X: Floats, y: Any) -> Any:
    """Fit a classifier with balanced class weights; nearest neighbours take none."""
    if isinstance(f, KNeighborsClassifier):
        return f.fit(X, y)
    return f.fit(X, y, sample_weight=compute_sample_weight("balanced", y))


def descriptions(*, small: bool = False) -> dict[str, str]:
    """Return the classifiers as the calls that make them, read from the objects themselves."""
    return {name: f"`{as_call(make_classifier(name, 0, small=small))}`" for name in CLASSIFIERS}


def as_call(estimator: Any) -> str:
    """Write an estimator, the very object that runs or its like, as the call that makes it.

    >>> from sklearn.linear_model import LogisticRegression
    >>> as_call(LogisticRegression(max_iter=1000, random_state=3))
    'LogisticRegression(C=1.0, class_weight=None, max_iter=1000)'
    """
    if isinstance(estimator, Pipeline):
        return " -> ".join(as_call(step) for _, step in estimator.steps)
    values = estimator.get_params(deep=False)
    names = [name for name in SHOWN.get(type(estimator).__name__, ()) if name in values]
    for name, parameter in inspect.signature(type(estimator).__init__).parameters.items():
        is_usual = repr(values.get(name)) == repr(parameter.default)
        if name in values and not is_usual and name not in (*names, *HIDDEN):
            names.append(name)
    arguments = ", ".join(f"{name}={_value(values[name])}" for name in names)
    return f"{type(estimator).__name__}({arguments})"


def f_of(sampler: Any) -> Any:
    """Return the classifier that a sampler takes as f, also where a name or None stands for it.

    It is the one that the sampler fits to a small table of numbers.

    >>> from counterbalance import CounterfactualOverSampler
    >>> as_call(f_of(CounterfactualOverSampler(estimator="ridge"))).partition(" -> ")[0]
    'StandardScaler()'
    """
    X = np.arange(24.0).reshape(12, 2)
    y = np.repeat(["majority", "minority"], [8, 4])
    small = clone(sampler).set_params(sampling_strategy="auto", random_state=0)
    with expected_warnings():
        small.fit_resample(X, y)
    return small.estimator_


def _value(value: Any) -> str:
    if isinstance(value, Pipeline):
        return f"make_pipeline({', '.join(as_call(step) for _, step in value.steps)})"
    if isinstance(value, BaseEstimator):
        return as_call(value)
    text = value.__name__ if inspect.isfunction(value) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
