"""The user's table, read in the same way by every command that takes one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.terminal import note
from counterbalance.errors import TableError
from counterbalance.io.reading import AS_IT_IS, Reading

if TYPE_CHECKING:
    import pandas as pd

    from counterbalance.io import TableFile
    from counterbalance.io.column_checks import TableFinding


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table with its classes, ready for a sampler."""

    path: Path  # the file
    target: str  # name of the column with the classes
    stored: TableFile  # the table as the file holds it, without the rows that are left out
    X: pd.DataFrame  # the features: every column but the target and those in `kept`
    y: pd.Series[Any]  # the class of each row
    kept: tuple[str, ...]  # columns that stay in the file but are not used
    # What was recognised in the table and what was done about it.
    findings: tuple[TableFinding, ...]
    use: tuple[str, ...] = ()  # columns that are used, and may change, whatever they look like

    def notes(self, *, rows: bool) -> list[str]:
        """Return what was found in the table; without ``rows``, nothing that quotes a cell."""
        from counterbalance.io.column_checks import Topic

        quotes = {Topic.READING, Topic.MIXED, Topic.CONSTANT}
        return [found.text for found in self.findings if rows or found.topic not in quotes]

    def columns(self, given: Sequence[str] | None, option: str) -> list[str]:
        """Return the features that an option names; a column that is not used is refused."""
        from counterbalance.io.column_checks import check_columns

        names = [str(name) for name in self.stored.frame.columns]
        columns = check_columns(given or (), names, option)
        for name in columns:
            if name == self.target or name in self.kept:
                why = "is the target" if name == self.target else "is not used"
                remedy = "" if name == self.target else f", or use it with --use {name}"
                raise TableError(
                    f"{option} names {name!r}, which {why}; leave it out of {option}{remedy}"
                )
        return columns

    def label(self, text: str, option: str) -> Any:
        """Return the class that a text stands for."""
        from counterbalance.io import near_names

        classes = {str(label): label for label in self.y.unique().tolist()}
        if text not in classes:
            listed = ", ".join(map(repr, classes))
            near = near_names(text, list(classes))
            raise TableError(
                f"{option} must be a class of {self.target!r}, got {text!r}{near}; "
                f"the classes are {listed}"
            )
        return classes[text]


def read_user_table(
    path: Path,
    target: str,
    *,
    keep: Sequence[str] | None = None,
    use: Sequence[str] | None = None,
    apart: Mapping[str, str | None] | None = None,
    drop_missing_target: bool = False,
    reading: Reading = AS_IT_IS,
) -> UserTable:
    """Read a file, check what it holds, and write the findings to stderr.

    ``apart`` names, for an option, a column that has a role of its own and is no feature.
    """
    from counterbalance.cli.table_checks import diagnose
    from counterbalance.io.column_checks import TableFinding, Topic, check_columns

    stored = _read(path, target, reading)
    # Said before anything can be refused, because they may explain it.
    reading_notes = tuple(TableFinding(Topic.READING, None, text) for text in stored.notes)
    for finding in reading_notes:
        note(finding.text)
    named = {option: column for option, column in (apart or {}).items() if column is not None}
    for option, column in named.items():
        check_columns([column], [str(name) for name in stored.frame.columns], option)
        if column == target:
            raise TableError(f"{option} must be another column than the target, got {column!r}")
    diagnosis = diagnose(
        stored.frame,
        target,
        keep=[*(keep or ()), *named.values()],
        use=use or (),
        drop_missing_target=drop_missing_target,
    )
    for finding in diagnosis.findings:
        note(finding.text)
    findings = (*reading_notes, *diagnosis.findings)
    if len(diagnosis.rows) < len(stored.frame):
        stored = stored.take(diagnosis.rows)
    X, y = stored.frame[list(diagnosis.features)], stored.frame[target]
    used = tuple(check_columns(use or (), list(X.columns), "--use"))
    return UserTable(path, target, stored, X, y, diagnosis.kept, findings, used)


def _read(path: Path, target: str, reading: Reading) -> TableFile:
    """Read a file as the options say; on a terminal, ask about a doubtful header."""
    from counterbalance.io import HeaderError, read_table_file
    from counterbalance.io.column_checks import check_columns

    try:
        stored = read_table_file(path, reading)
    except HeaderError as doubt:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        note(str(doubt).split("; with --no-header")[0])
        reading = replace(reading, header=typer.confirm("Is it a header?", err=True))
        stored = read_table_file(path, reading)
    if not (reading.numbers or reading.texts):
        return stored.read_as(replace(reading, labels=(target,)))
    names = [str(name) for name in stored.frame.columns]
    return stored.read_as(
        replace(
            reading,
            numbers=tuple(check_columns(reading.numbers, names, "--number")),
            texts=tuple(check_columns(reading.texts, names, "--text")),
            labels=(target,),
        )
    )
