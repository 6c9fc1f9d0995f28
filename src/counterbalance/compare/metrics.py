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
