"""Text files: csv or tsv; the result is the bytes of the file with new rows below.

The dialect of a file (encoding, separator, line end, decimal mark) is detected once, and new rows
are written in it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.errors import TableError
from counterbalance.extras import require_pandas
from counterbalance.io.number_style import (
    LOOKED_AT,
    MISSING,
    TextColumn,
    matches_any,
    read_column,
)
from counterbalance.io.reading import (
    Reading,
    check_header,
    most_unpacked,
    name_columns,
    too_large,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
SEPARATORS = (",", ";", "\t", "|")
# A byte-order mark names the encoding.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Tried in turn where there is no mark; the last one reads any bytes.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
# To find the decimal mark of a file: numbers such as 3,14 or 1.234,56, perhaps with a unit; those
# whose comma may separate thousands (1,234); and those that have a decimal point for certain.
COMMA_NUMBER = r"\s*[^\w,.]?\s*[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?\s*[^\w,.]?\s*"
MAYBE_THOUSANDS = r"\s*[^\w,.]?\s*[+-]?[1-9]\d{0,2}(?:,\d{3})*\s*[^\w,.]?\s*"
POINT_NUMBER = r"\s*[+-]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d+,\d{3}\.\d+)\s*"
ROWS_FOR_SEPARATOR = 20
# How many names or cells a note lists, and how many characters of each.
LISTED, LONGEST = 4, 40


@dataclass(frozen=True)
class TextCells:
    """The cells of a table as texts and as values, under the names of their columns."""

    texts: pd.DataFrame  # columns are numbered
    names: list[str]
    columns: list[TextColumn]
    header: list[str] | None  # the first row as it stands, if it holds the names
    notes: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values."""
        columns = {m: column.series for m, column in enumerate(self.columns)}
        frame: pd.DataFrame = require_pandas().DataFrame(columns, index=self.texts.index)
        return frame.set_axis(self.names, axis=1)

    def write(self, new: pd.DataFrame) -> list[list[str]]:
        """Return new rows as texts; columns that ``new`` lacks are empty."""
        cells = [
            column.write(new[name], self.texts[m]) if name in new.columns else [""] * len(new)
            for m, (name, column) in enumerate(zip(self.names, self.columns, strict=True))
        ]
        return [list(row) for row in zip(*cells, strict=True)]


def read_cells(
    rows: pd.DataFrame, decimal: str, name: str, reading: Reading, notes: Sequence[str] = ()
) -> TextCells:
    """Read rows of texts; the first holds the names unless ``reading`` says otherwise."""
    from counterbalance.io.column_checks import check_columns  # noqa: PLC0415 - numpy is heavy

    first = [str(cell) for cell in rows.iloc[0]]
    below = rows.iloc[1:].reset_index(drop=True)
    if reading.header is None:
        check_header(first, below, decimal, name)
    header = None if reading.header is False else first
    names, renamed = name_columns(header or [f"column {m + 1}" for m in range(len(first))])
    texts = rows if header is None else below
    kinds = dict.fromkeys(check_columns(reading.numbers, names, "--number"), "number")
    kinds |= dict.fromkeys(check_columns(reading.texts, names, "--text"), "text")
    if reading.target is not None:
        kinds.setdefault(reading.target, "label")
    columns = [
        read_column(texts[m], decimal, kind=kinds.get(title), missing=reading.missing)
        for m, title in enumerate(names)
    ]
    for title, column in zip(names, columns, strict=True):
        if kinds.get(title) == "number" and column.series.isna().all():
            raise TableError(
                f"--number names {title!r}, but none of its cells is a number; leave it out"
            )
    unused = [
        f"--na names {text[:LONGEST]!r}, but no cell holds it"
        for text in reading.missing
        if not any(matches_any(texts[m], (text,)).any() for m in texts)
    ]
    all_notes = (*notes, *renamed, *_styles(names, columns, texts), *unused)
    return TextCells(texts, names, columns, header, all_notes)


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A text file, its cells, and how it is written."""

    content: bytes
    cells: TextCells
    encoding: str
    separator: str
    line_end: str
    ended: bool  # whether the last line has a line end

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""
        return self.cells.notes

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values."""
        return self.cells.frame

    @staticmethod
    def read(content: bytes, name: str, separator: str | None, reading: Reading) -> CsvTable:
        """Read the bytes of a file."""
        text, encoding, certain = _decode(unpack(content, name), name)
        line_end = next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")
        separator = separator or _separator(text)
        rows = _rows(text, separator, name)
        guess = f"{name} is not UTF-8; it was read as {encoding}; check its accented letters"
        cells = read_cells(
            rows, decimal_mark(rows.iloc[1:], separator), name, reading, () if certain else (guess,)
        )
        ended = text.endswith(("\n", "\r"))
        return CsvTable(content, cells, encoding, separator, line_end, ended)

    def with_rows(self, new: pd.DataFrame, rows: NDArray[Any] | None = None) -> bytes:
        """Return the bytes of the file with new rows below; only some ``rows``, if given."""
        below = self.cells.write(new)
        old = b""
        if rows is None:
            old = self.content
            if below and not self.ended:
                old += self._packed(self.line_end.encode(self.encoding))
        else:
            header = [] if self.cells.header is None else [self.cells.header]
            below = [*header, *self.cells.texts.iloc[rows].to_numpy().tolist(), *below]
            old = self._packed(next((m for m, _ in MARKS if self.content.startswith(m)), b""))
        text = csv_text(below, self.separator, self.line_end)
        return old + self._packed(text.encode(self.encoding))

    def _packed(self, content: bytes) -> bytes:
        """Compress new content if the file is gzip: as a further part, without a date."""
        packed = content and self.content.startswith(GZIP)
        return gzip.compress(content, mtime=0) if packed else content


def csv_text(rows: Iterable[Sequence[Any]], separator: str = ",", line_end: str = "\n") -> str:
    """Write rows as text."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=line_end).writerows(rows)
    return text.getvalue()


def _styles(names: Sequence[str], columns: Sequence[TextColumn], texts: pd.DataFrame) -> list[str]:
    """Say which columns were read as numbers although they hold more than digits."""
    notes = []
    styled = [m for m, column in enumerate(columns) if column.style and not column.style.plain]
    if styled:
        style = columns[styled[0]].style
        known = texts[styled[0]][columns[styled[0]].series.notna()]
        shown = next((cell for cell in known if style and style.thousands in cell), known.iloc[0])
        notes.append(
            f"{_listed(names, styled)} read as numbers such as {shown.strip()[:LONGEST]!r}, and "
            "new cells are written the same way; --text COL reads a column as text"
        )
    gaps = [m for m, column in enumerate(columns) if column.not_known]
    if gaps:
        cells = dict.fromkeys(cell for m in gaps for cell in columns[m].not_known)
        some = ", ".join(repr(cell[:LONGEST]) for cell in list(cells)[:LISTED])
        notes.append(
            f"{_listed(names, gaps)} read as numbers, and cells such as {some} as missing; "
            "--text COL reads a column as text"
        )
    return notes


def _listed(names: Sequence[str], places: Sequence[int]) -> str:
    some = ", ".join(repr(names[m][:LONGEST]) for m in places[:LISTED])
    more = f" and {len(places) - LISTED} more" if len(places) > LISTED else ""
    return f"column {some} is" if len(places) == 1 else f"columns {some}{more} are"


def _rows(text: str, separator: str, name: str) -> pd.DataFrame:
    """Split a text into cells, the header first."""
    pandas = require_pandas()
    try:
        rows: pd.DataFrame = pandas.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            dtype=str,
            na_filter=False,
            low_memory=False,
        )
    except pandas.errors.EmptyDataError:
        raise TableError(f"{name} is empty; give a table with a header and rows") from None
    except pandas.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise TableError(
            f"{name} cannot be split into cells: {reason}; fix that line, or save the table again"
        ) from None
    return rows.fillna("")


def unpack(content: bytes, name: str) -> bytes:
    """Unpack gzip, whatever the suffix of the file; raise if the result is too large."""
    if not content.startswith(GZIP):
        return content
    most = most_unpacked(len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} is packed with gzip but broken ({error}); get the file again"
        ) from None
    if len(unpacked) > most:
        raise too_large(f"{name}, unpacked,", most)
    return unpacked


def _decode(content: bytes, name: str) -> tuple[str, str, bool]:
    """Return the text, its encoding, and whether that is certain."""
    for mark, encoding in MARKS:
        if content.startswith(mark):
            try:
                return content[len(mark) :].decode(encoding), encoding, True
            except UnicodeDecodeError as error:
                raise TableError(
                    f"{name} claims to be {encoding} but is not ({error}); save it as UTF-8"
                ) from None
    if b"\0" in content:
        raise TableError(
            f"{name} is not a text file in UTF-8; save the table as csv (UTF-8), or give the file "
            "the suffix of what it is, such as .xlsx or .parquet"
        )
    for encoding in ENCODINGS:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding), encoding, encoding == ENCODINGS[0]
    raise AssertionError("latin-1 reads any bytes")


def _separator(text: str) -> str:
    """Return the separator that splits the header into the most cells, and most rows alike."""
    best, most = ",", 1
    for separator in SEPARATORS:
        rows = csv.reader(io.StringIO(text, newline=None), delimiter=separator)
        widths: list[int] = []
        with suppress(csv.Error):  # such as a huge cell: use the rows before it
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
