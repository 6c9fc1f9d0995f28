"""Strategies against imbalance and classifiers, by name.

A tuned threshold is not a strategy of its own: every strategy is scored with one, and ``none``
with a tuned threshold is the baseline. Classifiers are the six of the paper, with scikit-learn's
defaults, or the user's own as ``module:object``.
"""

import hashlib
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from counterbalance.errors import ClassifierError, TableError
from counterbalance.estimators.member import seeded
from counterbalance.methods.registry import all_samplers, find_method

BASELINE, WEIGHTS = "none", "class weights"
INTERIOR, COUNTERFACTUAL = "Interior", "Counterfactual"
# Most useful first; the full comparison has more.
DEFAULT_STRATEGIES = (BASELINE, WEIGHTS, "SMOTE", INTERIOR, COUNTERFACTUAL)
FULL_STRATEGIES = (
    *(BASELINE, WEIGHTS, "Random oversampling", "Random undersampling", "SMOTE", "ADASYN"),
    *(INTERIOR, COUNTERFACTUAL),
)
# other names of strategies that are not resampling methods
ALIASES = {"threshold": BASELINE, "tuned threshold": BASELINE, "none": BASELINE}
ALIASES |= {"weights": WEIGHTS, "class_weight": WEIGHTS, "class weights": WEIGHTS}
CLASSIFIERS = {
    "logistic regression": ("LR", LogisticRegression(max_iter=1000)),
    "random forest": ("RF", RandomForestClassifier()),
    "gradient boosting": ("GBDT", HistGradientBoostingClassifier(early_stopping=False)),
    "nearest neighbours": ("KNN", KNeighborsClassifier()),
    "support vector machine": ("SVM", SVC()),
    "neural net": ("NN", MLPClassifier()),
}
DEFAULT_CLASSIFIERS = ("logistic regression", "gradient boosting")
FULL_CLASSIFIERS = ("logistic regression", "random forest", "gradient boosting")


def known_strategies() -> dict[str, str]:
    """Return every strategy, the usual ones first, with its kind.

    The kinds are none, weights, ours (a sampler of this package), over and under.
    """
    kinds = {BASELINE: "none", WEIGHTS: "weights"}
    for name, method in all_samplers().items():
        if method.kind != "classifier":
            kinds[name] = "ours" if method.ours else method.kind
    return {name: kinds[name] for name in dict.fromkeys([*FULL_STRATEGIES, *kinds])}


def strategy_name(given: str) -> str:
    """Return the strategy that a user's text stands for.

    >>> strategy_name("smote"), strategy_name("ours"), strategy_name("weights")
    ('SMOTE', 'Counterfactual', 'class weights')
    """
    name = ALIASES.get(" ".join(given.split()).lower()) or find_method(given, "methods").name
    if name not in known_strategies():
        raise TableError(f"methods must return a resampled table, got {name!r}; leave it out")
    return name


def classifier_name(given: str) -> str:
    """Return the classifier that a user's text stands for; ``module:object`` stays as it is.

    >>> classifier_name("LR"), classifier_name("Random_Forest"), classifier_name("mine:Net")
    ('logistic regression', 'random forest', 'mine:Net')
    """
    wanted = " ".join(given.replace("_", " ").split()).lower()
    for name, (short, _) in CLASSIFIERS.items():
        if wanted in {name, short.lower()}:
            return name
    if ":" in given:
        return given.strip()
    names = ", ".join(f"{short} ({name})" for name, (short, _) in CLASSIFIERS.items())
    raise ClassifierError(
        f"classifiers must be some of {names}, or your own as module:object, got {given!r}"
    )


def new_classifier(name: str, seed: int) -> Any:
    """Return an unfitted classifier."""
    return seeded(clone(CLASSIFIERS[name][1]) if name in CLASSIFIERS else _import(name), seed)


def weighted(classifier: Any) -> Any:
    """Set balanced class weights in a classifier."""
    names = [name for name in classifier.get_params() if name.endswith("class_weight")]
    if not names:
        raise ClassifierError(
            f"{type(classifier).__name__} takes no class_weight, so it cannot weigh the classes; "
            "leave out class weights or use another classifier"
        )
    return classifier.set_params(**dict.fromkeys(names, "balanced"))


def own_code(names: Iterable[str]) -> str:
    """Return a text that changes with the source of the user's own classifiers."""
    digest = hashlib.sha256()
    for module in sorted({name.partition(":")[0] for name in names if ":" in name}):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None and Path(spec.origin).is_file():
            digest.update(Path(spec.origin).read_bytes())
    return digest.hexdigest()


def _import(name: str) -> Any:
    """Return the user's classifier: an object is cloned, a class or a function is called."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a worker gets the path of the process that started it
        sys.path.append(here)  # last: a numpy.py in that folder must not replace numpy
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
    gives_scores = hasattr(made, "predict_proba") or hasattr(made, "decision_function")
    if not (gives_scores and hasattr(made, "fit") and hasattr(made, "get_params")):
        raise ClassifierError(
            f"classifiers must be scikit-learn classifiers with predict_proba or "
            f"decision_function, got {name!r}, a {type(made).__name__}"
        )
    return made
