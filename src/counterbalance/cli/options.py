"""The options that several commands share, and what ``--ratio`` requests."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli.terminal import note
from counterbalance.errors import TableError

if TYPE_CHECKING:
    from counterbalance.cli.user_table import UserTable

# A class gets at most this many times the rows of the table; longer numbers are not read.
MOST_TIMES, MOST_DIGITS = 10, 18
# The value of --ratio and sampling_strategy that takes every counterfactual, as the paper does.
EVERY = "all"

Texts = list[str] | None


def valued(metavar: str, text: str, *names: str, **rules: Any) -> Any:
    """Declare an option with a value; its name is that of the parameter unless one is given."""
    return typer.Option(*names, metavar=metavar, help=text, **rules)


def several(metavar: str, text: str, *names: str) -> Any:
    """Declare an option that may be repeated."""
    return valued(metavar, f"{text} May be repeated.", *names)


def flag(name: str, text: str, **rules: Any) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=text, **rules)


def _check_jobs(jobs: int) -> int:
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter("must be a positive number, or -1 for one per core")
    return jobs


TABLE = "A csv or tsv file (also gzipped), xlsx, parquet, feather or arrow file"
# How the table is read.
Table = Annotated[Path, typer.Argument(metavar="TABLE", help=f"{TABLE}.", show_default=False)]
Target = Annotated[str, valued("COL", "Column with the classes.", show_default=False)]
KEEP = "Column to leave in the file but not to use: an identifier, a date. It is empty in new rows."
Keep = Annotated[Texts, several("COL", KEEP)]
Use = Annotated[Texts, several("COL", "Column to use although it looks like an identifier.")]
DropMissingTarget = Annotated[
    bool, flag("--drop-missing-target", "Leave out rows whose target is empty.")
]
NUMBER = "Column to read as numbers; a cell that is not a number becomes missing."
Number = Annotated[Texts, several("COL", NUMBER)]
Text = Annotated[
    Texts, several("COL", "Column to read as text, even if its cells look like numbers.")
]
Na = Annotated[Texts, several("TEXT", "Text that stands for a missing cell, such as -999.")]
HEADER = (
    "Whether the first row holds the names of the columns. Without a header they are called "
    "'column 1' and so on."
)
Header = Annotated[bool | None, flag("--header/--no-header", HEADER, show_default="detected")]
SHEET = "Sheet of an xlsx file, or its number, from 1 (default: the first that has the target)."
Sheet = Annotated[str | None, valued("NAME", SHEET)]

# What may change.
Immutable = Annotated[Texts, several("COL", "Column that never changes.")]
Increasing = Annotated[Texts, several("COL", "Column that only grows.")]
Decreasing = Annotated[Texts, several("COL", "Column that only shrinks.")]
RANGE = "Column that stays between two numbers, such as dose=0:40; either may be left out."
Range = Annotated[Texts, several("COL=LOW:HIGH", RANGE, "--range")]
ONE_OF = "Column that takes one of these values, such as ward=A,B."
OneOf = Annotated[Texts, several("COL=A,B", ONE_OF)]
RELATION = "Relation between columns that every new row keeps, such as 'word_unique <= word_count'."
Relation = Annotated[Texts, several("TEXT", RELATION)]
TRANSITIONS = (
    "Values that a value may change to, such as degree=BSc>MSc,PhD; with nothing after > it never "
    "changes."
)
Transitions = Annotated[Texts, several("COL=A>B,C", TRANSITIONS)]
AT_LEAST = "Smallest change of a column that counts, such as income=100."
AtLeast = Annotated[Texts, several("COL=STEP", AT_LEAST)]
COST = "Weight of a column's change in the distance, such as age=5."
Cost = Annotated[Texts, several("COL=WEIGHT", COST)]
MaxChanged = Annotated[
    int | None, valued("N", "At most this many features of a row change.", min=1)
]

# The run.
Seed = Annotated[int, valued("N", "The same seed gives the same result.", min=0)]
JOBS = "Number of parallel jobs, -1 for one per core."
Jobs = Annotated[int, valued("N", JOBS, callback=_check_jobs)]
Json = Annotated[bool, flag("--json", "Write the result as JSON, for machines.")]
REPORT = "Where to write a report (html). It shows real rows as they are."
Report = Annotated[Path | None, valued("FILE", REPORT)]
NoRows = Annotated[bool, flag("--no-rows", "Leave all rows, real and new, out of the report.")]


def typed_again(ctx: typer.Context, table: Path, *leave_out: str) -> str:
    """Return the command as it was typed, without paths of this machine and some options."""
    argv = ["counterbalance", str(ctx.info_name), table.name]
    for parameter in ctx.command.params:
        value, name = ctx.params.get(str(parameter.name)), str(parameter.name)
        source = ctx.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if parameter.param_type_name == "argument" or name in leave_out or not given:
            continue
        option = parameter.opts[0]
        if isinstance(value, bool):
            argv.append(option if value else parameter.secondary_opts[0])
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            argv += [option, f"report{one.suffix}" if isinstance(one, Path) else str(one)]
    return shlex.join(argv)


def asks_for_every(ratio: Sequence[str]) -> bool:
    """Whether --ratio requests every counterfactual instead of a number of rows."""
    if EVERY not in ratio:
        return False
    if len(ratio) > 1:
        raise TableError(
            f"--ratio all must stand alone, got {', '.join(ratio)}; it takes every counterfactual "
            "that is found, for every smaller class"
        )
    return True


def share_of_largest(ratio: Sequence[str]) -> float:
    """Return the share that --ratio requests where it cannot name a class."""
    if len(ratio) > 1 or any("=" in text for text in ratio):
        raise TableError(
            f"--ratio must be one share, or all, with --engine dask, got {', '.join(ratio)}; "
            "for example --ratio 0.5"
        )
    return _share(ratio[0]) if ratio else 1.0


def rows_wanted(user: UserTable, ratio: Sequence[str]) -> dict[Any, int] | str:
    """Return the requested total of rows of each class.

    A share sets all classes, CLASS=N sets one. "all" is returned as it is.
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
        note("every class already has as many rows as requested; no row is added")
    return wanted


def _whole(text: str) -> int:
    """Return a whole number, or -1 for anything else and for numbers of too many digits."""
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
