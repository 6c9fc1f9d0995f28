"""Dialect: how a text file writes its table, so that ours can be written the same way."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from contextlib import suppress
from dataclasses import dataclass

from counterbalance.errors import TableError
from counterbalance.io.bounds import most_unpacked, too_large

PACKED = b"\x1f\x8b"  # the first bytes of a gzip file
SEPARATORS = (",", ";", "\t", "|")
# A byte-order mark says the encoding outright, and is written again. The marks of UTF-32 start
# like those of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Tried in turn where there is no mark; the last one reads any bytes.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
CHUNK = 2**20
LOOKED_AT = 20  # rows that tell the separator


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text; ``mark`` are the bytes before it."""

    encoding: str = "utf-8"
    separator: str = ","
    line_end: str = "\n"
    decimal: str = "."
    mark: bytes = b""

    @property
    def certain(self) -> bool:
        """Whether the encoding is known, not guessed."""
        return bool(self.mark) or self.encoding == ENCODINGS[0]


def unpack(content: bytes, name: str) -> bytes:
    """Unpack gzip, whatever the file is called; what swells beyond all measure is refused."""
    if not content.startswith(PACKED):
        return content
    most = most_unpacked(len(content))
    unpacked = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while len(unpacked) <= most and (part := file.read(CHUNK)):
                unpacked += part
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is packed with gzip but broken ({error}); get the file once more"
        ) from None
    if len(unpacked) > most:
        raise too_large(f"{name}, unpacked,", most)
    return bytes(unpacked)


def read_text(content: bytes, name: str, separator: str | None) -> tuple[str, Dialect]:
    """Decode a text file and recognise its dialect; ``separator`` is given or looked for."""
    text, encoding, mark = _decode(content, name)
    line_end = next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")
    return text, Dialect(encoding, separator or _separator(text), line_end, mark=mark)


def _decode(content: bytes, name: str) -> tuple[str, str, bytes]:
    for mark, encoding in MARKS:
        if content.startswith(mark):
            try:
                return content[len(mark) :].decode(encoding), encoding, mark
            except UnicodeDecodeError as error:
                raise TableError(
                    f"{name} says it is {encoding} but is not ({error}); save it as UTF-8"
                ) from None
    two_bytes = _two_bytes(content)
    if two_bytes is not None:
        with suppress(UnicodeDecodeError):
            return content.decode(two_bytes), two_bytes, b""
    if b"\0" in content:
        raise TableError(
            f"{name} is no text file, whatever its name says; save the table as csv (UTF-8), or "
            "give the file the suffix of what it is, such as .xlsx or .parquet"
        )
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding), encoding, b""
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads any bytes")


def _two_bytes(content: bytes) -> str | None:
    """Return the kind of UTF-16 whose letters leave every other byte zero, if it is one."""
    start = content[:CHUNK]
    first, second = start[::2].count(0), start[1::2].count(0)
    if len(content) % 2 == 0 and max(first, second) > len(start) / 4 and not min(first, second):
        return "utf-16-be" if first else "utf-16-le"
    return None


def _separator(text: str) -> str:
    """Return the separator that cuts the header into the most cells, and most rows into as many."""
    best, most = ",", 1
    for separator in SEPARATORS:
        rows = csv.reader(io.StringIO(text, newline=None), delimiter=separator)
        widths: list[int] = []
        with suppress(csv.Error):  # a huge cell, say: what is known by then must do
            widths += (len(row) for row in itertools.islice(rows, LOOKED_AT) if row)
        if widths and widths[0] > most and widths.count(widths[0]) > len(widths) / 2:
            best, most = separator, widths[0]
    return best
