"""What commands show: tables and sentences for people, JSON for machines.

A terminal gets tables drawn with rich (NO_COLOR is heeded); a pipe or a file gets plain
columns. Results go to stdout, everything else (notes, warnings, progress) to stderr. Whatever
comes from a user's table is shown as text: no markup, no control character is obeyed.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterbalance.cli.streams import plain_for
from counterbalance.io.invisible import is_invisible
from counterbalance.result_table import ResultTable, as_text

if TYPE_CHECKING:
    from rich.console import Console

# Characters of a line, of a cell and of a word of a message. A path fits a word.
LONGEST_LINE, LONGEST_CELL, LONGEST_WORD = 1500, 80, 300
LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
CUT = " ... "


def say(text: str) -> None:
    """Write a line of the result to stdout."""
    sys.stdout.write(f"{plain_for(printable(shortened(text)), sys.stdout)}\n")


def note(text: str) -> None:
    """Write a line about the result, or about the way to it, to stderr."""
    sys.stderr.write(f"counterbalance: {one_line(text)}\n")


def show_json(value: Any) -> None:
    """Write a value as JSON to stdout; what JSON has no word for (nan, a date) is null or text."""
    # A stream that lacks a character must not write another one into somebody's data.
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(
        _as_json(value), ensure_ascii=not is_unicode, indent=2, allow_nan=False, default=str
    )
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


def show_tables(tables: Iterable[ResultTable]) -> None:
    """Show tables on stdout."""
    tables = [_showable(table) for table in tables]
    if sys.stdout.isatty():
        _draw(tables)
        return
    for table in tables:
        sys.stdout.write(as_text(table) + "\n")


def printable(text: str) -> str:
    r"""Write control characters, but for line ends, as escapes: a table could hold any.

    >>> printable("red \x1b[31m")
    'red \\x1b[31m'
    """
    return "".join(
        cell
        if cell == "\n" or (cell.isprintable() and not is_invisible(cell))
        else cell.encode("unicode_escape").decode()
        for cell in text
    )


def shortened(text: str, most: int = LONGEST_LINE) -> str:
    """Cut a text that is too long to be read in its middle, so that its end, a remedy, stays.

    >>> shortened("a" * 50 + "b" * 50, 16)
    'aaaaaaa ... bbbb'
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - len(CUT)]}{CUT}{text[-end:]}"


def one_line(text: str) -> str:
    r"""Put a message of several lines, perhaps with a list, on one.

    >>> one_line("not found. Ways:\n  - this\n  - that")
    'not found. Ways: this; that'
    """
    listed = text.strip().replace(":\n  - ", ": ").replace("\n  - ", "; ")
    line = " ".join(line.strip() for line in listed.split("\n") if line.strip())
    words = LONG_WORD.sub(lambda word: shortened(word[0], LONGEST_WORD), line)
    return printable(shortened(words))


def _showable(table: ResultTable) -> ResultTable:
    """Return a table with texts that can be shown: not too long, not obeyed, in the encoding."""

    def shown(text: str, most: int = LONGEST_CELL) -> str:
        return plain_for(printable(shortened(text, most)), sys.stdout)

    return replace(
        table,
        title=shown(table.title, LONGEST_WORD),
        columns=[shown(column) for column in table.columns],
        rows=[[shown(cell) for cell in row] for row in table.rows],
        notes=[shown(line, LONGEST_LINE) for line in table.notes],
    )


def _spinner(text: str) -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    return _console(stderr=True).status(text)


def _console(*, stderr: bool = False) -> Console:
    """Return a console without any style where NO_COLOR is set."""
    from rich.console import Console

    return Console(stderr=stderr, color_system=None if os.environ.get("NO_COLOR") else "auto")


def _draw(tables: Iterable[ResultTable]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawn
    from rich.text import Text

    console = _console()
    for table in tables:
        console.print(Text(table.title, style="bold"))
        drawn = Drawn(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for place, column in enumerate(table.columns):
            drawn.add_column(
                Text(column),
                justify="left" if place < table.left else "right",
                overflow="fold",
                no_wrap=place == 0,  # a name is there to be copied
            )
        for row in table.rows:
            style = "dim" if row[0].startswith("  ") else None
            drawn.add_row(*map(Text, row), style=style)
        console.print(drawn)
        for line in table.notes:
            console.print(Text(line, style="italic"))
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
