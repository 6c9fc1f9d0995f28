"""The page of a balanced table: what ``balance --report`` writes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from counterbalance.cli.balancing import Balanced
from counterbalance.cli.user_table import UserTable


def write_page(balanced: Balanced, path: Path, again: str, *, rows: bool) -> None:
    """Write the report of a balanced table, with or without ``rows``.

    ``again`` is the command that makes it.
    """
    from counterbalance.io.column_checks import Topic
    from counterbalance.report import summarise_sampler, write_report

    # Findings that name a cell as an example.
    show_cells = {Topic.READING, Topic.MIXED, Topic.CONSTANT}
    user = balanced.user
    summary = summarise_sampler(
        balanced.sampler,
        user.X,
        user.y,
        balanced.X,
        balanced.y,
        alone=True,
        file=user.path.name,
        target=user.target,
        reproduce=again,
        rows=rows,
    )
    summary["data"]["notes"] = [
        finding.text for finding in user.findings if rows or finding.topic not in show_cells
    ]
    write_report(summary, path, like=user.path)


def command_again(
    user: UserTable,
    given: Mapping[str, Sequence[str] | None],
    seed: int,
    switches: Sequence[str],
) -> str:
    """Return the command that gives the same rows, without anything of this machine."""
    words = ["counterbalance", "balance", user.path.name, "--target", user.target]
    for option, values in given.items():
        for value in values or ():
            words += [option, value]
    return shlex.join([*words, *switches, "--seed", str(seed), "--report", "report.html"])
