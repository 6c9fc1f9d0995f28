"""``counterbalance balance --engine dask``: parquet files larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.cli.balance_summary import (
    show_summary,
    summarise_classes,
    summarise_new_rows,
    summarise_relations,
)
from counterbalance.cli.options import EVERY, asks_for_every, share_of_largest
from counterbalance.cli.rules import GivenRules
from counterbalance.cli.terminal import Progress, note, show_json, working
from counterbalance.errors import ShortfallWarning, TableError

if TYPE_CHECKING:
    from counterbalance.methods import Method


@dataclass(frozen=True)
class ShareOfLargest:
    """A strategy: every class gets this share of the rows of the largest one."""

    share: float

    def __call__(self, y: Any) -> dict[Any, int]:
        """Return how many rows each class gets in all; rows are only ever added."""
        import numpy as np

        labels, counts = np.unique(y, return_counts=True)
        wanted = np.maximum(counts, int(self.share * counts.max()))
        return dict(zip(labels.tolist(), wanted.tolist(), strict=True))


def balance_on_dask(
    tables: Sequence[Path],
    target: str,
    out: Path | None,
    ratio: Sequence[str],
    rules: GivenRules,
    seed: int,
    cluster: dict[str, Any],
    *,
    method: Method,
    keep: Sequence[str],
    use: Sequence[str],
    plausible: dict[str, Any],
    json: bool,
) -> int:
    """Balance parquet files into a folder of parquet files, and show the summary."""
    from counterbalance.cli.table_checks import OPTIONS
    from counterbalance.distributed import balance_files

    if not method.ours:
        raise TableError(
            f"--method {method.name} needs all rows at once and cannot be spread over partitions; "
            "write a sample of the rows to one file and balance that with --engine memory, or take "
            "--method counterfactual or interior"
        )
    if out is None:
        raise TableError("--engine dask needs --out FOLDER: the result may not fit into memory")
    strategy: Any = EVERY
    if not asks_for_every(ratio):
        share = share_of_largest(ratio)
        strategy = "auto" if share == 1 else ShareOfLargest(share)
    sampler = method.factory(
        sampling_strategy=strategy,
        # balance_files checks that these columns exist
        constraints=rules.constraints(lambda names, _: list(names)) or None,
        random_state=seed,
        **plausible,
    )
    with working("starting the workers", told=ShortfallWarning) as tell:
        found = balance_files(
            tables,
            target,
            out,
            sampler=sampler,
            **cluster,
            keep=keep,
            use=use,
            progress=Progress(tell),
            notice=lambda finding: note(finding.text),
            remedies=OPTIONS,
        )
    within = not found.yields
    summary: dict[str, Any] = {
        "target": target,
        "rows_before": sum(found.before.values()),
        "rows_after": sum(found.after.values()),
        "kept": list(found.kept),
        "findings": [{"topic": item.topic, "text": item.text} for item in found.findings],
        **summarise_classes(found.before, found.after, found.yields),
        **summarise_new_rows(found.origins, found.before, (), only_shares=True, within=within),
        **summarise_relations(found.relations),
        "files": len(found.files),
        "written": {"out": str(found.folder), "provenance": f"{found.folder}/_provenance"},
    }
    if json:
        show_json(summary)
    else:
        show_summary(summary)
    for warning in summary["warnings"]:
        note(f"WARNING: {warning}")
    return 0
