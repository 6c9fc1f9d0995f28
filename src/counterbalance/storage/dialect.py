"""Dialect: how a text file writes its table, so that ours can be written the same way."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from dataclasses import dataclass

from counterbalance.errors import TableError

PACKED = b"\x1f\x8b"  # the first bytes of a gzip file
SEPARATORS = (",", ";", "\t", "|")
# A byte-order mark says the encoding outright. The marks of UTF-32 start like those of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Tried in turn where there is no mark; the last one reads any bytes.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
LOOKED_AT = 20  # rows that tell the separator


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text."""

    encoding: str = "utf-8"
    separator: str = ","
    line_end: str = "\n"
    decimal: str = "."

    @property
    def certain(self) -> bool:
        """Whether the encoding is known, not guessed."""
        return self.encoding not in ENCODINGS[1:]


def unpack(content: bytes, name: str) -> bytes:
    """Unpack gzip, whatever the file is called."""
    if not content.startswith(PACKED):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is packed with gzip but broken ({error}); get the file once more"
        ) from None


def read_text(content: bytes, name: str, separator: str | None) -> tuple[str, Dialect]:
    """Decode a text file and recognise its dialect; ``separator`` is given or looked for."""
    text, encoding = _decode(content, name)
    line_end = "\r\n" if "\r\n" in text[:100_000] else "\n"
    return text, Dialect(encoding, separator or _separator(text), line_end)


def _decode(content: bytes, name: str) -> tuple[str, str]:
    for mark, encoding in MARKS:
        if content.startswith(mark):
            try:
                return content.decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise TableError(
                    f"{name} says it is {encoding} but is not ({error}); save it as UTF-8"
                ) from None
    if b"\0" in content:
        raise TableError(
            f"{name} is no text file, whatever its name says; save the table as csv (UTF-8), or "
            "give the file the suffix of what it is, such as .parquet"
        )
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads any bytes")


def _separator(text: str) -> str:
    """Return the separator that cuts the first rows into the most cells, the same in each."""
    best, most = ",", 1
    for separator in SEPARATORS:
        rows = csv.reader(io.StringIO(text), delimiter=separator)
        widths = Counter(len(row) for row, _ in zip(rows, range(LOOKED_AT), strict=False) if row)
        width, count = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        if width > most and count > sum(widths.values()) / 2:
            best, most = separator, width
    return best
