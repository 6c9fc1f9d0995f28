"""Table IV: correctly classified test rows by class, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.methods import METHODS
from counterbalance.studies.reproduction.tables.groups import failures, gather, has_failed
from counterbalance.studies.reproduction.trials.class_counts import EXPERIMENT, TEST_SHARE

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

NAMES = ", ".join(f"{name} is {label}" for label, name in published.CLASS_NAMES.items())


def class_counts_table(records: Sequence[CellRecord]) -> ResultTable:
    """Return the mean counts over the splits; the paper's are whole numbers."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    groups = gather(ours, ["method"])
    rows: list[Sequence[str]] = [
        ("ground truth", *_truth(ours)),
        ("  paper", *map(str, published.CLASS_ROWS)),
    ]
    for method in METHODS:
        rows.append((method, *_cells(groups.get((method,), []))))
        pairs = zip(published.CORRECT[method], published.CLASS_ROWS, strict=True)
        rows.append(("  paper", *(f"{right} ({right - truth:+d})" for right, truth in pairs)))
    splits = len({record.cell["split"] for record in ours})
    return ResultTable(
        "class_counts",
        "Table IV: correctly classified rows of PBC by class, gradient boosting",
        ("method", *published.CLASS_NAMES.values()),
        rows,
        (
            (
                f"Number of splits of {1 - TEST_SHARE:.1%} to {TEST_SHARE:.1%}: {splits}; mean "
                f"counts, in brackets the difference to the rows of the class in the test part. "
                f"{NAMES}."
            ),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
    )


def _truth(records: Sequence[CellRecord]) -> list[str]:
    done = [record for record in records if record.state == "done"]
    if not done:
        return [ABSENT] * len(published.CLASS_NAMES)
    return [f"{done[0].figures[f'rows {label}']:.0f}" for label in published.CLASS_NAMES]


def _cells(members: Sequence[CellRecord]) -> list[str]:
    if not members or has_failed(members):
        return [FAILED if members else ABSENT] * len(published.CLASS_NAMES)
    cells = []
    for label in published.CLASS_NAMES:
        correct = fmean(record.figures[f"correct {label}"] for record in members)
        truth = fmean(record.figures[f"rows {label}"] for record in members)
        cells.append(f"{correct:.1f} ({correct - truth:+.1f})")
    return cells


def _record(record: CellRecord) -> dict[str, Value]:
    return {"method": record.cell["method"], "split": record.cell["split"], **record.figures}
