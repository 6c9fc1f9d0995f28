"""Commands, their options, each declared once, and what is made of them: the user's table.

The options of a command are the parameters of its function, by name and type. What the help says
of one stands in ``options.csv`` under the same name, among those of the command or the shared
ones: how it is written (if not like the parameter), what stands for its value, its bounds, and
what is shown as its default ("no": nothing). The examples are in ``examples.csv``. Options that
say how a file is read come as one record: ``reading: Reading``, for which ``app`` declares the
options in READING; so do those that say what may change (see ``rules``).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
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

# A class gets at most this many times the rows of the table; longer numbers are not read.
MOST_TIMES, MOST_DIGITS = 10, 18
# The value of --ratio and sampling_strategy that takes every counterfactual, as the paper does.
EVERY = "all"


@dataclass(frozen=True)
class Command:
    """A command: ``execute`` takes its options as parameters and returns the exit code."""

    name: str
    summary: str
    description: str
    execute: Callable[..., int]

    @property
    def options(self) -> dict[str, Any]:
        """What the help says of its parameters; its own lines go before the shared ones."""
        return OPTIONS["shared"] | OPTIONS.get(self.name, {})

    @property
    def examples(self) -> list[tuple[str, str]]:
        """What one can do with it, and the command for that."""
        return [(row["what"], row["line"]) for row in EXAMPLES if row["command"] == self.name]


def _lines(name: str) -> list[dict[str, str]]:
    text = (resources.files("counterbalance.cli") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _declared(row: dict[str, str]) -> Any:
    """Declare the option, or the argument, of a line of the table."""
    given: dict[str, Any] = {"metavar": row["metavar"] or None, "help": row["help"]}
    given |= {end: int(row[end]) for end in ("min", "max") if row[end]}
    if row["default"]:
        given["show_default"] = False if row["default"] == "no" else row["default"]
    if row["written"] == "argument":
        return typer.Argument(**given)
    return typer.Option(*filter(None, [row["written"]]), **given)


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be a positive number, or -1 for one per core")
    return jobs


EXAMPLES = _lines("examples.csv")
OPTIONS: dict[str, dict[str, Any]] = {}
for _row in _lines("options.csv"):
    OPTIONS.setdefault(_row["of"], {})[_row["parameter"]] = _declared(_row)
OPTIONS["shared"]["jobs"].callback = _check_jobs

# How a file is read: names of parameters, their types and options.
_KINDS: dict[str, Any] = {"header": bool | None, "sheet": str | None}
READING: dict[str, tuple[Any, Any]] = {
    name: (_KINDS.get(name, list[str] | None), option)
    for name, option in OPTIONS["reading"].items()
}


def make_reading(given: dict[str, Any]) -> Reading:
    """Take the options in READING out of those given, and return how a file is to be read."""
    options = {name: given.pop(name) for name in READING}
    return Reading(
        header=options["header"],
        numbers=tuple(options["number"] or ()),
        texts=tuple(options["text"] or ()),
        missing=tuple(options["na"] or ()),
        sheet=options["sheet"],
    )


def as_words(given: Mapping[str, Any]) -> list[str]:
    """Return options as they are typed: a value or several, a switch that is on, nothing if None.

    >>> as_words({"--keep": ["id", "name"], "--rows": 50, "--quick": True, "--full": False})
    ['--keep', 'id', '--keep', 'name', '--rows', '50', '--quick']
    """
    words = []
    for name, value in given.items():
        if isinstance(value, bool):
            words += [name] if value else []
        elif value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            words += [word for one in values for word in (name, str(one))]
    return words


def asks_for_every(ratio: Sequence[str]) -> bool:
    """Whether --ratio asks for every counterfactual, and not for a number of rows."""
    if EVERY not in ratio:
        return False
    if len(ratio) > 1:
        raise TableError(
            f"--ratio all must stand alone, got {', '.join(ratio)}; it takes every counterfactual "
            "that is found, for every smaller class"
        )
    return True


def share_of_largest(ratio: Sequence[str]) -> float:
    """Return the share that --ratio asks for where it cannot name a class."""
    if len(ratio) > 1 or any("=" in text for text in ratio):
        raise TableError(
            f"--ratio must be one share, or all, with --engine dask, got {', '.join(ratio)}; "
            "for example --ratio 0.5"
        )
    return _share(ratio[0]) if ratio else 1.0


def rows_wanted(user: UserTable, ratio: Sequence[str]) -> dict[Any, int] | str:
    """Return how many rows each class is to have in total: a share for all, numbers for some.

    "all" stays "all": it takes every counterfactual that is found.
    """
    if asks_for_every(ratio):
        return EVERY
    counts = {label: int(count) for label, count in user.y.value_counts().items()}
    largest = max(counts.values())
    named = [text for text in ratio if "=" in text]
    shares = [text for text in ratio if "=" not in text]
    if len(shares) > 1:
        raise TableError(f"--ratio takes one share only, got {', '.join(shares)}; give one")
    share = _share(shares[0]) if shares else 1.0
    whole = not named or bool(shares)
    wanted = {
        label: max(count, int(share * largest)) if whole else count
        for label, count in counts.items()
    }
    for text in named:
        name, _, number = text.rpartition("=")
        label = user.label(name.strip(), "--ratio")
        rows, most = _whole(number), MOST_TIMES * len(user.y)
        if rows < counts[label]:
            raise TableError(
                f"--ratio must give class {name!r} at least the {counts[label]} rows that it has, "
                f"got {text!r}; rows are only added, never removed"
            )
        if rows > most:
            raise TableError(
                f"--ratio must give class {name!r} at most {MOST_TIMES} times as many rows as the "
                f"table has, {most:,}, got {text!r}; that many would be copies of each other"
            )
        wanted[label] = rows
    if wanted == counts:
        note("every class already has as many rows as asked for; no row is added")
    return wanted


def _whole(text: str) -> int:
    """Return a whole number, or -1 for anything else, and for numbers that are absurdly long."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else -1


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise TableError(
            "--ratio must be a share of the largest class (above 0, at most 1), CLASS=N, or all, "
            f"got {text!r}; for example --ratio 0.5"
        )
    return share


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
    return UserTable(path, target, stored, X, y, diagnosis.kept, findings)


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
