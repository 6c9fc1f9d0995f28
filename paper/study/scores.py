"""Scores of a study, and what they say: ranks, wins and losses, and how sure one can be.

    score         of a method on a data set with a classifier: the mean over the folds
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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from baycomp import SignedRankTest
from scipy.stats import studentized_range

from counterbalance.errors import CounterbalanceError
from counterbalance.rows.origins import ORIGINS
from paper.study.methods import NONE
from paper.trials import ERROR, Frame

LOWER_IS_BETTER = frozenset({"brier"})
PLACE = ["data", "repeat", "fold"]
# Scores closer than this are equal but for rounding.
EQUAL = 1e-9
# Draws of the Bayesian test, and their seed.
DRAWS, SEED = 20_000, 0


@dataclass(frozen=True, eq=False)
class Kind:
    """What a study scores."""

    metrics: dict[str, str]  # names of the figures, and what they are called
    # Classifiers that a trial measures: a figure is named ``classifier metric``.
    classifiers: tuple[str, ...]
    ours: frozenset[str]  # methods that are ours
    beside: dict[str, str] = field(default_factory=dict)  # metrics of some tables only


@dataclass(frozen=True, eq=False)
class Scores:
    """What a study measured."""

    kind: Kind
    methods: tuple[str, ...]
    means: Frame  # scores: (data set, classifier) x (metric, method)
    seconds: Frame  # of each method, the median processor time
    failed: Frame  # how many trials of a method failed, by method and reason
    origins: Frame  # new rows of ours by origin: (method, data set) x origin

    @property
    def datasets(self) -> list[str]:
        """The data sets that every method has finished."""
        return list(self.means.index.unique("data"))

    @property
    def ours(self) -> tuple[str, ...]:
        """The methods that are ours."""
        return tuple(method for method in self.methods if method in self.kind.ours)

    def by_dataset(self, metric: str) -> Frame:
        """Return the means over the classifiers: data sets x methods."""
        return self.means[metric].groupby("data", sort=False).mean()

    def among(self, methods: Sequence[str]) -> Scores:
        """Return the scores of these methods alone, so that they are ranked among themselves."""
        kept = self.means.columns.get_level_values("method").isin(methods)
        return replace(self, methods=tuple(methods), means=self.means.loc[:, kept])


def collect(ran: Frame, kind: Kind) -> Scores:
    """Average the trials of a study over its folds.

    Data sets that some method has not finished are left out, so that all methods are
    compared on the same ones.
    """
    ran = _finished(ran)
    metrics = {**kind.metrics, **kind.beside}
    names = [(classifier, metric) for classifier in kind.classifiers for metric in metrics]
    values = ran.set_index(["method", *PLACE]).reindex(columns=[" ".join(name) for name in names])
    values.columns = pd.MultiIndex.from_tuples(names, names=["classifier", "metric"])
    failed = ran[ERROR].notna().to_numpy()
    values[failed] = values.loc[NONE].reindex(values.index[failed].droplevel("method")).to_numpy()
    means = values.groupby(["data", "method"], sort=False).mean()
    done, origins = ran[~failed], [f"origin {name}" for name in ORIGINS]
    counts = ran.reindex(columns=["method", "data", *origins]).groupby(["method", "data"]).sum()
    methods = tuple(dict.fromkeys(ran["method"]))
    return Scores(
        kind,
        methods,
        means.stack("classifier").unstack("method").reindex(columns=methods, level="method"),
        done.groupby("method")["seconds"].median().reindex(methods),
        ran[failed].groupby(["method", ERROR]).size(),
        counts.set_axis(list(ORIGINS), axis=1),
    )


def _finished(ran: Frame) -> Frame:
    """Return the trials on those data sets on which every method has settled all folds."""
    if not len(ran) or NONE not in set(ran["method"]):
        raise CounterbalanceError(
            f"the study has no trials of the method {NONE!r}, which all others are compared with; "
            "add it to the methods"
        )
    settled = ran.groupby([*PLACE, "method"], sort=False).size().unstack("method")
    wanted = settled[settled[NONE].notna()]
    complete = wanted.notna().all(axis=1).groupby("data").all()
    kept = wanted[complete.reindex(wanted.index.get_level_values("data")).to_numpy()].index
    if not len(kept):
        raise CounterbalanceError(
            "no data set is finished by every method yet; run the study further"
        )
    return ran[ran.set_index(PLACE).index.isin(kept)]


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


def standing(scores: Scores, metric: str, method: str, others: Sequence[str]) -> Standing:
    """Compare a method with the one of ``others`` that has the best mean rank."""
    ranks = mean_ranks(scores, metric)
    best = min(others, key=ranks.__getitem__)
    return Standing(ranks[method], best, ranks[best], probability(scores, metric, method, best))


@lru_cache(maxsize=4096)  # tables and page ask for the same ones
def mean_ranks(scores: Scores, metric: str, *, by_dataset: bool = False) -> Frame:
    """Return the mean rank of each method over pairs of data set and classifier, or data sets."""
    values = scores.by_dataset(metric) if by_dataset else scores.means[metric].dropna()
    rounded = (oriented(values, metric) / EQUAL).round() * EQUAL
    return rounded.rank(axis=1, ascending=False).mean()


def record(scores: Scores, metric: str, method: str, other: str) -> Record:
    """Count wins, ties and losses of a method against another."""
    values = oriented(scores.means[metric], metric)
    difference = (values[method] - values[other]).dropna()
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Record(wins, len(difference) - wins - losses, losses)


@lru_cache(maxsize=4096)
def probability(scores: Scores, metric: str, method: str, other: str) -> float:
    """Return the probability that a method is better than another on a further data set."""
    values = oriented(scores.by_dataset(metric), metric)
    pair = (values[name].to_numpy() for name in (method, other))
    better, _ = SignedRankTest.probs(*pair, rope=0.0, nsamples=DRAWS, random_state=SEED)
    return float(better)


def critical_difference(n_methods: int, n_tables: int, level: float = 0.05) -> float:
    """Return how far mean ranks over data sets must differ by Nemenyi's test (Demsar 2006).

    >>> round(critical_difference(4, 14), 2)  # as in the example of Demsar's paper
    1.25
    """
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def oriented(values: Frame, metric: str) -> Frame:
    """Return a metric with its sign turned where lower is better."""
    return -values if metric in LOWER_IS_BETTER else values
