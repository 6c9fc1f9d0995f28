"""Compare the methods of a study: ranks, wins and losses, and how sure one can be.

    rank          of a method among all, 1 the best, on one data set with one classifier;
                  equal scores share the mean of their ranks
    mean rank     over all data sets and classifiers
    probability   that a method is better than another on a further data set: the Bayesian
                  signed-rank test of Benavoli et al. (2017), as baycomp computes it

A data set counts once in the test, by the mean over its classifiers: six classifiers on one
table are not six independent tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, studentized_range

from counterbalance.arrays import Floats
from counterbalance.studies.study.metrics import LOWER_IS_BETTER
from counterbalance.studies.study.scores import Scores

# Scores nearer than this are equal: what is left of rounding.
EQUAL = 1e-9
# Draws of the Bayesian test, and their seed.
DRAWS, SEED = 20_000, 0


class Record(NamedTuple):
    """On how many pairs of data set and classifier a method was better, equal, worse."""

    wins: int
    ties: int
    losses: int


class Standing(NamedTuple):
    """A method beside the best of others on one metric."""

    rank: float
    best: str
    rank_of_best: float
    probability: float  # of being better than that one on a further data set

    @property
    def leads(self) -> bool:
        """Whether the method has the better mean rank."""
        return self.rank < self.rank_of_best


def standing(scores: Scores, metric: str, method: str, others: Sequence[str]) -> Standing:
    """Set a method beside that one of ``others`` with the best mean rank."""
    ranks = dict(zip(scores.methods, mean_ranks(scores, metric).tolist(), strict=True))
    best = min(others, key=ranks.__getitem__)
    return Standing(ranks[method], best, ranks[best], probability(scores, metric, method, best))


def mean_ranks(scores: Scores, metric: str) -> Floats:
    """Return the mean rank of each method."""
    return np.asarray(ranks(scores, metric).mean(axis=1))


def ranks(scores: Scores, metric: str) -> Floats:
    """Return the rank of each method on each pair of data set and classifier that has a score."""
    values = _oriented(scores, metric).reshape(len(scores.methods), -1)
    values = values[:, ~np.isnan(values).any(axis=0)]
    return np.asarray(rankdata(-np.round(values / EQUAL) * EQUAL, axis=0))


def ranks_by_dataset(scores: Scores, metric: str) -> Floats:
    """Return the rank of each method on each data set, by the mean over its classifiers."""
    values = scores.by_dataset(metric) * (-1 if metric in LOWER_IS_BETTER else 1)
    return np.asarray(rankdata(-np.round(values / EQUAL) * EQUAL, axis=0))


def record(scores: Scores, metric: str, method: str, other: str) -> Record:
    """Count wins, ties and losses of a method against another."""
    values = _oriented(scores, metric)
    difference = values[scores.place(method)] - values[scores.place(other)]
    difference = difference[~np.isnan(difference)]
    wins, losses = int((difference > EQUAL).sum()), int((difference < -EQUAL).sum())
    return Record(wins, difference.size - wins - losses, losses)


@lru_cache(maxsize=4096)  # tables and page ask for the same ones
def probability(scores: Scores, metric: str, method: str, other: str) -> float:
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


def _oriented(scores: Scores, metric: str) -> Floats:
    """Turn a metric so that higher is better."""
    values = scores.of[metric]
    return -values if metric in LOWER_IS_BETTER else values
