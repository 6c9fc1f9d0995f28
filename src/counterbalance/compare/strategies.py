"""Strategies: what can be done about the imbalance, each inside a training part; classifiers.

    none                     prepare -> classify
    class weights            prepare -> classify, every class weighing the same
    SMOTE, mixed table       plain -> SMOTENC -> encode -> classify
    ours                     resample the table itself -> prepare -> classify
    any other                prepare -> resample -> classify

``prepare`` is learned from the factual rows of the training part in every case, so that all
strategies meet in the same space. A tuned threshold is no strategy of its own: every strategy
is judged with one, and ``none`` with a tuned threshold is what the others have to beat.

Classifiers are the paper's six by readable names, with scikit-learn's defaults, or the user's own
as ``module:object``. A classifier without probabilities (the support vector machine) gets them from
a sigmoid that is fitted by cross-validation inside its training part.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from imblearn.over_sampling import SMOTEN, SMOTENC
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from counterbalance.arrays import Floats, Integers
from counterbalance.compare.data import ComparedTable
from counterbalance.constraints import Constraint
from counterbalance.errors import ClassifierError, CounterbalanceError
from counterbalance.estimators.base import seeded
from counterbalance.methods.registry import all_samplers
from counterbalance.table.encoder import TablePreparation
from counterbalance.table.kinds import Kind

StrategyKind = Literal["none", "weights", "ours", "over", "under"]
BASELINE = "none"
WEIGHTS = "class weights"
NEIGHBOURS = 5


OURS = tuple(method for method in all_samplers().values() if method.ours)
DEFAULT_STRATEGIES = (
    BASELINE,
    WEIGHTS,
    "Random oversampling",
    "Random undersampling",
    "SMOTE",
    "ADASYN",
    *(sampler.name for sampler in OURS),
)
# what people write, beside the names themselves in any case
ALIASES = {
    "threshold": BASELINE,
    "tuned threshold": BASELINE,
    "weights": WEIGHTS,
    "class_weight": WEIGHTS,
    **{alias: name for name, method in all_samplers().items() for alias in method.aliases},
}


class StrategyError(CounterbalanceError):
    """A strategy is not known, or cannot be used here."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What a classifier is fitted to."""

    # The prepared training part, after resampling.
    rows: Floats
    labels: Integers
    new: Integers  # which of the rows were added: the last ones of every class that grew
    # The share of each class before and after: the shift that a prior correction undoes. Where the
    # rows are a subsample of a larger table, as they would be with all rows.
    base: Floats
    prior: Floats
    fitted: Floats  # the share of each class that the classifier is fitted at
    weighted: bool  # whether every class is to weigh the same
    preparation: TablePreparation  # for the rows to be judged


def known_strategies() -> dict[str, StrategyKind]:
    """Return the name and kind of every strategy, the defaults first."""
    kinds: dict[str, StrategyKind] = {BASELINE: "none", WEIGHTS: "weights"}
    for name, method in all_samplers().items():
        if method.kind != "classifier" and method.takes == "table":
            kinds[name] = "ours" if method.ours else method.kind
    return {name: kinds[name] for name in dict.fromkeys([*DEFAULT_STRATEGIES, *kinds])}


def strategy_name(given: str) -> str:
    """Return the strategy that a user's text stands for.

    >>> strategy_name("smote"), strategy_name("ours")
    ('SMOTE', 'Counterfactual')
    """
    known = {name.lower(): name for name in known_strategies()}
    wanted = " ".join(given.split()).lower()
    name = ALIASES.get(wanted) or known.get(wanted) or known.get(wanted.replace("_", " "))
    if name is None:
        near = get_close_matches(wanted, known, n=3)
        hint = f" (near: {', '.join(known[match] for match in near)})" if near else ""
        raise StrategyError(
            f"methods must be none, class weights or names that the command counterbalance "
            f"methods lists, got {given!r}{hint}; separate several with commas"
        )
    return name


def adds_rows(name: str) -> bool:
    """Say whether a strategy makes or copies rows."""
    return known_strategies()[name] in {"ours", "over"}


def resample(
    name: str,
    part: ComparedTable,
    kinds: list[Kind],
    seed: int,
    constraints: Sequence[Constraint] = (),
) -> TrainingSet:
    """Resample a training part with a strategy; ``constraints`` are for our own samplers."""
    kind = known_strategies()[name]
    preparation = TablePreparation().fit_kinds(part.X, kinds)
    if kind in {"none", "weights"}:
        rows, labels = preparation.transform(part.X), part.codes
    elif kind == "ours":
        ours = make_ours(name, seed, constraints)
        table, labels = ours.fit_resample(part.X, part.codes)
        rows = preparation.transform(table)
    elif name == "SMOTE" and preparation.nominal_.size:
        rows, labels = smote_of_levels(preparation, part.X, part.codes, seed)
    else:
        sampler = _make_peer(name, _neighbours(part.codes), seed)
        rows, labels = sampler.fit_resample(preparation.transform(part.X), part.codes)
    labels = np.asarray(labels, dtype=np.intp)
    base, after = (np.bincount(y, minlength=len(part.classes)) for y in (part.codes, labels))
    weighted = kind == "weights"
    fitted = np.full(len(after), 1 / len(after)) if weighted else after / after.sum()
    new = _new_rows(labels, after - base)
    shares, prior = base / base.sum(), fitted
    if part.weights is not None and part.subsample is not None:
        prior = part.subsample.prior_on_all_rows(shares, fitted)
        shares = shares * part.subsample.weights / (shares * part.subsample.weights).sum()
    return TrainingSet(rows, labels, new, shares, prior, fitted, weighted, preparation)


def make_ours(name: str, seed: int, constraints: Sequence[Constraint] = ()) -> Any:
    """Return one of our samplers, with its defaults."""
    return all_samplers()[name].factory(random_state=seed, constraints=list(constraints) or None)


def make_sampler(name: str, codes: Integers, seed: int) -> Any:
    """Return the sampler of a strategy, for a table with these classes."""
    is_ours = known_strategies()[name] == "ours"
    return make_ours(name, seed) if is_ours else _make_peer(name, _neighbours(codes), seed)


def _make_peer(name: str, neighbours: int, seed: int) -> Any:
    """Return a peer with its defaults; imbalanced-learn's get fewer neighbours where need be."""
    sampler = all_samplers()[name].factory()
    given = sampler.get_params()
    if given.get("k_neighbors") == NEIGHBOURS:
        sampler.set_params(k_neighbors=neighbours)
    if given.get("n_neighbors") == NEIGHBOURS and type(sampler).__module__.startswith("imblearn"):
        sampler.set_params(n_neighbors=neighbours)
    return sampler.set_params(random_state=seed) if "random_state" in given else sampler


def smote_of_levels(
    preparation: TablePreparation, X: Any, codes: Integers, seed: int
) -> tuple[Any, Any]:
    """Resample a table that has unordered columns with SMOTENC, or SMOTEN where it has no other."""
    plain, places = preparation.plain(X), preparation.nominal_places
    settings = {"k_neighbors": _neighbours(codes), "random_state": seed}
    if len(places) == plain.shape[1]:
        rows, labels = SMOTEN(**settings).fit_resample(plain, codes)
    else:
        sampler = SMOTENC(categorical_features=places, **settings)
        rows, labels = sampler.fit_resample(plain, codes)
    return preparation.encoded(np.asarray(rows, dtype=np.float64)), labels


def smote_of(part: ComparedTable) -> str:
    """Return which SMOTE a table gets."""
    ordered = [kind.has_order for kind in part.kinds]
    if all(ordered):
        return "SMOTE"
    return "SMOTENC" if any(ordered) else "SMOTEN"


def _neighbours(codes: Integers) -> int:
    """Return as many neighbours as the smallest class has, at most five."""
    return max(1, min(NEIGHBOURS, int(np.bincount(codes).min()) - 1))


def _new_rows(labels: Integers, grown: Integers) -> Integers:
    """Return the last rows of each class that grew, as many as it grew by."""
    places = [np.flatnonzero(labels == code)[-more:] for code, more in enumerate(grown) if more > 0]
    return np.sort(np.concatenate(places)) if places else np.zeros(0, dtype=np.intp)


CLASSIFIERS = {
    "logistic regression": "LR",
    "random forest": "RF",
    "gradient boosting": "GBDT",
    "nearest neighbours": "KNN",
    "support vector machine": "SVM",
    "neural net": "NN",
}
DEFAULT_CLASSIFIERS = ("logistic regression", "random forest", "gradient boosting")
SIGMOID_FOLDS = 3


def classifier_name(given: str) -> str:
    """Return the classifier that a user's text stands for; ``module:object`` stays as it is.

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
    if ":" not in name:
        return _with_probabilities(_make_classifier(CLASSIFIERS[name], seed))
    return _with_probabilities(seeded(_import(name), seed))


def _make_classifier(short: str, seed: int) -> Any:
    """Return a classifier of the paper; its features are scaled, no class is weighted."""
    match short:
        case "LR":
            return LogisticRegression(max_iter=1000, random_state=seed)
        case "RF":
            return RandomForestClassifier(random_state=seed)
        case "GBDT":
            return HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
        case "KNN":
            return KNeighborsClassifier()
        case "SVM":
            return SVC()
        case _:
            return MLPClassifier(random_state=seed)


def fit(classifier: Any, rows: Floats, labels: Integers, *, weighted: bool) -> Any:
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
