"""Scores of a study, and what they say: ranks, wins and losses, and how sure one can be.

    figures       of one trial, as the store keeps them
    scores        for each metric an array (methods, data sets, classifiers): means over the folds
    rank          of a method among all, 1 the best, on one data set with one classifier;
                  equal scores share the mean of their ranks
    mean rank     over all data sets and classifiers
    probability   that a method is better than another on a further data set: the Bayesian
                  signed-rank test of Benavoli et al. (2017), as baycomp computes it

A trial that failed counts as no resampling: its method gets the figures of ``none`` on the
same fold, because that is what a user would be left with. A data set counts once in the test, by
the mean over its classifiers: six classifiers on one table are not six independent tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, studentized_range

from counterbalance.arrays import Floats
from counterbalance.errors import CounterbalanceError
from counterbalance.rows.origins import ORIGINS
from counterbalance.studies.study.methods import NONE, OURS
from counterbalance.studies.study.trials import LOWER_IS_BETTER, METRICS
from counterbalance.trials.classifiers import CLASSIFIERS
from counterbalance.trials.trial import TrialRecord

Place = tuple[str, int, int]  # data set, repetition, fold

# Scores closer than this are equal but for rounding.
EQUAL = 1e-9
# Draws of the Bayesian test, and their seed.
DRAWS, SEED = 20_000, 0


class NoScoresError(CounterbalanceError):
    """There is nothing to compare."""


@dataclass(frozen=True, eq=False)
class ScoreKind:
    """What a study scores."""

    metrics: Mapping[str, str]  # names of the figures, and what they are called
    # Classifiers that a trial judges: a figure is named ``classifier metric``.
    classifiers: tuple[str, ...]
    ours: frozenset[str]  # methods that are ours
    beside: Mapping[str, str] = field(default_factory=dict)  # metrics of some tables only

    @property
    def collected(self) -> Mapping[str, str]:
        """All metrics that are read from the trials."""
        return {**self.metrics, **self.beside}


RESAMPLERS = ScoreKind(METRICS, CLASSIFIERS, frozenset(OURS))


@dataclass(frozen=True, eq=False)
class StudyScores:
    """What a study measured."""

    # Names along the first two axes.
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    # For each metric the means over the folds; nan where a classifier has no such figure.
    of: Mapping[str, Floats]
    seconds: Floats  # median processor time of a resampling
    failed: Mapping[tuple[str, str], int]  # how many trials of a method failed for a reason
    # Of ours, how many new rows have which origin, added up over the folds.
    origins: Mapping[str, Floats] = field(default_factory=dict)
    kind: ScoreKind = RESAMPLERS  # which metrics, of which classifiers, and which methods are ours

    @property
    def metrics(self) -> Mapping[str, str]:
        """The metrics, and what they are called."""
        return self.kind.metrics

    @property
    def ours(self) -> tuple[str, ...]:
        """The methods that are ours."""
        return tuple(method for method in self.methods if method in self.kind.ours)

    def by_dataset(self, metric: str) -> Floats:
        """Return the means over the classifiers, (methods, data sets)."""
        return np.asarray(np.nanmean(self.of[metric], axis=2))

    def place(self, method: str) -> int:
        """Return where a method is along the first axis."""
        return self.methods.index(method)

    def among(self, methods: Sequence[str]) -> StudyScores:
        """Return the scores of these methods alone, so that they are ranked among themselves."""
        places = [self.place(method) for method in methods]
        return replace(
            self,
            methods=tuple(methods),
            of={metric: values[places] for metric, values in self.of.items()},
            seconds=self.seconds[places],
            failed={key: count for key, count in self.failed.items() if key[0] in methods},
            origins={name: counts for name, counts in self.origins.items() if name in methods},
        )


def collect(records: Sequence[TrialRecord], kind: ScoreKind = RESAMPLERS) -> StudyScores:
    """Average the trials of a study over its folds.

    Data sets that some method has not finished are left out, so that all methods are
    compared on the same ones.
    """
    by_method: dict[str, dict[Place, TrialRecord]] = {}
    for record in (record for record in records if record.state in {"done", "failed"}):
        trial = record.trial
        place = (str(trial["data"]), int(trial["repeat"]), int(trial["fold"]))
        by_method.setdefault(str(trial["method"]), {})[place] = record
    if NONE not in by_method:
        raise NoScoresError(
            f"the study has no trials of the method {NONE!r}, which all others are compared with; "
            "add it to the methods"
        )
    methods = tuple(by_method)
    places = _finished(by_method)
    datasets = tuple(dict.fromkeys(data for data, _, _ in places))
    figures = np.array(
        [[_figures(by_method, method, place, kind) for place in places] for method in methods]
    )
    owner = np.array([datasets.index(data) for data, _, _ in places])
    means = np.stack([figures[:, owner == d].mean(axis=1) for d in range(len(datasets))], axis=1)
    return StudyScores(
        methods,
        datasets,
        {metric: means[..., m] for m, metric in enumerate(kind.collected)},
        np.array([_seconds(by_method[method].values()) for method in methods]),
        Counter(
            (method, record.error)
            for method, settled in by_method.items()
            for record in settled.values()
            if record.state == "failed"
        ),
        _origins(by_method, places, datasets),
        kind,
    )


def _finished(by_method: Mapping[str, Mapping[Place, TrialRecord]]) -> list[Place]:
    """Return the folds of those data sets on which every method has settled all folds."""
    wanted = by_method[NONE]
    settled = {place for place in wanted if all(place in theirs for theirs in by_method.values())}
    open_sets = {place[0] for place in wanted if place not in settled}
    kept = [place for place in wanted if place[0] not in open_sets]
    if not kept:
        raise NoScoresError("no data set is finished by every method yet; run the study further")
    return kept


def _figures(
    by_method: Mapping[str, Mapping[Place, TrialRecord]], method: str, place: Place, kind: ScoreKind
) -> list[list[float]]:
    """Return the figures of a trial, (classifiers, metrics)."""
    record = by_method[method][place]
    if record.state == "failed":
        record = by_method[NONE][place]
    return [
        [record.figures.get(f"{name} {metric}", np.nan) for metric in kind.collected]
        for name in kind.classifiers
    ]


def _origins(
    by_method: Mapping[str, Mapping[Place, TrialRecord]],
    places: Sequence[Place],
    datasets: Sequence[str],
) -> dict[str, Floats]:
    """Count the new rows by origin, (data sets, origins), for the methods that record it."""
    found: dict[str, Floats] = {}
    for method, settled in by_method.items():
        counts = np.zeros((len(datasets), len(ORIGINS)))
        for place in places:
            figures = settled[place].figures
            counts[datasets.index(place[0])] += [figures.get(f"origin {o}", 0.0) for o in ORIGINS]
        if counts.any():
            found[method] = counts
    return found


def _seconds(records: Iterable[TrialRecord]) -> float:
    done = [record.figures["seconds"] for record in records if record.state == "done"]
    return float(np.median(done)) if done else np.nan


# --- comparing methods ----------------------------------------------------------------


class Record(NamedTuple):
    """On how many pairs of data set and classifier a method was better, equal, worse."""

    wins: int
    ties: int
    losses: int


class Standing(NamedTuple):
    """A method compared with the best of others on one metric."""

    rank: float
    best: str
    rank_of_best: float
    probability: float  # of being better than that one on a further data set

    @property
    def leads(self) -> bool:
        """Whether the method has the better mean rank."""
        return self.rank < self.rank_of_best


def standing(scores: StudyScores, metric: str, method: str, others: Sequence[str]) -> Standing:
    """Compare a method with the one of ``others`` that has the best mean rank."""
    ranks = dict(zip(scores.methods, mean_ranks(scores, metric).tolist(), strict=True))
    best = min(others, key=ranks.__getitem__)
    return Standing(ranks[method], best, ranks[best], probability(scores, metric, method, best))


def mean_ranks(scores: StudyScores, metric: str) -> Floats:
    """Return the mean rank of each method."""
    return np.asarray(ranks(scores, metric).mean(axis=1))


def ranks(scores: StudyScores, metric: str) -> Floats:
    """Return the rank of each method on each pair of data set and classifier that has a score."""
    values = _oriented(scores, metric).reshape(len(scores.methods), -1)
    values = values[:, ~np.isnan(values).any(axis=0)]
    return np.asarray(rankdata(-np.round(values / EQUAL) * EQUAL, axis=0))


def ranks_by_dataset(scores: StudyScores, metric: str) -> Floats:
    """Return the rank of each method on each data set, by the mean over its classifiers."""
    values = scores.by_dataset(metric) * (-1 if metric in LOWER_IS_BETTER else 1)
    return np.asarray(rankdata(-np.round(values / EQUAL) * EQUAL, axis=0))


def record(scores: StudyScores, metric: str, method: str, other: str) -> Record:
    """Count wins, ties and losses of a method against another."""
    values = _oriented(scores, metric)
    difference = values[scores.place(method)] - values[scores.place(other)]
    difference = difference[~np.isnan(difference)]
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Record(wins, difference.size - wins - losses, losses)


@lru_cache(maxsize=4096)  # tables and page ask for the same ones
def probability(scores: StudyScores, metric: str, method: str, other: str) -> float:
    """Return the probability that a method is better than another on a further data set."""
    from baycomp import SignedRankTest  # noqa: PLC0415 - the extra cli

    values = scores.by_dataset(metric) * (-1 if metric in LOWER_IS_BETTER else 1)
    better, _ = SignedRankTest.probs(
        values[scores.place(method)],
        values[scores.place(other)],
        rope=0.0,
        nsamples=DRAWS,
        random_state=SEED,
    )
    return float(better)


def critical_difference(n_methods: int, n_tables: int, level: float = 0.05) -> float:
    """Return how far mean ranks over data sets must differ by Nemenyi's test (Demsar 2006).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # as in the example of Demsar's paper
    1.25
    """
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def _oriented(scores: StudyScores, metric: str) -> Floats:
    """Return a metric with its sign turned where lower is better."""
    values = scores.of[metric]
    return -values if metric in LOWER_IS_BETTER else values
