"""Trials of a comparison: independent pieces of work, each a function of the plan and itself.

    {"experiment": "scores", "strategy": "SMOTE", "classifier": "random forest",
     "repeat": 0, "fold": 3}
    {"experiment": "trust", "strategy": "SMOTE", "draw": 2}

A trial of scores is a strategy and a classifier on one fold (those of trust see below):

    training part -> resample -> fit -> probabilities of the test part
        inner folds -> resample -> fit -> probabilities of the rows left out -> thresholds

Everything that is learned (imputation, scaling, encoding, new rows, the model, its thresholds)
is learned from the training part. With more than two classes there is no threshold to tune: in
its place each probability is divided by the share that its class had in training, and the
largest wins. A worker keeps the last resampled parts, because the classifiers of a fold share
them. Warnings of samplers and classifiers are kept with the trial, so that the verdict can name
them.

A trial of trust asks whether the new rows lie where their class lies.

The table is halved at random, by class (and by group, if there are groups). From the first
half some rows of the largest class are hidden: as many as the smaller classes have on average,
but never so many that it is no longer clearly the largest. A sampler sees what is left of the
first half. Then, of its new rows:

    hidden majority   the share that is nearer to a hidden row of the largest class than to any
                      real row of their own class
    agreement         the share that a committee puts into their class: the mean probability of
                      a logistic regression, a forest and gradient boosting, class-weighted,
                      fitted to the second half, which the sampler never saw
    distance          the median distance to the nearest real row that the sampler saw, over the
                      median distance of the real rows of the smaller classes to their nearest:
                      0 for copies, 1 for rows as far from others as real ones are
    outliers          the share that lies farther from the real rows of its class (from the fifth
                      nearest) than 95 % of them lie from each other

Distances are Euclidean on prepared features (scaled numbers, one column for each category).
The same figures of the real rows of the smaller classes, each left out in turn, say what to
expect of good labels. All of it is a function of the table, the seed and the draw.
"""

import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.metrics import CORRECTED, EVEN, answer_scores, brier, probability_scores
from counterbalance.compare.plan import ComparisonPlan, usable_folds
from counterbalance.compare.runner import Trial
from counterbalance.compare.strategies import (
    DEFAULT_CLASSIFIERS,
    TrainingSet,
    adds_rows,
    fit,
    new_classifier,
    probabilities,
    resample,
)
from counterbalance.errors import ShortfallWarning, TableError
from counterbalance.estimators.decision import prior_corrected, tuned_thresholds
from counterbalance.methods import PeerFallbackWarning
from counterbalance.plausible.outliers import USUAL, K
from counterbalance.table.encoder import TablePreparation

# Figures of a trial, and what else is kept of it.
Result = tuple[Mapping[str, float], dict[str, Any]]
TRUST = "trust"
REAL_ROWS = "real rows"
HALVES = 2


def trust_trials(plan: ComparisonPlan) -> list[Trial]:
    """Return a trial for each draw and each strategy that adds rows, and one for real rows."""
    adding = [name for name in plan.settings.strategies if adds_rows(name)]
    return [
        {"experiment": TRUST, "strategy": strategy, "draw": draw}
        for draw in range(plan.settings.draws if adding else 0)
        for strategy in (REAL_ROWS, *adding)
    ]


def compute_trust(plan: ComparisonPlan, trial: Trial) -> Result:
    """Judge the new rows of a sampler, or the real rows of the smaller classes."""
    strategy, draw = str(trial["strategy"]), int(trial["draw"])
    ground = _ground(plan, draw)
    seen, real = ground.seen, ground.real
    if strategy == REAL_ROWS:
        rows, labels = real[seen.codes > 0], seen.codes[seen.codes > 0]
    else:
        result = resample(strategy, seen, plan.table.kinds, ground.seed, plan.settings.constraints)
        rows, labels = result.rows[result.new], result.labels[result.new]
    if not len(rows):
        return {"new": 0}, {}
    left_out = strategy == REAL_ROWS
    figures = {
        "new": len(rows),
        "hidden_majority": nearer_to_hidden(rows, labels, ground, left_out=left_out),
        "agreement": float(np.mean(ground.votes(rows) == labels)),
        "distance": relative_distance(rows, ground, left_out=left_out),
        "outliers": share_of_outliers(rows, labels, ground, left_out=left_out),
    }
    return figures, {}


@dataclass(frozen=True, eq=False)
class Ground:
    """What the new rows of a draw are held against."""

    seen: ComparedTable  # the rows that samplers see
    # Those rows and the hidden ones, prepared.
    real: Floats
    hidden: Floats
    committee: tuple[Any, ...]  # fitted to the other half
    seed: int  # seed of the draw

    def votes(self, rows: Floats) -> Integers:
        """Return the class that the committee gives to each row."""
        n_classes = len(self.seen.classes)
        p = [probabilities(member, rows, n_classes) for member in self.committee]
        return np.asarray(np.mean(p, axis=0).argmax(axis=1), dtype=np.intp)


@lru_cache(maxsize=1)
def _ground(plan: ComparisonPlan, draw: int) -> Ground:
    """Halve the table, hide rows and fit the committee; every strategy of a draw shares it."""
    seed = seed_of(plan.settings.seed, TRUST, draw)
    seen, hidden, other = (plan.table.part(rows) for rows in halves(plan.table, seed, draw))
    preparation = TablePreparation().fit_kinds(seen.X, plan.table.kinds)
    learned_from = preparation.transform(other.X)
    committee = tuple(
        fit(new_classifier(name, seed), learned_from, other.codes, weighted=True)
        for name in DEFAULT_CLASSIFIERS
    )
    real, concealed = preparation.transform(seen.X), preparation.transform(hidden.X)
    return Ground(seen, real, concealed, committee, seed)


def halves(table: ComparedTable, seed: int, draw: int) -> tuple[Integers, Integers, Integers]:
    """Return the rows that a sampler sees, those that are hidden from it, and the other half."""
    untimed = replace(table, times=None)
    found = usable_folds(untimed, HALVES, 1, seed) or usable_folds(table.loose, HALVES, 1, seed)
    fold = found[draw % len(found)]
    half = fold.train
    largest = half[table.codes[half] == 0]
    smaller = np.bincount(table.codes[half])[1:]
    most = (len(largest) - int(smaller.max())) // 2  # half of what makes it the largest
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(largest)[: max(1, min(most, int(smaller.mean())))]
    return np.setdiff1d(half, hidden), np.sort(hidden), fold.test


def nearer_to_hidden(rows: Floats, labels: Integers, ground: Ground, *, left_out: bool) -> float:
    """Return the share of rows that lie nearer to a hidden row than to one of their class."""
    to_hidden = _nearest(rows, ground.hidden, left_out=False)
    to_own = np.empty(len(rows))
    for code in np.unique(labels):
        ours, own = labels == code, ground.real[ground.seen.codes == code]
        to_own[ours] = _nearest(rows[ours], own, left_out=left_out)
    return float(np.mean(to_hidden < to_own))


def relative_distance(rows: Floats, ground: Ground, *, left_out: bool) -> float:
    """Return how far rows lie from real ones, in the measure of the real ones themselves."""
    usual = _nearest(ground.real[ground.seen.codes > 0], ground.real, left_out=True)
    measure = float(np.median(usual)) or float(np.mean(usual)) or 1.0
    return float(np.median(_nearest(rows, ground.real, left_out=left_out))) / measure


def share_of_outliers(rows: Floats, labels: Integers, ground: Ground, *, left_out: bool) -> float:
    """Return the share of rows that are farther out than nearly all real rows of their class."""
    outside = np.zeros(len(rows), dtype=bool)
    for code in np.unique(labels):
        ours, own = labels == code, ground.real[ground.seen.codes == code]
        k = min(K, len(own) - 1)
        if k:
            usual = np.quantile(_nearest(own, own, left_out=True, k=k), USUAL)
            outside[ours] = _nearest(rows[ours], own, left_out=left_out, k=k) > usual
    return float(np.mean(outside))


def _nearest(rows: Floats, others: Floats, *, left_out: bool, k: int = 1) -> Floats:
    """Return the distance to the k-th nearest row; one left out does not count for itself."""
    neighbours = k + 1 if left_out else k
    distances, _ = NearestNeighbors(n_neighbors=neighbours).fit(others).kneighbors(rows)
    return np.asarray(distances[:, -1])


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


def compute(plan: ComparisonPlan, trial: Trial) -> Result:
    """Compute one trial, from nothing but the plan and the trial itself."""
    experiment = compute_trust if trial["experiment"] == TRUST else compute_scores
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        figures, kept = experiment(plan, trial)
    kinds = sorted({w.category.__name__ for w in heard if issubclass(w.category, WORTH_SAYING)})
    return figures, {**kept, "warnings": kinds}


def seed_of(*names: str | int) -> int:
    """Return a seed that is a pure function of names, so that no order of work changes a figure.

    >>> seed_of("SMOTE", 0, 3)
    1845203701
    """
    return zlib.crc32("/".join(map(str, names)).encode()) >> 1


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


def compute_scores(plan: ComparisonPlan, trial: Trial) -> Result:
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
        return figures, kept
    thresholds = inner_thresholds(part, learned, classifier, seed)
    figures |= _at("0.5", _binary_scores(test, p, EVEN))
    for name, threshold in thresholds.items():
        figures[f"{name}@tuned"] = _binary_scores(test, p, threshold)[name]
        figures[f"threshold {name}"] = threshold
    return figures, kept


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
