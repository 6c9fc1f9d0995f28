"""The six classifiers of Experiment II; the paper names them and gives no settings.

They get scaled features and otherwise scikit-learn's defaults, with these exceptions:
gradient boosting is the histogram kind, the only one that is quick on 784 pixels, and
logistic regression may iterate longer, so that it ends.
None of them weighs the classes: the resampling is what is compared.
"""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from counterbalance.trials.call_text import as_call

CLASSIFIERS = ("SVM", "KNN", "NN", "GBDT", "RF", "LR")


def descriptions() -> dict[str, str]:
    """Return the classifiers as the calls that make them, read from the objects themselves."""
    return {name: f"`{as_call(make_classifier(name, 0))}`" for name in CLASSIFIERS}


def make_classifier(name: str, seed: int) -> Any:
    """Return a classifier of the paper, unfitted.

    Examples
    --------
    >>> make_classifier("KNN", seed=0)
    KNeighborsClassifier()
    """
    makers = {
        "SVM": SVC,
        "KNN": KNeighborsClassifier,
        "NN": lambda: MLPClassifier(random_state=seed),
        "GBDT": lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=seed),
        "RF": lambda: RandomForestClassifier(random_state=seed),
        "LR": lambda: LogisticRegression(max_iter=1000, random_state=seed),
    }
    return makers[name]()
