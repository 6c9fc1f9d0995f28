"""Spreadsheets: one sheet of an xlsx file.

Cells keep their values and number formats, so that dates stay dates and money stays money. A
formula is read as its last result, and that result is written. Other sheets, colours, charts
and formulas are not part of a table and are not written.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import TableError, near_names
from counterbalance.extras import require
from counterbalance.io.csv import CsvTable, Dialect
from counterbalance.io.reading import AS_IT_IS, Reading, most_unpacked, too_large

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# Limits of the format.
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
# Beyond this a spreadsheet rounds whole numbers.
LARGEST_INTEGER = 10**15
GENERAL = "General"
# Characters that xlsx can only hold as an escape.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# A fixed date, in the archive and in its properties: the same table gives the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
WHEN = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")


@dataclass(frozen=True)
class Cell:
    """A value and how it is shown."""

    value: Any = None
    format: str = GENERAL


@dataclass(frozen=True, eq=False)
class SheetTable:
    """A sheet: its cells, and the same cells as texts, which say what the columns hold."""

    title: str
    cells: list[list[Cell]]  # the rows below the header
    table: CsvTable

    @staticmethod
    def read(content: bytes, name: str, reading: Reading = AS_IT_IS) -> SheetTable:
        """Read the bytes of a file."""
        title, rows, guesses = _read_cells(content, name, reading.sheet)
        width = max(map(len, rows), default=0)
        cells = [[*row, *[Cell()] * (width - len(row))] for row in rows]
        if not cells:
            raise TableError(
                f"the sheet {title!r} of {name} is empty; give a table with a header and rows, or "
                "name another sheet with --sheet"
            )
        texts = _frame([[_as_text(cell.value) for cell in row] for row in cells], width)
        table = CsvTable.under_header(texts, Dialect(), name, reading, guesses)
        return SheetTable(title, cells[len(cells) - len(table.texts) :], table)

    @staticmethod
    def from_frame(frame: pd.DataFrame, *, header: bool = True) -> SheetTable:
        """Return values as a sheet, with or without a header."""
        names = [str(name) for name in frame.columns]
        columns = [
            [
                Cell(None if is_gone else _as_value(value))
                for value, is_gone in zip(column.tolist(), column.isna(), strict=True)
            ]
            for _, column in frame.items()
        ]
        cells = [list(row) for row in zip(*columns, strict=True)]
        texts = _frame([[_as_text(cell.value) for cell in row] for row in cells], len(names))
        reading = AS_IT_IS if header else Reading(header=False)
        return SheetTable("Sheet1", cells, CsvTable(names, texts, Dialect(), reading))

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values; dates are texts."""
        return self.table.frame

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""
        return self.table.notes

    @property
    def has_header(self) -> bool:
        """Whether the names of the columns are part of the file."""
        return self.table.has_header

    def read_as(self, reading: Reading) -> Self:
        """Return the same table with its cells read another way."""
        return replace(self, table=self.table.read_as(reading))

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""
        cells = [self.cells[row] for row in rows.tolist()]
        return replace(self, cells=cells, table=self.table.take(rows))

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows below, each value written as its column writes it."""
        table = self.table.append(new)
        below = table.texts.iloc[len(self.cells) :]
        columns = []
        for m, name in enumerate(table.names):
            if name not in new.columns:
                columns.append([Cell()] * len(new))
                continue
            texts = self.table.texts[m].tolist()
            seen = dict(zip(texts[::-1], (row[m] for row in self.cells[::-1]), strict=True))
            usual = self._usual(m)
            columns.append(
                [
                    seen.get(text)
                    or Cell(text if usual is None else _as_value(value), usual or GENERAL)
                    for text, value in zip(below[m].tolist(), new[name].tolist(), strict=True)
                ]
            )
        rows = [list(row) for row in zip(*columns, strict=True)]
        return replace(self, cells=[*self.cells, *rows], table=table)

    def _usual(self, m: int) -> str | None:
        """Return the format of the numbers of a column, None where cells are texts."""
        for row in self.cells:
            value = row[m].value
            if isinstance(value, (int, float)):
                return row[m].format
        return None

    def as_csv(self) -> CsvTable:
        """Return the same table as a text file has it."""
        return self.table

    def encode(self) -> bytes:
        """Return the bytes of an xlsx file; they hold no date."""
        check_size(len(self.cells) + self.has_header, len(self.table.names), "the table")
        _check_lengths(self.table)
        openpyxl = require("openpyxl", "an xlsx file")
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(self.title)
        names = [[Cell(name) for name in self.table.names]] if self.has_header else []
        for row in (*names, *self.cells):
            sheet.append([_written(cell, sheet) for cell in row])
        sink = io.BytesIO()
        book.save(sink)
        return _undated(sink.getvalue())


def check_size(rows: int, columns: int, what: str) -> None:
    """Refuse a table that is too large for the format."""
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise TableError(
            f"an xlsx file holds at most {MOST_ROWS:,} rows of {MOST_COLUMNS:,} columns, and "
            f"{what} has {rows:,} of {columns:,}; write a csv or parquet file"
        )


def _check_lengths(table: CsvTable) -> None:
    """Refuse a cell that openpyxl would cut off."""
    longest = max(
        (int(table.texts[m].str.len().max()) for m in table.texts if len(table.texts)), default=0
    )
    longest = max(longest, *map(len, table.names))
    if longest > MOST_CHARACTERS:
        raise TableError(
            f"a cell of an xlsx file holds at most {MOST_CHARACTERS:,} characters, and one has "
            f"{longest:,}; write a csv or parquet file"
        )


def _read_cells(
    content: bytes, name: str, wanted: str | None
) -> tuple[str, list[list[Cell]], tuple[str, ...]]:
    """Return a sheet's title, its cells without the empty rows around them, and notes."""
    openpyxl = require("openpyxl", "an xlsx file")
    _check_packed(content, name)
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        title = _chosen(list(sheets), wanted, name)
        sheet = sheets[title]
        sheet.reset_dimensions()  # they may claim any size
        rows = _trimmed([[_cell(cell) for cell in row] for row in sheet.rows])
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises whatever its parts do
        reason = str(error).split("\n", maxsplit=1)[0]
        raise TableError(
            f"{name} cannot be read as an xlsx file ({reason}); save the table again, or as csv"
        ) from None
    others = [f"{other!r}" for other in sheets if other != title]
    if not others or wanted is not None:
        return title, rows, ()
    guess = (
        f"{name} has {len(sheets)} sheets; {title!r} is read, --sheet NAME reads another: "
        f"{', '.join(others[:5])}{', ...' if len(others) > 5 else ''}"  # noqa: PLR2004
    )
    return title, rows, (guess,)


def _chosen(titles: list[str], wanted: str | None, name: str) -> str:
    if not titles:
        raise TableError(f"{name} has no sheet with cells; save the table as csv")
    if wanted is None:
        return titles[0]
    if wanted in titles:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(titles):
        return titles[int(wanted) - 1]
    raise TableError(
        f"--sheet must be a sheet of {name}, got {wanted!r}{near_names(wanted, titles)}; its "
        f"sheets are {', '.join(map(repr, titles))}"
    )


def _check_packed(content: bytes, name: str) -> None:
    """Refuse what is not an xlsx file, or one that unpacks to far more than a table would."""
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


def _cell(cell: Any) -> Cell:
    """Return a cell of openpyxl; an empty one has no format of its own."""
    if cell.value is None:
        return Cell()
    return Cell(cell.value, cell.number_format or GENERAL)


def _trimmed(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Strip empty rows from both ends, and the empty cells at the end of every row."""
    lengths = [
        max((m + 1 for m, cell in enumerate(row) if cell.value is not None), default=0)
        for row in rows
    ]
    filled = [place for place, length in enumerate(lengths) if length]
    if not filled:
        return []
    width = max(lengths)
    return [row[:width] for row in rows[filled[0] : filled[-1] + 1]]


def _frame(rows: Sequence[Sequence[str]], width: int) -> pd.DataFrame:
    pandas = require("pandas", "reading a table")
    columns = zip(*rows, strict=True) if rows else [()] * width
    frame: pd.DataFrame = pandas.DataFrame(
        {m: list(column) for m, column in enumerate(columns)}, index=range(len(rows)), dtype=str
    )
    return frame


def _as_text(value: Any) -> str:
    """Write a cell as a csv file would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()
    return str(value)


def _as_value(value: Any) -> Any:
    """Return a value that the format can hold; numbers that it would round become texts."""
    value = getattr(value, "item", lambda: value)()
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, float):
        return None if math.isnan(value) else (value if math.isfinite(value) else str(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_INTEGER else str(value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None) if value.tzinfo is None else value.isoformat(" ")
    return value if isinstance(value, (str, dt.date, dt.time, dt.timedelta)) else str(value)


def _written(cell: Cell, sheet: Any) -> Any:
    """Return a cell for openpyxl; a text that looks like a formula stays a text."""
    made = require("openpyxl.cell", "an xlsx file").WriteOnlyCell(sheet)
    value = cell.value
    if isinstance(value, str):
        value = CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", value)
    made.value = value
    if isinstance(value, str) and value.startswith("="):
        made.data_type = "s"
    if cell.format != GENERAL:
        made.number_format = cell.format
    return made


def _undated(content: bytes) -> bytes:
    """Pack a file again without the time at which it was made."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(sink, "w") as new:
        for item in old.infolist():
            part = old.read(item)
            if item.filename == "docProps/core.xml":
                part = WHEN.sub(rb"\g<1>1980-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(item.filename, LONG_AGO), part, zipfile.ZIP_DEFLATED)
    return sink.getvalue()
