"""The user's table, read in the same way by every command that takes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.cli.terminal import note, working
from counterbalance.errors import TableError, near_names
from counterbalance.io.reading import AS_IT_IS, Reading

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from counterbalance.io import TableFile
    from counterbalance.io.column_checks import TableFinding

# With this many further columns, equal findings share a line, and how many columns it names.
MANY, MOST_NAMED = 2, 5


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table with its classes, ready for a sampler."""

    path: Path  # the file
    target: str  # name of the column with the classes
    stored: TableFile  # the table as the file holds it
    rows: NDArray[np.intp]  # positions of the rows that have a class
    X: pd.DataFrame  # their features: every column but the target and those in `kept`
    y: pd.Series[Any]  # their classes
    kept: tuple[str, ...]  # columns that stay in the file but are not used
    # What was detected in the table and what was done about it.
    findings: tuple[TableFinding, ...]
    use: tuple[str, ...] = ()  # columns that are used, and may change, whatever they look like

    def notes(self, *, rows: bool) -> list[str]:
        """Return what was found in the table; without ``rows``, nothing that quotes a cell."""
        from counterbalance.io.column_checks import Topic

        quotes = {Topic.READING, Topic.MIXED, Topic.CONSTANT}
        return _lines([found for found in self.findings if rows or found.topic not in quotes])

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

    def column(self, name: str) -> pd.Series[Any]:
        """Return the cells of a column in the rows that have a class."""
        return self.stored.frame[name].iloc[self.rows]

    def label(self, text: str, option: str) -> Any:
        """Return the class that a text stands for; spaces around it do not matter."""
        classes = {str(label): label for label in self.y.unique().tolist()}
        meant = [name for name in classes if name.strip() == text.strip()]
        if text not in classes and len(meant) == 1:
            text = meant[0]
        if text not in classes:
            listed = ", ".join(map(repr, classes))
            raise TableError(
                f"{option} must be a class of {self.target!r}, got {text!r}"
                f"{near_names(text, list(classes))}; the classes are {listed}"
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

    ``apart`` maps an option to its column, such as the groups; that column is not a feature.
    """
    from counterbalance.cli.table_checks import diagnose
    from counterbalance.io import read_table_file
    from counterbalance.io.column_checks import TableFinding, Topic, check_columns

    with working(f"reading {path.name}"):
        stored = read_table_file(path, replace(reading, target=target))
        frame = stored.frame
    # Report these before any error, because they may explain it.
    reading_notes = tuple(TableFinding(Topic.READING, None, text) for text in stored.notes)
    for finding in reading_notes:
        note(finding.text)
    named = {option: column for option, column in (apart or {}).items() if column is not None}
    for option, column in named.items():
        check_columns([column], [str(name) for name in frame.columns], option)
        if column == target:
            raise TableError(f"{option} must be another column than the target, got {column!r}")
    with working("looking at the columns"):
        diagnosis = diagnose(
            frame,
            target,
            keep=[*(keep or ()), *named.values()],
            use=use or (),
            drop_missing_target=drop_missing_target,
        )
    for line in _lines(diagnosis.findings):
        note(line)
    if len(diagnosis.rows) < len(frame):
        frame = frame.iloc[diagnosis.rows].reset_index(drop=True)
    return UserTable(
        path,
        target,
        stored,
        diagnosis.rows,
        frame[list(diagnosis.features)],
        frame[target],
        diagnosis.kept,
        (*reading_notes, *diagnosis.findings),
        tuple(check_columns(use or (), list(map(str, diagnosis.features)), "--use")),
    )


def make_reading(
    header: bool | None,  # noqa: FBT001 - the options of a command, in one order
    number: Sequence[str] | None,
    text: Sequence[str] | None,
    na: Sequence[str] | None,
    sheet: str | None,
) -> Reading:
    """Return the options of a command that say how to read a file."""
    return Reading(header, tuple(number or ()), tuple(text or ()), tuple(na or ()), sheet)


def _lines(findings: Sequence[TableFinding]) -> list[str]:
    """Return the findings as lines: more than two columns with the same finding share one."""
    lines = []
    for topic in dict.fromkeys(one.topic for one in findings):
        found = [one for one in findings if one.topic == topic]
        others = [repr(one.column) for one in found[1:] if one.column is not None]
        if len(others) < MANY:
            lines += [one.text for one in found]
            continue
        more = len(others) - MOST_NAMED
        some = ", ".join(others[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{found[0].text}; the same holds for {some}")
    return lines
