"""Text: a csv or tsv file, cell by cell as it was written."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.storage.cells import decimal_mark, plain_text, typed, written
from counterbalance.storage.dialect import Dialect, read_text, unpack
from counterbalance.storage.stored import ARROW, TEXT, Stored, check_suffix, is_packed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TextTable(Stored):
    """A table of texts; columns are numbered, so that names may be there twice."""

    names: list[str]
    texts: pd.DataFrame
    dialect: Dialect
    notes: tuple[str, ...] = ()

    @staticmethod
    def read(content: bytes, name: str, separator: str | None) -> TextTable:
        """Read the bytes of a file."""
        text, dialect = read_text(unpack(content, name), name, separator)
        rows = _rows(text, dialect, name)
        texts = rows.iloc[1:].reset_index(drop=True)
        if dialect.separator == ";":
            dialect = replace(dialect, decimal=decimal_mark(texts))
        guess = (
            f"{name} is not UTF-8; it was read as {dialect.encoding}, look at its accented letters"
        )
        notes = () if dialect.certain else (guess,)
        return TextTable([str(cell) for cell in rows.iloc[0]], texts, dialect, notes)

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
    def frame(self) -> pd.DataFrame:
        """The cells as values."""
        columns = {m: typed(self.texts[m], self.dialect.decimal) for m in self.texts}
        frame: pd.DataFrame = require("pandas", "reading a table").DataFrame(
            columns, index=self.texts.index
        )
        return frame.set_axis(self.names, axis=1)

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""
        return replace(self, texts=self.texts.iloc[rows].reset_index(drop=True))

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows below, each value written as its column writes it."""
        pandas = require("pandas", "reading a table")
        columns = {}
        for m, name in enumerate(self.names):
            if name in new.columns:
                values = self.frame.iloc[:, m]
                columns[m] = written(new[name], self.texts[m], values, self.dialect.decimal)
            else:
                columns[m] = [""] * len(new)
        below = pandas.DataFrame(columns, index=range(len(new)), dtype=str)
        return replace(self, texts=pandas.concat([self.texts, below], ignore_index=True))

    def encode(self, path: Path) -> bytes:
        """Return the bytes of a file of that name, in this dialect; gzip gets no date."""
        suffix = check_suffix(path, "path")
        if suffix in ARROW:
            from counterbalance.storage.arrow import ArrowTable  # noqa: PLC0415 - an extra

            return ArrowTable.of(self.frame).encode(path)
        text = io.StringIO(newline="")
        separator = TEXT[suffix] or self._separator(suffix)
        writer = csv.writer(text, delimiter=separator, lineterminator=self.dialect.line_end)
        writer.writerow(self.names)
        writer.writerows(zip(*(self.texts[m].tolist() for m in self.texts), strict=True))
        content = text.getvalue().encode(self.dialect.encoding)
        return gzip.compress(content, mtime=0) if is_packed(path) else content

    def _separator(self, suffix: str) -> str:
        """Return the separator for a suffix that leaves it open."""
        return (
            "," if suffix == ".csv" and self.dialect.separator == "\t" else self.dialect.separator
        )


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
