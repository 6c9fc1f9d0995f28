"""Write: the rows of one partition and the new ones made from them, as parquet.

The rows of a partition are written as they came, with the types of the file, and the new rows of
each class are written to files of their own. A file that needs no change is copied byte for byte;
others are read once, and new rows are made on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import Found
from counterbalance.distributed.inputs import FileRows, Inputs, Place, index_columns
from counterbalance.distributed.prepare import SearchPlan
from counterbalance.distributed.resume import (
    WORK,
    WrittenFile,
    copy_file,
    describe,
    read_record,
    write_record,
)
from counterbalance.distributed.rows import (
    Balance,
    BuiltRows,
    GatheredClass,
    Interiors,
    MemberLots,
    Piece,
    build_block,
    build_interiors,
    numbered,
)
from counterbalance.io.atomic import written_whole
from counterbalance.rows.provenance import COLUMNS

# Readers of the folder as one table skip names that begin with an underscore.
PROVENANCE = "_provenance"
RECORDS = f"{WORK}/records"
# The numbers of files have at least so many digits, so that names sort as the numbers do.
DIGITS = 5


@dataclass(frozen=True)
class OutputFolder:
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
        """Return where a task records what it wrote."""
        return Path(self.folder) / RECORDS / f"{name}.json"


@dataclass(frozen=True)
class PieceFile:
    """A piece, and the number of its file."""

    piece: Piece
    number: int


def write_result(
    engine: DaskEngine,
    result: Balance,
    inputs: Inputs,
    kept: Iterable[str],
    partial: Path,
    used: list[FileRows],
) -> list[WrittenFile]:
    """Write the rows of the files and the new ones; return what was written, by name.

    ``used`` are the partitions with the columns that are used.
    """
    prepared, pieces, parts = result.prepared, result.pieces, inputs.partitions
    label = inputs.schema.field(prepared.plan.layout.target).type
    output = OutputFolder(
        str(partial.absolute()),
        inputs.with_nulls(kept),
        label.value_type if pa.types.is_dictionary(label) else label,
        prepared.n_rows,
        max(DIGITS, len(str(len(parts) + len(pieces)))),
    )
    files = [PieceFile(piece, number) for number, piece in enumerate(pieces, len(parts))]
    plan, f = result.plan, result.f
    by_partition: list[list[tuple[PieceFile, Any]]] = [[] for _ in parts]
    tasks = []
    for file, material in zip(files, result.material, strict=True):
        piece = file.piece
        if piece.partition is not None:
            by_partition[piece.partition].append((file, material))
        else:
            gathered = result.gathered[piece.target]
            tasks.append(engine.task(write_interiors, gathered, plan, f, file, material, output))
    for part, own, place, made in zip(parts, used, prepared.places, by_partition, strict=True):
        mine, chosen = [file for file, _ in made], [material for _, material in made]
        both = (part, own)
        tasks.append(engine.task(write_partition, both, place, plan, f, mine, chosen, output))
    written = engine.compute(tasks, "write")
    return sorted((file for files in written for file in files), key=lambda file: file.name)


def write_partition(
    partition: tuple[FileRows, FileRows],
    place: Place,
    plan: SearchPlan,
    f: Any,
    pieces: list[PieceFile],
    material: list[Found | MemberLots],
    output: OutputFolder,
) -> list[WrittenFile]:
    """Write the rows of a partition and the new ones, made from the ``material`` of each piece.

    ``partition`` has all columns, and those that are used.
    """
    record = output.record(f"partition-{place.number:0{output.digits}d}")
    done = read_record(record, Path(output.folder))
    if done is not None:
        return done
    folder, (rows, used) = Path(output.folder), partition
    copied = None
    if _is_as_it_shall_be(rows, output.schema):
        copied = copy_file(rows.path, output.data(place.number), folder, place.n_rows)
    first = place.first
    with ExitStack() as stack:
        new = [stack.enter_context(_new_files(output, file)) for file in pieces]
        if copied is None:
            old = stack.enter_context(_rows_file(output.data(place.number), output.schema))
        for batch in (rows if copied is None else used).batches(plan.size):
            if copied is None:
                old.write(pa.Table.from_batches([batch]))
            stop = first + batch.num_rows
            chosen = [
                part.between(first, stop, file.piece.target)
                for part, file in zip(material, pieces, strict=True)
            ]
            if any(map(len, chosen)):
                problem = plan.problem(used.frame(batch.select(used.columns)), first)
                for some, file, opened in zip(chosen, pieces, new, strict=True):
                    if len(some):
                        piece = file.piece
                        opened.write(
                            build_block(problem, f, plan, some, piece.target, piece.origin)
                        )
            first = stop
    files = [copied or describe(output.data(place.number), folder, place.n_rows)]
    files += [written for file in pieces for written in _describe(output, file)]
    write_record(record, files)
    return files


def _is_as_it_shall_be(rows: FileRows, schema: pa.Schema) -> bool:
    """Say whether a file holds the rows of the partition in the very form of the result."""
    with parquet.ParquetFile(rows.path) as file:
        own = file.schema_arrow
    return rows.is_whole_file and own.equals(schema) and not index_columns(own)


def write_interiors(
    gathered: GatheredClass,
    plan: SearchPlan,
    f: Any,
    file: PieceFile,
    chosen: Interiors,
    output: OutputFolder,
) -> list[WrittenFile]:
    """Write a piece of interior samples."""
    record = output.record(f"interior-{file.number:0{output.digits}d}")
    done = read_record(record, Path(output.folder))
    if done is not None:
        return done
    with _new_files(output, file) as new:
        for start in range(0, len(chosen), plan.size):
            part = chosen.part(start, start + plan.size)
            new.write(build_interiors(gathered, plan, f, file.piece.target, part))
    files = _describe(output, file)
    write_record(record, files)
    return files


def _describe(output: OutputFolder, file: PieceFile) -> list[WrittenFile]:
    paths = (output.data(file.number), output.provenance(file.number))
    return [describe(path, Path(output.folder), file.piece.n_rows) for path in paths]


@dataclass
class _ParquetRows:
    """A parquet file that is being written."""

    writer: parquet.ParquetWriter
    schema: pa.Schema

    def write(self, table: pa.Table) -> None:
        """Write some rows with the columns and types of the schema; absent columns are empty."""
        for field in self.schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        cells = [
            # A decimal was a float in between: the digits that it may lose are not its own.
            table.column(field.name).cast(field.type, safe=not pa.types.is_decimal(field.type))
            for field in self.schema
        ]
        table = pa.Table.from_arrays(cells, schema=self.schema)
        self.writer.write_table(table.replace_schema_metadata(self.schema.metadata))

    def write_frame(self, frame: pd.DataFrame) -> None:
        """Write the rows of a frame."""
        self.write(pa.Table.from_pandas(frame, preserve_index=False))


@contextmanager
def _rows_file(path: Path, schema: pa.Schema) -> Iterator[_ParquetRows]:
    with (
        written_whole(path, durable=False) as unfinished,
        parquet.ParquetWriter(unfinished, schema) as writer,
    ):
        yield _ParquetRows(writer, schema)


@dataclass
class _PieceWriter:
    """The files of a piece while they are being written."""

    rows: _ParquetRows
    notes: _ParquetRows
    n_old: int
    start: int

    def write(self, new: BuiltRows) -> None:
        """Write some new rows and their provenance."""
        new = numbered(new, self.n_old, self.start, None)
        self.start += len(new.rows)
        self.rows.write_frame(new.rows)
        self.notes.write_frame(new.provenance)


@contextmanager
def _new_files(output: OutputFolder, file: PieceFile) -> Iterator[_PieceWriter]:
    with (
        _rows_file(output.data(file.number), output.schema) as rows,
        _rows_file(output.provenance(file.number), output.provenance_schema) as notes,
    ):
        yield _PieceWriter(rows, notes, output.n_old, file.piece.start)
