"""Options that several commands share, each declared once, and what is made of them.

A command takes them as annotations of its parameters: ``target: Target``, ``seed: Seed = 0``.
Those that say how a file is read come as one record: ``reading: Reading``, for which ``app``
declares the options in READING; so do those that say what may change (see ``rules``). They and
``--ratio`` become a sampler.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterbalance.cli.terminal import note
from counterbalance.errors import TableError
from counterbalance.io.reading import Reading

if TYPE_CHECKING:
    from counterbalance.cli.rules import GivenRules
    from counterbalance.cli.user_table import UserTable

# A class gets at most this many times the rows of the table; longer numbers are not read.
MOST_TIMES, MOST_DIGITS = 10, 18
# The value of --ratio and sampling_strategy that takes every counterfactual, as the paper does.
EVERY = "all"


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be a positive number, or -1 for one per core")
    return jobs


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="A csv or tsv file (also gzipped), xlsx, parquet, feather or arrow file.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="COL", help="Column with the classes.", show_default=False),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COL",
        help="Column to leave in the file but not to use: an identifier, a name, a date. It is "
        "empty in new rows. May be given several times.",
    ),
]
Use = Annotated[
    list[str] | None,
    typer.Option(
        "--use",
        metavar="COL",
        help="Column to use although it looks like an identifier. May be given several times.",
    ),
]
Plausible = Annotated[
    bool | None,
    typer.Option(
        "--plausible/--no-plausible",
        help="Whether new rows keep what the table says about what goes together: pairs of "
        "categories, and relations between columns.",
        show_default="if the table has categories",
    ),
]
IgnoreRelation = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-relation",
        metavar="TEXT",
        help="Relation between columns that new rows need not keep, as the command lists it. May "
        "be given several times.",
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out rows whose target is empty."),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, help="The same seed gives the same result, byte for byte."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Number of parallel jobs, -1 for one per core.",
        callback=_check_jobs,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON, for machines.")]

# For the commands that keep finished trials in a store.
OutFolder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Output folder.")]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="Store of the finished trials (default trials.sqlite in the output folder).",
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="FILE",
        help="Write the page here too, with its figures in a folder figures beside it.",
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Compute again the trials that failed before.")
]

# How a file is read: names of parameters, their options and defaults.
READING: dict[str, tuple[Any, Any]] = {
    "number": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--number",
                metavar="COL",
                help="Column of numbers, whatever it looks like; a cell that is not one is "
                "missing. May be given several times.",
            ),
        ],
        None,
    ),
    "text": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--text",
                metavar="COL",
                help="Column of texts, even if its cells look like numbers. May be given several "
                "times.",
            ),
        ],
        None,
    ),
    "na": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--na",
                metavar="TEXT",
                help="Text that stands for a missing cell, such as -999. May be given several "
                "times.",
            ),
        ],
        None,
    ),
    "header": (
        Annotated[
            bool | None,
            typer.Option(
                "--header/--no-header",
                help="Whether the first row holds the names of the columns. Without a header they "
                "are called 'column 1' and so on.",
                show_default="detected",
            ),
        ],
        None,
    ),
    "sheet": (
        Annotated[
            str | None,
            typer.Option(
                "--sheet", metavar="NAME", help="Sheet of an xlsx file, or its number, from 1."
            ),
        ],
        None,
    ),
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


def make_sampler(
    user: UserTable,
    strategy: dict[Any, int] | str,
    rules: GivenRules,
    integer: list[str],
    seed: int,
    method: str = "Counterfactual",
) -> Any:
    """Return the one of our samplers that the options describe."""
    from counterbalance.methods import all_samplers

    return all_samplers()[method].factory(
        sampling_strategy=strategy,
        integer_features=integer or None,
        snap_to_grid=True,
        constraints=rules.constraints(user.columns) or None,
        random_state=seed,
    )


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
