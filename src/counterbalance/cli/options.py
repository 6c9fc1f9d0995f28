"""Options that several commands share, each declared once.

A command takes them as annotations of its parameters: ``target: Target``, ``seed: Seed = 0``.
Those that say how a file is read come as one: ``reading: Reading``, for which ``app`` declares
the options in READING.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterbalance.io.reading import Reading


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
        help="Column that stays in the file but is not used: an identifier, a name, a date. It is "
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
Immutable = Annotated[
    list[str] | None,
    typer.Option(
        "--immutable", metavar="COL", help="Column that never changes. May be given several times."
    ),
]
Increasing = Annotated[
    list[str] | None,
    typer.Option(
        "--increasing", metavar="COL", help="Column that only grows. May be given several times."
    ),
]
Decreasing = Annotated[
    list[str] | None,
    typer.Option(
        "--decreasing", metavar="COL", help="Column that only shrinks. May be given several times."
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out the rows in which the target is empty."),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Same seed, same result, to the byte.")
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Jobs that work at once, -1 for one per core.",
        callback=_check_jobs,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON, for machines.")]

# Of the commands that keep finished trials in a store.
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
    bool, typer.Option("--retry-failed", help="Compute trials that failed before again.")
]

# How a file is read: the names of the parameters, their options and defaults.
READING: dict[str, tuple[Any, Any]] = {
    "number": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--number",
                metavar="COL",
                help="Column of numbers, however it looks; a cell that is none is missing. May be "
                "given several times.",
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
                help="Column of texts, though its cells look like numbers. May be given several "
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
                help="A text, such as -999, that means a missing cell. May be given several times.",
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
                show_default="looked for",
            ),
        ],
        None,
    ),
    "sheet": (
        Annotated[
            str | None,
            typer.Option(
                "--sheet", metavar="NAME", help="Sheet of an xlsx file, or its number from 1."
            ),
        ],
        None,
    ),
}


def make_reading(given: dict[str, Any]) -> Reading:
    """Return how a file is to be read, taking the options in READING from those that are given."""
    options = {name: given.pop(name) for name in READING}
    return Reading(
        header=options["header"],
        numbers=tuple(options["number"] or ()),
        texts=tuple(options["text"] or ()),
        missing=tuple(options["na"] or ()),
        sheet=options["sheet"],
    )
