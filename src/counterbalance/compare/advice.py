"""Advice: the object to use, as lines of Python to paste.

    our samplers     ResampledClassifier(make_pipeline(TablePreparation(), f), sampler)
    other samplers   make_pipeline(TablePreparation(), ResampledClassifier(f, sampler))
    a threshold      the same with "passthrough" in place of a sampler
    nothing          make_pipeline(TablePreparation(), f)

That is what was compared, to be fitted to the whole table: the same preparation, classifier and
sampler, the threshold tuned inside. The object is made first and written from what it is, so
that the lines give it again. They expect X and y.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from counterbalance.compare.classifiers import COUNTERFACTUAL, new_classifier
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.results import HALF, Results
from counterbalance.compare.strategies import (
    WEIGHTS,
    known_strategies,
    make_sampler,
)
from counterbalance.estimators.resampled import ResampledClassifier
from counterbalance.table.preparation import TablePreparation

Imports = set[tuple[str, str]]


class Offer(NamedTuple):
    """A classifier with a strategy at a threshold, and its score."""

    classifier: str
    strategy: str
    threshold: str
    score: float


def advise(results: Results, offer: Offer) -> tuple[str, str]:
    """Return a sentence that names the object to use, and the lines that make it."""
    model = make_model(results, offer)
    imports: Imports = set()
    head, arguments = _call(model, imports)
    text = f"{head}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    found = {name for _, name in imports}
    name = next((n for n in ("ResampledClassifier", "CounterfactualClassifier") if n in found), "")
    what = name or offer.classifier
    sentence = f"To use it on new rows: {what}, in the lines below; they take the table as it is."
    modules: dict[str, list[str]] = {}
    for module, imported in sorted(imports):
        modules.setdefault(module, []).append(imported)
    lines = [f"from {module} import {', '.join(names)}" for module, names in modules.items()]
    return sentence, "\n".join([*lines, f"model = {text}.fit(X, y)"])


def make_model(results: Results, offer: Offer) -> Any:
    """Return what an offer is, unfitted."""
    settings, table = results.plan.settings, results.plan.table
    metric = METRICS[settings.metric]
    kind = known_strategies()[offer.strategy]
    f, preparation = new_classifier(offer.classifier, settings.seed), TablePreparation()
    is_plain = kind == "none" and (offer.threshold == HALF or not metric.needs_threshold)
    threshold = metric.name if metric.needs_threshold and not is_plain else None
    if offer.strategy == WEIGHTS:
        names = [name for name in f.get_params() if name.endswith("class_weight")]
        f.set_params(**dict.fromkeys(names, "balanced"))
    if kind == "none" and offer.classifier == COUNTERFACTUAL:
        return make_pipeline(preparation, f.set_params(threshold=threshold))
    if is_plain:
        return make_pipeline(preparation, f)
    rest: dict[str, Any] = {"threshold": threshold, "calibration": "sigmoid"}
    rest["random_state"] = settings.seed
    if kind in {"none", "weights"}:
        return ResampledClassifier(make_pipeline(preparation, f), "passthrough", **rest)
    sampler = make_sampler(offer.strategy, table.codes, settings.seed)
    if kind == "ours":
        return ResampledClassifier(make_pipeline(preparation, f), sampler, **rest)
    return make_pipeline(preparation, ResampledClassifier(f, sampler, **rest))


def as_code(value: Any, imports: Imports) -> str:
    """Write a value as the expression that makes it, and note what that needs to import.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> needed = set()
    >>> as_code(LogisticRegression(C=2.0), needed), needed
    ('LogisticRegression(C=2.0)', {('sklearn.linear_model', 'LogisticRegression')})
    """
    if inspect.isfunction(value):
        imports.add((value.__module__, value.__name__))
        return str(value.__name__)
    if not isinstance(value, BaseEstimator):
        return repr(value)
    head, arguments = _call(value, imports)
    return f"{head}({', '.join(arguments)})"


def _call(value: Any, imports: Imports) -> tuple[str, list[str]]:
    """Return what is called to make an estimator, and with which arguments."""
    if isinstance(value, Pipeline):
        imports.add(("sklearn.pipeline", "make_pipeline"))
        return "make_pipeline", [as_code(step, imports) for _, step in value.steps]
    imports.add((public_module(type(value)), type(value).__name__))
    given = value.get_params(deep=False)
    arguments: list[str] = []
    for name, parameter in inspect.signature(type(value).__init__).parameters.items():
        if name not in given or repr(given[name]) == repr(parameter.default):
            continue
        is_first = not arguments and isinstance(given[name], BaseEstimator)
        arguments.append(f"{'' if is_first else f'{name}='}{as_code(given[name], imports)}")
    return type(value).__name__, arguments


def public_module(kind: type) -> str:
    """Return the shortest path that a class can be imported from.

    Examples
    --------
    >>> from imblearn.over_sampling import SMOTE
    >>> public_module(SMOTE)
    'imblearn.over_sampling'
    """
    parts = kind.__module__.split(".")
    for stop in range(1, len(parts)):
        module = import_module(".".join(parts[:stop]))
        if getattr(module, kind.__name__, None) is kind:
            return ".".join(parts[:stop])
    return kind.__module__
