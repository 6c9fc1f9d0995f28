"""Text: a csv or tsv file, cell by cell as it was written."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.csv_cells import (
    Column,
    decimal_mark,
    plain_text,
    read_column,
    stands_for,
    written,
)
from counterbalance.io.dialect import Dialect, read_text, unpack
from counterbalance.io.header import check_header, column_names
from counterbalance.io.reading import AS_IT_IS, Reading
from counterbalance.io.table_file import ARROW, SHEET, TEXT, Stored, check_suffix, is_packed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

# What a note names at most, and how much of it.
LISTED, LONGEST = 4, 40


@dataclass(frozen=True, eq=False)
class TextTable(Stored):
    """A table of texts; columns are numbered, so that names may be there twice."""

    names: list[str]
    texts: pd.DataFrame
    dialect: Dialect
    reading: Reading = AS_IT_IS
    guesses: tuple[str, ...] = ()

    @staticmethod
    def read(
        content: bytes, name: str, separator: str | None, reading: Reading = AS_IT_IS
    ) -> TextTable:
        """Read the bytes of a file."""
        text, dialect = read_text(unpack(content, name), name, separator)
        rows = _rows(text, dialect, name)
        dialect = replace(dialect, decimal=decimal_mark(rows.iloc[1:], dialect.separator))
        guess = (
            f"{name} is not UTF-8; it was read as {dialect.encoding}, look at its accented letters"
        )
        guesses = () if dialect.certain else (guess,)
        return TextTable.under_header(rows, dialect, name, reading, guesses)

    @staticmethod
    def under_header(
        rows: pd.DataFrame,
        dialect: Dialect,
        name: str,
        reading: Reading,
        guesses: tuple[str, ...] = (),
    ) -> TextTable:
        """Take rows of texts, the first of which are the names unless ``reading`` denies it."""
        if reading.header is False:
            return TextTable(column_names(rows.shape[1]), rows, dialect, reading, guesses)
        first = [str(cell) for cell in rows.iloc[0]]
        below = rows.iloc[1:].reset_index(drop=True)
        if reading.header is None:
            check_header(first, below, dialect.decimal, name)
        return TextTable(first, below, dialect, reading, guesses)

    @staticmethod
    def of(frame: pd.DataFrame, dialect: Dialect) -> TextTable:
        """Write values as texts."""
        pandas = require("pandas", "reading a table")
        columns = {
            m: [
                "" if is_gone else plain_text(value, dialect.decimal)
                for value, is_gone in zip(column.tolist(), column.isna(), strict=True)
            ]
            for m, (_, column) in enumerate(frame.items())
        }
        texts = pandas.DataFrame(columns, index=range(len(frame)), dtype=str)
        return TextTable([str(name) for name in frame.columns], texts, dialect)

    @cached_property
    def columns(self) -> list[Column]:
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
            f"no cell is {text[:LONGEST]!r}, which --na names"
            for text in self.reading.missing
            if not any(stands_for(self.texts[m], (text,)).any() for m in self.texts)
        )
        return (*self.guesses, *describe_styles(self.names, self.columns, self.texts), *unused)

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
                columns[m] = written(
                    new[name], self.texts[m], old.series, self.dialect.decimal, old.style
                )
            else:
                columns[m] = [""] * len(new)
        below = pandas.DataFrame(columns, index=range(len(new)), dtype=str)
        return replace(self, texts=pandas.concat([self.texts, below], ignore_index=True))

    def encode(self, path: Path) -> bytes:
        """Return the bytes of a file of that name, in this dialect; gzip gets no date."""
        suffix = check_suffix(path, "path")
        if suffix in ARROW:
            from counterbalance.io.arrow import ArrowTable  # noqa: PLC0415 - an extra

            return ArrowTable.of(self.frame).encode(path)
        if suffix == SHEET:
            from counterbalance.io.spreadsheet import SheetTable  # noqa: PLC0415 - an extra

            return SheetTable.of(self.frame, header=self.reading.header is not False).encode(path)
        text = io.StringIO(newline="")
        separator = TEXT[suffix] or self._separator(suffix)
        writer = csv.writer(text, delimiter=separator, lineterminator=self.dialect.line_end)
        if self.reading.header is not False:
            writer.writerow(self.names)
        writer.writerows(zip(*(self.texts[m].tolist() for m in self.texts), strict=True))
        content = self.dialect.mark + text.getvalue().encode(self.dialect.encoding)
        return gzip.compress(content, mtime=0) if is_packed(path) else content

    def _separator(self, suffix: str) -> str:
        """Return the separator for a suffix that leaves it open."""
        return (
            "," if suffix == ".csv" and self.dialect.separator == "\t" else self.dialect.separator
        )


def describe_styles(
    names: Sequence[str], columns: Sequence[Column], texts: pd.DataFrame
) -> Iterator[str]:
    """Say which columns were read as numbers though they are written as more than that."""
    styled = [m for m, column in enumerate(columns) if column.style and not column.style.plain]
    if styled:
        known = texts[styled[0]][columns[styled[0]].series.notna()]
        style = columns[styled[0]].style
        shown = next((cell for cell in known if style and style.thousands in cell), known.iloc[0])
        yield (
            f"{_listed(names, styled)} read as numbers such as {shown[:LONGEST]!r}, and new cells "
            "are written alike; --text COL reads a column as text"
        )
    gaps = [m for m, column in enumerate(columns) if column.not_known]
    if gaps:
        cells = dict.fromkeys(cell for m in gaps for cell in columns[m].not_known)
        some = ", ".join(repr(cell[:LONGEST]) for cell in list(cells)[:LISTED])
        yield (
            f"{_listed(names, gaps)} read as numbers, cells such as {some} as missing ones; "
            "--text COL reads a column as text"
        )


def _listed(names: Sequence[str], places: Sequence[int]) -> str:
    some = ", ".join(repr(names[m][:LONGEST]) for m in places[:LISTED])
    more = f" and {len(places) - LISTED} more" if len(places) > LISTED else ""
    return f"column {some} is" if len(places) == 1 else f"columns {some}{more} are"


def _rows(text: str, dialect: Dialect, name: str) -> pd.DataFrame:
    """Cut a text into cells, the header first."""
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
            f"{name} cannot be cut into cells: {reason}; mend that line, or save the table anew"
        ) from None
    return rows.fillna("")
