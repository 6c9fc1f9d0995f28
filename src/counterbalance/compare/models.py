"""Models: a strategy with a classifier, as the scikit-learn object that is compared and printed.

    none, class weights   ResampledClassifier(prepare -> f, "passthrough")
    our samplers          ResampledClassifier(prepare -> f, sampler), which resamples the table
    others                prepare -> ResampledClassifier(f, sampler)
    SMOTE, mixed table    prepare, levels as codes -> ResampledClassifier(one-hot -> f, SMOTENC)

f is the classifier, ``prepare`` is `TablePreparation`. These are the ``tuned`` models: their
probabilities are corrected for the prior and calibrated, and their threshold is tuned, inside the
rows that they are fitted to. The plain model, at a threshold of 0.5, is the sampler, then f.
"""

import inspect
import re
from itertools import takewhile
from typing import Any, NamedTuple

from imblearn.over_sampling import SMOTEN, SMOTENC
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterbalance
from counterbalance import constraints
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.strategies import (
    BASELINE,
    WEIGHTS,
    known_strategies,
    new_classifier,
    weighted,
)
from counterbalance.estimators.decision import THRESHOLDED
from counterbalance.estimators.resampled import ResampledClassifier
from counterbalance.methods.registry import all_samplers
from counterbalance.table.encoder import MOST_LEVELS, TablePreparation

HALF, TUNED = "0.5", "tuned"
NEIGHBOURS = 5
Imports = set[tuple[str, str]]


class Parts(NamedTuple):
    """A strategy with a classifier, unfitted."""

    before: Any  # the step before sampler and classifier; None where the sampler takes the table
    resampled: ResampledClassifier

    def model(self, threshold: str) -> Any:
        """Return the model with its own threshold and calibration, or the plain one."""
        estimator, sampler = self.resampled.estimator, self.resampled.sampler
        steps = [self.before] * (self.before is not None)
        if threshold == TUNED:
            return make_pipeline(*steps, self.resampled) if steps else self.resampled
        if isinstance(sampler, str):
            return estimator
        last = [s for _, s in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
        return make_sampling_pipeline(*steps, sampler, *last)


def make_parts(plan: ComparisonPlan, strategy: str, classifier: str) -> Parts:
    """Return the parts of a strategy with a classifier, for this table and these settings."""
    settings, kinds = plan.settings, plan.table.kinds
    f = new_classifier(classifier, settings.seed)
    before, sampler = None, "passthrough"
    estimator: Any = make_pipeline(TablePreparation(), f)
    nominal = [place for place, kind in enumerate(kinds) if not kind.has_order]
    if strategy == WEIGHTS:
        weighted(f)
    elif known_strategies()[strategy] == "ours":
        given = {"constraints": list(settings.constraints)} if settings.constraints else {}
        sampler = _seeded(all_samplers()[strategy].factory(**given), plan)
    elif strategy == "SMOTE" and nominal:
        before = TablePreparation(categorical_features=nominal, one_hot=False)
        places = list(range(len(kinds) - len(nominal), len(kinds)))  # codes come last
        levels = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False
        )
        encoder = ColumnTransformer([("levels", levels, places)], remainder="passthrough")
        estimator = make_pipeline(encoder, f)
        sampler = _seeded(SMOTENC(places) if len(nominal) < len(kinds) else SMOTEN(), plan)
    elif strategy != BASELINE:
        before, estimator = TablePreparation(), f
        sampler = _seeded(all_samplers()[strategy].factory(), plan)
    is_timed = plan.table.times is not None
    resampled = ResampledClassifier(
        estimator,
        sampler,
        threshold=settings.metric if settings.metric in THRESHOLDED else None,
        calibration="sigmoid",
        ensemble=False,  # the plain model is its one estimator, so nothing is fitted twice
        cv=TimeSeriesSplit(settings.inner_folds) if is_timed else settings.inner_folds,
        random_state=settings.seed,
    )
    return Parts(before, resampled)


def _seeded(sampler: Any, plan: ComparisonPlan) -> Any:
    """Set the seed of a sampler; limit imbalanced-learn's neighbours to what every fold has."""
    usual, given = sampler.get_params(), {}
    if usual.get("random_state", 0) is None:
        given["random_state"] = plan.settings.seed
    for name in ("k_neighbors", "n_neighbors"):
        if usual.get(name) == NEIGHBOURS and type(sampler).__module__.startswith("imblearn"):
            given[name] = max(1, min(NEIGHBOURS, plan.fewest - 1))
    return sampler.set_params(**given)


def smote_of(plan: ComparisonPlan) -> str:
    """Return the variant of SMOTE that fits the columns of a table."""
    ordered = [kind.has_order for kind in plan.table.kinds]
    return "SMOTE" if all(ordered) else "SMOTENC" if any(ordered) else "SMOTEN"


def as_code(value: Any, imports: Imports) -> str:
    """Write a value as a Python expression, and add what it needs to ``imports``.

    >>> from sklearn.linear_model import LogisticRegression
    >>> needed = set()
    >>> as_code(LogisticRegression(C=2.0), needed), needed
    ('LogisticRegression(C=2.0)', {('sklearn.linear_model', 'LogisticRegression')})
    """
    if isinstance(value, (list, tuple)):
        parts = "".join(f"{as_code(part, imports)}, " for part in value)
        return f"[{parts[:-2]}]" if isinstance(value, list) else f"({parts[:-1]})"
    if isinstance(value, (BaseEstimator, TimeSeriesSplit)):
        head, arguments = as_call(value, imports)
        return f"{head}({', '.join(arguments)})"
    if type(value).__module__.startswith(constraints.__name__):
        called = re.findall(r"\b[A-Z]\w*(?=\()", repr(value))
        imports |= {(constraints.__name__, name) for name in called if hasattr(constraints, name)}
    return repr(value)


def as_call(value: Any, imports: Imports) -> tuple[str, list[str]]:
    """Return the call that makes an estimator: the name and the arguments."""
    name, module = type(value).__name__, type(value).__module__
    if isinstance(value, Pipeline):
        imports.add((f"{module.partition('.')[0]}.pipeline", "make_pipeline"))
        return "make_pipeline", [as_code(step, imports) for _, step in value.steps]
    public = ".".join(takewhile(lambda part: part[0] != "_", module.split(".")))
    imports.add(("counterbalance" if name in counterbalance.__all__ else public, name))
    given = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
    arguments: list[str] = []
    for parameter, default in inspect.signature(type(value).__init__).parameters.items():
        if repr(given.get(parameter, default.default)) != repr(default.default):
            text = as_code(given[parameter], imports)
            is_first = not arguments and isinstance(given[parameter], BaseEstimator)
            arguments.append(text if is_first else f"{parameter}={text}")
    return name, arguments
