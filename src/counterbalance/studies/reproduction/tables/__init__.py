"""Tables of the reproduction, made from the records of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterbalance.result_table import (
    ResultTable,
    as_csv,
    as_markdown,
    as_text,
)
from counterbalance.studies.reproduction.tables.areas import areas_table
from counterbalance.studies.reproduction.tables.class_counts import class_counts_table
from counterbalance.studies.reproduction.tables.scores import (
    score_table,
    scores,
    summary_table,
)
from counterbalance.studies.reproduction.tables.sensitivity import sensitivity_table

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

__all__ = ["ResultTable", "all_tables", "as_csv", "as_markdown", "as_text"]


def all_tables(records: Sequence[CellRecord], datasets: Sequence[str]) -> list[ResultTable]:
    """Return every table of the paper in its order, then those that it lacks."""
    every = scores(records)
    tables = [areas_table(records)]
    tables += [score_table(figures, data) for figures in every for data in datasets]
    if "PBC" in datasets:
        tables.append(class_counts_table(records))
    if datasets:
        tables.append(summary_table(every, datasets))
    return [*tables, sensitivity_table(records)]
