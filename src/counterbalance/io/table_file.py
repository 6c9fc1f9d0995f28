"""Table files: a table as a file holds it, read and written in the format of its suffix."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

from counterbalance.errors import DataNotFoundError, TableError, near_names
from counterbalance.extras import require
from counterbalance.io.atomic import written_whole
from counterbalance.io.csv import CsvTable, Dialect
from counterbalance.io.reading import AS_IT_IS, Reading, read_file
from counterbalance.io.spreadsheet import SheetTable

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """A pyarrow table."""

    table: Any
    notes: tuple[str, ...] = ()
    has_header: bool = True

    @staticmethod
    def read(content: bytes, name: str, suffix: str) -> ArrowTable:
        """Read the bytes of a file."""
        pyarrow = require_pyarrow()
        source = pyarrow.BufferReader(content)
        try:
            if suffix in PARQUET:
                from pyarrow import parquet  # noqa: PLC0415 - an extra

                return ArrowTable(parquet.read_table(source))
            return ArrowTable(_read_ipc(source))
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise TableError(
                f"{name} is not a {suffix} file ({reason}); give it the suffix of what it is, or "
                "save the table again"
            ) from None

    @staticmethod
    def from_frame(frame: pd.DataFrame) -> ArrowTable:
        """Return values as a table; arrow chooses the types of the columns."""
        return ArrowTable(require_pyarrow().Table.from_pandas(frame, preserve_index=False))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as values; missing cells make no floats of integers and booleans."""
        import pandas as pd  # noqa: PLC0415 - an extra

        types = require_pyarrow().types
        columns = {}
        for m, column in enumerate(self.table.columns):
            if types.is_decimal(column.type):
                column = column.cast("float64")  # noqa: PLW2901 - the same cells
            series = column.to_pandas()
            if column.null_count and types.is_integer(column.type):
                series = pd.Series(column.to_pylist(), dtype="Int64")
            elif column.null_count and types.is_boolean(column.type):
                series = pd.Series(column.to_pylist(), dtype="boolean")
            columns[m] = series
        frame = pd.DataFrame(columns, index=range(self.table.num_rows))
        return frame.set_axis(self.table.column_names, axis=1)

    def read_as(self, reading: Reading) -> Self:
        """Return the same table: its schema says what a cell is."""
        given = replace(reading, header=None if reading.header else reading.header).words
        if given:
            raise TableError(
                f"{given[0]} goes with text files and spreadsheets; a parquet, feather or arrow "
                "file itself says what its columns hold; leave it out"
            )
        return self

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""
        return replace(self, table=self.table.take(rows))

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows below, in the same schema."""
        pyarrow = require_pyarrow()
        fields, arrays = [], []
        for field in self.table.schema:
            if field.name in new.columns:
                column = new[field.name]
                cells = column.astype(object).where(column.notna(), None).tolist()
                arrays.append(_array(cells, field.type))
                fields.append(field)
            else:
                arrays.append(pyarrow.nulls(len(new), field.type))
                fields.append(field.with_nullable(nullable=True))
        schema = pyarrow.schema(fields, metadata=self.table.schema.metadata)
        below = pyarrow.Table.from_arrays(arrays, schema=schema)
        above = pyarrow.Table.from_arrays(self.table.columns, schema=schema)
        return replace(self, table=pyarrow.concat_tables([above, below]).unify_dictionaries())

    def as_csv(self) -> CsvTable:
        """Return the same table as a text file has it."""
        return CsvTable.from_frame(self.frame, Dialect())

    def encode(self, suffix: str) -> bytes:
        """Return the bytes of a file with that suffix."""
        sink = io.BytesIO()
        if suffix in PARQUET:
            from pyarrow import parquet  # noqa: PLC0415 - an extra

            parquet.write_table(self.table, sink)
        else:
            from pyarrow import ipc  # noqa: PLC0415 - an extra

            with ipc.new_file(sink, self.table.schema) as writer:
                writer.write_table(self.table)
        return sink.getvalue()


def require_pyarrow() -> Any:
    """Return the module pyarrow, or say how to install it."""
    return require("pyarrow", "a parquet, feather or arrow file")


def _read_ipc(source: Any) -> Any:
    """Read feather or arrow's own format, from a file or a stream."""
    from pyarrow import feather, ipc, lib  # noqa: PLC0415 - an extra

    try:
        return feather.read_table(source)
    except lib.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source).read_all()


def _array(cells: list[Any], type_: Any) -> Any:
    """Return cells as an array of a type; numbers lose the digits that it cannot hold."""
    pyarrow = require_pyarrow()
    if pyarrow.types.is_decimal(type_):
        return pyarrow.array(cells, "float64").cast(type_, safe=False)
    return pyarrow.array(cells, type_)


# The separator of each text format, or None where it has to be detected.
TEXT: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None}
ARROW = (*PARQUET, ".feather", ".arrow")
SHEET = ".xlsx"
PACKED = ".gz"
KNOWN = ", ".join([*TEXT, SHEET, *ARROW])


class TableFile(Protocol):
    """A table as a file of some format holds it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be guessed to read it."""

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as values. Column names are texts and may occur more than once."""

    @property
    def has_header(self) -> bool:
        """Whether the names of the columns are part of the file."""

    def read_as(self, reading: Reading) -> Self:
        """Return the same table with its cells read another way."""

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the rows."""

    def append(self, new: pd.DataFrame) -> Self:
        """Return the table with rows of values below; columns that ``new`` lacks are missing."""

    def as_csv(self) -> CsvTable:
        """Return the same table as a text file has it."""


def read_table_file(path: Path, reading: Reading = AS_IT_IS) -> TableFile:
    """Read a table in the format that the suffix of its file names."""
    if path.is_dir():
        raise DataNotFoundError(f"TABLE must be a file, and {path} is a folder; name a file in it")
    if not path.exists():
        near = near_names(path.name, [other.name for other in _siblings(path)])
        raise DataNotFoundError(
            f"TABLE must be a file, and there is none at {path}{near}; give the path of a csv, "
            "tsv, xlsx, parquet or feather file"
        )
    suffix = check_suffix(path)
    content = read_file(path)
    if reading.sheet is not None and suffix != SHEET:
        raise TableError(
            f"--sheet goes with {SHEET} files, and {path.name} is not one; leave it out"
        )
    if suffix in TEXT:
        return CsvTable.read(content, path.name, TEXT[suffix], reading)
    if suffix == SHEET:
        return SheetTable.read(content, path.name, reading)
    return ArrowTable.read(content, path.name, suffix).read_as(reading)


def write_table_file(table: TableFile, path: Path, like: Path | None = None) -> None:
    """Write a table in the format that the suffix names, whole or not at all.

    The new file is as private as the file ``like``.
    """
    content = encode(table, path)
    with written_whole(path, like=like) as part:
        part.write_bytes(content)


def encode(table: TableFile, path: Path) -> bytes:
    """Return the bytes of a file of that name."""
    suffix = check_suffix(path, "path")
    if suffix in ARROW:
        arrow = table if isinstance(table, ArrowTable) else ArrowTable.from_frame(table.frame)
        return arrow.encode(suffix)
    if suffix == SHEET:
        if not isinstance(table, SheetTable):
            table = SheetTable.from_frame(table.frame, header=table.has_header)
        return table.encode()
    text = table.as_csv()
    separator = TEXT[suffix] or text.dialect.separator
    if suffix == ".csv" and separator == "\t":
        separator = ","
    return text.encode(separator, packed=path.suffix.lower() == PACKED)


def check_format(path: Path, what: str) -> None:
    """Refuse a file that could not be written for want of a suffix or of a package."""
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


def _siblings(path: Path) -> list[Path]:
    folder = path.absolute().parent
    return sorted(folder.iterdir()) if folder.is_dir() else []
