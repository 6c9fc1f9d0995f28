"""The study as independent cells: a data set, a method, a repetition and a fold.

A cell resamples its training fold once and judges all six classifiers on the test fold: its
figures are named ``classifier metric``, as in ``"RF g_mean"``. ``seconds`` is the processor
time of the resampling alone, which the load of the machine does not change. ``origin redraw``
and its like count what the new rows of ours are.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from counterbalance.studies.study.classifiers import CLASSIFIERS, make_classifier
from counterbalance.studies.study.methods import fitted, resampled
from counterbalance.studies.study.metrics import measure
from counterbalance.studies.study.settings import Settings
from counterbalance.studies.study.suite import load_labelled
from counterbalance.trials.expected import expected_warnings
from counterbalance.trials.seed import seed_of
from counterbalance.trials.store import Cell


def cells(settings: Settings) -> list[Cell]:
    """Return the cells of a study, data set by data set."""
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


def compute(cell: Cell) -> dict[str, float]:
    """Resample a training fold, fit the six classifiers, judge them on the test fold."""
    method, repeat, fold = str(cell["method"]), int(cell["repeat"]), int(cell["fold"])
    table = load_labelled(str(cell["data"]), int(cell["rows"]))
    train, test = _folds(str(cell["data"]), int(cell["rows"]), int(cell["folds"]), repeat)[fold]
    place = (str(cell["data"]), repeat, fold)
    with expected_warnings():
        start = time.process_time()
        made = resampled(method, table.X.iloc[train], table.y[train], seed_of(*place))
        figures = {"seconds": time.process_time() - start, "rows": float(len(made.labels))}
        figures |= {f"origin {name}": float(count) for name, count in made.origins.items()}
        test_rows = made.preparation.transform(table.X.iloc[test])
        for name in CLASSIFIERS:
            # the seed belongs to the fold, not to the method: all methods meet the same luck
            seed = seed_of(*place, name)
            f = fitted(method, make_classifier(name, seed), made.rows, made.labels, seed)
            judged = measure(f, test_rows, table.y[test], table.n_classes)
            figures |= {f"{name} {metric}": value for metric, value in judged.items()}
    return figures


@lru_cache(maxsize=2)
def _folds(data: str, rows: int, folds: int, repeat: int) -> list[tuple[Any, Any]]:
    table = load_labelled(data, rows)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=repeat)
    return list(splitter.split(np.zeros(len(table.y)), table.y))
