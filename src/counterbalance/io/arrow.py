"""Arrow files: parquet, feather and arrow, each with a schema of its own."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.io.csv import CsvTable, Dialect
from counterbalance.io.reading import Reading

if TYPE_CHECKING:
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
