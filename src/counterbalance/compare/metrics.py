"""Metrics of a strategy.

    p         (N, C) probabilities, classes from the largest to the smallest
    y         (N,) class codes
    answer    (N,) class codes
    weights   (N,) the weight of each row, or None where all are equal

Two classes: the F-measure, the average precision and the Brier score are those of the
minority. More classes: the G-mean is the geometric mean of all recalls, F1, ROC AUC and average
precision are means over the classes (each against the rest), the Brier score is the sum over the
classes, halved so that two classes agree with the usual one.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from counterbalance.arrays import Floats, Integers
from counterbalance.estimators.decision import THRESHOLDED

BINARY = 2


@dataclass(frozen=True)
class Metric:
    """A metric."""

    name: str  # in the code
    label: str  # for people
    help: str  # what it means
    higher_is_better: bool = True

    @property
    def is_tuned(self) -> bool:
        """Whether a threshold or a calibration changes it; a ranking has neither."""
        return self.name in {*THRESHOLDED, "brier"}

    @property
    def sign(self) -> int:
        """1, or -1 for a metric of which lower values are better."""
        return 1 if self.higher_is_better else -1


METRICS = {
    metric.name: metric
    for metric in (
        Metric("g_mean", "G-mean", "geometric mean of the recalls of all classes"),
        Metric("f1", "F1", "F-measure of the minority; mean over classes with more than two"),
        Metric("balanced_accuracy", "balanced accuracy", "mean of the recalls of all classes"),
        Metric("roc_auc", "ROC AUC", "how well the classes are ranked; needs no threshold"),
        Metric(
            "average_precision",
            "average precision",
            "area under the precision-recall curve of the minority; needs no threshold",
        ),
        Metric("brier", "Brier", "squared error of the probabilities", higher_is_better=False),
    )
}


def answer_scores(
    y: Integers, answer: Integers, n_classes: int, weights: Floats | None = None
) -> dict[str, float]:
    """Return the metrics of answers to rows of every class.

    >>> answer_scores(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 0]), 2)["f1"]
    0.5
    """
    counts = confusion_matrix(y, answer, labels=np.arange(n_classes), sample_weight=weights)
    right, true, predicted = np.diag(counts).astype(float), counts.sum(axis=1), counts.sum(axis=0)
    recall, f1 = right / true, 2 * right / (true + predicted)
    return {
        "g_mean": float(recall.prod() ** (1 / n_classes)),
        "f1": float(f1[1] if n_classes == BINARY else f1.mean()),
        "balanced_accuracy": float(recall.mean()),
    }


def ranking_scores(y: Integers, p: Floats, weights: Floats | None = None) -> dict[str, float]:
    """Return the metrics of how the rows are ranked."""
    scores = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
    codes = range(1 if p.shape[1] == BINARY else 0, p.shape[1])
    return {
        name: float(np.mean([score(y == c, p[:, c], sample_weight=weights) for c in codes]))
        for name, score in scores.items()
    }


def brier(y: Integers, p: Floats, weights: Floats | None = None) -> float:
    """Return half the squared error of the probabilities, summed over classes.

    >>> brier(np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]]))
    0.1
    """
    truth = np.eye(p.shape[1])[y]
    return float(np.average(np.sum((p - truth) ** 2, axis=1), weights=weights) / 2)
