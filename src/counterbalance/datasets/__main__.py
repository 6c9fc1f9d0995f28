"""Print both collections as markdown tables: ``python -m counterbalance.datasets``."""

import sys
from collections.abc import Iterable

from counterbalance.datasets.collection import list_datasets
from counterbalance.datasets.dataset import DatasetSummary
from counterbalance.datasets.field import FIELD, FIELD_OPEN, list_field


def markdown_table(summaries: Iterable[DatasetSummary]) -> str:
    """Return one line per data set: name, rows, features, rows per class."""
    lines = ["| name | rows | features | rows per class |", "|---|---:|---:|---|"]
    lines += [f"| {_sizes(summary)} |" for summary in summaries]
    return "\n".join(lines) + "\n"


def field_table() -> str:
    """Return one line per table of the field collection, with what is asked and left out."""
    lines = [
        "| name | rows | features | rows per class | half | R package | answer | left out |",
        "|---|---:|---:|---|---|---|---|---|",
    ]
    for summary in list_field():
        table = FIELD[summary.name]
        half = "open" if summary.name in FIELD_OPEN else "held"
        left_out = "; ".join(
            f"{', '.join(name for name, why in table.dropped.items() if why == reason)}: {reason}"
            for reason in dict.fromkeys(table.dropped.values())
        )
        asked = f"{table.about} `{table.target}` = {table.positive}"
        lines.append(f"| {_sizes(summary)} | {half} | {table.package} | {asked} | {left_out} |")
    return "\n".join(lines) + "\n"


def _sizes(summary: DatasetSummary) -> str:
    counts = " : ".join(f"{count:,}" for count in summary.class_counts.values())
    return f"{summary.name} | {summary.rows:,} | {summary.features} | {counts}"


if __name__ == "__main__":
    sys.stdout.write(f"{field_table()}\n{markdown_table(list_datasets())}")
