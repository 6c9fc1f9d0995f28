"""Trials of a comparison: independent pieces of work, each a function of the plan and itself.

    {"experiment": "scores", "strategy": "SMOTE", "classifier": "random forest",
     "repeat": 0, "fold": 3}
    {"experiment": "trust", "strategy": "SMOTE", "draw": 2}

A trial of scores is a strategy and a classifier on one fold (for those of trust see ``trust``):

    training part -> resample -> fit -> probabilities of the test part
        inner folds -> resample -> fit -> probabilities of the rows left out -> thresholds

Everything that is learned (imputation, scaling, encoding, new rows, the model, its thresholds)
is learned from the training part. With more than two classes there is no threshold to tune: in
its place each probability is divided by the share that its class had in training, and the
largest wins. A worker keeps the last resampled parts, because the classifiers of a fold share
them. Warnings of samplers and classifiers are kept with the trial, so that the verdict can name
them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from counterbalance.compare.classifiers import fit, new_classifier, probabilities
from counterbalance.compare.metrics import (
    CORRECTED,
    EVEN,
    answer_scores,
    brier,
    probability_scores,
)
from counterbalance.compare.plan import ComparisonPlan, usable_folds
from counterbalance.compare.strategies import TrainingSet, resample
from counterbalance.compare.trust import TRUST, compute_trust, trust_trials
from counterbalance.errors import ShortfallWarning, TableError
from counterbalance.estimators.decision import prior_corrected, tuned_thresholds
from counterbalance.methods import PeerFallbackWarning
from counterbalance.trials.trial import TrialResult, seed_of

if TYPE_CHECKING:
    from counterbalance.arrays import Floats, Integers
    from counterbalance.compare.data import ComparedTable
    from counterbalance.trials.trial import Trial

SCORES = "scores"
WORTH_SAYING = (ShortfallWarning, PeerFallbackWarning, ConvergenceWarning)
DIGITS = 9  # of a probability that is kept for the curves


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of one strategy on one training part, for every classifier alike."""

    whole: TrainingSet
    inner: tuple[tuple[TrainingSet, Integers], ...]


def all_trials(plan: ComparisonPlan) -> list[Trial]:
    """Return every trial of a comparison, those of one fold together."""
    return [*score_trials(plan), *trust_trials(plan)]


def compute(plan: ComparisonPlan, trial: Trial) -> TrialResult:
    """Compute one trial, from nothing but the plan and the trial itself."""
    experiment = compute_trust if trial["experiment"] == TRUST else compute_scores
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result = experiment(plan, trial)
    kinds = sorted({w.category.__name__ for w in heard if issubclass(w.category, WORTH_SAYING)})
    return TrialResult(result.figures, {**(result.payload or {}), "warnings": kinds})


def score_trials(plan: ComparisonPlan) -> list[Trial]:
    """Return a trial for each fold, strategy and classifier, in this order."""
    return [
        {
            "experiment": SCORES,
            "strategy": strategy,
            "classifier": classifier,
            "repeat": fold.repeat,
            "fold": fold.number,
        }
        for fold in plan.folds
        for strategy in plan.settings.strategies
        for classifier in plan.settings.classifiers
    ]


def compute_scores(plan: ComparisonPlan, trial: Trial) -> TrialResult:
    """Fit a classifier to a resampled training part and judge it on the test part."""
    fold = plan.fold(int(trial["repeat"]), int(trial["fold"]))
    strategy, classifier = str(trial["strategy"]), str(trial["classifier"])
    learned = _learned(plan, strategy, fold.repeat, fold.number)
    part, test = plan.table.part(fold.train), plan.table.part(fold.test)
    seed = seed_of(plan.settings.seed, *trial.values())
    p = _probabilities(learned.whole, test, classifier, seed)
    figures = probability_scores(test.codes, p, test.weights)
    corrected = prior_corrected(p, learned.whole.base, learned.whole.prior)
    figures[f"brier{CORRECTED}"] = brier(test.codes, corrected, test.weights)
    kept = {"p": _kept(p), "corrected": _kept(corrected), "new": len(learned.whole.new)}
    if not plan.table.is_binary:
        for name, shares in (("0.5", p), ("tuned", p / learned.whole.prior)):
            answer = shares.argmax(axis=1)
            answers = answer_scores(test.codes, answer, p.shape[1], test.weights)
            figures |= _at(name, answers)
        return TrialResult(figures, kept)
    thresholds = inner_thresholds(part, learned, classifier, seed)
    figures |= _at("0.5", _binary_scores(test, p, EVEN))
    for name, threshold in thresholds.items():
        figures[f"{name}@tuned"] = _binary_scores(test, p, threshold)[name]
        figures[f"threshold {name}"] = threshold
    return TrialResult(figures, kept)


def inner_thresholds(
    part: ComparedTable, learned: Learned, classifier: str, seed: int
) -> dict[str, float]:
    """Tune the thresholds on probabilities from inside a training part."""
    scored = [
        (_probabilities(resampled, left_out, classifier, seed)[:, 1], left_out.codes)
        for resampled, left_out in ((r, part.part(rows)) for r, rows in learned.inner)
    ]
    p, y = (np.concatenate(parts) for parts in zip(*scored, strict=True))
    tested = np.concatenate([rows for _, rows in learned.inner])
    return tuned_thresholds(p, y, None if part.weights is None else part.weights[tested])


def learn(plan: ComparisonPlan, strategy: str, train: Integers, seed: int) -> Learned:
    """Resample a training part as a whole and without each of its inner folds."""
    part, kinds = plan.table.part(train), plan.table.kinds
    rules = plan.settings.constraints
    whole = resample(strategy, part, kinds, seed, rules)
    if not part.is_binary:
        return Learned(whole, ())
    asked = (plan.settings.inner_folds, 1, plan.settings.seed)
    # a small part may have the minority in one group or block only: still nothing from outside
    folds = usable_folds(part, *asked) or usable_folds(part.loose, *asked)
    if not folds:
        raise TableError(
            f"a training part has too few rows of class {part.classes[-1]!r} to tune a threshold "
            "inside it; use fewer folds or collect more rows"
        )
    inner = tuple(
        (resample(strategy, part.part(f.train), kinds, seed, rules), f.test) for f in folds
    )
    return Learned(whole, inner)


@lru_cache(maxsize=1)
def _learned(plan: ComparisonPlan, strategy: str, repeat: int, number: int) -> Learned:
    seed = seed_of(plan.settings.seed, strategy, repeat, number)
    return learn(plan, strategy, plan.fold(repeat, number).train, seed)


def _probabilities(
    resampled: TrainingSet, rows: ComparedTable, classifier: str, seed: int
) -> Floats:
    model = fit(
        new_classifier(classifier, seed),
        resampled.rows,
        resampled.labels,
        weighted=resampled.weighted,
    )
    p = probabilities(model, resampled.preparation.transform(rows.X), len(rows.classes))
    if resampled.prior is resampled.fitted:
        return p
    return prior_corrected(p, resampled.prior, resampled.fitted)


def _binary_scores(rows: ComparedTable, p: Floats, threshold: float) -> dict[str, float]:
    answer = (p[:, 1] >= threshold).astype(np.intp)
    return answer_scores(rows.codes, answer, 2, rows.weights)


def _at(threshold: str, scores: dict[str, float]) -> dict[str, float]:
    return {f"{name}@{threshold}": value for name, value in scores.items()}


def _kept(p: Floats) -> list[list[float]] | list[float]:
    kept: list[list[float]] | list[float] = p.round(DIGITS).tolist()
    return p[:, 1].round(DIGITS).tolist() if p.shape[1] == 2 else kept  # noqa: PLR2004 - two classes
