r"""Output: tables and sentences for people, JSON for machines, and streams that never fail.

A terminal gets tables drawn with rich (NO_COLOR is heeded); a pipe or a file gets plain
columns. Results go to stdout, everything else (notes, warnings, progress) to stderr. Whatever
comes from a user's table is shown as text: neither markup nor control characters are obeyed.

Printing is not the work: a reader that went away (``| head``), a full disk behind ``>`` or an
encoding without arrows must not lose a file, nor turn success into failure.

    encoding    a character that it lacks is written in ASCII: -> for an arrow, \u4e2d for a letter
    reader      once it is gone, whatever is written to it is dropped
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import math
import os
import re
import shutil
import sys
import textwrap
import time
import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from counterbalance.errors import IdentifierWarning
from counterbalance.io.reading import is_invisible
from counterbalance.result_table import ResultTable, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console

# Most characters of a line, of a cell and of a word of a message. A path fits into a word.
LONGEST_LINE, LONGEST_CELL, LONGEST_WORD = 1500, 80, 300
LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
CUT = " ... "
# However narrow a terminal says that it is.
FEWEST_CHARACTERS = 20
# The characters beyond ASCII in our own texts, and in the bars and tables that rich draws.
PLAIN = {
    **dict.fromkeys("→⟶➜", "->"),
    **dict.fromkeys("·•∙", "."),
    **dict.fromkeys("—–−‐‑─━═╌┄╴╶╸╺", "-"),  # noqa: RUF001 - all kinds of lines
    **dict.fromkeys("│┃║╷╵", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┡┩╇┳┻╋", "+"),
    **dict.fromkeys("‘’", "'"),  # noqa: RUF001 - quotation marks
    **dict.fromkeys("“”", '"'),
    "…": "...",
    "×": "x",  # noqa: RUF001 - a multiplication sign
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "\xa0": " ",
}
HANDLER = "counterbalance.plain"
OFTEN = 60.0  # seconds between two lines about the work, in a log
MINUTE, HOUR = 60.0, 3600.0
LONG = 120.0  # from here on minutes read better than seconds


def say(text: str) -> None:
    """Write a line of the result to stdout; on a terminal it is broken between words."""
    shown = plain_for(printable(shortened(text)), sys.stdout)
    if sys.stdout.isatty():
        lines = (wrapped(line, "", len(line)) if line else line for line in shown.split("\n"))
        shown = "\n".join(lines)
    sys.stdout.write(f"{shown}\n")


def wrapped(text: str, mark: str = "- ", most: int = 100) -> str:
    """Write a sentence as an item of a list, in lines that the terminal can show.

    >>> wrapped("Nothing helps.")
    '- Nothing helps.'
    """
    width = max(FEWEST_CHARACTERS, min(most, shutil.get_terminal_size((most, 0)).columns))
    return textwrap.fill(
        text,
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def note(text: str) -> None:
    """Write a line about the result, or about the work, to stderr."""
    sys.stderr.write(f"counterbalance: {one_line(text)}\n")


def show_json(value: Any) -> None:
    """Write a value as JSON to stdout; what JSON lacks (nan, a date) becomes null or text."""
    # Where the stream lacks a character, no other may take its place in the user's data.
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(
        _as_json(value), ensure_ascii=not is_unicode, indent=2, allow_nan=False, default=str
    )
    sys.stdout.write(f"{text}\n")


@contextmanager
def working(text: str, *, told: type[Warning] | None = None) -> Iterator[Callable[[str], None]]:
    """Show on a terminal that work is going on; its warnings become notes at the end.

    Warnings of the category ``told`` are left out: the result itself says the same. What is
    given says how far the work is.
    """
    with warnings.catch_warnings(record=True) as warned, _spinner(text) as spinner:
        warnings.simplefilter("always", UserWarning)
        if told is not None:
            warnings.simplefilter("ignore", told)
        # The diagnosis of the table has said it, with the options of the command.
        warnings.simplefilter("ignore", IdentifierWarning)
        yield (lambda _: None) if spinner is None else spinner.update
    for message in dict.fromkeys(str(warning.message) for warning in warned):
        note(message)


class Progress:
    """Says what is being done and how long that step will take.

    On a terminal ``tell`` shows it; anywhere else, such as in a log, it is a line once a minute.
    """

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._clock, self._step = tell, clock, ""
        self._began = self._last = self._said = clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say it, if it is time to."""
        now = self._clock()
        if what != self._step:  # it began when the step before it ended
            self._step, self._began = what, self._last
        self._last = now
        text = f"{what}: {done:,} of {total:,}"
        if 0 < done < total:
            text += f", {duration((now - self._began) / done * (total - done))} left"
        self._tell(text)
        if not sys.stderr.isatty() and now - self._said >= OFTEN:
            self._said = now
            note(text)


def duration(seconds: float) -> str:
    """Write a time in its natural unit.

    >>> duration(45.2), duration(600), duration(9000)
    ('45 s', '10 min', '2.5 h')
    """
    if seconds < LONG:
        return f"{seconds:.0f} s"
    if seconds < LONG * MINUTE:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"


def show_tables(tables: Iterable[ResultTable]) -> None:
    """Show tables on stdout."""
    tables = [_showable(table) for table in tables]
    if sys.stdout.isatty():
        _draw(tables)
        return
    for table in tables:
        sys.stdout.write(as_text(table) + "\n")


def printable(text: str) -> str:
    r"""Write control characters, except line ends, as escapes: a table may hold any.

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
    """Cut a text that is too long in its middle, because its end is the remedy.

    >>> shortened("a" * 50 + "b" * 50, 16)
    'aaaaaaa ... bbbb'
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - len(CUT)]}{CUT}{text[-end:]}"


def one_line(text: str) -> str:
    r"""Write a message of several lines, perhaps with a list, on one line.

    >>> one_line("not found. Ways:\n  - this\n  - that")
    'not found. Ways: this; that'
    """
    listed = text.strip().replace(":\n  - ", ": ").replace("\n  - ", "; ")
    line = " ".join(line.strip() for line in listed.split("\n") if line.strip())
    words = LONG_WORD.sub(lambda word: shortened(word[0], LONGEST_WORD), line)
    return printable(shortened(words))


def _showable(table: ResultTable) -> ResultTable:
    """Return a table whose texts can be shown: short, escaped and in the stream's encoding."""

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
    """Return a console, without any style if NO_COLOR is set."""
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
                no_wrap=place == 0,  # a name must be easy to copy
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


def plain_for(text: str, stream: TextIO) -> str:
    """Return a text in characters that a stream can encode."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, HANDLER).decode(encoding)
    return text


def in_ascii(character: str) -> str:
    r"""Write a character in ASCII.

    >>> in_ascii("→"), in_ascii("中")
    ('->', '\\u4e2d')
    """
    if character in PLAIN:
        return PLAIN[character]
    return character.encode("ascii", "backslashreplace").decode()


def protect_streams() -> None:
    """Replace stdout and stderr of this process by streams that never fail."""
    sys.stdout = _protected(sys.stdout, tell=True)
    sys.stderr = _protected(sys.stderr, tell=False)  # there is nowhere else to report it


class _ForgivingFile(io.RawIOBase):
    """The file behind a stream; what cannot be written to it is dropped."""

    def __init__(self, raw: Any, *, tell: bool) -> None:
        self._raw = raw
        self._tell = tell
        self._gone = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def write(self, content: Any) -> int:
        if not self._gone:
            try:
                return int(self._raw.write(content) or 0)
            except OSError as error:
                self._gone = True
                if self._tell and error.errno != errno.EPIPE:
                    _report_lost(error)
        return len(content)


def _protected(stream: Any, *, tell: bool) -> Any:
    """Return a stream like this one that never fails; a missing one becomes the null device."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - it stays open
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # PYTHONUNBUFFERED leaves out the buffer
    if not isinstance(raw, io.FileIO):
        return stream  # that of a test or of a notebook
    with suppress(OSError, ValueError):
        stream.flush()
    errors = HANDLER if stream.errors in {"strict", "backslashreplace"} else stream.errors
    new = io.TextIOWrapper(
        io.BufferedWriter(_ForgivingFile(raw, tell=tell)),
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=getattr(stream, "write_through", False),
    )
    # Both wrap one file: the old stream must not close it when it is garbage-collected.
    new._replaced = stream  # type: ignore[attr-defined] # noqa: SLF001
    return new


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end


codecs.register_error(HANDLER, _write_plainly)


def _report_lost(error: OSError) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(
            f"counterbalance: the output could not be printed ({error.strerror}); the files that "
            "you asked for are not affected\n"
        )
