"""The study: resamplers, or whole classifiers, over many data sets and metrics.

    suites       which data sets (`suite`)
    protocol     which methods, how a trial is computed, which metrics, which tables and page
    trials       a data set, a method, a repetition and a fold

Every choice in this project that was decided by figures was decided on the development suite. The
final suite is all other KEEL tables that a study of some hours can hold: they are looked at after
the choices have been made (docs/research-log.md says when). The field suites are tables that are
not KEEL's, mixed and with holes; of their two halves one may be looked at while choosing.

The metrics of a fitted classifier on a test fold:

    g_mean              geometric mean of the recalls
    f_measure           of the smallest class; with more than two classes the mean over all
    roc_auc             each class against the rest by its score, mean over the classes;
                        with two classes of the smaller one
    average_precision   the same of the precision-recall curve
    brier               half the squared distance of the probabilities from the truth, lower
                        is better; only where the classifier has probabilities
    macro_f1            the mean of the F-measures of all classes
    balanced_accuracy   the mean of the recalls
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from paper.classifiers import BINARY, f_measure, g_mean, recalls
from paper.datasets import catalogue, load
from paper.datasets.field import FEWEST_OF_CLASS, FIELD_HELD, FIELD_OPEN, share_of_rows
from paper.trials import Trial

DEVELOPMENT = (
    *("ecoli1", "ecoli3", "ecoli4", "ecoli-0-1-4-6_vs_5", "glass0", "glass2", "glass6"),
    *("glass-0-1-6_vs_5", "haberman", "pima", "yeast1", "yeast4", "yeast6", "yeast-1_vs_7"),
    *("yeast-2_vs_4", "vehicle1", "vehicle2", "abalone9-18", "abalone-21_vs_8", "wisconsin"),
    *("cm1", "winequality-red-4", "winequality-white-3_vs_7", "new_thyroid1"),
    *("page-blocks-1-3_vs_4", "page-blocks0", "spectfheart", "poker-8-9_vs_6", "car-good"),
    *("cleveland-0_vs_4", "pc1", "kr-vs-k-zero_vs_eight", "led7digit-0-2-4-5-6-7-8-9_vs_1"),
    *("shuttle-c0-vs-c4", "vowel0", "segment0"),
    *("page-blocks", "glass", "newthyroid", "balance"),
)
SUITES = ("development", "final", "field-open", "field-held")
# A larger table takes hours on a laptop, or is the same table under another name.
MOST_ROWS_OF_FINAL = 6000
# A class of a table that is cut keeps so many rows, or all that it has: 20 in each of five folds.
FEWEST_KEPT = 100


class Fold(NamedTuple):
    """What a trial is computed from: training and test rows, and the name of the fold."""

    X: Any
    y: NDArray[np.intp]
    X_test: Any
    y_test: NDArray[np.intp]
    n_classes: int
    place: tuple[str, int, int]  # data set, repetition, fold: seeds are made of it


def suite(name: str) -> tuple[str, ...]:
    """Return the names of the data sets of a suite.

    >>> len(suite("development"))
    40
    >>> set(suite("development")) & set(suite("final"))
    set()
    """
    if name != "final":
        known = {"development": DEVELOPMENT, "field-open": FIELD_OPEN, "field-held": FIELD_HELD}
        return known[name]
    kept = catalogue().query("`from` == 'KEEL' and rows <= @MOST_ROWS_OF_FINAL")
    counts = kept["rows per class"]
    kept = kept.assign(cells=kept["rows"] * kept["features"] * counts.map(len))
    kept = kept[counts.map(min) >= FEWEST_OF_CLASS].drop(index=list(DEVELOPMENT), errors="ignore")
    return tuple(kept.sort_index().sort_values("cells", kind="stable").index)


def trials(
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    *,
    folds: int,
    repeats: tuple[int, ...],
    rows: int,
) -> list[Trial]:
    """Return the trials of a study, data set by data set."""
    return [
        {"data": d, "rows": rows, "method": m, "folds": folds, "repeat": repeat, "fold": fold}
        for repeat in repeats
        for d in datasets
        for fold in range(folds)
        for m in methods
    ]


def fold_of(trial: Trial) -> Fold:
    """Return the training and the test rows of a trial."""
    data = str(trial["data"])
    rows, folds, repeat, fold = (int(trial[name]) for name in ("rows", "folds", "repeat", "fold"))
    X, y, n_classes = load_labelled(data, rows)
    train, test = _splits(data, rows, folds, repeat)[fold]
    return Fold(X.iloc[train], y[train], X.iloc[test], y[test], n_classes, (data, repeat, fold))


@lru_cache(maxsize=2)
def load_labelled(name: str, rows: int) -> tuple[Any, NDArray[np.intp], int]:
    """Load a data set, cut to a number of rows, small classes spared; 0 takes all.

    Returns the features, the codes of the classes, the largest first, and how many there are.
    """
    dataset = load(name)
    codes = {str(label): code for code, label in enumerate(dataset.class_counts)}
    y = np.array([codes[str(label)] for label in dataset.y], dtype=np.intp)
    kept = share_of_rows(y, rows, least=FEWEST_KEPT)
    return dataset.X.iloc[kept].reset_index(drop=True), y[kept], len(codes)


@lru_cache(maxsize=2)
def _splits(data: str, rows: int, folds: int, repeat: int) -> list[tuple[Any, Any]]:
    _, y, _ = load_labelled(data, rows)
    return list(StratifiedKFold(folds, shuffle=True, random_state=repeat).split(y, y))


def measure(f: Any, X: Any, y: NDArray[np.intp], n_classes: int) -> dict[str, float]:
    """Measure a fitted classifier on a test fold; f has seen every code ``0 ... n_classes - 1``."""
    counts = confusion_matrix(y, f.predict(X), labels=range(n_classes))
    figures = {
        "g_mean": g_mean(counts),
        "f_measure": f_measure(counts),
        "macro_f1": f_measure(counts, macro=True),
        "balanced_accuracy": float(recalls(counts).mean()),
    }
    has_probability = hasattr(f, "predict_proba")
    scores = f.predict_proba(X) if has_probability else f.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    scored = [1] if n_classes == BINARY else [c for c in range(n_classes) if (y == c).any()]
    for name, metric in (
        ("roc_auc", roc_auc_score),
        ("average_precision", average_precision_score),
    ):
        figures[name] = float(np.mean([metric(y == c, scores[:, c]) for c in scored]))
    if has_probability:
        truth = y[:, None] == np.arange(n_classes)
        figures["brier"] = float(((scores - truth) ** 2).sum(axis=1).mean() / 2)
    return figures
