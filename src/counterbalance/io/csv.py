"""Text files: a csv or tsv file, cell by cell as it was written.

The dialect of a file (encoding, separator, line end, decimal mark) is detected once, and the
file that we write has the same.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.csv_columns import (
    LOOKED_AT,
    MISSING,
    TextColumn,
    matches_any,
    read_column,
    write_cell,
    write_cells,
)
from counterbalance.io.reading import (
    AS_IT_IS,
    Reading,
    check_header,
    column_names,
    most_unpacked,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
SEPARATORS = (",", ";", "\t", "|")
# A byte-order mark names the encoding, and is written again. The marks of UTF-32 come first: they
# start like those of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Tried in turn where there is no mark; the last one reads any bytes.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
# For the decimal mark of a file: 3,14 or 1.234,56, perhaps with a unit; what is either that or
# thousands (1,234); and what can only be a decimal point.
COMMA_NUMBER = re.compile(
    r"\s*[^\w,.]?\s*[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?\s*[^\w,.]?\s*"
)
MAYBE_THOUSANDS = re.compile(r"\s*[^\w,.]?\s*[+-]?[1-9]\d{0,2}(?:,\d{3})*\s*[^\w,.]?\s*")
POINT_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d+,\d{3}\.\d+)\s*")
CHUNK = 2**20
ROWS_FOR_SEPARATOR = 20
# How many names or cells a note lists, and how many characters of each.
LISTED, LONGEST = 4, 40


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text; ``mark`` is its byte-order mark."""

    encoding: str = "utf-8"
    separator: str = ","
    line_end: str = "\n"
    decimal: str = "."
    mark: bytes = b""

    @property
    def certain(self) -> bool:
        """Whether the encoding is known, not guessed."""
        return bool(self.mark) or self.encoding == ENCODINGS[0]


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A table of texts; columns are numbered, because a name may occur twice."""

    names: list[str]
    texts: pd.DataFrame
    dialect: Dialect
    reading: Reading = AS_IT_IS
    guesses: tuple[str, ...] = ()

    @staticmethod
    def read(
        content: bytes, name: str, separator: str | None, reading: Reading = AS_IT_IS
    ) -> CsvTable:
        """Read the bytes of a file."""
        text, dialect = read_text(unpack(content, name), name, separator)
        rows = _rows(text, dialect, name)
        dialect = replace(dialect, decimal=decimal_mark(rows.iloc[1:], dialect.separator))
        guess = (
            f"{name} is not UTF-8; it was read as {dialect.encoding}; check its accented letters"
        )
        guesses = () if dialect.certain else (guess,)
        return CsvTable.under_header(rows, dialect, name, reading, guesses)

    @staticmethod
    def under_header(
        rows: pd.DataFrame,
        dialect: Dialect,
        name: str,
        reading: Reading,
        guesses: tuple[str, ...] = (),
    ) -> CsvTable:
        """Take rows of texts; the first holds the names unless ``reading`` says otherwise."""
        if reading.header is False:
            return CsvTable(column_names(rows.shape[1]), rows, dialect, reading, guesses)
        first = [str(cell) for cell in rows.iloc[0]]
        below = rows.iloc[1:].reset_index(drop=True)
        if reading.header is None:
            check_header(first, below, dialect.decimal, name)
        return CsvTable(first, below, dialect, reading, guesses)

    @staticmethod
    def from_frame(frame: pd.DataFrame, dialect: Dialect) -> CsvTable:
        """Return values as texts."""
        pandas = require("pandas", "reading a table")
        columns = {
            m: [
                "" if is_gone else write_cell(value, dialect.decimal)
                for value, is_gone in zip(column.tolist(), column.isna(), strict=True)
            ]
            for m, (_, column) in enumerate(frame.items())
        }
        texts = pandas.DataFrame(columns, index=range(len(frame)), dtype=str)
        return CsvTable([str(name) for name in frame.columns], texts, dialect)

    @cached_property
    def columns(self) -> list[TextColumn]:
        """The cells as values, and how they are written."""
        kind_of = dict.fromkeys(self.reading.labels, "label")
        kind_of |= dict.fromkeys(self.reading.numbers, "number")
        kind_of |= dict.fromkeys(self.reading.texts, "text")
        return [
            read_column(
                self.texts[m],
                self.dialect.decimal,
                kind=kind_of.get(name),
                missing=self.reading.missing,
            )
            for m, name in enumerate(self.names)
        ]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as values."""
        columns = {m: column.series for m, column in enumerate(self.columns)}
        frame: pd.DataFrame = require("pandas", "reading a table").DataFrame(
            columns, index=self.texts.index
        )
        return frame.set_axis(self.names, axis=1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""
        unused = (
            f"--na names {text[:LONGEST]!r}, but no cell holds it"
            for text in self.reading.missing
            if not any(matches_any(self.texts[m], (text,)).any() for m in self.texts)
        )
        return (*self.guesses, *describe_styles(self.names, self.columns, self.texts), *unused)

    @property
    def has_header(self) -> bool:
        """Whether the names of the columns are part of the file."""
        return self.reading.header is not False

    def as_csv(self) -> Self:
        """Return the table itself."""
        return self

    def read_as(self, reading: Reading) -> Self:
        """Return the same table with its cells read another way."""
        table = replace(self, reading=reading)
        for name, column in zip(self.names, table.columns, strict=True):
            if name in reading.numbers and column.series.isna().all():
                raise TableError(
                    f"--number names {name!r}, but none of its cells is a number; leave it out"
                )
        return table

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""
        return replace(self, texts=self.texts.iloc[rows].reset_index(drop=True))

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows below, each value written as its column writes it."""
        pandas = require("pandas", "reading a table")
        columns = {}
        for m, name in enumerate(self.names):
            if name in new.columns:
                old = self.columns[m]
                columns[m] = write_cells(
                    new[name], self.texts[m], old.series, self.dialect.decimal, old.style
                )
            else:
                columns[m] = [""] * len(new)
        below = pandas.DataFrame(columns, index=range(len(new)), dtype=str)
        return replace(self, texts=pandas.concat([self.texts, below], ignore_index=True))

    def encode(self, separator: str, *, packed: bool = False) -> bytes:
        """Return the bytes of a file in this dialect; gzip gets no date."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=separator, lineterminator=self.dialect.line_end)
        if self.has_header:
            writer.writerow(self.names)
        writer.writerows(zip(*(self.texts[m].tolist() for m in self.texts), strict=True))
        content = self.dialect.mark + text.getvalue().encode(self.dialect.encoding)
        return gzip.compress(content, mtime=0) if packed else content


def describe_styles(
    names: Sequence[str], columns: Sequence[TextColumn], texts: pd.DataFrame
) -> Iterator[str]:
    """Say which columns were read as numbers although they hold more than digits."""
    styled = [m for m, column in enumerate(columns) if column.style and not column.style.plain]
    if styled:
        known = texts[styled[0]][columns[styled[0]].series.notna()]
        style = columns[styled[0]].style
        shown = next((cell for cell in known if style and style.thousands in cell), known.iloc[0])
        yield (
            f"{_listed(names, styled)} read as numbers such as {shown[:LONGEST]!r}, and new cells "
            "are written the same way; --text COL reads a column as text"
        )
    gaps = [m for m, column in enumerate(columns) if column.not_known]
    if gaps:
        cells = dict.fromkeys(cell for m in gaps for cell in columns[m].not_known)
        some = ", ".join(repr(cell[:LONGEST]) for cell in list(cells)[:LISTED])
        yield (
            f"{_listed(names, gaps)} read as numbers, and cells such as {some} as missing; "
            "--text COL reads a column as text"
        )


def _listed(names: Sequence[str], places: Sequence[int]) -> str:
    some = ", ".join(repr(names[m][:LONGEST]) for m in places[:LISTED])
    more = f" and {len(places) - LISTED} more" if len(places) > LISTED else ""
    return f"column {some} is" if len(places) == 1 else f"columns {some}{more} are"


def _rows(text: str, dialect: Dialect, name: str) -> pd.DataFrame:
    """Split a text into cells, the header first."""
    pandas = require("pandas", "reading a table")
    try:
        rows: pd.DataFrame = pandas.read_csv(
            io.StringIO(text),
            sep=dialect.separator,
            header=None,
            dtype=str,
            na_filter=False,
            quotechar='"',
            low_memory=False,
        )
    except pandas.errors.EmptyDataError:
        raise TableError(f"{name} is empty; give a table with a header and rows") from None
    except pandas.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise TableError(
            f"{name} cannot be split into cells: {reason}; mend that line, or save the table again"
        ) from None
    return rows.fillna("")


def unpack(content: bytes, name: str) -> bytes:
    """Unpack gzip, whatever the file is called, unless it grows far beyond what a table would."""
    if not content.startswith(GZIP):
        return content
    most = most_unpacked(len(content))
    unpacked = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while len(unpacked) <= most and (part := file.read(CHUNK)):
                unpacked += part
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is packed with gzip but broken ({error}); get the file again"
        ) from None
    if len(unpacked) > most:
        raise too_large(f"{name}, unpacked,", most)
    return bytes(unpacked)


def read_text(content: bytes, name: str, separator: str | None) -> tuple[str, Dialect]:
    """Decode a text file and detect its dialect, with the ``separator`` unless it is given."""
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
                    f"{name} claims to be {encoding} but is not ({error}); save it as UTF-8"
                ) from None
    utf_16 = _utf_16(content)
    if utf_16 is not None:
        with suppress(UnicodeDecodeError):
            return content.decode(utf_16), utf_16, b""
    if b"\0" in content:
        raise TableError(
            f"{name} is not a text file, whatever its name says; save the table as csv (UTF-8), or "
            "give the file the suffix of what it is, such as .xlsx or .parquet"
        )
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding), encoding, b""
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads any bytes")


def _utf_16(content: bytes) -> str | None:
    """Return which UTF-16 it is, if every other byte is zero as for Latin letters."""
    start = content[:CHUNK]
    first, second = start[::2].count(0), start[1::2].count(0)
    if len(content) % 2 == 0 and max(first, second) > len(start) / 4 and not min(first, second):
        return "utf-16-be" if first else "utf-16-le"
    return None


def _separator(text: str) -> str:
    """Return what splits the header into the most cells, and most rows into as many."""
    best, most = ",", 1
    for separator in SEPARATORS:
        rows = csv.reader(io.StringIO(text, newline=None), delimiter=separator)
        widths: list[int] = []
        with suppress(csv.Error):  # such as a huge cell: the rows before it have to do
            widths += (len(row) for row in itertools.islice(rows, ROWS_FOR_SEPARATOR) if row)
        if widths and widths[0] > most and widths.count(widths[0]) > len(widths) / 2:
            best, most = separator, widths[0]
    return best


def decimal_mark(texts: pd.DataFrame, separator: str = ";") -> str:
    """Return the comma if some column holds nothing but numbers like 3,14 or 1.234,56.

    Where it might also separate thousands (1,234 in every cell), it is a decimal comma only in
    a file with semicolons, and only if no other column has decimal points. In a file that is
    separated by commas, the mark is the point.
    """
    if separator == ",":
        return "."
    doubtful = points = False
    for name in texts:
        known = texts[name][~texts[name].str.strip().isin(MISSING)].head(LOOKED_AT)
        points |= bool(len(known)) and bool(known.str.fullmatch(POINT_NUMBER).all())
        if known.str.fullmatch(COMMA_NUMBER).all() and known.str.contains(",").any():
            if not known.str.fullmatch(MAYBE_THOUSANDS).all():
                return ","
            doubtful = True
    return "," if doubtful and separator == ";" and not points else "."
