"""The trials of the study: a data set, a method, a repetition and a fold.

A trial resamples its training fold once and judges all six classifiers on the test fold: its
figures are named ``classifier metric``, as in ``"RF g_mean"``. ``seconds`` is the processor
time of the resampling alone, which the load of the machine does not change. ``origin redraw``
and its like count what the new rows of ours are. The metrics:

    g_mean              geometric mean of the recalls
    f_measure           of the smallest class; with more than two classes the mean over all
    roc_auc             each class against the rest by its score, mean over the classes;
                        with two classes of the smaller one
    average_precision   the same of the precision-recall curve
    brier               half the squared distance of the probabilities from the truth, lower
                        is better; only where the classifier has probabilities

A trial keeps two more, which the study of rivals ranks by: ``macro_f1``, the mean of the F-measures
of all classes, and ``balanced_accuracy``, the mean of the recalls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from counterbalance.datasets import load
from counterbalance.datasets.dataset import share_of_rows
from counterbalance.studies.study.methods import fitted, resampled
from counterbalance.studies.study.settings import StudySettings
from counterbalance.trials.classifiers import CLASSIFIERS, make_classifier
from counterbalance.trials.metrics import BINARY, f_measure, g_mean, recalls
from counterbalance.trials.resamplers import expected_warnings
from counterbalance.trials.trial import Trial, seed_of

METRICS = {
    "g_mean": "G-mean",
    "f_measure": "F-measure",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
LOWER_IS_BETTER = frozenset({"brier"})
# A class of a table that is cut keeps so many rows, or all that it has: 20 in each of five folds.
FEWEST_KEPT = 100


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A table with class codes, 0 the largest class, the smallest last."""

    X: Any
    y: NDArray[np.intp]
    n_classes: int


def trials(settings: StudySettings) -> list[Trial]:
    """Return the trials of a study, data set by data set."""
    return [
        {
            "data": data,
            "rows": settings.rows,
            "method": method,
            "folds": settings.folds,
            "repeat": repeat,
            "fold": fold,
        }
        for repeat in settings.repeats
        for data in settings.datasets
        for fold in range(settings.folds)
        for method in settings.methods
    ]


def compute(trial: Trial) -> dict[str, float]:
    """Resample a training fold, fit the six classifiers, judge them on the test fold."""
    method, repeat, fold = str(trial["method"]), int(trial["repeat"]), int(trial["fold"])
    table = load_labelled(str(trial["data"]), int(trial["rows"]))
    train, test = folds_of(str(trial["data"]), int(trial["rows"]), int(trial["folds"]), repeat)[
        fold
    ]
    place = (str(trial["data"]), repeat, fold)
    with expected_warnings():
        start = time.process_time()
        made = resampled(method, table.X.iloc[train], table.y[train], seed_of(*place))
        figures = {"seconds": time.process_time() - start, "rows": float(len(made.labels))}
        figures |= {f"origin {name}": float(count) for name, count in made.origins.items()}
        test_rows = made.preparation.transform(table.X.iloc[test])
        for name in CLASSIFIERS:
            # the seed belongs to the fold, not to the method: all methods are equally lucky
            seed = seed_of(*place, name)
            f = fitted(
                method, make_classifier(name, seed, small=True), made.rows, made.labels, seed
            )
            judged = measure(f, test_rows, table.y[test], table.n_classes)
            figures |= {f"{name} {metric}": value for metric, value in judged.items()}
    return figures


def measure(f: Any, X: Any, y: NDArray[np.intp], n_classes: int) -> dict[str, float]:
    """Judge a fitted classifier on a test fold.

    f          fitted to the class codes ``0 ... n_classes - 1``, of which it has seen every
               one
    X, y       the test fold
    n_classes  how many classes there are
    """
    counts = confusion_matrix(y, f.predict(X), labels=range(n_classes))
    figures = {
        "g_mean": g_mean(counts),
        "f_measure": f_measure(counts, 1 if n_classes == BINARY else None),
        "macro_f1": f_measure(counts),
        "balanced_accuracy": float(recalls(counts)[counts.sum(axis=1) > 0].mean()),
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


@lru_cache(maxsize=2)
def load_labelled(name: str, rows: int) -> StudyTable:
    """Load a data set, cut to a number of rows, small classes spared; 0 takes all."""
    dataset = load(name)
    labels = dataset.y.to_numpy().astype(str)
    codes = {str(label): code for code, label in enumerate(dataset.class_counts)}
    y = np.array([codes[label] for label in labels], dtype=np.intp)
    X = dataset.X
    if 0 < rows < len(y):
        kept = share_of_rows(y, rows, least=FEWEST_KEPT)
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return StudyTable(X, y, len(codes))


@lru_cache(maxsize=2)
def folds_of(data: str, rows: int, folds: int, repeat: int) -> list[tuple[Any, Any]]:
    """Split a data set, (training rows, test rows) for each fold."""
    table = load_labelled(data, rows)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=repeat)
    return list(splitter.split(np.zeros(len(table.y)), table.y))
