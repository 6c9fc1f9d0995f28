"""Print the collection as a markdown table: ``python -m counterbalance.datasets``."""

import sys
from collections.abc import Iterable

from counterbalance.datasets.collection import DatasetSummary, list_datasets


def markdown_table(summaries: Iterable[DatasetSummary]) -> str:
    """Return one line per data set: name, rows, features, rows per class."""
    lines = ["| name | rows | features | rows per class |", "|---|---:|---:|---|"]
    for summary in summaries:
        counts = " : ".join(f"{count:,}" for count in summary.class_counts.values())
        lines.append(f"| {summary.name} | {summary.rows:,} | {summary.features} | {counts} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown_table(list_datasets()))
