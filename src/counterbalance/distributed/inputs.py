"""Inputs: parquet files that together are one table, checked before any work starts.

Only the footers are read here: whether each file can be opened, has the same columns of
the same types, and where nulls are. What the cells hold is the survey's matter.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from counterbalance.distributed.partitions import NULLABLE, FileRows, cut_file
from counterbalance.errors import TableError

# How many faulty files a message names.
NAMED_FILES = 5


@dataclass(frozen=True)
class Inputs:
    """The files, and what they have in common."""

    paths: tuple[str, ...]
    schema: pa.Schema  # of the columns that are kept, in the order of the first file
    indexes: tuple[str, ...]  # columns that hold a pandas index: they are left out
    nullable: frozenset[str]

    @property
    def partitions(self) -> list[FileRows]:
        """The rows of all files, cut into tasks."""
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
    def fingerprint(self) -> str:
        """A word that changes when a file does: its name, size or time of change."""
        facts = [(Path(path).name, *_size_and_time(path)) for path in self.paths]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_inputs(paths: str | Path | Iterable[str | Path], target: str) -> Inputs:
    """Find the files and check that they are parts of one table with the column ``target``."""
    files = _expand(paths)
    schemas: dict[str, pa.Schema] = {}
    metadata: dict[str, parquet.FileMetaData] = {}
    faults = []
    for path in files:
        try:
            with parquet.ParquetFile(path) as file:
                schemas[path], metadata[path] = file.schema_arrow, file.metadata
        except (OSError, pa.ArrowException) as error:
            faults.append(f"{path} cannot be read as parquet ({_first_line(error)})")
    _refuse(faults, "mend it or leave it out")
    first = schemas[files[0]]
    indexes = _index_columns(first)
    kept = _without_index(first, indexes)
    _check_columns(kept.names, target, files[0])
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
    """Return the files behind paths, patterns and folders; each list of matches is sorted."""
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


def _check_columns(names: list[str], target: str, path: str) -> None:
    if target not in names:
        raise TableError(
            f"the target column {target!r} is not in {path}; "
            f"its columns are {', '.join(map(repr, names))}"
        )
    if len(names) == 1:
        raise TableError(f"{path} holds the target {target!r} only; it needs at least one feature")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"{path} has the column {repeated[0]!r} more than once; rename it")


def _differences(path: str, first: str, schema: pa.Schema, kept: pa.Schema) -> list[str]:
    own = {field.name: field.type for field in schema if field.name not in _index_columns(schema)}
    expected = {field.name: field.type for field in kept}
    absent, extra = expected.keys() - own.keys(), own.keys() - expected.keys()
    found = [f"{path} has no column {name!r}" for name in sorted(absent)]
    found += [f"{path} has a column {name!r} that {first} has not" for name in sorted(extra)]
    found += [
        f"{path} has the column {name!r} as {own[name]}, {first} as {expected[name]}"
        for name in expected
        if name in own and own[name] != expected[name]
    ]
    return found


def _index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas would read back as an index."""
    described: dict[str, Any] = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _without_index(schema: pa.Schema, indexes: list[str]) -> pa.Schema:
    """Return the schema without the index; what it says of dtypes to pandas stays."""
    kept = pa.schema([field for field in schema if field.name not in indexes])
    described: dict[str, Any] = schema.pandas_metadata or {}
    if not described:
        return kept
    columns = [one for one in described.get("columns", []) if one.get("name") in kept.names]
    described |= {"index_columns": [], "columns": columns}
    return kept.with_metadata({b"pandas": json.dumps(described).encode()})


def _may_hold_null(metadata: parquet.FileMetaData, name: str) -> bool:
    """Say whether a column holds nulls, or does not tell."""
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


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0]
