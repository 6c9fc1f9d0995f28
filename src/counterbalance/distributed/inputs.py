"""Inputs: parquet files that together are one table, and which of their columns are used.

    part      rows that one task works on: some row groups of a file, or rows of a large one
    kept      columns that stay in the files but are not used; they are empty in new rows
    finding   what was detected in a column, with a sentence for the user

The files are checked before any work starts, by their footers only: whether each can be opened,
whether all have the same columns of the same types, and which columns hold nulls.

A column is checked by the same function as in memory. It reads the whole column up to MOST_ROWS
rows and MOST_BYTES bytes, otherwise only its beginning, which the sentence then states.
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask
import pandas as pd
import pyarrow as pa
from pandas.api.types import pandas_dtype
from pyarrow import parquet

from counterbalance.constraints import as_constraints
from counterbalance.distributed.cluster import Engine
from counterbalance.errors import TableError
from counterbalance.io.column_checks import (
    LEFT_OUT,
    Remedies,
    TableFinding,
    check_columns,
    look_at_column,
)
from counterbalance.samplers.base import TableOverSampler

# Cells of one part: few enough to be recomputed when a worker dies, many enough to keep the
# scheduler idle.
CELLS_PER_PART = 5_000_000
# A row group is cut if its cells would take more than this share of a worker's memory, at so many
# bytes each: in Arrow's form, in pandas', as a code, in copies.
SHARE_FOR_PART, BYTES_PER_CELL = 0.25, 32
ROWS_AT_ONCE = 65_536
# As much of a column as a worker of 1 GB can hold beside the table of its different values; the
# first rows are enough to distinguish most columns of numbers from empty ones.
MOST_ROWS, MOST_BYTES, FIRST_ROWS = 4_000_000, 128_000_000, 10_000
# How many faulty files a message names.
NAMED_FILES = 5
# The dtypes of pandas for whole numbers and booleans with missing cells.
WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
NULLABLE = {pa.type_for_alias(name.lower()): pandas_dtype(name) for name in WHOLE}
NULLABLE[pa.bool_()] = pandas_dtype("boolean")

# Called with each finding before the work starts.
Notice = Callable[[TableFinding], None]


def warn_of(finding: TableFinding) -> None:
    """Warn of a column that is not used; the warning points to the line of the user's call."""
    if finding.topic in LEFT_OUT:
        warnings.warn(finding.text, stacklevel=3)


@dataclass(frozen=True)
class FileRows:
    """Some rows of a parquet file: those of row groups, from ``start`` on."""

    path: str
    groups: tuple[int, ...]
    schema: pa.Schema  # of the columns that are read
    nullable: frozenset[str]  # columns with nulls in some file: read as nullable from every file
    n_rows: int
    start: int = 0

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows, some at a time."""
        first, stop = 0, self.start + self.n_rows
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(ROWS_AT_ONCE, self.groups, self.columns):
                    if first >= stop:
                        return
                    some = slice(max(0, self.start - first), stop - first)
                    first += batch.num_rows
                    if some.start < batch.num_rows:
                        yield batch.slice(some.start, some.stop - some.start).select(self.columns)
        except (OSError, pa.ArrowException) as error:
            reason = " ".join(str(error).split())
            raise TableError(f"{self.path}: {reason}; repair the file or leave it out") from error

    def read(self) -> pa.Table:
        """Read all the rows."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def frame(self) -> pd.DataFrame:
        """Read all the rows as pandas does."""
        return self.as_frame(self.read())

    def as_frame(self, table: pa.Table) -> pd.DataFrame:
        """Return rows as a frame; whole numbers with nulls stay whole, decimals become floats."""
        types = {field.name: field.type for field in table.schema}
        for place, field in enumerate(table.schema):
            if pa.types.is_decimal(field.type):
                # Convert through texts: other conversions round, and leave the grid of the
                # decimals.
                cells = table.column(place).cast(pa.string()).cast(pa.float64())
                table = table.set_column(place, field.with_type(pa.float64()), cells)
        plain = [name for name in self.columns if name not in self.nullable]
        frame: pd.DataFrame = table.select(plain).to_pandas(ignore_metadata=True)
        for name in self.nullable.intersection(self.columns):
            dtype = NULLABLE[types[name]]
            frame[name] = table.column(name).to_pandas(types_mapper={types[name]: dtype}.get)
        return frame[self.columns]

    def only(self, columns: Sequence[str]) -> FileRows:
        """Return the same rows with fewer columns."""
        fields = [self.schema.field(name) for name in columns]
        return replace(self, schema=pa.schema(fields))


@dataclass(frozen=True)
class Inputs:
    """The files, and what they have in common."""

    paths: tuple[str, ...]
    schema: pa.Schema  # of the first file
    nullable: frozenset[str]

    @property
    def indexes(self) -> list[str]:
        """The columns that pandas would read back as an index."""
        described: dict[str, Any] = self.schema.pandas_metadata or {}
        return [name for name in described.get("index_columns", []) if isinstance(name, str)]

    def parts(self, memory: int) -> list[FileRows]:
        """Cut the rows of all files into parts for workers of so much memory."""
        most = max(1, int(memory * SHARE_FOR_PART) // BYTES_PER_CELL // len(self.schema))
        usual = min(most, max(1, CELLS_PER_PART // len(self.schema)))
        found = []
        for path in self.paths:
            about, n = parquet.read_metadata(path), 0
            groups: list[int] = []
            for group in range(about.num_row_groups):
                rows = about.row_group(group).num_rows
                if groups and n + rows > usual:
                    found += self._cut(path, groups, n, most)
                    groups, n = [], 0
                groups, n = [*groups, group], n + rows
            found += self._cut(path, groups, n, most)
        return found

    def _cut(self, path: str, groups: list[int], n: int, most: int) -> list[FileRows]:
        whole = FileRows(path, tuple(groups), self.schema, self.nullable, n)
        starts = range(0, n, most) if n > most else range(1)
        return [replace(whole, start=start, n_rows=min(most, n - start)) for start in starts]

    def schema_of_result(self, kept: Sequence[str]) -> pa.Schema:
        """Return a schema in which the kept columns may be empty, and none is an index."""
        fields = [one.with_nullable(one.nullable or one.name in kept) for one in self.schema]
        return pa.schema(fields, None if self.indexes else self.schema.metadata)


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
            faults.append(f"{path} cannot be read as parquet ({error})")
    _refuse(faults, "repair it or leave it out")
    first = schemas[files[0]]
    check_target(first.names, target, files[0])
    repeated = sorted({name for name in first.names if first.names.count(name) > 1})
    if repeated:
        raise TableError(f"{files[0]} has the column {repeated[0]!r} more than once; rename it")
    for path in files[1:]:
        faults.extend(_differences(path, files[0], schemas[path], first))
    _refuse(faults, "give every file the same columns and types, or leave it out")
    nullable = frozenset(
        field.name
        for field in first
        if field.type in NULLABLE and any(_may_hold_null(metadata[p], field.name) for p in files)
    )
    return Inputs(tuple(files), first, nullable)


def _expand(paths: str | Path | Iterable[str | Path]) -> list[str]:
    """Return the files that paths, patterns and folders stand for; matches are sorted."""
    files: list[str] = []
    for item in map(str, [paths] if isinstance(paths, (str, Path)) else paths):
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


def check_target(names: Sequence[Any], target: Any, where: str) -> None:
    """Raise for a table without the target column, or without other columns."""
    if target not in names:
        raise TableError(
            f"the target column {target!r} is not in {where}; "
            f"its columns are {', '.join(map(repr, names))}"
        )
    if len(names) == 1:
        raise TableError(f"{where} holds the target {target!r} only; it needs at least one feature")


def _differences(path: str, first: str, schema: pa.Schema, of_first: pa.Schema) -> list[str]:
    own, expected = ({field.name: field.type for field in each} for each in (schema, of_first))
    absent, extra = expected.keys() - own.keys(), own.keys() - expected.keys()
    found = [f"{path} has no column {name!r}" for name in sorted(absent)]
    found += [f"{path} has a column {name!r} that {first} does not have" for name in sorted(extra)]
    found += [
        f"{path} has the column {name!r} as {own[name]}, {first} as {expected[name]}"
        for name in expected
        if name in own and own[name] != expected[name]
    ]
    return found


def _may_hold_null(metadata: parquet.FileMetaData, name: str) -> bool:
    """Return whether a column holds nulls, or may hold them according to its file."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns if group.num_rows else 0)):
            known = chunk.statistics
            if chunk.path_in_schema == name and (
                known is None or not known.has_null_count or known.null_count
            ):
                return True
    return False


def _refuse(faults: list[str], remedy: str) -> None:
    if faults:
        more = f"; and {len(faults) - NAMED_FILES} more" if len(faults) > NAMED_FILES else ""
        raise TableError(f"{'; '.join(faults[:NAMED_FILES])}{more}; {remedy}")


def choose_columns(
    engine: Engine,
    parts: Sequence[FileRows],
    target: str,
    keep: Sequence[str],
    use: Sequence[str],
    remedies: Remedies,
) -> tuple[list[str], list[str], list[TableFinding]]:
    """Check every column; return those that are used, those that are kept, and the findings.

    ``keep`` and ``use`` have priority.
    """
    names = parts[0].columns
    keep, use = check_columns(keep, names, "keep"), check_columns(use, names, "use")
    if target in keep or target in use:
        raise TableError(f"the target {target!r} is neither kept nor used; leave it out of both")
    tasks = [
        dask.delayed(look_at_column_of_files)([part.only([name]) for part in parts], name, remedies)
        for name in names
        if name != target and name not in keep
    ]
    findings = [
        found
        for found in engine.compute(tasks, "columns")
        if found is not None and not (found.column in use and found.topic in LEFT_OUT)
    ]
    kept = [*keep, *(str(one.column) for one in findings if one.topic in LEFT_OUT)]
    used = [name for name in names if name not in kept]
    if len(used) == 1:
        raise TableError(
            "no column can be used: "
            + "; ".join(finding.text for finding in findings)
            + f"; name columns to use with {remedies.option}"
        )
    return used, kept, findings


def look_at_column_of_files(
    parts: Sequence[FileRows], name: str, remedies: Remedies
) -> TableFinding | None:
    """Return the finding about a column of files, or about as much of it as a worker can hold."""
    first, _ = _beginning(parts, FIRST_ROWS)
    finding = look_at_column(first, name, remedies)
    # Fractions, categories and booleans give a finding only if they are constant.
    tells = first.dtype.kind in "fb" or isinstance(first.dtype, pd.CategoricalDtype)
    if tells and finding is None:
        return None
    cells, whole = _beginning(parts, MOST_ROWS)
    finding = look_at_column(cells, name, remedies)
    if finding is None or whole:
        return finding
    return replace(finding, text=f"{finding.text} (as its first {len(cells):,} rows show)")


def _beginning(parts: Sequence[FileRows], most_rows: int) -> tuple[pd.Series[Any], bool]:
    """Return the first cells of a column, and whether there are no more."""
    found, n_rows, n_bytes = [parts[0].as_frame(parts[0].schema.empty_table())], 0, 0
    for batch in (batch for part in parts for batch in part.batches()):
        if n_rows >= most_rows or n_bytes >= MOST_BYTES:
            break
        found.append(parts[0].as_frame(pa.Table.from_batches([batch])))
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
    cells = pd.concat(found[1:] or found, ignore_index=True).iloc[:most_rows, 0]
    return cells, len(cells) == sum(part.n_rows for part in parts)


def check_parameters(sampler: TableOverSampler, kept: Sequence[str], remedies: Remedies) -> None:
    """Raise for parameters that name a kept column, or a position, which kept columns shift."""
    named = [
        (str(rule), column)
        for rule in as_constraints(sampler.constraints)
        for column in getattr(rule, "columns", None) or [getattr(rule, "column", "")]
    ]
    for parameter in ("categorical_features", "feature_order"):
        given = getattr(sampler, parameter, None)
        if not isinstance(given, str):
            named += [(parameter, column) for column in ([] if given is None else given)]
    for parameter, column in named if kept else ():
        if column in kept:
            raise TableError(
                f"{parameter} names {column!r}, which is not used; leave it out, or use the column "
                f"with {remedies.using(column)}"
            )
        if not isinstance(column, str):
            raise TableError(
                f"{parameter} must name columns where others are not used, got {column!r}; give "
                "the name"
            )
