"""Table files: read a table from a file, and return that file with new rows below."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from counterbalance.errors import DataNotFoundError, TableError, near_names
from counterbalance.extras import require, require_pandas
from counterbalance.io.atomic import write_files
from counterbalance.io.csv import GZIP, CsvTable, csv_text
from counterbalance.io.reading import AS_IT_IS, Reading, read_file
from counterbalance.io.spreadsheet import SheetTable, encode_sheet

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

# The separator of each text format, or None where it has to be detected.
TEXT: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None}
PARQUET = (".parquet", ".pq")
ARROW = (*PARQUET, ".feather", ".arrow")
SHEET = ".xlsx"
PACKED = ".gz"
KNOWN = ", ".join([*TEXT, SHEET, *ARROW])


class TableFile(Protocol):
    """A table as a file of some format holds it."""

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values, under the names of the columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""

    def with_rows(self, new: pd.DataFrame, rows: NDArray[Any] | None = None) -> bytes:
        """Return the bytes of the file with new rows below; only some ``rows``, if given."""


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """A parquet, feather or arrow file."""

    table: Any
    suffix: str
    notes: tuple[str, ...] = ()

    @staticmethod
    def read(content: bytes, name: str, suffix: str) -> ArrowTable:
        """Read the bytes of a file."""
        pyarrow = require("pyarrow", "a parquet, feather or arrow file")
        source = pyarrow.BufferReader(content)
        try:
            return ArrowTable(_read_arrow(source, suffix), suffix)
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise TableError(
                f"{name} is not a {suffix} file ({reason}); give it the suffix of what it is, or "
                "save the table again"
            ) from None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as values; integers and booleans with missing cells keep their type."""
        pandas = require_pandas()
        types = require("pyarrow", "a parquet, feather or arrow file").types
        columns = {}
        for m, column in enumerate(self.table.columns):
            if types.is_decimal(column.type):
                column = column.cast("float64")  # noqa: PLW2901 - the same cells
            series = column.to_pandas()
            if column.null_count and types.is_integer(column.type):
                series = pandas.Series(column.to_pylist(), dtype="Int64")
            elif column.null_count and types.is_boolean(column.type):
                series = pandas.Series(column.to_pylist(), dtype="boolean")
            columns[m] = series
        frame: pd.DataFrame = pandas.DataFrame(columns, index=range(self.table.num_rows))
        return frame.set_axis(self.table.column_names, axis=1)

    def with_rows(self, new: pd.DataFrame, rows: NDArray[Any] | None = None) -> bytes:
        """Return the bytes of the file with new rows below, in the same schema."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        old = self.table if rows is None else self.table.take(rows)
        fields, arrays = [], []
        for field in old.schema:
            if field.name not in new.columns:
                fields.append(field.with_nullable(nullable=True))
                arrays.append(pa.nulls(len(new), field.type))
                continue
            column = new[field.name]
            cells = column.astype(object).where(column.notna(), None).tolist()
            if pa.types.is_decimal(field.type):  # loses the digits that it cannot hold
                array = pa.array(cells, "float64").cast(field.type, safe=False)
            else:
                array = pa.array(cells, field.type)
            fields.append(field)
            arrays.append(array)
        schema = pa.schema(fields, metadata=old.schema.metadata)
        below = pa.Table.from_arrays(arrays, schema=schema)
        above = pa.Table.from_arrays(old.columns, schema=schema)
        return _encode_arrow(pa.concat_tables([above, below]).unify_dictionaries(), self.suffix)


def _read_arrow(source: Any, suffix: str) -> Any:
    from pyarrow import feather, ipc, lib, parquet  # noqa: PLC0415 - an extra

    if suffix in PARQUET:
        return parquet.read_table(source)
    try:
        return feather.read_table(source)
    except lib.ArrowInvalid:  # arrow's own format, as a stream
        source.seek(0)
        return ipc.open_stream(source).read_all()


def _encode_arrow(table: Any, suffix: str) -> bytes:
    from pyarrow import ipc, parquet  # noqa: PLC0415 - an extra

    sink = io.BytesIO()
    if suffix in PARQUET:
        parquet.write_table(table, sink)
    else:
        with ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def read_table_file(path: Path, reading: Reading = AS_IT_IS) -> TableFile:
    """Read a table in the format of its file's suffix."""
    if path.is_dir():
        raise DataNotFoundError(f"TABLE must be a file, and {path} is a folder; name a file in it")
    if not path.exists():
        folder = path.absolute().parent
        others = sorted(other.name for other in folder.iterdir()) if folder.is_dir() else []
        raise DataNotFoundError(
            f"TABLE must be a file, and there is none at {path}{near_names(path.name, others)}; "
            "give the path of a csv, tsv, xlsx, parquet or feather file"
        )
    suffix = check_suffix(path)
    if reading.sheet is not None and suffix != SHEET:
        raise TableError(
            f"--sheet goes with {SHEET} files, and {path.name} is not one; leave it out"
        )
    if suffix in ARROW and reading.options:
        raise TableError(
            f"{reading.options[0]} goes with text files and spreadsheets; a parquet, feather or "
            "arrow file itself says what its columns hold; leave it out"
        )
    content = read_file(path)
    if suffix in TEXT:
        return CsvTable.read(content, path.name, TEXT[suffix], reading)
    if suffix == SHEET:
        return SheetTable.read(content, path.name, reading)
    return ArrowTable.read(content, path.name, suffix)


def encode_with_rows(
    stored: TableFile, path: Path, new: pd.DataFrame, rows: NDArray[Any] | None = None
) -> bytes:
    """Return the bytes of a table with new rows below, in the format of ``path``.

    A file of the same format is the old one with new rows; any other format gets the values.
    """
    suffix = check_suffix(path)
    if isinstance(stored, SheetTable) and suffix == SHEET:
        return stored.with_rows(new, rows)
    if isinstance(stored, ArrowTable) and suffix in ARROW:
        return replace(stored, suffix=suffix).with_rows(new, rows)
    if isinstance(stored, CsvTable) and TEXT.get(suffix, "") in {None, stored.separator}:
        content = stored.with_rows(new, rows)
        packed, wanted = content.startswith(GZIP), path.suffix.lower() == PACKED
        if packed == wanted:
            return content
        return gzip.compress(content, mtime=0) if wanted else gzip.decompress(content)
    old = stored.frame if rows is None else stored.frame.iloc[rows]
    empty = require_pandas().Series([None] * len(new), dtype=object)
    columns = {
        name: require_pandas().concat([old[name], new.get(name, empty)], ignore_index=True)
        for name in old.columns
    }
    return encode_frame(require_pandas().DataFrame(columns), path)


def write_table_file(table: TableFile, path: Path, like: Path | None = None) -> None:
    """Write a table to a file, whole or not at all; it is as private as the file ``like``."""
    write_files({path: encode_with_rows(table, path, table.frame.head(0))}, like)


def encode_frame(frame: pd.DataFrame, path: Path) -> bytes:
    """Return a table as the bytes of a file of that name."""
    suffix = check_suffix(path, "path")
    names = [str(name) for name in frame.columns]
    if suffix in ARROW:
        pyarrow = require("pyarrow", "a parquet, feather or arrow file")
        return _encode_arrow(pyarrow.Table.from_pandas(frame, preserve_index=False), suffix)
    is_missing = frame.isna().to_numpy()
    cells = frame.astype(object).to_numpy()
    cells[is_missing] = None
    if suffix == SHEET:
        return encode_sheet([names, *cells.tolist()])
    content = csv_text([names, *cells.tolist()], TEXT[suffix] or ",").encode()
    return gzip.compress(content, mtime=0) if path.suffix.lower() == PACKED else content


def check_format(path: Path, what: str) -> None:
    """Raise if a file cannot be written: its suffix is unknown or a package is missing."""
    suffix = check_suffix(path, what)
    if suffix in ARROW:
        require("pyarrow", f"{what} {path.name}")
    if suffix == SHEET:
        require("openpyxl", f"{what} {path.name}")


def check_suffix(path: Path, what: str = "TABLE") -> str:
    """Return the suffix that names the format, without that of gzip."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == PACKED
    suffix = next(iter(suffixes[::-1][packed:]), "")
    if suffix in TEXT or (suffix in (*ARROW, SHEET) and not packed):
        return suffix
    raise TableError(
        f"{what} must end in one of {KNOWN} (the first four also with {PACKED}), "
        f"got {path.name!r}; convert or rename the file"
    )
