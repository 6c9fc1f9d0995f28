"""What commands show: tables and sentences for people, JSON for machines.

A terminal gets tables drawn with rich (NO_COLOR is heeded); a pipe or a file gets plain
columns. Results go to stdout, everything else (notes, warnings, progress) to stderr. Whatever
comes from a user's table is shown as text: no markup, no control character is obeyed.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from counterbalance.result_table import Table, as_text

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Write a line of the result to stdout."""
    sys.stdout.write(f"{printable(text)}\n")


def note(text: str) -> None:
    """Write a line about the result, or about the way to it, to stderr."""
    sys.stderr.write(f"counterbalance: {one_line(text)}\n")


def show_json(value: Any) -> None:
    """Write a value as JSON to stdout; what JSON has no word for (nan, a date) is null or text."""
    text = json.dumps(_as_json(value), ensure_ascii=False, indent=2, allow_nan=False, default=str)
    sys.stdout.write(f"{text}\n")


@contextmanager
def working(text: str, *, told: type[Warning] | None = None) -> Iterator[None]:
    """Show on a terminal that work is going on; warnings of the work are notes at its end.

    Those of the kind ``told`` are left out: the result says the same in its own words.
    """
    with warnings.catch_warnings(record=True) as warned, _spinner(text):
        warnings.simplefilter("always", UserWarning)
        if told is not None:
            warnings.simplefilter("ignore", told)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in warned):
        note(message)


def show_tables(tables: Iterable[Table]) -> None:
    """Show tables on stdout."""
    if sys.stdout.isatty():
        _draw(tables)
        return
    for table in tables:
        sys.stdout.write(printable(as_text(table)) + "\n")


def printable(text: str) -> str:
    r"""Write control characters, but for line ends, as escapes: a table could hold any.

    >>> printable("red \x1b[31m")
    'red \\x1b[31m'
    """
    return "".join(
        cell if cell.isprintable() or cell == "\n" else cell.encode("unicode_escape").decode()
        for cell in text
    )


def one_line(text: str) -> str:
    r"""Put a message of several lines, perhaps with a list, on one.

    >>> one_line("not found. Ways:\n  - this\n  - that")
    'not found. Ways: this; that'
    """
    listed = text.strip().replace(":\n  - ", ": ").replace("\n  - ", "; ")
    return printable(" ".join(line.strip() for line in listed.split("\n") if line.strip()))


def _spinner(text: str) -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    return _console(stderr=True).status(text)


def _console(*, stderr: bool = False) -> Console:
    """Return a console without any style where NO_COLOR is set."""
    from rich.console import Console

    return Console(stderr=stderr, color_system=None if os.environ.get("NO_COLOR") else "auto")


def _draw(tables: Iterable[Table]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawn
    from rich.text import Text

    console = _console()
    for table in tables:
        console.print(Text(printable(table.title), style="bold"))
        drawn = Drawn(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for place, column in enumerate(table.columns):
            drawn.add_column(
                Text(printable(column)),
                justify="left" if place < table.left else "right",
                overflow="fold",
                no_wrap=place == 0,  # a name is there to be copied
            )
        for row in table.rows:
            style = "dim" if row[0].startswith("  ") else None
            drawn.add_row(*(Text(printable(cell)) for cell in row), style=style)
        console.print(drawn)
        for line in table.notes:
            console.print(Text(printable(line), style="italic"))
        console.print()


def _as_json(value: Any) -> Any:
    """Return numpy's values as Python's, keys as text, and nan as None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
