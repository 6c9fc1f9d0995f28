"""Metrics: what a strategy is judged by.

    p         (N, C) probabilities, classes from the largest to the smallest
    y         (N,) class codes
    answer    (N,) class codes
    weights   (N,) what each row counts for, or None where all count the same

Two classes: the F-measure, the average precision and the Brier score are those of the
minority, and an answer comes from a threshold. More classes: the G-mean is the geometric mean
of all recalls, F1, ROC AUC and average precision are means over the classes (each against the
rest), the Brier score is the sum over the classes, halved so that two classes agree with the
usual one, and the answer is the most probable class, or in place of a tuned threshold the one
with the largest probability over its share in training.

A threshold is where the probability of the minority becomes the answer "minority": p >= threshold.
It is tuned on probabilities of rows that the model was not fitted to, from inside the training
part.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from counterbalance.arrays import Floats, Integers
from counterbalance.compare.records import Metric
from counterbalance.trials.metrics import f_measure, g_mean, recalls

BINARY = 2
EVEN = 0.5  # the threshold that is not tuned
AS_GOOD = 1e-12
THRESHOLDED = ("g_mean", "f1", "balanced_accuracy")
RANKING = ("roc_auc", "average_precision")
CALIBRATION = ("calibration_slope", "calibration_intercept")
VERDICT_METRICS = (*THRESHOLDED, *RANKING, "brier")
CORRECTED = "_corrected"


def _answers(name: str, label: str, text: str) -> Metric:
    """Return a metric of answers, which need a threshold."""
    return Metric(name, label, help=text, needs_threshold=True)


def _error(name: str, label: str, text: str) -> Metric:
    return Metric(name, label, higher_is_better=False, help=text)


def _calibration(name: str, ideal: float, text: str) -> tuple[Metric, Metric]:
    """Return a figure of calibration, raw and after prior correction."""
    full, same = f"calibration_{name}", "the same after prior correction"
    return (
        Metric(full, name, help=text, ideal=ideal),
        Metric(f"{full}{CORRECTED}", f"{name}, corrected", help=same, ideal=ideal),
    )


METRICS = {
    metric.name: metric
    for metric in (
        _answers("g_mean", "G-mean", "geometric mean of the recalls of all classes"),
        _answers("f1", "F1", "F-measure of the minority; mean over classes with more than two"),
        _answers("balanced_accuracy", "balanced accuracy", "mean of the recalls of all classes"),
        Metric("roc_auc", "ROC AUC", help="how well the classes are ranked; needs no threshold"),
        Metric(
            "average_precision",
            "average precision",
            help="area under the precision-recall curve of the minority; needs no threshold",
        ),
        _error("brier", "Brier", "squared error of the probabilities"),
        _error(
            f"brier{CORRECTED}",
            "Brier, corrected",
            "the same after prior correction: the shift of the base rate is undone",
        ),
        *_calibration("slope", 1.0, "1 is right; below 1 the probabilities are too extreme"),
        *_calibration(
            "intercept", 0.0, "0 is right; below 0 the minority's probabilities are too high"
        ),
    )
}


def answer_scores(
    y: Integers, answer: Integers, n_classes: int, weights: Floats | None = None
) -> dict[str, float]:
    """Return the metrics of answers."""
    labels = np.arange(n_classes)
    counts = confusion_matrix(y, answer, labels=labels, sample_weight=weights)
    return {
        "g_mean": g_mean(counts),
        "f1": f_measure(counts, 1 if n_classes == BINARY else None),
        "balanced_accuracy": float(recalls(counts).mean()),
    }


def probability_scores(y: Integers, p: Floats, weights: Floats | None = None) -> dict[str, float]:
    """Return the metrics of probabilities, calibration apart."""
    n_classes = p.shape[1]
    codes = range(1, n_classes) if n_classes == BINARY else range(n_classes)
    each = [(y == code, p[:, code]) for code in codes]
    return {
        "roc_auc": float(np.mean([roc_auc_score(*one, sample_weight=weights) for one in each])),
        "average_precision": float(
            np.mean([average_precision_score(*one, sample_weight=weights) for one in each])
        ),
        "brier": brier(y, p, weights),
    }


def brier(y: Integers, p: Floats, weights: Floats | None = None) -> float:
    """Return half the squared error of the probabilities, summed over classes.

    Examples
    --------
    >>> brier(np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]]))
    0.1
    """
    truth = np.eye(p.shape[1])[y]
    return float(np.average(np.sum((p - truth) ** 2, axis=1), weights=weights) / 2)


def prior_corrected(p: Floats, base: Floats, prior: Floats) -> Floats:
    """Undo the shift of the base rate: a model fitted at shares ``prior``, used at ``base``.

    Each probability is multiplied by base / prior and the row is scaled to sum to one.

    Examples
    --------
    >>> prior_corrected(np.array([[0.5, 0.5]]), np.array([0.9, 0.1]), np.array([0.5, 0.5]))
    array([[0.9, 0.1]])
    """
    shifted = p * (base / prior)
    total = shifted.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shifted, total, out=p.copy(), where=total > 0))


def tuned_thresholds(p: Floats, y: Integers, weights: Floats | None = None) -> dict[str, float]:
    """Return the threshold that is best for each metric that needs one.

    Every cut between two neighbouring probabilities of the minority is tried. Where several are
    best, the middle one is taken.

    Examples
    --------
    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0, 0, 1, 1])
    >>> tuned_thresholds(p, y)
    {'g_mean': 0.25, 'f1': 0.25, 'balanced_accuracy': 0.25}
    """
    order = np.argsort(-p, kind="stable")
    p, y = p[order], y[order]
    last = np.append(np.flatnonzero(np.diff(p) < 0), len(p) - 1)  # of a run of equal p
    counts = np.ones_like(y) if weights is None else weights[order]
    minority, rows = np.cumsum(counts * y), np.cumsum(counts)
    hits = minority[last]
    misses = minority[-1] - hits
    false = rows[last] - hits
    cuts = np.append((p[last[:-1]] + p[last[:-1] + 1]) / 2, p[-1] / 2)
    recall = hits / (minority[-1] or 1)
    other = 1 - false / ((rows[-1] - minority[-1]) or 1)
    scores = {
        "g_mean": np.sqrt(recall * other),
        "f1": 2 * hits / (2 * hits + misses + false),
        "balanced_accuracy": (recall + other) / 2,
    }
    return {name: float(cuts[_middle_best(score)]) for name, score in scores.items()}


def _middle_best(score: Floats) -> int:
    best = np.flatnonzero(score >= score.max() - AS_GOOD)
    return int(best[len(best) // 2])
