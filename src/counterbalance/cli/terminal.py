r"""Output: tables and sentences for people, JSON for machines, and streams that never fail.

Results go to stdout, everything else (notes, warnings, progress) to stderr. Control characters
from a user's table are written as escapes.

A closed pipe (``| head``), a full disk or an encoding without arrows neither loses a file nor
changes the exit code. A character that the encoding lacks is written in ASCII: -> for an arrow,
\u4e2d for a letter.
"""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import shutil
import sys
import textwrap
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from counterbalance.errors import IdentifierWarning
from counterbalance.io.reading import is_invisible
from counterbalance.result_table import ResultTable, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Most characters of a line, of a cell and of a word of a message. A path fits into a word.
LONGEST_LINE, LONGEST_CELL, LONGEST_WORD = 1500, 80, 300
LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
CUT = " ... "
# Shortest line, also on a terminal that reports fewer characters.
FEWEST_CHARACTERS = 20
# The characters beyond ASCII in our own texts.
PLAIN = {
    "→": "->",
    "·": ".",
    "•": "o",
    "●": "o",
    "│": "|",
    "…": "...",
    "×": "x",  # noqa: RUF001 - a multiplication sign
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "\xa0": " ",
    **dict.fromkeys("—–−─━", "-"),  # noqa: RUF001 - all kinds of lines
    **dict.fromkeys("‘’", "'"),  # noqa: RUF001 - quotation marks
    **dict.fromkeys("“”", '"'),
}
HANDLER = "counterbalance.plain"
AFTER = 2.0  # seconds until a terminal shows that work is going on
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
    line = f"counterbalance: {one_line(text)}"
    sys.stderr.write(f"{wrapped(line, '', len(line)) if sys.stderr.isatty() else line}\n")


def show_json(value: Any) -> None:
    """Write a value as JSON to stdout; what JSON lacks (nan, a date) becomes null or text."""
    # A character of the user's data that the stream lacks is escaped, never replaced.
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(
        _as_json(value), ensure_ascii=not is_unicode, indent=2, allow_nan=False, default=str
    )
    sys.stdout.write(f"{text}\n")


@contextmanager
def working(text: str, *, told: type[Warning] | None = None) -> Iterator[Callable[[str], None]]:
    """Show on a terminal, after two seconds, that work is going on; its warnings become notes.

    Warnings of the category ``told`` are left out, because the result states them. The function
    that is yielded updates the text.
    """
    shown = _Status(text)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("ignore")  # such as pandas' advice to programmers
        warnings.simplefilter("always", UserWarning)
        # The table checks have reported these, with the options of the command.
        for category in filter(None, (told, IdentifierWarning)):
            warnings.simplefilter("ignore", category)
        try:
            yield shown.update
        finally:
            shown.end()
    for message in dict.fromkeys(str(warning.message) for warning in warned):
        note(message)


class _Status:
    """A line on a terminal that says what is being done and for how long."""

    def __init__(self, text: str) -> None:
        self._text, self._began, self._ended = text, time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        if sys.stderr.isatty():
            self._thread.start()

    def update(self, text: str) -> None:
        """Say how far the work is."""
        self._text = text

    def end(self) -> None:
        """Remove the line."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _show(self) -> None:
        wait, erased = AFTER, ""
        while not self._ended.wait(wait):
            line = f"{self._text} ({duration(time.monotonic() - self._began)})"
            width = shutil.get_terminal_size((80, 0)).columns - 1
            sys.stderr.write(f"\r\x1b[K{plain_for(printable(line), sys.stderr)[:width]}")
            sys.stderr.flush()
            wait, erased = 1.0, "\r\x1b[K"
        sys.stderr.write(erased)


class Progress:
    """Show the current step and how long it will take.

    ``tell`` shows it on a terminal. Elsewhere, such as in a log, a line is written once a minute.
    """

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._clock, self._step = tell, clock, ""
        self._began = self._last = self._said = clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show the step; in a log at most once a minute."""
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
    """Show tables on stdout: short texts, escaped, in the stream's encoding."""

    def shown(text: str, most: int = LONGEST_CELL) -> str:
        return plain_for(printable(shortened(text, most)), sys.stdout)

    for table in tables:
        safe = replace(
            table,
            title=shown(table.title, LONGEST_WORD),
            columns=[shown(column) for column in table.columns],
            rows=[[shown(cell) for cell in row] for row in table.rows],
            notes=[shown(line, LONGEST_LINE) for line in table.notes],
        )
        sys.stdout.write(as_text(_narrowed(safe)) + "\n")


def _narrowed(table: ResultTable) -> ResultTable:
    """Break the texts of the last column where a terminal is too narrow for them."""
    if not sys.stdout.isatty() or table.left < len(table.columns):
        return table
    lines = [table.columns, *table.rows]
    others = sum(max(len(row[m]) for row in lines) + 2 for m in range(len(table.columns) - 1))
    width = max(FEWEST_CHARACTERS, shutil.get_terminal_size().columns - others)
    rows = [
        [*([""] * (len(row) - 1) if number else row[:-1]), part]
        for row in table.rows
        for number, part in enumerate(textwrap.wrap(row[-1], width) or [""])
    ]
    return replace(table, rows=rows)


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
    """Cut a text that is too long in its middle; its end holds the remedy.

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
    with_short_words = LONG_WORD.sub(lambda word: shortened(word[0], LONGEST_WORD), line)
    return printable(shortened(with_short_words))


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
    return text.encode(encoding, HANDLER).decode(encoding)


def in_ascii(character: str) -> str:
    r"""Write a character in ASCII.

    >>> in_ascii("→"), in_ascii("中")
    ('->', '\\u4e2d')
    """
    return PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode()


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end


codecs.register_error(HANDLER, _write_plainly)


def protect_streams() -> None:
    """Replace stdout and stderr of this process by streams that never fail."""
    sys.stdout = _protected(sys.stdout, report=True)
    sys.stderr = _protected(sys.stderr, report=False)  # there is nowhere else to report it


def _protected(stream: Any, *, report: bool) -> Any:
    """Return a stream like this one that never fails; a missing one becomes the null device."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - it stays open
    if hasattr(stream, "reconfigure") and stream.errors in {"strict", "backslashreplace"}:
        stream.reconfigure(errors=HANDLER)
    return _SafeStream(stream, report=report)


class _SafeStream:
    """A stream; once it cannot be written, everything goes to the null device."""

    def __init__(self, stream: TextIO, *, report: bool) -> None:
        self._stream, self._report = stream, report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text at once."""
        with suppress(OSError):
            self._stream.write(text)
        self.flush()
        return len(text)

    def flush(self) -> None:
        """Flush the stream; if that fails, redirect it to the null device."""
        try:
            self._stream.flush()
        except OSError as error:
            with suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, self._stream.fileno())
                os.close(null)
                self._stream.flush()
            if self._report and error.errno != errno.EPIPE:
                sys.stderr.write(
                    f"counterbalance: the output could not be printed ({error.strerror}); the "
                    "output files are not affected\n"
                )
