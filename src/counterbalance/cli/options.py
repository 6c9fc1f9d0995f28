"""Commands, the options that several of them share, each declared once, and what is made of them.

The options of a command are the parameters of its function, by name and type. What the help says
of one stands in a table under the same name: SHARED, or the command's own. Those that say how a
file is read come as one record: ``reading: Reading``, for which ``app`` declares the options in
READING; so do those that say what may change (see ``rules``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from counterbalance.cli.terminal import note
from counterbalance.errors import TableError
from counterbalance.io.reading import Reading

if TYPE_CHECKING:
    from counterbalance.cli.user_table import UserTable

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
    examples: tuple[tuple[str, str], ...]  # what it does, and the command
    execute: Callable[..., int]
    options: Mapping[str, Any] = field(default_factory=dict)


def valued(metavar: str, text: str, *names: str, **rules: Any) -> Any:
    """Declare an option with a value; its name is that of the parameter unless one is given."""
    return typer.Option(*names, metavar=metavar, help=text, **rules)


def several(metavar: str, text: str) -> Any:
    """Declare an option that may be repeated."""
    return valued(metavar, f"{text} May be given several times.")


def flag(name: str, text: str, **rules: Any) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=text, **rules)


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be a positive number, or -1 for one per core")
    return jobs


SHARED = {
    "table": typer.Argument(
        metavar="TABLE",
        help="A csv or tsv file (also gzipped), xlsx, parquet, feather or arrow file.",
        show_default=False,
    ),
    "target": valued("COL", "Column with the classes.", show_default=False),
    "keep": several(
        "COL",
        "Column to leave in the file but not to use: an identifier, a name, a date. It is empty in "
        "new rows.",
    ),
    "use": several("COL", "Column to use although it looks like an identifier."),
    "plausible": flag(
        "--plausible/--no-plausible",
        "Whether new rows keep what the table says about what goes together: pairs of categories, "
        "and relations between columns.",
        show_default="if the table has categories",
    ),
    "ignore_relation": several(
        "TEXT", "Relation between columns that new rows need not keep, as the command lists it."
    ),
    "drop_missing_target": flag("--drop-missing-target", "Leave out rows whose target is empty."),
    "seed": valued("N", "The same seed gives the same result, byte for byte.", min=0),
    "jobs": valued("N", "Number of parallel jobs, -1 for one per core.", callback=_check_jobs),
    "json": flag("--json", "Write the result as JSON, for machines."),
    # For the commands that keep finished trials in a store.
    "out": valued("FOLDER", "Output folder."),
    "store": valued(
        "FILE", "Store of the finished trials (default trials.sqlite in the output folder)."
    ),
    "retry_failed": flag("--retry-failed", "Compute again the trials that failed before."),
}

# How a file is read: names of parameters, their types and options.
READING: dict[str, tuple[Any, Any]] = {
    "number": (
        list[str] | None,
        several(
            "COL", "Column of numbers, whatever it looks like; a cell that is not one is missing."
        ),
    ),
    "text": (
        list[str] | None,
        several("COL", "Column of texts, even if its cells look like numbers."),
    ),
    "na": (list[str] | None, several("TEXT", "Text that stands for a missing cell, such as -999.")),
    "header": (
        bool | None,
        flag(
            "--header/--no-header",
            "Whether the first row holds the names of the columns. Without a header they are "
            "called 'column 1' and so on.",
            show_default="detected",
        ),
    ),
    "sheet": (str | None, valued("NAME", "Sheet of an xlsx file, or its number, from 1.")),
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
