"""The paper's six classifiers, in sizes that a study of some ten thousand fits can afford.

They get scaled features and the settings below. Under the method ``class weights`` each
weighs the classes as far as scikit-learn lets it; nearest neighbours cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from counterbalance.trials.call_text import as_call

CLASSIFIERS = ("SVM", "KNN", "NN", "GBDT", "RF", "LR")


def descriptions() -> dict[str, str]:
    """Return the classifiers as the calls that make them, read from the objects themselves."""
    made = {name: make_classifier(name, 0) for name in CLASSIFIERS}
    return {
        name: f"`{as_call(f)}`"
        + ("" if hasattr(f, "predict_proba") else "; it has no probabilities, so no Brier score")
        for name, f in made.items()
    }


def make_classifier(name: str, seed: int) -> Any:
    """Return a classifier, unfitted.

    Examples
    --------
    >>> make_classifier("KNN", seed=0)
    KNeighborsClassifier()
    """
    makers = {
        "SVM": SVC,
        "KNN": KNeighborsClassifier,
        "NN": lambda: MLPClassifier(
            (50,), learning_rate_init=0.005, max_iter=100, random_state=seed
        ),
        "GBDT": lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
        "RF": lambda: RandomForestClassifier(50, random_state=seed),
        "LR": lambda: LogisticRegression(max_iter=1000, random_state=seed),
    }
    return makers[name]()


def fit_weighted(f: Any, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
    """Fit a classifier with balanced class weights, plainly where it takes none."""
    if isinstance(f, KNeighborsClassifier):
        return f.fit(X, y)
    return f.fit(X, y, sample_weight=compute_sample_weight("balanced", y))
