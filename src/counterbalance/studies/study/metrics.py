"""What the study measures on a test fold.

g_mean              geometric mean of the recalls
f_measure           of the smallest class; with more than two classes the mean over all
roc_auc             each class against the rest by its score, mean over the classes;
with two classes of the smaller one
average_precision   the same of the precision-recall curve
brier               half the squared distance of the probabilities from the truth, lower
is better; only where the classifier has probabilities
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from counterbalance.trials.metrics import BINARY, f_measure, g_mean

METRICS = {
    "g_mean": "G-mean",
    "f_measure": "F-measure",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
LOWER_IS_BETTER = frozenset({"brier"})


def measure(
    f: Any, X: NDArray[np.float64], y: NDArray[np.intp], n_classes: int
) -> dict[str, float]:
    """Judge a fitted classifier on a test fold.

    Parameters
    ----------
    f : classifier
        Fitted to the class codes ``0 ... n_classes - 1``, of which it has seen every one.
    X, y : arrays
        The test fold.
    n_classes : int
        How many classes there are.
    """
    counts = confusion_matrix(y, f.predict(X), labels=range(n_classes))
    figures = {
        "g_mean": g_mean(counts),
        "f_measure": f_measure(counts, 1 if n_classes == BINARY else None),
    }
    has_probability = hasattr(f, "predict_proba")
    scores = f.predict_proba(X) if has_probability else f.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    judged = [1] if n_classes == BINARY else [c for c in range(n_classes) if (y == c).any()]
    figures["roc_auc"] = float(np.mean([roc_auc_score(y == c, scores[:, c]) for c in judged]))
    figures["average_precision"] = float(
        np.mean([average_precision_score(y == c, scores[:, c]) for c in judged])
    )
    if has_probability:
        truth = y[:, None] == np.arange(n_classes)
        figures["brier"] = float(((scores - truth) ** 2).sum(axis=1).mean() / 2)
    return figures
