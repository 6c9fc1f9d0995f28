"""Trials: one fit and its scores, computed from the plan and the trial alone.

    {"strategy": "SMOTE", "classifier": "gradient boosting", "fold": 3}

The model of `models` is fitted to the training part of a fold and scored on its test part.
Everything that is learned (imputation, scaling, encoding, new rows, the classifier, calibration,
threshold) is learned inside the training part, by the model itself.

If the table was sampled with other class shares than the file, metrics and thresholds use weights
that restore the shares of the file, and the probabilities of a model are corrected for that prior.
The plain model of a strategy that changes the shares itself is not corrected.
"""

from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.metrics import answer_scores, brier, ranking_scores
from counterbalance.compare.models import HALF, TUNED, Parts, make_parts
from counterbalance.compare.plan import ComparisonPlan, splits
from counterbalance.compare.runner import Trial
from counterbalance.compare.strategies import BASELINE
from counterbalance.errors import ClassifierError, TableError
from counterbalance.estimators.decision import THRESHOLDED, Rule, prior_corrected, tuned_rule


def compute(plan: ComparisonPlan, trial: Trial) -> dict[str, float]:
    """Fit a model to a training part and score it on the test part."""
    table, fold = plan.table, plan.folds[int(trial["fold"])]
    part, test = table.part(fold.train), table.part(fold.test)
    parts = make_parts(plan, str(trial["strategy"]), str(trial["classifier"]))
    model, X = fit_parts(plan, parts, part, test.X)
    weights, n_classes = table.class_weights, len(table.classes)
    w = None if weights is None else weights[test.codes]
    f, calibrated = model.estimator_, at_shares_of_file(model.predict_proba(X), part, weights)
    # a classifier without probabilities uses those of its calibration
    raw = np.asarray(f.predict_proba(X)) if hasattr(f, "predict_proba") else calibrated
    if not np.isfinite(raw).all():
        raise ClassifierError(
            f"{type(f).__name__} returned probabilities that are not finite; use another classifier"
        )
    answer = np.searchsorted(model.classes_, f.predict(X))
    if weights is not None and trial["strategy"] == BASELINE:
        raw = at_shares_of_file(raw, part, weights)
        answer = raw.argmax(axis=1)
    rank = np.argsort(table.order)  # from places among the sorted labels to class codes
    figures = ranking_scores(test.codes, raw[:, table.order], w)
    for cut, p in ((HALF, raw), (TUNED, calibrated)):
        figures[f"brier@{cut}"] = brier(test.codes, p[:, table.order], w)
    for name, score in answer_scores(test.codes, rank[answer], n_classes, w).items():
        figures[f"{name}@{HALF}"] = score
    for name, rule in tuned_rules(model, part, weights).items():
        tuned = answer_scores(test.codes, rank[rule.answer(calibrated)], n_classes, w)
        figures[f"{name}@{TUNED}"] = tuned[name]
        if rule.cut is not None:
            figures[f"threshold {name}"] = rule.cut
    return figures


def fit_parts(plan: ComparisonPlan, parts: Parts, part: ComparedTable, X: Any) -> tuple[Any, Any]:
    """Fit a model to a training part; return it, and the rows ``X`` as it takes them."""
    settings, (before, model), rows = plan.settings, parts, part.X
    inner = splits(part, settings.inner_folds, settings.seed)
    if part.times is not None:
        model.set_params(cv=inner or settings.inner_folds)
    if before is not None:
        rows, X = before.fit_transform(rows), before.transform(X)
    # in a small part the minority may be in one group only: tune without groups, inside the part
    model.fit(rows, part.y, groups=part.groups if inner else None)
    if not hasattr(model, "out_of_fold_proba_"):
        raise TableError(
            f"a training part has too few rows of class {part.classes[-1]!r} to tune a threshold "
            "inside it; use fewer folds or collect more rows"
        )
    return model, X


def at_shares_of_file(p: Floats, part: ComparedTable, weights: Floats | None) -> Floats:
    """Move probabilities from the shares of the rows used to those of the file."""
    if weights is None:
        return p
    here = np.bincount(part.y) / len(part.y)
    there = here * weights[np.argsort(part.order)]
    return prior_corrected(p, there / there.sum(), here)


def tuned_rules(model: Any, part: ComparedTable, weights: Floats | None) -> dict[str, Rule]:
    """Return, for each metric that needs one, the rule that the model would tune for it."""
    known = np.isfinite(model.out_of_fold_proba_).all(axis=1)
    p = at_shares_of_file(model.out_of_fold_proba_[known], part, weights)
    w = None if weights is None else weights[part.codes[known]]
    return {name: tuned_rule(p, part.y[known], name, w) for name in THRESHOLDED}
