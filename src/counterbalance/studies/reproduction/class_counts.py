"""Table IV: how many test rows of each class of PBC gradient boosting gets right.

The test part is 36.5 %, as the paper's ground truth of 1,998 rows implies.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.data import load_labelled
from counterbalance.studies.reproduction.groups import failures, gather, has_failed, in_all, spread
from counterbalance.studies.reproduction.methods import METHODS, resampled
from counterbalance.studies.reproduction.settings import TABLE_IV
from counterbalance.trials.classifiers import make_classifier
from counterbalance.trials.trial import TrialResult, seed_of

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial, TrialRecord

EXPERIMENT = "class counts"
TEST_SHARE = 0.365
RATIO = TEST_SHARE / (1 - TEST_SHARE)  # of a test part to its training part

NAMES = ", ".join(f"{name} is {label}" for label, name in published.CLASS_NAMES.items())


def trials(settings: ReproductionSettings) -> list[Trial]:
    """Return a trial for each split and method; none if PBC is left out."""
    if "PBC" not in settings.datasets:
        return []
    rows = settings.rows_of(TABLE_IV)
    return [
        {"experiment": EXPERIMENT, "method": method, "rows": rows, "split": split}
        for split in range(settings.splits)
        for method in settings.methods
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:
    """Count the test rows of each class, and those that are classified correctly."""
    table = load_labelled("PBC", int(trial["rows"]), settings)
    split, method = int(trial["split"]), str(trial["method"])
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
    return TrialResult(figures)


def of_whole_splits(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Return the records of the splits that every method has, so that all are compared on them."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    whole = in_all(
        [int(record.trial["split"]) for record in members]
        for members in gather(ours, ["method"]).values()
    )
    return [record for record in ours if record.trial["split"] in whole]


def class_counts_table(records: Sequence[TrialRecord]) -> ResultTable:
    """Return the mean counts over the splits; the paper's are whole numbers."""
    ours = of_whole_splits(records)
    groups = gather(ours, ["method"])
    rows: list[Sequence[str]] = [
        ("ground truth", *_truth(ours)),
        ("  paper", *map(str, published.CLASS_ROWS)),
    ]
    for method in METHODS:
        rows.append((method, *_counts(groups.get((method,), []))))
        if method in published.CORRECT:
            pairs = zip(published.CORRECT[method], published.CLASS_ROWS, strict=True)
            rows.append(("  paper", *(f"{right} ({right - truth:+d})" for right, truth in pairs)))
    splits = len({record.trial["split"] for record in ours})
    return ResultTable(
        "class_counts",
        "Table IV: correctly classified rows of PBC by class, gradient boosting",
        ("method", *published.CLASS_NAMES.values()),
        rows,
        (
            (
                f"Number of splits of {1 - TEST_SHARE:.1%} to {TEST_SHARE:.1%}: {splits}; mean "
                f"counts and their standard deviations over the splits, in brackets the "
                f"difference to the rows of the class in the test part. "
                f"{NAMES}."
            ),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
    )


def _truth(records: Sequence[TrialRecord]) -> list[str]:
    done = [record for record in records if record.state == "done"]
    if not done:
        return [ABSENT] * len(published.CLASS_NAMES)
    return [f"{done[0].figures[f'rows {label}']:.0f}" for label in published.CLASS_NAMES]


def _counts(members: Sequence[TrialRecord]) -> list[str]:
    if not members or has_failed(members):
        return [FAILED if members else ABSENT] * len(published.CLASS_NAMES)
    counts = []
    for label in published.CLASS_NAMES:
        correct = spread([record.figures[f"correct {label}"] for record in members])
        truth = fmean(record.figures[f"rows {label}"] for record in members)
        deviation = "" if correct.deviation is None else f" ±{correct.deviation:.1f}"
        counts.append(f"{correct.mean:.1f}{deviation} ({correct.mean - truth:+.1f})")
    return counts


def _record(record: TrialRecord) -> dict[str, Value]:
    return {"method": record.trial["method"], "split": record.trial["split"], **record.figures}
