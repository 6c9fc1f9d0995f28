"""Decision: from the scores of a model to probabilities, and from probabilities to answers.

    p        (N, C) probabilities of the classes
    base     (C,) shares of the classes in the table, which is where the model is used
    prior    (C,) shares of the classes in what the model was fitted to
    cut      the probability of the rarest class from which on it is the answer (two classes)
    factors  (C,) what the probabilities are multiplied by before the largest wins (more classes)
    cost     (C, C) what answering k costs where c is the truth

A model that is fitted to resampled rows believes in their shares. ``prior_corrected`` undoes
that, ``Calibration`` mends what is left, and a ``Rule`` is how an answer is chosen. Whatever is
learned here is learned from real rows that the model which scored them has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import IsotonicRegression

from counterbalance.arrays import Floats, Integers

Metric = Literal["g_mean", "f1", "balanced_accuracy", "compromise"]
THRESHOLDED: tuple[Metric, ...] = ("g_mean", "f1", "balanced_accuracy")  # scores of the field
METRICS: tuple[Metric, ...] = (*THRESHOLDED, "compromise")
BINARY = 2
AS_GOOD = 1e-12
# Draws of weights for the rows: the best cut of one sample is noisy, the median of many less so.
DRAWS = 50
# Cells of draws that are worked on at a time.
CELLS = 2_000_000
# A cut that is tuned on so many rows of the rarest class counts for half, beside the one that is
# best where the probabilities are right; on a few dozen rows the latter gave better answers.
ROWS_OF_THEORY = 100
# A calibration starts from what it is given: how far slope and intercept may be expected to
# wander from 1 and 0, as a standard deviation.
WANDER = 1.0
# A slope above zero keeps the order of the rows.
LEAST_SLOPE = 1e-3
# Nearer to 0 or 1 no probability is told apart.
EDGE = 1e-9
# What factors of a class are tried, around those that are best so far, and how often.
STEPS = 2.0 ** np.arange(-3, 3.01, 0.25)
SWEEPS = 3


def class_shares(codes: Integers, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return the share of each class."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes).astype(np.float64)
    return np.asarray(counts / counts.sum())


def prior_corrected(p: Floats, base: Floats, prior: Floats) -> Floats:
    """Undo the shift of the base rate: a model fitted at shares ``prior``, used at ``base``.

    Each probability is multiplied by base / prior and the row is scaled to sum to one.

    >>> prior_corrected(np.array([[0.5, 0.5]]), np.array([0.9, 0.1]), np.array([0.5, 0.5]))
    array([[0.9, 0.1]])
    """
    shifted = p * (base / prior)
    total = shifted.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shifted, total, out=p.copy(), where=total > 0))


def cut_scores(
    p: Floats, y: Integers | Floats, weights: Floats | None = None, cost: Floats | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return every cut between two neighbouring probabilities, and what is reached at each.

    p        (N,) probability of the rarest class
    y        (N,) 1 where a row is of that class, or the share of it that is
    weights  (N,) or (D, N) what each row counts for; with D draws of weights the scores
             have shape (D, cuts)
    cost     (2, 2) rows are the truth, columns the answer, the rarest class last; adds the
             score ``cost``
    """
    order = np.argsort(-p, kind="stable")
    p, y = p[order], y[order]
    last = np.append(np.flatnonzero(np.diff(p) < 0), len(p) - 1)  # of a run of equal p
    counts = np.ones_like(y) if weights is None else weights[..., order]
    minority, rows = np.cumsum(counts * y, axis=-1), np.cumsum(counts, axis=-1)
    positive, whole = minority[..., -1:], rows[..., -1:]
    hits = minority[..., last]
    misses = positive - hits
    false = rows[..., last] - hits
    cuts = np.append((p[last[:-1]] + p[last[:-1] + 1]) / 2, p[-1] / 2)
    recall = hits / np.where(positive > 0, positive, 1)
    negative = whole - positive
    other = 1 - false / np.where(negative > 0, negative, 1)
    g_mean = np.sqrt(np.maximum(recall * other, 0))
    f1 = 2 * hits / (2 * hits + misses + false)
    scores = {
        "g_mean": g_mean,
        "f1": f1,
        "balanced_accuracy": (recall + other) / 2,
        "compromise": (g_mean + f1) / 2,
    }
    if cost is not None:
        right = (negative - false) * cost[0, 0] + hits * cost[1, 1]
        scores["cost"] = -(right + false * cost[0, 1] + misses * cost[1, 0])
    return cuts, scores


def steady_cut(
    p: Floats,
    y: Integers,
    metric: str,
    weights: Floats | None = None,
    cost: Floats | None = None,
    seed: int = 0,
) -> float:
    """Return the median of the cuts that are best for the rows under random weights.

    The cut that is best for one small sample follows its last few rows. Under exponential
    weights (the Bayesian bootstrap) they count differently in each draw, and the median of the
    logits of the best cuts is what they agree on.

    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0, 0, 1, 1])
    >>> round(steady_cut(p, y, "g_mean"), 3)
    0.25
    """
    rng = np.random.default_rng(seed)
    given = np.ones(len(y)) if weights is None else weights
    draws = max(1, min(DRAWS, CELLS // len(y)))
    drawn = rng.exponential(size=(draws, len(y))) if draws > 1 else np.ones((1, len(y)))
    cuts, scores = cut_scores(p, y, drawn * given, cost)
    best = np.array([cuts[_middle_best(score)] for score in scores[metric]])
    return float(expit(np.median(logit(np.clip(best, EDGE, 1 - EDGE)))))


def right_cut(
    p: Floats, metric: str, share: float, weights: Floats | None = None, cost: Floats | None = None
) -> float:
    """Return the cut that is best where the probabilities are right.

    For balanced accuracy, and nearly so for G-mean, that is the share of the class; for F1 half
    of the F1 that is reached (Lipton, Elkan and Naryanaswamy 2014); for costs the probability at
    which both answers cost the same (Elkan 2001); for the compromise, which has no such form, the
    cut that is best where every row counts for both classes, by its probability.

    >>> right_cut(np.array([0.9, 0.1]), "f1", share=0.5)
    0.45
    """
    if metric == "f1":
        order = np.argsort(-p, kind="stable")
        counts = np.ones(len(p)) if weights is None else weights[order]
        hits = np.cumsum(counts * p[order])
        return float((2 * hits / (np.cumsum(counts) + hits[-1])).max() / 2)
    if metric == "compromise":
        cuts, scores = cut_scores(p, p, weights)
        return float(cuts[_middle_best(scores[metric])])
    if cost is None:
        return share
    alarm, miss = cost[0, 1] - cost[0, 0], cost[1, 0] - cost[1, 1]
    return float(alarm / (alarm + miss))


def between(tuned: float, right: float, rows: float) -> float:
    """Return a cut between the tuned and the right one, by the rows of the rarest class."""
    weight = rows / (rows + ROWS_OF_THEORY)
    at = weight * logits(np.array([tuned])) + (1 - weight) * logits(np.array([right]))
    return float(expit(at)[0])


def _middle_best(score: Floats) -> int:
    best = np.flatnonzero(score >= score.max() - AS_GOOD)
    return int(best[len(best) // 2])


@dataclass(frozen=True, eq=False)
class Rule:
    """How an answer is chosen: by a cut with two classes, by factors and costs with more."""

    # What each probability is multiplied by; all ones leave the most probable class.
    factors: Floats
    cost: Floats | None = None  # with it, the answer is the class whose expected cost is least
    rarest: int = 1  # code of the class that ``cut`` is about
    # With two classes: the probability of the rarest class from which on it is the answer.
    cut: float | None = None

    def answer(self, p: Floats) -> Integers:
        """Return the class codes."""
        if self.cut is not None:
            called = p[:, self.rarest] >= self.cut
            return np.where(called, self.rarest, 1 - self.rarest).astype(np.intp)
        return _answers(p, self.factors, self.cost)


def tuned_rule(
    p: Floats,
    y: Integers,
    metric: str,
    weights: Floats | None = None,
    cost: Floats | None = None,
    seed: int = 0,
) -> Rule:
    """Return the rule that is best for rows whose probabilities ``p`` were found out of fold.

    p        (N, C) probabilities
    y        (N,) class codes
    metric   one of ``METRICS``, or ``"cost"``
    weights  (N,) what each row counts for
    cost     (C, C) for the metric ``"cost"``: rows are the truth, columns the answer
    seed     seed of the draws of weights
    """
    n_classes = p.shape[1]
    base = class_shares(y, n_classes, weights)
    rarest = rarest_of(base)
    if n_classes == BINARY:
        here = [1 - rarest, rarest]
        ordered = None if cost is None else cost[np.ix_(here, here)]
        said = (y == rarest).astype(np.intp)
        tuned = steady_cut(p[:, rarest], said, metric, weights, ordered, seed)
        # of probabilities that hardly differ, the share itself may lie outside their range
        share = float(np.average(p[:, rarest], weights=weights))
        right = right_cut(p[:, rarest], metric, share, weights, ordered)
        return Rule(np.ones(n_classes), cost, rarest, between(tuned, right, said.sum()))
    shares = np.maximum(base, EDGE)
    starts = [np.ones(n_classes), 1 / np.sqrt(shares), 1 / shares]
    factors = max(starts, key=lambda start: _score(p, y, start, metric, weights, cost))
    return Rule(_climbed(p, y, factors, metric, weights, cost), cost, rarest)


def rarest_of(shares: Floats) -> int:
    """Return the code of the class with the fewest rows; of several, the last."""
    return int(len(shares) - 1 - np.argmin(shares[::-1]))


def _climbed(
    p: Floats, y: Integers, factors: Floats, metric: str, weights: Floats | None, cost: Any
) -> Floats:
    """Move the factor of one class after the other as long as that gains anything."""
    best = _score(p, y, factors, metric, weights, cost)
    for _ in range(SWEEPS):
        before = best
        for code in range(len(factors)):
            tried = np.tile(factors, (len(STEPS), 1))
            tried[:, code] *= STEPS
            scores = np.array([_score(p, y, some, metric, weights, cost) for some in tried])
            if scores.max() > best + AS_GOOD:
                best, factors = float(scores.max()), tried[_middle_best(scores)]
        if best <= before + AS_GOOD:
            break
    return np.asarray(factors / factors.max())


def _score(
    p: Floats, y: Integers, factors: Floats, metric: str, weights: Floats | None, cost: Any
) -> float:
    """Return how good the answers with these factors are; the higher, the better."""
    n_classes = p.shape[1]
    answer = _answers(p, factors, cost)
    flat = np.bincount(y * n_classes + answer, weights=weights, minlength=n_classes**2)
    counts = flat.reshape(n_classes, n_classes).astype(np.float64)
    if metric == "cost":
        return -float((counts * cost).sum())
    right, true, said = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    f1 = float(np.mean(2 * right / np.maximum(true + said, EDGE)))
    recall = right[true > 0] / true[true > 0]
    g_mean = float(recall.prod() ** (1 / len(recall)))
    return {
        "g_mean": g_mean,
        "f1": f1,
        "balanced_accuracy": float(recall.mean()),
        "compromise": (g_mean + f1) / 2,
    }[metric]


def _answers(p: Floats, factors: Floats, cost: Floats | None) -> Integers:
    weighed = p * factors
    return np.asarray((weighed if cost is None else -(weighed @ cost)).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What makes probabilities of scores: one curve for each class, against the rest.

    With two classes there is one curve, of the second. A sigmoid keeps the order of the rows;
    an isotonic curve may make equal what was not.
    """

    curves: tuple[Any, ...]

    @classmethod
    def of(
        cls, kind: str, scores: Floats, y: Integers, weights: Floats | None = None
    ) -> Calibration:
        """Fit the curves to scores of real rows that were found out of fold.

        kind     which curve
        scores   (N, C) logits, or values of a decision function, one column for each class
        y        (N,) class codes
        weights  (N,) what each row counts for
        """
        n_classes = scores.shape[1]
        codes = [1] if n_classes == BINARY else range(n_classes)
        curve = _sigmoid if kind == "sigmoid" else _isotonic
        return cls(tuple(curve(scores[:, code], y == code, weights) for code in codes))

    def probabilities(self, scores: Floats) -> Floats:
        """Return probabilities of scores of the same kind."""
        if scores.shape[1] == BINARY:
            positive = self.curves[0](scores[:, 1])
            return np.column_stack([1 - positive, positive])
        each = np.column_stack([curve(scores[:, code]) for code, curve in enumerate(self.curves)])
        total = each.sum(axis=1, keepdims=True)
        even = np.full_like(each, 1 / each.shape[1])
        return np.asarray(np.divide(each, total, out=even, where=total > 0))


def logits(p: Floats) -> Floats:
    """Return the logit of each probability, finite also for 0 and 1."""
    return np.asarray(logit(np.clip(p, EDGE, 1 - EDGE)))


@dataclass(frozen=True)
class Sigmoid:
    """The curve 1 / (1 + exp(-(slope * score + intercept)))."""

    slope: float
    intercept: float

    def __call__(self, scores: Floats) -> Floats:
        """Return the probability of each score."""
        return np.asarray(expit(self.slope * scores + self.intercept))


def _sigmoid(scores: Floats, hit: Any, weights: Floats | None) -> Sigmoid:
    """Fit Platt's sigmoid, with a prior at the curve that changes nothing.

    Few rows of a class would let slope and intercept run away; the prior counts for about one
    row, so it is gone where there are many.
    """
    signs = np.where(hit, 1.0, -1.0)
    w = np.ones(len(scores)) if weights is None else weights * (len(weights) / weights.sum())

    def loss(at: Floats) -> tuple[float, Floats]:
        margin = signs * (at[0] * scores + at[1])
        pull = -w * signs * expit(-margin)
        away = (at - [1.0, 0.0]) / WANDER**2
        value = -(w * log_expit(margin)).sum() + (away * (at - [1.0, 0.0])).sum() / 2
        return float(value), np.array([(pull * scores).sum(), pull.sum()]) + away

    bounds = [(LEAST_SLOPE, None), (None, None)]
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return Sigmoid(float(found.x[0]), float(found.x[1]))


def _isotonic(scores: Floats, hit: Any, weights: Floats | None) -> Any:
    curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return curve.fit(scores, np.asarray(hit, dtype=np.float64), sample_weight=weights).predict
