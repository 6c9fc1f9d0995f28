"""Trust in the new labels: whether the new rows lie where their class lies.

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

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers
from counterbalance.compare.classifiers import (
    DEFAULT_CLASSIFIERS,
    fit,
    new_classifier,
    probabilities,
)
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.folds import ComparisonPlan, usable_folds
from counterbalance.compare.strategies import adds_rows, resample
from counterbalance.plausible.outliers import USUAL, K
from counterbalance.table.preparation import TablePreparation
from counterbalance.trials.trial import TrialResult, seed_of

if TYPE_CHECKING:
    from counterbalance.trials.trial import Trial

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


def compute_trust(plan: ComparisonPlan, trial: Trial) -> TrialResult:
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
        return TrialResult({"new": 0})
    left_out = strategy == REAL_ROWS
    figures = {
        "new": len(rows),
        "hidden_majority": nearer_to_hidden(rows, labels, ground, left_out=left_out),
        "agreement": float(np.mean(ground.votes(rows) == labels)),
        "distance": relative_distance(rows, ground, left_out=left_out),
        "outliers": share_of_outliers(rows, labels, ground, left_out=left_out),
    }
    return TrialResult(figures)


@dataclass(frozen=True, eq=False)
class Ground:
    """What the new rows of a draw are held against.

    Parameters
    ----------
    seen : ComparedTable
        The rows that samplers see.
    real, hidden : ndarray
        Those rows and the hidden ones, prepared.
    committee : tuple of classifiers
        Fitted to the other half.
    seed : int
        Seed of the draw.
    """

    seen: ComparedTable
    real: Floats
    hidden: Floats
    committee: tuple[Any, ...]
    seed: int

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
