"""Metrics: what a strategy is judged by.

    p         (N, C) probabilities, classes from the largest to the smallest
    y         (N,) class codes
    answer    (N,) class codes
    weights   (N,) what each row counts for, or None where all count the same
    counts    (C, C) rows of true class i that were put into class j: a confusion matrix

Two classes: the F-measure, the average precision and the Brier score are those of the
minority, and an answer comes from a threshold. More classes: the G-mean is the geometric mean
of all recalls, F1, ROC AUC and average precision are means over the classes (each against the
rest), the Brier score is the sum over the classes, halved so that two classes agree with the
usual one, and the answer is the most probable class, or in place of a tuned threshold the one
with the largest probability over its share in training.

A threshold is where the probability of the minority becomes the answer "minority": p >= threshold.
It is tuned on probabilities of rows that the model was not fitted to, from inside the training
part.

Calibration says whether probabilities mean what they say:

    p    (N,) probability of a class
    y    (N,) whether the row is of that class
    w    (N,) what the row counts for, or None where all count the same

    slope       b in logit P(y) = a + b logit(p): below 1, p is too extreme
    intercept   a in logit P(y) = a + logit(p): below 0, p is too high on the whole

Probabilities are kept within [1 / 2N, 1 - 1 / 2N]: from N rows nothing finer can be known, and
the logit of the zeros and ones of a forest would be infinite.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
)

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.compare.records import Metric
from counterbalance.estimators.decision import THRESHOLDED

BINARY = 2
EVEN = 0.5  # the threshold that is not tuned
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


def recalls(counts: ArrayLike) -> Floats:
    """Return the recall of each class.

    >>> recalls([[8, 2], [1, 3]]).tolist()
    [0.8, 0.75]
    """
    counts = np.asarray(counts, dtype=float)
    return _share(np.diag(counts), counts.sum(axis=1))


def g_mean(counts: ArrayLike) -> float:
    """Return the geometric mean of the recalls of the classes that have rows.

    >>> round(g_mean([[8, 2], [1, 3]]), 4)
    0.7746
    """
    counts = np.asarray(counts, dtype=float)
    recall = recalls(counts)[counts.sum(axis=1) > 0]
    return float(np.prod(recall) ** (1 / len(recall)))


def f_measure(counts: ArrayLike, minority: int | None = None) -> float:
    """Return the F-measure of the class at the place ``minority``, or the mean over all classes.

    >>> round(f_measure([[8, 2], [1, 3]], minority=1), 4)
    0.6667
    >>> round(f_measure([[8, 2], [1, 3]]), 4)
    0.7544
    """
    counts = np.asarray(counts, dtype=float)
    right = 2 * np.diag(counts)
    each = _share(right, counts.sum(axis=0) + counts.sum(axis=1))
    return float(each.mean() if minority is None else each[minority])


def _share(part: Floats, whole: Floats) -> Floats:
    """Divide; a class that nothing was put into and that has no row counts as zero."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


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

    >>> brier(np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]]))
    0.1
    """
    truth = np.eye(p.shape[1])[y]
    return float(np.average(np.sum((p - truth) ** 2, axis=1), weights=weights) / 2)


STEPS = 100
PRECISION = 1e-10
NORMAL = 1.959963984540054  # 95 % of a normal distribution lie within so many deviations
BINS = 10
POINTS = 100
STEEPEST = 50.0  # beyond this the classes are separated and there is no slope


@dataclass(frozen=True)
class Estimate:
    """A figure with its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where it lies with 95 %."""
        return self.value - NORMAL * self.error, self.value + NORMAL * self.error


def slope(p: Floats, y: Mask, w: Floats | None = None) -> Estimate | None:
    """Return the calibration slope; None where the probabilities separate the classes."""
    steps = _logit(p)
    if np.ptp(steps) == 0:
        return None
    found = _newton(np.column_stack([np.ones_like(steps), steps]), np.zeros_like(steps), y, w)
    if found is None or abs(found[0][1]) > STEEPEST:
        return None
    return Estimate(float(found[0][1]), float(found[1][1]))


def intercept(p: Floats, y: Mask, w: Floats | None = None) -> Estimate | None:
    """Return the calibration intercept, the slope being one."""
    steps = _logit(p)
    found = _newton(np.ones((len(steps), 1)), steps, y, w)
    return None if found is None else Estimate(float(found[0][0]), float(found[1][0]))


def calibration_curve(p: Floats, y: Mask, w: Floats | None = None) -> list[list[float]]:
    """Return [mean predicted, observed share, rows] of bins of about as many rows each.

    Rows with the same probability stay in one bin.

    >>> calibration_curve(np.array([0.25, 0.25, 0.75, 0.75]), np.array([0, 0, 1, 0], bool))
    [[0.25, 0.0, 2], [0.75, 0.5, 2]]
    """
    edges = np.unique(np.quantile(p, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, p, side="left")
    bins = [place == number for number in np.unique(place)]
    weights = np.ones(len(p)) if w is None else w
    means = [[float(np.average(v[b], weights=weights[b])) for v in (p, y)] for b in bins]
    return [[*mean, int(b.sum())] for mean, b in zip(means, bins, strict=True)]


def recall_curve(p: Floats, y: Mask, w: Floats | None = None) -> list[list[float]]:
    """Return [recall, precision] from all rows called positive to none, thinned."""
    precision, recall, _ = precision_recall_curve(y, p, sample_weight=w)
    places = np.unique(np.linspace(0, len(recall) - 1, min(POINTS, len(recall))).round())
    return [[float(recall[i]), float(precision[i])] for i in places.astype(int)]


def _logit(p: Floats) -> Floats:
    least = 1 / (2 * len(p))
    return np.asarray(logit(np.clip(p, least, 1 - least)))


def _newton(X: Floats, offset: Floats, y: Mask, w: Floats | None) -> tuple[Floats, Floats] | None:
    """Fit a logistic regression without penalty; return coefficients and standard errors.

    With weights the errors are those of the sandwich: a weight is no count of rows.
    """
    weights = np.ones(len(X)) if w is None else w
    beta = np.zeros(X.shape[1])
    for _ in range(STEPS):
        q = expit(offset + X @ beta)
        information = (X * (weights * q * (1 - q))[:, None]).T @ X
        try:
            step = np.linalg.solve(information, X.T @ (weights * (y - q)))
        except np.linalg.LinAlgError:
            return None
        beta = beta + np.clip(step, -1, 1)
        if np.abs(step).max() < PRECISION:
            spread = np.linalg.inv(information)
            if w is not None:
                spread = spread @ ((X * ((weights * (y - q)) ** 2)[:, None]).T @ X) @ spread
            return beta, np.sqrt(np.diag(spread))
    return None
