"""Results: what the store holds, as figures of each strategy and classifier, and their summary."""

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import counterbalance
from counterbalance.arrays import Floats
from counterbalance.compare.code import as_code
from counterbalance.compare.metrics import (
    CALIBRATION,
    CORRECTED,
    METRICS,
    Estimate,
    calibration_curve,
    intercept,
    recall_curve,
    slope,
)
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.posterior import posterior
from counterbalance.compare.records import (
    ClassCount,
    ColumnFacts,
    Curves,
    Data,
    Score,
    ScoreRow,
    ScoreTable,
    Summary,
    Trust,
    Verdict,
)
from counterbalance.compare.runner import TrialRecord
from counterbalance.compare.strategies import BASELINE, OURS, make_ours, new_classifier
from counterbalance.compare.trials import SCORES, TRUST

HALF, TUNED = "0.5", "tuned"
UNBOUNDED = {f"{name}{suffix}" for name in CALIBRATION for suffix in ("", CORRECTED)}
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas")
CITATION = (
    "Luo and Liu, Counterfactual-based minority oversampling for imbalanced classification; "
    f"computed with counterbalance {counterbalance.__version__}"
)
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Pair:
    """A strategy with a classifier: what each fold gave, in the order of the folds."""

    plan: ComparisonPlan
    strategy: str
    classifier: str
    records: tuple[TrialRecord, ...]

    @property
    def done(self) -> list[TrialRecord]:
        """The folds that could be computed."""
        return [record for record in self.records if record.is_done]

    @property
    def failed(self) -> str | None:
        """Why folds failed, if any did: the most frequent reason."""
        errors = Counter(record.error for record in self.records if not record.is_done)
        missing = len(self.plan.folds) - len(self.done)
        if not missing:
            return None
        reason = plain_error(errors.most_common(1)[0][0]) if errors else "not computed yet"
        return f"{missing} of {len(self.plan.folds)} folds: {reason}"

    @property
    def seconds(self) -> float:
        """Time that all folds took together."""
        return sum(record.seconds for record in self.records)

    def values(self, metric: str, threshold: str = HALF) -> Floats:
        """Return a metric on each fold that is done."""
        name = f"{metric}@{threshold}" if METRICS[metric].needs_threshold else metric
        return np.array([record.figures[name] for record in self.done])

    def thresholds(self, metric: str) -> Floats:
        """Return the threshold of each fold, tuned for a metric."""
        return np.array([record.figures[f"threshold {metric}"] for record in self.done])

    def score(self, metric: str, threshold: str = HALF) -> Score | None:
        """Return the mean of a metric and its interval; None where there is none."""
        if not self.done:
            return None
        if metric in UNBOUNDED:
            found = self.calibration[metric]
            return None if found is None else Score(found.value, *found.interval)
        belief = posterior(self.values(metric, threshold), self.plan.ratio)
        low, high = np.clip(belief.interval(), 0, 1)
        return Score(belief.mean, float(low), float(high))

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric that needs no threshold; None where there is none."""
        score = self.score(metric)
        return None if score is None else score.mean

    @cached_property
    def calibration(self) -> dict[str, Estimate | None]:
        """Slope and intercept on the pooled test rows of a repeat, averaged over repeats."""
        found = {}
        for suffix, kept in (("", "p"), (CORRECTED, "corrected")):
            for name, estimate in zip(CALIBRATION, (slope, intercept), strict=True):
                parts = [
                    estimate(p, y, w)
                    for repeat in sorted({int(record.trial["repeat"]) for record in self.done})
                    for p, y, w in self.pooled(kept, repeat)
                ]
                found[name + suffix] = _average(parts)
        return found

    def pooled(
        self, kept: str, repeat: int = 0
    ) -> list[tuple[Floats, NDArray[np.bool_], Floats | None]]:
        """Return probabilities of all test rows of a repeat, truth and weights, by class.

        With two classes there is one pair, of the minority.
        """
        chosen = [record for record in self.done if record.trial["repeat"] == repeat]
        if not chosen:
            return []
        p = np.concatenate([np.asarray(record.payload[kept], dtype=float) for record in chosen])
        folds = [self.plan.fold(repeat, int(record.trial["fold"])) for record in chosen]
        rows = np.concatenate([fold.test for fold in folds])
        y, weights = self.plan.table.codes[rows], self.plan.table.weights
        w = None if weights is None else weights[rows]
        if p.ndim == 1:
            return [(p, y == 1, w)]
        return [(p[:, code], y == code, w) for code in range(p.shape[1])]


@dataclass(frozen=True, eq=False)
class Results:
    """All that came out of a plan."""

    plan: ComparisonPlan
    records: Sequence[TrialRecord]

    @cached_property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        """The pairs of strategy and classifier, in the order of the settings."""
        settings = self.plan.settings
        by_pair: dict[tuple[str, str], list[TrialRecord]] = {
            (strategy, classifier): []
            for classifier in settings.classifiers
            for strategy in settings.strategies
        }
        for record in self.records:
            if record.trial["experiment"] == SCORES:
                key = str(record.trial["strategy"]), str(record.trial["classifier"])
                by_pair[key].append(record)
        return {key: Pair(self.plan, *key, tuple(found)) for key, found in by_pair.items()}

    @cached_property
    def trust(self) -> list[Trust]:
        """The trust in each strategy that adds rows, real rows first."""
        by_strategy: dict[str, list[TrialRecord]] = {}
        for record in self.records:
            if record.trial["experiment"] == TRUST:
                by_strategy.setdefault(str(record.trial["strategy"]), []).append(record)
        return [_trust(strategy, found) for strategy, found in by_strategy.items()]

    def warned(self) -> dict[str, Counter[str]]:
        """Return how often each strategy warned, by kind of warning."""
        heard: dict[str, Counter[str]] = {}
        for record in self.records:
            kinds = (record.payload or {}).get("warnings", [])
            heard.setdefault(str(record.trial["strategy"]), Counter()).update(kinds)
        return {strategy: counts for strategy, counts in heard.items() if counts}


def summarise(
    results: Results,
    verdict: Verdict,
    *,
    file: str = "",
    target: str = "",
    reproduce: str = "",
    notes: Sequence[str] = (),
) -> Summary:
    """Return everything that there is to say of a comparison.

    ``notes`` say what was found in the file, in all of its rows.
    """
    table = results.plan.table
    whole = table.counts_of_file
    scope = "" if table.subsample is None else f"In all {whole.sum():,} rows of the file: "
    counts = zip(table.classes, table.counts.tolist(), whole.tolist(), strict=True)
    rows = [
        _score_row(pair, threshold)
        for pair in results.pairs.values()
        for threshold in (HALF, TUNED)
    ]
    done = [pair for pair in results.pairs.values() if pair.done] if table.is_binary else []
    return Summary(
        title=f"Should {file} be resampled?",
        verdict=verdict,
        data=Data(
            file=file,
            target=target,
            rows=len(table.codes),
            rows_of_file=int(whole.sum()),
            classes=tuple(ClassCount(*each) for each in counts),
            columns=_columns(results),
            notes=tuple(f"{scope}{note}" for note in notes),
        ),
        comparison=ScoreTable(tuple(METRICS.values()), tuple(rows), BASELINE),
        trust=tuple(results.trust),
        curves=tuple(map(_curves, done)),
        settings=_settings(results),
        versions=versions(),
        reproduce=reproduce,
        cite=CITATION,
    )


def _settings(results: Results) -> dict[str, Any]:
    """Return the settings of the run, and those of the objects that it made."""
    settings = results.plan.settings
    classifiers = {name: as_code(new_classifier(name, 0), set()) for name in settings.classifiers}
    ours = [sampler.name for sampler in OURS if sampler.name in settings.strategies]
    made = {"settings of classifiers": classifiers}
    if ours:
        made["settings of our samplers"] = {
            name: as_code(make_ours(name, 0, settings.constraints), set()) for name in ours
        }
    return {**settings.as_dict(), **made}


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python, of this package and of ``packages``."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def _columns(results: Results) -> tuple[ColumnFacts, ...]:
    table = results.plan.table
    return tuple(
        ColumnFacts(
            str(name), kind.value, int(table.X[name].isna().sum()), int(table.X[name].nunique())
        )
        for name, kind in zip(table.X.columns, table.kinds, strict=True)
    )


def _score_row(pair: Pair, threshold: str) -> ScoreRow:
    scores = {name: pair.score(name, threshold) for name in METRICS}
    return ScoreRow(
        pair.strategy,
        pair.classifier,
        threshold,
        pair.failed,
        round(pair.seconds, 3),
        {name: score for name, score in scores.items() if score is not None},
    )


def _curves(pair: Pair) -> Curves:
    """Return the curves of the first repeat: every row is tested once in it."""
    ((p, y, w),) = pair.pooled("p")
    ((corrected, *_),) = pair.pooled("corrected")
    curves = (calibration_curve(p, y, w), calibration_curve(corrected, y, w), recall_curve(p, y, w))
    rounded: list[Any] = [
        tuple(tuple(round(value, DIGITS) for value in point) for point in curve) for curve in curves
    ]
    return Curves(pair.strategy, pair.classifier, *rounded)


def plain_error(error: str) -> str:
    """Leave the type out of an error of our own, which says everything in its message.

    >>> plain_error("counterbalance.errors.TableError: X has no rows")
    'X has no rows'
    >>> plain_error("ValueError: no neighbours")
    'ValueError: no neighbours'
    """
    kind, _, message = error.partition(": ")
    return message if kind.startswith("counterbalance.") else error


def _average(parts: Sequence[Estimate | None]) -> Estimate | None:
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts):
        return None
    value, error = (
        float(np.mean([getattr(part, name) for part in found])) for name in ("value", "error")
    )
    return Estimate(value, error)


def _trust(strategy: str, records: Sequence[TrialRecord]) -> Trust:
    done = [record for record in records if record.is_done]
    errors = [record.error for record in records if not record.is_done]
    means: dict[str, Any] = {}
    for name in ("hidden_majority", "agreement", "distance", "outliers"):
        found = [record.figures[name] for record in done if name in record.figures]
        means[name] = float(np.mean(found)) if found else None
    new = round(float(np.mean([record.figures["new"] for record in done]))) if done else 0
    return Trust(strategy, **means, new=new, failed=plain_error(errors[0]) if errors else None)
