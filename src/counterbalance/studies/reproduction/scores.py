"""Experiment II: what the six classifiers make of a fold after each method.

A trial is one fold of one run and one method: the fold is cut first, only its training part is
resampled, once, and the six classifiers are fitted to it. Its result is their confusion matrices;
every measure comes from these (`score_tables`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from counterbalance.studies.reproduction.data import PaperTable, load_labelled
from counterbalance.studies.reproduction.methods import as_classified, resampled
from counterbalance.trials.classifiers import CLASSIFIERS, make_classifier
from counterbalance.trials.trial import TrialResult, seed_of

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial

EXPERIMENT = "scores"


def trials(settings: ReproductionSettings) -> list[Trial]:
    """Return a trial for each run, data set, fold and method, in this order.

    So a run of the cross-validation is complete on every data set before the next one begins.
    """
    most = max((settings.runs_of(data) for data in settings.datasets), default=0)
    return [
        {
            "experiment": EXPERIMENT,
            "data": data,
            "rows": settings.rows_of(data),
            "method": method,
            "run": run,
            "folds": settings.folds,
            "fold": fold,
        }
        for run in range(most)
        for data in settings.datasets
        if run < settings.runs_of(data)
        for fold in range(settings.folds)
        for method in settings.methods
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:
    """Resample a training part once, and count what each classifier makes of the test part."""
    table = load_labelled(str(trial["data"]), int(trial["rows"]), settings)
    run, folds, fold = (int(trial[name]) for name in ("run", "folds", "fold"))
    place = (str(trial["data"]), int(trial["rows"]), run, folds, fold)
    counts, made = judged(table, str(trial["method"]), place)
    return TrialResult({"resampled rows": float(made)}, payload=counts)


def judged(
    table: PaperTable, method: str, place: tuple[str, int, int, int, int]
) -> tuple[dict[str, list[list[int]]], int]:
    """Return the confusion matrix of each classifier, and the rows that they were fitted to.

    Parameters
    ----------
    table : PaperTable
        All rows.
    method : str
        A method of Experiment II.
    place : tuple
        Name of the table, its rows, run, folds, fold. A classifier's seed belongs to the fold and
        not to the method, so that all methods are equally lucky.
    """
    *_, run, folds, fold = place
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    train, test = list(splitter.split(np.zeros(len(table.y)), table.y))[fold]
    rows, labels, preparation = resampled(
        method, table.X.iloc[train], table.y[train], seed_of(*place, method)
    )
    rows = as_classified(rows)
    test_rows = as_classified(preparation.transform(table.X.iloc[test]))
    counts: dict[str, Any] = {}
    for name in CLASSIFIERS:
        f = make_classifier(name, seed_of(*place, name)).fit(rows, labels)
        predicted = f.predict(test_rows)
        matrix = confusion_matrix(table.y[test], predicted, labels=list(table.classes))
        counts[name] = matrix.tolist()
    return counts, len(labels)
