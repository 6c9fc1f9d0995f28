"""Decision: from the scores of a model to probabilities, and from probabilities to classes.

    p        (N, C) probabilities of the classes
    base     (C,) shares of the classes in the table, where the model is used
    prior    (C,) shares of the classes in the rows that the model was fitted to
    cut      the least probability of the rarest class at which it is predicted (two classes)
    factors  (C,) factors of the probabilities, before the largest product is chosen (more classes)
    cost     (C, C) the cost of predicting k (column) where c is the truth (row)

The probabilities of a model that was fitted to resampled rows hold for the class shares of these
rows. ``prior_corrected`` converts them to the shares of the table, a ``Calibration`` corrects the
remaining error, and a ``Rule`` chooses the class. Calibration and rule are learned from out-of-fold
scores of real rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import IsotonicRegression

from counterbalance.arrays import Floats, Integers

THRESHOLDED = ("g_mean", "f1", "balanced_accuracy")
METRICS = (*THRESHOLDED, "compromise")
BINARY = 2
# Scores that differ by less are equal.
TOLERANCE = 1e-12
# Quantiles that are thresholds of a curve of precision and recall.
CURVE = 101
# With this many rows of the rarest class, their classes and their probabilities have equal weight
# in the choice of a cut (development suite: with 30 to 300 the scores were lower by up to .006).
EXPECTED = 1000
# Standard deviation of the prior of a sigmoid's slope around 1 and intercept around 0.
SIGMOID_PRIOR = 1.0
# A slope above zero keeps the order of the rows.
LEAST_SLOPE = 1e-3
# Probabilities are clipped to [EDGE, 1 - EDGE] before their logit.
EDGE = 1e-9
# Multiples of a class's factor that are tried, and the number of passes over the classes.
STEPS = 2.0 ** np.arange(-3, 3.01, 0.25)
SWEEPS = 3


def class_shares(codes: Integers, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return the share of each class."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes).astype(np.float64)
    return np.asarray(counts / counts.sum())


def prior_corrected(p: Floats, base: Floats, prior: Floats) -> Floats:
    """Correct the probabilities of a model that was fitted at shares ``prior`` for ``base``.

    Each probability is multiplied by base / prior, and the row is scaled to sum to one.

    >>> prior_corrected(np.array([[0.5, 0.5]]), np.array([0.9, 0.1]), np.array([0.5, 0.5]))
    array([[0.9, 0.1]])
    """
    shifted = p * (base / prior)
    total = shifted.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shifted, total, out=p.copy(), where=total > 0))


def cut_scores(
    p: Floats, y: Integers | Floats, weights: Floats | None = None, cost: Floats | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return every cut between two neighbouring probabilities, and the scores at each.

    p        (N,) probability of the rarest class
    y        (N,) 1 for a row of that class, else 0, or the share of the row that counts for it
    weights  (N,) weight of each row
    cost     (2, 2) rows are the truth, columns the prediction, the rarest class last; adds the
             score ``cost``
    """
    order = np.argsort(-p, kind="stable")
    p, y = p[order], y[order]
    last = np.append(np.flatnonzero(np.diff(p) < 0), len(p) - 1)  # of a run of equal p
    counts = np.ones_like(y) if weights is None else weights[order]
    minority, rows = np.cumsum(counts * y), np.cumsum(counts)
    positive, whole = minority[-1], rows[-1]
    hits = minority[last]
    misses = positive - hits
    false = rows[last] - hits
    cuts = np.append((p[last[:-1]] + p[last[:-1] + 1]) / 2, p[-1] / 2)
    recall = hits / (positive or 1)
    negative = whole - positive
    other = 1 - false / (negative or 1)
    g_mean = np.sqrt(np.maximum(recall * other, 0))
    f1 = 2 * hits / (2 * hits + misses + false)
    predicted = hits + false
    scores = {
        "recall": recall,
        "precision": hits / np.where(predicted > 0, predicted, 1),
        "g_mean": g_mean,
        "f1": f1,
        "balanced_accuracy": (recall + other) / 2,
        "compromise": (g_mean + f1) / 2,
    }
    if cost is not None:
        right = (negative - false) * cost[0, 0] + hits * cost[1, 1]
        scores["cost"] = -(right + false * cost[0, 1] + misses * cost[1, 0])
    return cuts, scores


def precision_recall(p: Floats, y: Integers, weights: Floats | None = None) -> dict[str, Floats]:
    """Return precision and recall of the rarest class at about 200 thresholds, ascending.

    The thresholds are quantiles of the probabilities, and of those of the rows of the class.
    """
    cuts, scores = cut_scores(p, y, weights)
    shares = np.linspace(0, 1, CURVE)
    wanted = np.concatenate([np.quantile(p, shares), np.quantile(p[y == 1], shares)])
    cuts = cuts[::-1]
    shown = np.unique(np.minimum(np.searchsorted(cuts, wanted), len(cuts) - 1))
    curve = {name: scores[name][::-1][shown] for name in ("precision", "recall")}
    return {"thresholds": cuts[shown], **curve}


def best_cut(
    p: Floats, y: Integers, metric: str, weights: Floats | None = None, cost: Floats | None = None
) -> float:
    """Return the cut with the best score, from the classes of rows and their probabilities.

    The label of each row is its class, shrunk towards its probability with the weight of
    ``EXPECTED`` rows of the rarest class. So a few rows do not move the cut.

    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0, 0, 1, 1])
    >>> round(best_cut(p, y, "f1"), 3)
    0.5
    """
    n = y.sum()
    cuts, scores = cut_scores(p, (n * y + EXPECTED * p) / (n + EXPECTED), weights, cost)
    return float(cuts[_middle_best(scores[metric])])


def _middle_best(score: Floats) -> int:
    best = np.flatnonzero(score >= score.max() - TOLERANCE)
    return int(best[len(best) // 2])


@dataclass(frozen=True, eq=False)
class Rule:
    """Rule that chooses a class: a cut with two classes, factors and costs with more."""

    factors: Floats
    cost: Floats | None = None
    rarest: int = 1  # code of the class that ``cut`` is about
    cut: float | None = None

    def answer(self, p: Floats) -> Integers:
        """Return the class codes."""
        if self.cut is not None:
            is_rarest = p[:, self.rarest] >= self.cut
            return np.where(is_rarest, self.rarest, 1 - self.rarest).astype(np.intp)
        return _predicted(p, self.factors, self.cost)


def tuned_rule(
    p: Floats,
    y: Integers,
    metric: str,
    weights: Floats | None = None,
    cost: Floats | None = None,
) -> Rule:
    """Return the rule that is best for out-of-fold probabilities.

    p        (N, C) probabilities
    y        (N,) class codes
    metric   one of ``METRICS``, or ``"cost"``
    weights  (N,) weight of each row
    cost     (C, C) for the metric ``"cost"``: rows are the truth, columns the prediction
    """
    n_classes = p.shape[1]
    base = class_shares(y, n_classes, weights)
    rarest = rarest_of(base)
    if n_classes == BINARY:
        last = [1 - rarest, rarest]
        ordered = None if cost is None else cost[np.ix_(last, last)]
        is_rarest = (y == rarest).astype(np.intp)
        cut = best_cut(p[:, rarest], is_rarest, metric, weights, ordered)
        return Rule(np.ones(n_classes), cost, rarest, cut)
    shares = np.maximum(base, EDGE)
    starts = [np.ones(n_classes), 1 / np.sqrt(shares), 1 / shares]
    factors = max(starts, key=lambda start: _score(p, y, start, metric, weights, cost))
    return Rule(_improved_factors(p, y, factors, metric, weights, cost), cost, rarest)


def rarest_of(shares: Floats) -> int:
    """Return the code of the class with the fewest rows; of several, the last."""
    return int(len(shares) - 1 - np.argmin(shares[::-1]))


def _improved_factors(
    p: Floats, y: Integers, factors: Floats, metric: str, weights: Floats | None, cost: Any
) -> Floats:
    """Optimise the factors by coordinate ascent, one class after the other."""
    best = _score(p, y, factors, metric, weights, cost)
    for _ in range(SWEEPS):
        before = best
        for code in range(len(factors)):
            tried = np.tile(factors, (len(STEPS), 1))
            tried[:, code] *= STEPS
            scores = np.array([_score(p, y, some, metric, weights, cost) for some in tried])
            if scores.max() > best + TOLERANCE:
                best, factors = float(scores.max()), tried[_middle_best(scores)]
        if best <= before + TOLERANCE:
            break
    return np.asarray(factors / factors.max())


def _score(
    p: Floats, y: Integers, factors: Floats, metric: str, weights: Floats | None, cost: Any
) -> float:
    """Return the score of the predictions with these factors; higher is better."""
    n_classes = p.shape[1]
    predicted = _predicted(p, factors, cost)
    flat = np.bincount(y * n_classes + predicted, weights=weights, minlength=n_classes**2)
    counts = flat.reshape(n_classes, n_classes).astype(np.float64)
    if metric == "cost":
        return -float((counts * cost).sum())
    right, true, total = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    f1 = float(np.mean(2 * right / np.maximum(true + total, EDGE)))
    recall = right[true > 0] / true[true > 0]
    g_mean = float(recall.prod() ** (1 / len(recall)))
    return {
        "g_mean": g_mean,
        "f1": f1,
        "balanced_accuracy": float(recall.mean()),
        "compromise": (g_mean + f1) / 2,
    }[metric]


def _predicted(p: Floats, factors: Floats, cost: Floats | None) -> Integers:
    weighted = p * factors
    return np.asarray((weighted if cost is None else -(weighted @ cost)).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Curves from scores to probabilities: one for each class against the rest.

    With two classes there is one curve, of the second class. A curve is a dictionary of plain
    values: ``slope`` and ``intercept`` of a sigmoid, which keeps the order of the rows, or
    ``scores`` and ``probabilities`` of an isotonic curve, which is linear between them.
    """

    curves: Sequence[Mapping[str, Any]]

    @classmethod
    def from_scores(
        cls, kind: str, scores: Floats, y: Integers, weights: Floats | None = None
    ) -> Calibration:
        """Fit the curves to out-of-fold scores.

        kind     "sigmoid" or "isotonic"
        scores   (N, C) logits, or values of a decision function, one column for each class
        y        (N,) class codes
        weights  (N,) weight of each row
        """
        n_classes = scores.shape[1]
        codes = [1] if n_classes == BINARY else range(n_classes)
        curve = _sigmoid if kind == "sigmoid" else _isotonic
        return cls([curve(scores[:, code], y == code, weights) for code in codes])

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities for scores of the same kind."""
        if scores.shape[1] == BINARY:
            positive = _on_curve(self.curves[0], scores[:, 1])
            return np.column_stack([1 - positive, positive])
        each = np.column_stack(
            [_on_curve(curve, scores[:, code]) for code, curve in enumerate(self.curves)]
        )
        total = each.sum(axis=1, keepdims=True)
        even = np.full_like(each, 1 / each.shape[1])
        return np.asarray(np.divide(each, total, out=even, where=total > 0))


def logits(p: Floats) -> Floats:
    """Return the logit of each probability, finite also for 0 and 1."""
    return np.asarray(logit(np.clip(p, EDGE, 1 - EDGE)))


def _on_curve(curve: Mapping[str, Any], scores: Floats) -> Floats:
    if "slope" in curve:
        return np.asarray(expit(curve["slope"] * scores + curve["intercept"]))
    return np.asarray(np.interp(scores, curve["scores"], curve["probabilities"]))


def _sigmoid(scores: Floats, hit: Any, weights: Floats | None) -> dict[str, float]:
    """Fit Platt's sigmoid, with a prior around the identity.

    The prior counts for about one row: it keeps slope and intercept finite if a class has few
    rows.
    """
    signs = np.where(hit, 1.0, -1.0)
    w = np.ones(len(scores)) if weights is None else weights * (len(weights) / weights.sum())

    def loss(at: Floats) -> tuple[float, Floats]:
        margin = signs * (at[0] * scores + at[1])
        gradient = -w * signs * expit(-margin)
        prior_gradient = (at - [1.0, 0.0]) / SIGMOID_PRIOR**2
        value = -(w * log_expit(margin)).sum() + (prior_gradient * (at - [1.0, 0.0])).sum() / 2
        return float(value), np.array([(gradient * scores).sum(), gradient.sum()]) + prior_gradient

    bounds = [(LEAST_SLOPE, None), (None, None)]
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return {"slope": float(found.x[0]), "intercept": float(found.x[1])}


def _isotonic(scores: Floats, hit: Any, weights: Floats | None) -> dict[str, list[float]]:
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(scores, np.asarray(hit, dtype=np.float64), sample_weight=weights)
    return {
        "scores": fitted.X_thresholds_.tolist(),
        "probabilities": fitted.y_thresholds_.tolist(),
    }
