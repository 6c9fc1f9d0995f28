"""Classifiers: the paper's six and ours by readable names, or the user's own as ``module:object``.

Ours, the counterfactual classifier, resamples by itself: no strategy is to add much to it.

A classifier without probabilities (the support vector machine) gets them from a sigmoid that
is fitted by cross-validation inside its training part.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from counterbalance.arrays import Floats
from counterbalance.errors import ClassifierError
from counterbalance.estimators.counterfactual import CounterfactualClassifier
from counterbalance.trials.classifiers import make_classifier

CLASSIFIERS = {
    "logistic regression": "LR",
    "random forest": "RF",
    "gradient boosting": "GBDT",
    "nearest neighbours": "KNN",
    "support vector machine": "SVM",
    "neural net": "NN",
    "counterfactual classifier": "CFC",
}
COUNTERFACTUAL = "counterfactual classifier"
DEFAULT_CLASSIFIERS = ("logistic regression", "random forest", "gradient boosting")
SIGMOID_FOLDS = 3


def classifier_name(given: str) -> str:
    """Return the classifier that a user's text stands for; ``module:object`` stays as it is.

    Examples
    --------
    >>> classifier_name("LR"), classifier_name("Random_Forest"), classifier_name("mine:Net")
    ('logistic regression', 'random forest', 'mine:Net')
    """
    if ":" in given:
        return given.strip()
    wanted = " ".join(given.replace("_", " ").split()).lower()
    for name, short in CLASSIFIERS.items():
        if wanted in {name, short.lower()}:
            return name
    names = ", ".join(f"{short} ({name})" for name, short in CLASSIFIERS.items())
    raise ClassifierError(
        f"classifiers must be some of {names}, or your own as module:object, got {given!r}"
    )


def own_modules(names: tuple[str, ...]) -> list[str]:
    """Return the modules of the user's own classifiers."""
    return sorted({name.partition(":")[0] for name in names if ":" in name})


def new_classifier(name: str, seed: int) -> Any:
    """Return an unfitted classifier."""
    if name == COUNTERFACTUAL:
        return CounterfactualClassifier(threshold=None, random_state=seed)
    if ":" not in name:
        return _with_probabilities(make_classifier(CLASSIFIERS[name], seed))
    classifier = _import(name)
    seeds = {
        key: seed
        for key, value in classifier.get_params().items()
        if (key == "random_state" or key.endswith("__random_state")) and value is None
    }
    return _with_probabilities(classifier.set_params(**seeds))


def fit(classifier: Any, rows: Floats, labels: NDArray[np.intp], *, weighted: bool) -> Any:
    """Fit a classifier, with every class weighing the same if asked to."""
    if not weighted:
        return classifier.fit(rows, labels)
    weights = compute_sample_weight("balanced", labels)
    is_calibrated = isinstance(classifier, CalibratedClassifierCV)
    if has_fit_parameter(classifier.estimator if is_calibrated else classifier, "sample_weight"):
        return classifier.fit(rows, labels, sample_weight=weights)
    parameters = [name for name in classifier.get_params() if name.endswith("class_weight")]
    if not parameters:
        raise ClassifierError(
            f"{type(classifier).__name__} takes neither sample_weight nor class_weight, so it "
            "cannot weigh the classes; leave out class weights or use another classifier"
        )
    classifier.set_params(**dict.fromkeys(parameters, "balanced"))
    # the sigmoid has to be weighted as its classifier is, or it would undo the weights
    return classifier.fit(rows, labels, **({"sample_weight": weights} if is_calibrated else {}))


def probabilities(classifier: Any, rows: Floats, n_classes: int) -> Floats:
    """Return the probability of every class code, also of those it has not seen."""
    found = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
    if not np.isfinite(found).all():
        raise ClassifierError(
            f"{type(classifier).__name__} returned probabilities that are not finite; use another "
            "classifier"
        )
    result = np.zeros((len(rows), n_classes))
    result[:, np.asarray(classifier.classes_, dtype=np.intp)] = found
    return result


def _with_probabilities(classifier: Any) -> Any:
    if hasattr(classifier, "predict_proba"):
        return classifier
    return CalibratedClassifierCV(classifier, ensemble=False, cv=SIGMOID_FOLDS)


def _import(name: str) -> Any:
    """Return the user's classifier: an object is cloned, a class or a function is called."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a worker gets the path of the process that started it
        sys.path.append(here)  # last: a numpy.py that lies there must not stand for numpy
    try:
        found = getattr(import_module(module), attribute)
        is_made = hasattr(found, "get_params") and not isinstance(found, type)
        made = clone(found) if is_made else found()
    except Exception as error:
        raise ClassifierError(
            f"classifiers must name an object that can be imported, and called if it is a class or "
            f"a function, got {name!r}: {error}; give it as module:object, with the module's file "
            "in this folder or installed"
        ) from error
    if not (hasattr(made, "fit") and hasattr(made, "get_params")) or not (
        hasattr(made, "predict_proba") or hasattr(made, "decision_function")
    ):
        raise ClassifierError(
            f"classifiers must be scikit-learn classifiers with predict_proba or "
            f"decision_function, got {name!r}, a {type(made).__name__}"
        )
    return made
