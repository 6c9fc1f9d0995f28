"""Spreadsheets: one sheet of an xlsx file; the result is that workbook with new rows below.

A formula is read as its last result. Charts and pictures are not written.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.errors import TableError, near_names
from counterbalance.extras import require, require_pandas
from counterbalance.io.csv import TextCells, read_cells
from counterbalance.io.reading import Reading, most_unpacked, too_large

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# Limits of the format.
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
# Beyond this a spreadsheet rounds whole numbers.
LARGEST_INTEGER = 10**15
# Characters that xlsx can only hold as an escape.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# A fixed date, in the archive and in its properties: the same table gives the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
WHEN = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")


@dataclass(frozen=True, eq=False)
class SheetTable:
    """A sheet of a book, its cells, and the same cells as texts."""

    content: bytes
    title: str
    top: int  # empty rows above the table
    values: list[list[Any]]  # the rows below the header
    cells: TextCells

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""
        return self.cells.notes

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values; dates are texts."""
        return self.cells.frame

    @staticmethod
    def read(content: bytes, name: str, reading: Reading) -> SheetTable:
        """Read the bytes of a file."""
        titles, title, top, values = _read_sheet(content, name, reading)
        if not values:
            raise TableError(
                f"the sheet {title!r} of {name} is empty; give a table with a header and rows, or "
                "name another sheet with --sheet"
            )
        others = [repr(other) for other in titles if other != title]
        guess = (
            f"{name} has {len(titles)} sheets; {title!r} is read, --sheet NAME reads another: "
            f"{', '.join(others[:5])}{', ...' if len(others) > 5 else ''}"  # noqa: PLR2004
        )
        columns = {m: [_as_text(row[m]) for row in values] for m in range(max(map(len, values)))}
        texts = require_pandas().DataFrame(columns, dtype=str)
        notes = (guess,) if others and reading.sheet is None else ()
        cells = read_cells(texts, ".", name, reading, notes)
        return SheetTable(content, title, top, values[len(values) - len(cells.texts) :], cells)

    def with_rows(self, new: pd.DataFrame, rows: NDArray[Any] | None = None) -> bytes:
        """Return the bytes of the book with new rows below; only some ``rows``, if given."""
        below = self._cells_of(new)
        if rows is not None:
            header = [] if self.cells.header is None else [self.cells.header]
            return encode_sheet([*header, *(self.values[row] for row in rows), *below], self.title)
        book = require("openpyxl", "an xlsx file").load_workbook(io.BytesIO(self.content))
        sheet = book[self.title]
        last = self.top + (self.cells.header is not None) + len(self.values)
        check_size(last + len(below), len(self.cells.names))
        for place, row in enumerate(below, last + 1):
            for m, value in enumerate(row, 1):
                if value is not None:
                    cell = _fill(sheet.cell(place, m), value)
                    cell.number_format = copy(sheet.cell(last, m).number_format)
        return _saved(book)

    def _cells_of(self, new: pd.DataFrame) -> list[list[Any]]:
        """Return new rows as values; a text of the column becomes the value that it stands for."""
        rows = [[None] * len(self.cells.names) for _ in range(len(new))]
        for m, name in enumerate(self.cells.names):
            if name not in new.columns:
                continue
            texts = self.cells.texts[m]
            seen = dict(zip(texts[::-1], (row[m] for row in self.values[::-1]), strict=True))
            written = self.cells.columns[m].write(new[name], texts)
            for row, text, value in zip(rows, written, new[name].tolist(), strict=True):
                row[m] = seen[text] if text in seen else _as_value(value)
        return rows


def encode_sheet(rows: Iterable[Sequence[Any]], title: str = "Sheet1") -> bytes:
    """Return the bytes of a book with one sheet of values."""
    openpyxl = require("openpyxl", "an xlsx file")
    rows = list(rows)
    check_size(len(rows), max(map(len, rows), default=0))
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for place, row in enumerate(rows, 1):
        for m, value in enumerate(row, 1):
            _fill(sheet.cell(place, m), _as_value(value))
    return _saved(book)


def check_size(rows: int, columns: int) -> None:
    """Refuse a table that is too large for the format."""
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise TableError(
            f"an xlsx file holds at most {MOST_ROWS:,} rows of {MOST_COLUMNS:,} columns, and the "
            f"result has {rows:,} of {columns:,}; write a csv or parquet file"
        )


def _read_sheet(
    content: bytes, name: str, reading: Reading
) -> tuple[list[str], str, int, list[list[Any]]]:
    """Return the titles of all sheets, and of one the title, the empty rows above, and the rows."""
    openpyxl = require("openpyxl", "an xlsx file")
    _check_packed(content, name)
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        titles = [sheet.title for sheet in book.worksheets]
        chosen = [_find_sheet(titles, reading.sheet, name)] if reading.sheet else titles
        found = [(title, *_filled(book[title])) for title in chosen]
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises exceptions of many kinds
        reason = str(error).split("\n", maxsplit=1)[0]
        raise TableError(
            f"{name} cannot be read as an xlsx file ({reason}); save the table again, or as csv"
        ) from None
    if not found:
        raise TableError(f"{name} has no sheet with cells; save the table as csv")
    has_target = (one for one in found if one[2] and _has(one[2][0], reading.target))
    title, top, values = next(has_target, found[0])
    return titles, title, top, values


def _check_packed(content: bytes, name: str) -> None:
    """Raise for a file that is not xlsx, or that unpacks to far more than a table would."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(item.file_size for item in packed.infolist())
    except zipfile.BadZipFile:
        raise TableError(
            f"{name} is not an .xlsx file; give it the suffix of what it is, or save the table "
            "again (an old .xls file, or one with a password, must be saved as .xlsx)"
        ) from None
    most = most_unpacked(len(content))
    if size > most:
        raise too_large(f"{name}, unpacked,", most)


def _find_sheet(titles: list[str], wanted: str, name: str) -> str:
    if wanted in titles:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(titles):
        return titles[int(wanted) - 1]
    raise TableError(
        f"--sheet must be a sheet of {name}, got {wanted!r}{near_names(wanted, titles)}; its "
        f"sheets are {', '.join(map(repr, titles))}"
    )


def _has(first: Sequence[Any], target: str | None) -> bool:
    """Whether a first row holds the name of the target."""
    return target is None or target in [_as_text(value).strip() for value in first]


def _filled(sheet: Any) -> tuple[int, list[list[Any]]]:
    """Return how many empty rows are above the table, and its rows, all equally long."""
    sheet.reset_dimensions()  # they may claim any size
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    while rows and not any(value is not None for value in rows[-1]):
        rows.pop()
    top = next((n for n, row in enumerate(rows) if any(value is not None for value in row)), 0)
    width = max(
        (m + 1 for row in rows for m, value in enumerate(row) if value is not None), default=0
    )
    return top, [[*row[:width], *[None] * (width - len(row))] for row in rows[top:]]


def _as_text(value: Any) -> str:
    """Write a cell as a csv file would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return str(value)


def _as_value(value: Any) -> Any:
    """Return a value that the format can hold; numbers that it would round become texts."""
    value = getattr(value, "item", lambda: value)()
    if value is None or str(value) in {"nan", "<NA>", "NaT"}:
        return None
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.isoformat(" ")
    if isinstance(value, (bool, dt.date, dt.time, dt.timedelta)):
        return value
    if isinstance(value, (int, float)) and abs(value) <= LARGEST_INTEGER:
        return value
    return CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", str(value))


def _fill(cell: Any, value: Any) -> Any:
    """Put a value into a cell; a text that looks like a formula stays a text."""
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        raise TableError(
            f"a cell of an xlsx file holds at most {MOST_CHARACTERS:,} characters, and one has "
            f"{len(value):,}; write a csv or parquet file"
        )
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"
    return cell


def _saved(book: Any) -> bytes:
    """Return the bytes of a book without the time at which it was made."""
    saved, sink = io.BytesIO(), io.BytesIO()
    book.save(saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(sink, "w") as new:
        for item in old.infolist():
            part = old.read(item)
            if item.filename == "docProps/core.xml":
                part = WHEN.sub(rb"\g<1>1980-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(item.filename, LONG_AGO), part, zipfile.ZIP_DEFLATED)
    return sink.getvalue()
