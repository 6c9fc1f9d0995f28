"""Experiment II: F-measure and G-mean of a classifier on a test fold.

The fold is cut first, then only its training part is resampled. A worker keeps the last
resampled parts, because the six classifiers of a fold share them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from counterbalance.studies.reproduction.data import Labelled, load_labelled
from counterbalance.studies.reproduction.methods import METHODS, resampled
from counterbalance.trials.classifiers import CLASSIFIERS, make_classifier
from counterbalance.trials.metrics import f_measure, g_mean
from counterbalance.trials.seed import seed_of
from counterbalance.trials.workers import CellResult

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.store import Cell

EXPERIMENT = "scores"


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each data set, run, fold, method and classifier, in this order."""
    return [
        {
            "experiment": EXPERIMENT,
            "data": data,
            "rows": settings.rows_of(data),
            "method": method,
            "classifier": classifier,
            "run": run,
            "folds": settings.folds,
            "fold": fold,
        }
        for run in range(settings.runs)
        for data in settings.datasets
        for fold in range(settings.folds)
        for method in METHODS
        for classifier in CLASSIFIERS
    ]


def compute(settings: Settings, cell: Cell) -> CellResult:
    """Fit a classifier to a resampled training part and judge it on the test part."""
    table = load_labelled(str(cell["data"]), int(cell["rows"]), settings)
    shared = tuple(
        (name, cell[name]) for name in ("data", "rows", "method", "run", "folds", "fold")
    )
    rows, labels, test_rows, test = _parts(settings, shared)
    f = make_classifier(str(cell["classifier"]), seed_of(*cell.values()))
    predicted = f.fit(rows, labels).predict(test_rows)
    counts = confusion_matrix(test, predicted, labels=list(table.classes))
    figures = {"f_measure": f_measure(counts, table.minority), "g_mean": g_mean(counts)}
    return CellResult(figures, payload=counts.tolist())


@lru_cache(maxsize=1)
def _parts(settings: Settings, shared: tuple[tuple[str, str | int], ...]) -> tuple[Any, ...]:
    """Return the resampled training part and the prepared test part of a fold."""
    cell = dict(shared)
    table = load_labelled(str(cell["data"]), int(cell["rows"]), settings)
    train, test = _fold(table, int(cell["folds"]), int(cell["run"]), int(cell["fold"]))
    rows, labels, preparation = resampled(
        str(cell["method"]), table.X.iloc[train], table.y[train], seed_of(*cell.values())
    )
    return rows, labels, preparation.transform(table.X.iloc[test]), table.y[test]


def _fold(table: Labelled, folds: int, run: int, fold: int) -> tuple[Any, Any]:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    train, test = list(splitter.split(np.zeros(len(table.y)), table.y))[fold]
    return train, test
