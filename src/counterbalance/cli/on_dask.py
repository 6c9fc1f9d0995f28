"""``counterbalance balance --engine dask``: parquet files larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.cli.balance_summary import (
    result_tables,
    say_origins,
    say_relations,
    say_warnings,
    summarise_classes,
    summarise_new_rows,
    summarise_relations,
)
from counterbalance.cli.options import EVERY, asks_for_every, share_of_largest
from counterbalance.cli.rules import GivenRules, told_in_options
from counterbalance.cli.terminal import Progress, note, say, show_json, show_tables, working
from counterbalance.errors import ShortfallWarning, TableError

if TYPE_CHECKING:
    from counterbalance.distributed import BalancedFiles
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
    """Balance parquet files into a folder of such files, and say what was done."""
    from counterbalance.cli.table_checks import OPTIONS
    from counterbalance.distributed import balance_files

    if not method.ours:
        raise TableError(
            f"--method {method.name} needs all rows at once and cannot be spread over partitions; "
            "write a sample of the rows to one file and balance that with --engine memory, or take "
            "--method counterfactual or interior"
        )
    if out is None:
        raise TableError("--engine dask needs --out FOLDER: the result may not fit the memory")
    strategy: Any = EVERY
    if not asks_for_every(ratio):
        share = share_of_largest(ratio)
        strategy = "auto" if share == 1 else ShareOfLargest(share)
    sampler = method.factory(
        sampling_strategy=strategy,
        # whether there are such columns is seen in the files
        constraints=rules.constraints(lambda names, _: list(names)) or None,
        random_state=seed,
        **plausible,
    )
    with told_in_options(), working("starting the workers", told=ShortfallWarning) as tell:
        balanced = balance_files(
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
    summary = summarise(balanced, target, within=not balanced.yields)
    if json:
        show_json(summary)
    else:
        show_summary(summary)
    say_warnings(summary)
    return 0


def summarise(balanced: BalancedFiles, target: str, *, within: bool) -> dict[str, Any]:
    """Return everything there is to say about the result, as plain values."""
    return {
        "target": target,
        "rows_before": sum(balanced.before.values()),
        "rows_after": sum(balanced.after.values()),
        "kept": list(balanced.kept),
        "findings": [{"topic": item.topic, "text": item.text} for item in balanced.findings],
        **summarise_classes(balanced.before, balanced.after, balanced.yields),
        **summarise_new_rows(
            balanced.origins, balanced.before, (), only_shares=True, within=within
        ),
        **summarise_relations(balanced.relations),
        "files": len(balanced.files),
        "written": {"out": str(balanced.folder), "provenance": f"{balanced.folder}/_provenance"},
    }


def show_summary(summary: dict[str, Any]) -> None:
    """Show what the new rows are, counts and yields, and where the result is."""
    say_origins(summary)
    show_tables(result_tables(summary))
    say_relations(summary)
    written = summary["written"]
    say(f"wrote {summary['rows_after']:,} rows to {summary['files']} files in {written['out']}")
    say(f"wrote where the new ones come from to {written['provenance']}")
