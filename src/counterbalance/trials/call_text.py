"""An estimator written as the call that makes it: what a page prints is what runs.

A setting that is typed into a text goes stale when the code changes. Here the text is read
from the object itself: the parameters that a reader should see, whatever their value, and every
other one that is not at its default.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from counterbalance.trials.expected import expected_warnings

# By class: what is written even at its default, in this order.
TOLD = {
    "CounterfactualOverSampler": (
        *("estimator", "n_draws", "epsilon", "sampling_strategy", "on_shortfall"),
    ),
    "InteriorOverSampler": ("estimator", "spread", "between", "agreement", "sampling_strategy"),
    "KMeansSMOTE": ("cluster_balance_threshold",),
    "SVC": ("kernel", "C", "gamma"),
    "KNeighborsClassifier": ("n_neighbors",),
    "MLPClassifier": ("hidden_layer_sizes", "learning_rate_init", "max_iter"),
    "HistGradientBoostingClassifier": ("max_iter", "learning_rate", "early_stopping"),
    "RandomForestClassifier": ("n_estimators", "min_samples_leaf"),
    "ExtraTreesClassifier": ("n_estimators", "min_samples_leaf"),
    "LogisticRegression": ("C", "class_weight"),
    "RidgeClassifier": ("alpha", "class_weight"),
}
# A longer value, such as a user's array, is cut.
LONGEST = 120
# Seeds belong to a cell; the others change the speed and never a result.
UNTOLD = ("random_state", "n_jobs", "working_memory", "verbose")


def as_call(estimator: Any) -> str:
    """Write an estimator as the call that makes it.

    Parameters
    ----------
    estimator : estimator
        The very object that runs, or one made by the same function.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> as_call(LogisticRegression(max_iter=1000, random_state=3))
    'LogisticRegression(C=1.0, class_weight=None, max_iter=1000)'
    """
    if isinstance(estimator, Pipeline):
        return " -> ".join(as_call(step) for _, step in estimator.steps)
    values = estimator.get_params(deep=False)
    names = [name for name in TOLD.get(type(estimator).__name__, ()) if name in values]
    for name, parameter in inspect.signature(type(estimator).__init__).parameters.items():
        is_usual = repr(values.get(name)) == repr(parameter.default)
        if name in values and not is_usual and name not in (*names, *UNTOLD):
            names.append(name)
    arguments = ", ".join(f"{name}={_value(values[name])}" for name in names)
    return f"{type(estimator).__name__}({arguments})"


def f_of(sampler: Any) -> Any:
    """Return the classifier that a sampler takes as f, also where a name or None stands for it.

    It is the one that the sampler fits to a small table of numbers.

    Examples
    --------
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
    if isinstance(value, BaseEstimator):
        return as_call(value)
    text = value.__name__ if inspect.isfunction(value) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
