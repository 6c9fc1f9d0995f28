"""Calibration: whether probabilities mean what they say, and the curves that show it.

    p    (N,) probability of a class
    y    (N,) whether the row is of that class
    w    (N,) what the row counts for, or None where all count the same

    slope       b in logit P(y) = a + b logit(p): below 1, p is too extreme
    intercept   a in logit P(y) = a + logit(p): below 0, p is too high on the whole

Probabilities are kept within [1 / 2N, 1 - 1 / 2N]: from N rows nothing finer can be known, and
the logit of the zeros and ones of a forest would be infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import precision_recall_curve

from counterbalance.arrays import Floats, Mask

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

    Examples
    --------
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
