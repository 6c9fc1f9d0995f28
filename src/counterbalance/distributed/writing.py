"""Writing: the rows of one partition and the new ones made from them, as parquet.

A partition is read once: its rows go out as they came, with the types of the file, and the
new rows of each class behind them into files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from counterbalance.distributed.balancing import Piece
from counterbalance.distributed.building import New, build_block, numbered
from counterbalance.distributed.found import Found
from counterbalance.distributed.inside import Interiors, Members, build_interiors
from counterbalance.distributed.partitions import FileRows, Place
from counterbalance.distributed.plan import Plan
from counterbalance.distributed.records import (
    Written,
    describe,
    read_record,
    write_record,
)
from counterbalance.distributed.unfinished import WORK
from counterbalance.io.atomic import written_whole
from counterbalance.rows.provenance import COLUMNS

# Names with an underscore in front are no data to whoever reads the folder as one table.
PROVENANCE = "_provenance"
RECORDS = f"{WORK}/records"


@dataclass(frozen=True)
class Target:
    """Where the result goes, and in which form."""

    folder: str
    schema: pa.Schema
    label: pa.DataType  # of the classes
    n_old: int  # rows of the whole table
    digits: int  # of the numbers of files

    def data(self, number: int) -> Path:
        """Return the file of rows with this number."""
        return Path(self.folder) / f"part-{number:0{self.digits}d}.parquet"

    def provenance(self, number: int) -> Path:
        """Return where the provenance of these rows goes."""
        return Path(self.folder) / PROVENANCE / self.data(number).name

    @property
    def provenance_schema(self) -> pa.Schema:
        """The types of the provenance."""
        types = dict.fromkeys(COLUMNS, pa.float64())
        types |= dict.fromkeys(("sample", "factual", "round"), pa.int64())
        types |= dict.fromkeys(("origin", "changed"), pa.string())
        types |= dict.fromkeys(("from_class", "to_class"), self.label)
        return pa.schema(types)

    def record(self, name: str) -> Path:
        """Return where a task notes what it wrote."""
        return Path(self.folder) / RECORDS / f"{name}.json"


@dataclass(frozen=True)
class Order:
    """A piece, and the number of its file."""

    piece: Piece
    number: int


def write_partition(
    partition: FileRows,
    place: Place,
    plan: Plan,
    f: Any,
    orders: list[Order],
    found: list[Found],
    target: Target,
) -> list[Written]:
    """Write the rows of a partition and the new ones; ``found`` goes with ``orders``."""
    record = target.record(f"partition-{place.number:0{target.digits}d}")
    done = read_record(record, Path(target.folder))
    if done is not None:
        return done
    with ExitStack() as stack:
        old = stack.enter_context(_rows_file(target.data(place.number), target.schema))
        new = [stack.enter_context(_new_files(target, order)) for order in orders]
        first, used = place.first, partition.only(plan.layout.names)
        for batch in partition.batches(plan.size):
            old.write(pa.Table.from_batches([batch]))
            stop = first + batch.num_rows
            chosen = [
                part.between(first, stop, order.piece.target)
                for part, order in zip(found, orders, strict=True)
            ]
            if any(map(len, chosen)):
                problem = plan.problem(used.frame(batch), first)
                for some, order, opened in zip(chosen, orders, new, strict=True):
                    if len(some):
                        piece = order.piece
                        opened.write(
                            build_block(problem, f, plan, some, piece.target, piece.origin)
                        )
            first = stop
    files = [describe(target.data(place.number), Path(target.folder), place.n_rows)]
    files += [file for order in orders for file in _describe(target, order)]
    write_record(record, files)
    return files


def write_interiors(
    members: Members, plan: Plan, f: Any, order: Order, chosen: Interiors, target: Target
) -> list[Written]:
    """Write a piece of interior samples."""
    record = target.record(f"interior-{order.number:0{target.digits}d}")
    done = read_record(record, Path(target.folder))
    if done is not None:
        return done
    with _new_files(target, order) as new:
        for start in range(0, len(chosen), plan.size):
            part = chosen.part(start, start + plan.size)
            new.write(build_interiors(members, plan, f, order.piece.target, part))
    files = _describe(target, order)
    write_record(record, files)
    return files


def _describe(target: Target, order: Order) -> list[Written]:
    paths = (target.data(order.number), target.provenance(order.number))
    return [describe(path, Path(target.folder), order.piece.n_rows) for path in paths]


@dataclass
class _Rows:
    """A parquet file that is being written."""

    writer: parquet.ParquetWriter
    schema: pa.Schema

    def write(self, table: pa.Table) -> None:
        """Write some rows, with the columns and types of the schema; what is not there is empty."""
        for field in self.schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        cells = [
            # A decimal was a float meanwhile: it may lose digits that it does not have.
            table.column(field.name).cast(field.type, safe=not pa.types.is_decimal(field.type))
            for field in self.schema
        ]
        table = pa.Table.from_arrays(cells, schema=self.schema)
        self.writer.write_table(table.replace_schema_metadata(self.schema.metadata))

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write the rows of a frame."""
        self.write(pa.Table.from_pandas(frame, preserve_index=False))


@contextmanager
def _rows_file(path: Path, schema: pa.Schema) -> Iterator[_Rows]:
    with written_whole(path) as unfinished, parquet.ParquetWriter(unfinished, schema) as writer:
        yield _Rows(writer, schema)


@dataclass
class _New:
    """The files of a piece, that are being written."""

    rows: _Rows
    notes: _Rows
    n_old: int
    start: int

    def write(self, new: New) -> None:
        """Write some new rows and their provenance."""
        new = numbered(new, self.n_old, self.start, None)
        self.start += len(new.rows)
        self.rows.write_frame(new.rows)
        self.notes.write_frame(new.provenance)


@contextmanager
def _new_files(target: Target, order: Order) -> Iterator[_New]:
    with (
        _rows_file(target.data(order.number), target.schema) as rows,
        _rows_file(target.provenance(order.number), target.provenance_schema) as notes,
    ):
        yield _New(rows, notes, target.n_old, order.piece.start)
