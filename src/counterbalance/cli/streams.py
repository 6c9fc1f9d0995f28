r"""Streams: a stdout and a stderr that never stop the work.

A printed line is about the work, it is not the work: a reader who went away (``| head``), a
full disk behind ``>`` or an encoding without arrows must not lose a file, nor turn a success
into a failure.

    encoding    what it lacks is written in ASCII: -> for an arrow, \u4e2d for a letter
    reader      once it is gone, what is written to it is dropped
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

# What our own texts hold beyond ASCII, and what rich draws its bars and tables with.
PLAIN = {
    **dict.fromkeys("→⟶➜", "->"),
    **dict.fromkeys("·•∙", "."),
    **dict.fromkeys("—–−‐‑─━═╌┄╴╶╸╺", "-"),  # noqa: RUF001 - lines of all kinds
    **dict.fromkeys("│┃║╷╵", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┡┩╇┳┻╋", "+"),
    **dict.fromkeys("‘’", "'"),  # noqa: RUF001 - quotation marks
    **dict.fromkeys("“”", '"'),
    "…": "...",
    "×": "x",  # noqa: RUF001 - a sign of multiplication
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "\xa0": " ",
}
HANDLER = "counterbalance.plain"


def plain_for(text: str, stream: TextIO) -> str:
    """Return a text that a stream can hold."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return "".join(
            character if _fits(character, stream) else in_ascii(character) for character in text
        )
    return text


def in_ascii(character: str) -> str:
    r"""Write a character in ASCII.

    >>> in_ascii("→"), in_ascii("中")
    ('->', '\\u4e2d')
    """
    if character in PLAIN:
        return PLAIN[character]
    return character.encode("ascii", "backslashreplace").decode()


def unbreakable() -> None:
    """Make stdout and stderr of this process streams that never fail."""
    codecs.register_error(HANDLER, _write_plainly)
    sys.stdout = _unbreakable(sys.stdout, tell=True)
    sys.stderr = _unbreakable(sys.stderr, tell=False)  # there is no other place to tell it


class _Forgiving(io.RawIOBase):
    """The file behind a stream; what it does not take is dropped."""

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
                    _say_lost(error)
        return len(content)


def _unbreakable(stream: Any, *, tell: bool) -> Any:
    """Return a stream like this one that never fails; one that Python left out goes nowhere."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for good
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer
    if not isinstance(raw, io.FileIO):
        return stream  # a test's, a notebook's
    with suppress(OSError, ValueError):
        stream.flush()
    errors = HANDLER if stream.errors in {"strict", "backslashreplace"} else stream.errors
    new = io.TextIOWrapper(
        io.BufferedWriter(_Forgiving(raw, tell=tell)),
        encoding=stream.encoding,
        errors=errors,
        line_buffering=stream.line_buffering,
        write_through=getattr(stream, "write_through", False),
    )
    # Two wrappers of one file: the old one must not close it when it goes.
    new._replaced = stream  # type: ignore[attr-defined] # noqa: SLF001
    return new


def _fits(character: str, stream: TextIO) -> bool:
    try:
        character.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end


def _say_lost(error: OSError) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(
            f"counterbalance: what is printed could not be written ({error.strerror}); files that "
            "were asked for are not concerned\n"
        )
