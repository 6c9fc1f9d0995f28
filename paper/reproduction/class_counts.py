"""Table IV: how many test rows of each class of PBC gradient boosting gets right.

The test part is 36.5 %, as the paper's ground truth of 1,998 rows implies.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from paper.classifiers import make_classifier
from paper.reproduction import TABLE_IV, Settings, failures, published, spread, with_columns
from paper.reproduction.methods import METHODS, load_labelled, resampled
from paper.tables import ABSENT, FAILED, Table
from paper.trials import ERROR, Frame, Trial, seed_of

EXPERIMENT = "class counts"
TEST_SHARE = 0.365
RATIO = TEST_SHARE / (1 - TEST_SHARE)  # of a test part to its training part
# The columns of a trial's result, in the order of the sizes of the classes.
COLUMNS = [
    f"{kind} {label}"
    for label in ("text", "horizontal line", "graphic", "vertical line", "picture")
    for kind in ("rows", "correct")
]


def trials(settings: Settings) -> list[Trial]:
    """Return a trial for each split and method; none if PBC is left out."""
    if "PBC" not in settings.datasets:
        return []
    rows = settings.rows_of(TABLE_IV)
    return [
        {"experiment": EXPERIMENT, "method": method, "rows": rows, "split": split}
        for split in range(settings.splits)
        for method in settings.methods
    ]


def compute(trial: Trial) -> dict[str, float]:
    """Count the test rows of each class, and those that are classified correctly."""
    table = load_labelled("PBC", int(trial["rows"]))
    split, method = int(trial["split"]), str(trial["method"])
    splitter = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=split)
    train, test = next(splitter.split(np.zeros(len(table.y)), table.y))
    seed = seed_of("class counts", method, split)
    rows, labels, preparation = resampled(method, table.X.iloc[train], table.y[train], seed)
    f = make_classifier("GBDT", seed).fit(rows, labels)
    right = f.predict(preparation.transform(table.X.iloc[test])) == table.y[test]
    counts = {}
    for label in table.classes:
        is_label = table.y[test] == label
        counts[f"rows {label}"] = float(is_label.sum())
        counts[f"correct {label}"] = float((is_label & right).sum())
    return counts


def of_whole_splits(ran: Frame) -> Frame:
    """Return the trials of the splits that every method has, so that all are compared on them."""
    ours = with_columns(ran, ["method", "split", *COLUMNS])
    methods = ours.groupby("split")["method"].transform("nunique")
    return ours[methods == ours["method"].nunique()]


def class_counts_table(ran: Frame) -> Table:
    """Return the mean counts over the splits; the paper's are whole numbers."""
    ours = of_whole_splits(ran)
    done = ours[ours[ERROR].isna()]
    names = published.CLASS_NAMES
    truth = [f"{done[f'rows {x}'].iloc[0]:.0f}" if len(done) else ABSENT for x in names]
    rows = [("ground truth", *truth), ("  paper", *map(str, published.CLASS_ROWS))]
    for method in METHODS:
        rows.append((method, *_counts(ours[ours["method"] == method])))
        if method in published.CORRECT:
            pairs = zip(published.CORRECT[method], published.CLASS_ROWS, strict=True)
            rows.append(("  paper", *(f"{right} ({right - all_:+d})" for right, all_ in pairs)))
    named = ", ".join(f"{name} is {label}" for label, name in names.items())
    return Table(
        "class_counts",
        "Table IV: correctly classified rows of PBC by class, gradient boosting",
        ("method", *names.values()),
        rows,
        (
            (
                f"Number of splits of {1 - TEST_SHARE:.1%} to {TEST_SHARE:.1%}: "
                f"{ours['split'].nunique()}; mean counts and their standard deviations over the "
                "splits, in brackets the difference to the rows of the class in the test part. "
                f"{named}."
            ),
            *failures(ours, ["method"]),
        ),
        done.drop(columns=ERROR),
    )


def _counts(members: Frame) -> list[str]:
    if not len(members) or members[ERROR].notna().any():
        return [FAILED if len(members) else ABSENT] * len(published.CLASS_NAMES)
    counts = []
    for label in published.CLASS_NAMES:
        right, every = members[f"correct {label}"], members[f"rows {label}"]
        missed = right.mean() - every.mean()
        counts.append(f"{spread(right.mean(), right.std(), 1)} ({missed:+.1f})")
    return counts
