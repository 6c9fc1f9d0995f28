"""Inputs: parquet files that together are one table, and how their rows are read.

    partition    rows that one task works on: a frame of a Dask dataframe, or some row
                 groups of a parquet file
    block        as many rows of a partition as fit into a worker's memory
    first        the position of a partition's first row in the whole table

    spool        a copy of a partition that the first pass leaves for the others: the columns that
                 are used, as Arrow has them in memory. To decode parquet takes longer than most
                 passes, so row groups are decoded once

A row's position in the whole table is its id: its random draws depend on nothing else.

The files are checked before any work starts, by their footers only: whether each can be opened,
whether all have the same columns of the same types, and which columns hold nulls. The cells are
looked at by the scan.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet

from counterbalance.errors import TableError
from counterbalance.io.atomic import OWN, written_whole

# Cells of one task: few enough to be processed again when a worker dies, and enough to keep the
# scheduler from being busy. It never depends on the memory: a rerun cuts the files the same way.
CELLS_PER_PARTITION = 5_000_000
# The dtypes of pandas for whole numbers and booleans with missing cells.
NULLABLE = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
# How many faulty files a message names.
NAMED_FILES = 5


@dataclass(frozen=True)
class Place:
    """Which rows of the whole table a partition holds."""

    number: int
    name: str
    first: int
    n_rows: int


@dataclass(frozen=True)
class FileRows:
    """Some row groups of a parquet file."""

    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    nullable: frozenset[str]  # columns with nulls in some file: read as nullable from every file
    n_rows: int
    spool: str | None = None  # where the spool is, or shall be

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Read the rows, at most ``size`` at a time."""
        if self.spool is not None and Path(self.spool).exists():
            yield from self._spooled(size)
            return
        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(size, row_groups=self.groups, columns=self.columns):
                if batch.num_rows:
                    yield batch.select(self.columns)

    def first_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Read the rows for the first time, and leave a spool for the other passes."""
        fresh = replace(self, spool=None)
        if self.spool is None:
            yield from fresh.batches(size)
            return
        with parquet.ParquetFile(self.path) as file:
            kept = file.schema_arrow
        schema = pa.schema([kept.field(name) for name in self.columns])
        with written_whole(Path(self.spool), durable=False) as unfinished:
            unfinished.chmod(OWN)
            # A stream: in Arrow's file format all batches share the levels of a category.
            with pa.OSFile(str(unfinished), "wb") as sink, ipc.new_stream(sink, schema) as writer:
                for batch in fresh.batches(size):
                    writer.write_batch(batch.cast(schema))
                    yield batch

    def _spooled(self, size: int) -> Iterator[pa.RecordBatch]:
        # Not mapped into memory: a worker would take the pages for its own and stop at its limit.
        with pa.OSFile(self.spool) as source, ipc.open_stream(source) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size).select(self.columns)

    @property
    def is_whole_file(self) -> bool:
        """Whether the partition holds every row of its file."""
        with parquet.ParquetFile(self.path) as file:
            return len(self.groups) == int(file.metadata.num_row_groups)

    def frame(self, batch: pa.RecordBatch) -> pd.DataFrame:
        """Return a batch as a frame; whole numbers with nulls stay whole.

        Decimals become floats, as in memory.
        """
        fields = {field.name: field.type for field in batch.schema}
        plain = [name for name in self.columns if name not in self.nullable]
        table = pa.Table.from_batches([batch])
        for place, field in enumerate(batch.schema):
            if pa.types.is_decimal(field.type):
                cells = table.column(place).cast(pa.float64())
                table = table.set_column(place, field.with_type(pa.float64()), cells)
        frame: pd.DataFrame = table.select(plain).to_pandas().reset_index(drop=True)
        for name in self.columns:
            if name in self.nullable:
                dtype = NULLABLE[fields[name]]
                frame[name] = table.column(name).to_pandas(types_mapper={fields[name]: dtype}.get)
        return frame[list(self.columns)]

    def only(self, columns: list[str]) -> FileRows:
        """Return the same rows with fewer columns."""
        return replace(self, columns=tuple(columns))

    def spooled_to(self, folder: Path, number: int) -> FileRows:
        """Return the same rows with a place for their spool."""
        return replace(self, spool=str(folder.absolute() / f"{number:05d}.arrow"))


# A partition as a task gets it.
Partition = FileRows | pd.DataFrame


def blocks(partition: Partition, size: int, *, first: bool = False) -> Iterator[pd.DataFrame]:
    """Yield the rows of a partition in order, at most ``size`` at a time.

    The ``first`` pass leaves a spool for the others.
    """
    if isinstance(partition, FileRows):
        batches = partition.first_batches(size) if first else partition.batches(size)
        yield from map(partition.frame, batches)
        return
    for start in range(0, len(partition), size):
        yield partition.iloc[start : start + size]


def places(names: list[str], lengths: list[int]) -> list[Place]:
    """Return where each partition lies in the whole table."""
    found, first = [], 0
    for number, (name, n_rows) in enumerate(zip(names, lengths, strict=True)):
        found.append(Place(number, name, first, n_rows))
        first += n_rows
    return found


def cut_file(path: str, columns: tuple[str, ...], nullable: frozenset[str]) -> list[FileRows]:
    """Cut a file between row groups into partitions of a moderate size, at least one."""
    most = max(1, CELLS_PER_PARTITION // len(columns))
    with parquet.ParquetFile(path) as file:
        sizes = [
            file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)
        ]
    cuts: list[list[int]] = [[]]
    for group, n_rows in enumerate(sizes):
        if cuts[-1] and sum(sizes[member] for member in cuts[-1]) + n_rows > most:
            cuts.append([])
        cuts[-1].append(group)
    return [
        FileRows(path, tuple(cut), columns, nullable, sum(sizes[group] for group in cut))
        for cut in cuts
    ]


@dataclass(frozen=True)
class Inputs:
    """The files, and what they have in common."""

    paths: tuple[str, ...]
    schema: pa.Schema  # of the columns that are kept, in the order of the first file
    indexes: tuple[str, ...]  # columns that hold a pandas index, which are left out
    nullable: frozenset[str]

    @property
    def partitions(self) -> list[FileRows]:
        """The rows of all files, cut into partitions."""
        columns = tuple(self.schema.names)
        return [part for path in self.paths for part in cut_file(path, columns, self.nullable)]

    def with_nulls(self, columns: Iterable[str]) -> pa.Schema:
        """Return the schema of a result in which these columns may be empty."""
        schema = self.schema
        for name in columns:
            place = schema.get_field_index(name)
            schema = schema.set(place, schema.field(place).with_nullable(True))  # noqa: FBT003
        return schema

    @property
    def bytes_in_memory(self) -> int:
        """About how much the rows take when they are decoded."""
        found = 0
        for path in self.paths:
            about = parquet.read_metadata(path)
            stored = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
            found += max(stored, 8 * about.num_rows * len(self.schema))
        return found

    @property
    def fingerprint(self) -> str:
        """A hash that changes when a file does: its name, size or time of change."""
        facts = [(Path(path).name, *_size_and_time(path)) for path in self.paths]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_inputs(paths: str | Path | Iterable[str | Path], target: str) -> Inputs:
    """Find the files; check that they are parts of one table with a column ``target``."""
    files = _expand(paths)
    schemas: dict[str, pa.Schema] = {}
    metadata: dict[str, parquet.FileMetaData] = {}
    faults = []
    for path in files:
        try:
            with parquet.ParquetFile(path) as file:
                schemas[path], metadata[path] = file.schema_arrow, file.metadata
        except (OSError, pa.ArrowException) as error:
            faults.append(f"{path} cannot be read as parquet ({first_line(error)})")
    _refuse(faults, "repair it or leave it out")
    first = schemas[files[0]]
    indexes = index_columns(first)
    kept = _without_index(first, indexes)
    check_target(kept.names, target, files[0])
    repeated = sorted({name for name in kept.names if kept.names.count(name) > 1})
    if repeated:
        raise TableError(f"{files[0]} has the column {repeated[0]!r} more than once; rename it")
    for path in files[1:]:
        faults.extend(_differences(path, files[0], schemas[path], kept))
    _refuse(faults, "give every file the same columns and types, or leave it out")
    nullable = frozenset(
        field.name
        for field in kept
        if field.type in NULLABLE and any(_may_hold_null(metadata[p], field.name) for p in files)
    )
    return Inputs(tuple(files), kept, tuple(indexes), nullable)


def _expand(paths: str | Path | Iterable[str | Path]) -> list[str]:
    """Return the files that paths, patterns and folders stand for; matches are sorted."""
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    files: list[str] = []
    for item in map(str, given):
        if Path(item).is_dir():
            matches = sorted(map(str, Path(item).glob("*.parquet")))
        else:
            matches = [item] if Path(item).is_file() else sorted(glob.glob(item))  # noqa: PTH207  (a pattern may begin anywhere)
        if not matches:
            raise TableError(f"no parquet file at {item}; check the path, or quote the pattern")
        files.extend(matches)
    repeated = sorted({path for path in files if files.count(path) > 1})
    if repeated:
        raise TableError(f"{repeated[0]} is given more than once; give each file once")
    if not files:
        raise TableError(
            "no file was given; give the parquet files, or a pattern like big/*.parquet"
        )
    return files


def check_target(names: list[Any], target: Any, where: str) -> None:
    """Refuse a table without the target column, or with nothing else."""
    if target not in names:
        raise TableError(
            f"the target column {target!r} is not in {where}; "
            f"its columns are {', '.join(map(repr, names))}"
        )
    if len(names) == 1:
        raise TableError(f"{where} holds the target {target!r} only; it needs at least one feature")


def _differences(path: str, first: str, schema: pa.Schema, kept: pa.Schema) -> list[str]:
    own = {field.name: field.type for field in schema if field.name not in index_columns(schema)}
    expected = {field.name: field.type for field in kept}
    absent, extra = expected.keys() - own.keys(), own.keys() - expected.keys()
    found = [f"{path} has no column {name!r}" for name in sorted(absent)]
    found += [f"{path} has a column {name!r} that {first} does not have" for name in sorted(extra)]
    found += [
        f"{path} has the column {name!r} as {own[name]}, {first} as {expected[name]}"
        for name in expected
        if name in own and own[name] != expected[name]
    ]
    return found


def index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas would read back as an index."""
    described: dict[str, Any] = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _without_index(schema: pa.Schema, indexes: list[str]) -> pa.Schema:
    """Return the schema without the index; its other notes for pandas stay."""
    kept = pa.schema([field for field in schema if field.name not in indexes])
    described: dict[str, Any] = schema.pandas_metadata or {}
    if not described:
        return kept
    columns = [one for one in described.get("columns", []) if one.get("name") in kept.names]
    described |= {"index_columns": [], "columns": columns}
    return kept.with_metadata({b"pandas": json.dumps(described).encode()})


def _may_hold_null(metadata: parquet.FileMetaData, name: str) -> bool:
    """Say whether a column holds nulls, or may do so for all that its file says."""
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            chunk = row_group.column(place)
            if chunk.path_in_schema != name:
                continue
            known = chunk.statistics
            if known is None or not known.has_null_count or known.null_count:
                return True
    return False


def _size_and_time(path: str) -> tuple[int, int]:
    about = Path(path).stat()
    return about.st_size, about.st_mtime_ns


def _refuse(faults: list[str], remedy: str) -> None:
    if faults:
        more = f"; and {len(faults) - NAMED_FILES} more" if len(faults) > NAMED_FILES else ""
        raise TableError(f"{'; '.join(faults[:NAMED_FILES])}{more}; {remedy}")


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().split("\n", maxsplit=1)[0]
