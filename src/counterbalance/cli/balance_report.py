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
    from counterbalance.report import summarise_sampler, write_report

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
        notes=notes_of(user, rows=rows),
    )
    write_report(summary, path, like=user.path)


def notes_of(user: UserTable, *, rows: bool) -> list[str]:
    """Return what was found in a table; without ``rows``, nothing that quotes a cell."""
    from counterbalance.cli.table_checks import Topic

    quotes_cells = {Topic.READING, Topic.MIXED, Topic.CONSTANT}
    return [finding.text for finding in user.findings if rows or finding.topic not in quotes_cells]


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
