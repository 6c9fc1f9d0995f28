"""Table IV: how many test rows of each class of PBC gradient boosting gets right.

A test part of 36.5 %, as the paper's ground truth of 1,998 rows implies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from counterbalance.studies.reproduction.data import load_labelled
from counterbalance.studies.reproduction.methods import METHODS, resampled
from counterbalance.studies.reproduction.settings import TABLE_IV
from counterbalance.trials.classifiers import make_classifier
from counterbalance.trials.seed import seed_of
from counterbalance.trials.workers import CellResult

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.store import Cell

EXPERIMENT = "class counts"
TEST_SHARE = 0.365


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each split and method; none if PBC is left out."""
    if "PBC" not in settings.datasets:
        return []
    rows = settings.rows_of(TABLE_IV)
    return [
        {"experiment": EXPERIMENT, "method": method, "rows": rows, "split": split}
        for split in range(settings.splits)
        for method in METHODS
    ]


def compute(settings: Settings, cell: Cell) -> CellResult:
    """Count the test rows of each class, and those that are classified correctly."""
    table = load_labelled("PBC", int(cell["rows"]), settings)
    split, method = int(cell["split"]), str(cell["method"])
    splitter = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=split)
    train, test = next(splitter.split(np.zeros(len(table.y)), table.y))
    seed = seed_of("class counts", method, split)
    rows, labels, preparation = resampled(method, table.X.iloc[train], table.y[train], seed)
    f = make_classifier("GBDT", seed).fit(rows, labels)
    right = f.predict(preparation.transform(table.X.iloc[test])) == table.y[test]
    figures = {}
    for label in table.classes:
        ours = table.y[test] == label
        figures[f"rows {label}"] = int(ours.sum())
        figures[f"correct {label}"] = int((ours & right).sum())
    return CellResult(figures)
