"""Partitions: where the rows come from, and how they are read a block at a time.

    partition    rows that one task works on: a frame of a Dask dataframe, or some row
                 groups of a parquet file
    block        as many rows of a partition as the memory of a worker holds
    first        the position of a partition's first row in the whole table

A row's position in the whole table is its id: the draws belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

# Cells of one task: small enough to be done again when a worker dies, large enough that the
# scheduler has little to do. It never depends on the memory: a rerun cuts the files alike.
CELLS_PER_PARTITION = 5_000_000
# What pandas calls whole numbers and booleans with missing cells.
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
    nullable: frozenset[str]  # columns that hold nulls in some file: read as nullable in all
    n_rows: int

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Read the rows, at most ``size`` at a time."""
        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(size, row_groups=self.groups, columns=self.columns):
                if batch.num_rows:
                    yield batch.select(self.columns)

    def frame(self, batch: pa.RecordBatch) -> pd.DataFrame:
        """Return a batch as pandas has it; whole numbers with nulls stay whole.

        Decimals are floats, as in memory.
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


# A partition as a task gets it.
Partition = FileRows | pd.DataFrame


def blocks(partition: Partition, size: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a partition, at most ``size`` at a time, in their order."""
    if isinstance(partition, FileRows):
        yield from map(partition.frame, partition.batches(size))
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
    """Cut a file at its row groups into partitions of a moderate size, at least one."""
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
