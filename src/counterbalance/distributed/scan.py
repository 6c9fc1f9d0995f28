"""Scan: one look at every row tells what the columns hold and how many rows each class has.

    scan       what one partition tells, small whatever its size
    shown      cells that show a column: its least and largest number, or all its levels
    layout     what is known of the whole table's columns and classes
    sketch     a few made-up rows that show the least and the largest number, or every level,
               of each column
    counts     N_c, the rows of each class in the whole table

Everything here is exact and the same for any partitioning. Unusable input is reported with the
name of its partition before the work starts.

Later a block is read with the sketch on top of it. So its levels get the codes that they have in
the whole table, every level can be decoded, and the in-memory table class serves unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api.types import is_integer_dtype

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.distributed.inputs import FileRows, Partition, Place, blocks, first_line
from counterbalance.errors import TableError
from counterbalance.plausible.evidence import Evidence
from counterbalance.table.columns import select_columns
from counterbalance.table.kinds import Grid, Kind
from counterbalance.table.labels import Labels, as_array, read_labels
from counterbalance.table.table import Columns, read_column, read_table

# The class code of a row of the sketch: it has no class, and f never answers with this code.
NO_CLASS = -2
# A column with more levels is no category: it names or numbers the rows.
MOST_LEVELS = 10_000
MOST_CLASSES = 1_000
# How many faulty partitions a message names.
NAMED_FAULTS = 5
# If a text index has labels like new-0, those of the new rows get more dashes.
_NEW_LABEL = re.compile(r"new(-+)")


class FloatColumns(Columns):
    """A block of plain floats: its codes are its cells, and there is only one missing float."""

    def __init__(self, sketch: Columns, cells: Floats) -> None:
        self.native, self.columns = sketch.native, sketch.columns
        self.names, self.kinds, self.grid = sketch.names, sketch.kinds, sketch.grid
        self.codes = np.empty((len(sketch.codes) + len(cells), len(self.names)))
        self.codes[: len(sketch.codes)] = sketch.codes
        self.codes[len(sketch.codes) :] = cells

    def decode(self, codes: Floats, origin: Integers | None = None) -> pd.DataFrame:
        """Make a frame of cells, in the memory layout of single columns."""
        del origin
        return pd.DataFrame(np.asfortranarray(codes), columns=self.native.columns, copy=False)


@dataclass(frozen=True)
class TableLayout:
    """The columns and the classes of the whole table."""

    names: list[Any]  # of the table, target included
    target: Any
    sketch: pd.DataFrame  # without the target
    kinds: list[Kind]
    grid: Grid
    categorical: Mask  # features that the sampler is told to read as nominal
    integer: Mask  # features that it is told to read as whole numbers
    classes: NDArray[Any]
    examples: pd.Series[Any]  # a cell of the target for each class
    counts: Integers

    @property
    def features(self) -> list[Any]:
        """The names of the columns without the target."""
        return list(self.sketch.columns)

    def table(self, block: pd.DataFrame) -> Columns:
        """Read a block with the sketch on top of it."""
        if self.only_floats:
            return FloatColumns(self.sketch_table, self.encode(block))
        return self.read(pd.concat([self.sketch, block[self.features]], ignore_index=True))

    @cached_property
    def sketch_table(self) -> Columns:
        """The sketch alone: a table with the ranges and levels of the whole one."""
        return self.read(self.sketch)

    @property
    def empty(self) -> pd.DataFrame:
        """A table without rows."""
        none = self.sketch.iloc[:0]
        return self.whole(none, np.zeros(0, dtype=np.intp), none.index)

    @cached_property
    def only_floats(self) -> bool:
        """Whether every feature is a numpy float of full width."""
        continuous = all(kind is Kind.CONTINUOUS for kind in self.kinds)
        return continuous and all(dtype == np.float64 for dtype in self.sketch.dtypes)

    @property
    def nominal(self) -> Mask:
        """Which features have no order."""
        return np.array([not kind.has_order for kind in self.kinds], dtype=bool)

    def range_of(self, m: int) -> tuple[float, float]:
        """Return the least and the largest cell of a feature, zeros if every cell is missing."""
        known = self.sketch_table.column(m)
        known = known[~np.isnan(known)]
        return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)

    def n_levels(self, m: int) -> int:
        """Return how many levels a feature has."""
        return int(np.nanmax(self.sketch_table.column(m), initial=-1.0)) + 1

    def column(self, cells: pd.Series[Any], m: int) -> Columns:
        """Read all cells of one column."""
        name = self.features[m]
        column = read_column(cells, name, nominal=self.categorical[m], whole=self.integer[m])
        return Columns(cells.to_frame(), [column], snap_to_grid=False)

    def read(self, rows: pd.DataFrame) -> Columns:
        """Read rows without the sketch."""
        table = read_table(
            rows, categorical_features=self.categorical, integer_features=self.integer
        )
        assert isinstance(table, Columns)  # noqa: S101  (a frame is never one block)
        table.grid = self.grid
        return table

    def encode(self, block: pd.DataFrame) -> Floats:
        """Return the block as floats."""
        if self.only_floats:
            return block[self.features].to_numpy()
        return self.table(block).codes[len(self.sketch) :]

    def class_codes(self, block: pd.DataFrame) -> Integers:
        """Return the class code of every row."""
        return np.searchsorted(self.classes, as_array(block[self.target])).astype(np.intp)

    def count(self, labels: pd.Series[Any]) -> Integers:
        """Return the rows of each class in a scan, given its ``labels``."""
        counts = np.zeros(len(self.classes), dtype=np.intp)
        if len(labels):
            place = np.searchsorted(self.classes, as_array(labels.index.to_series()))
            np.add.at(counts, place, labels.to_numpy())
        return counts

    def labels(self, block: pd.DataFrame) -> Labels:
        """Return the classes of a block; the sketch on top of it has none."""
        codes = np.concatenate([np.full(len(self.sketch), NO_CLASS), self.class_codes(block)])
        return Labels(None, codes, self.classes, codes, self.counts)

    def whole(self, x: pd.DataFrame, codes: Integers, index: Any) -> pd.DataFrame:
        """Put the target beside the features, in the order of the user's columns."""
        columns = {name: x[name].array for name in self.features}
        columns[self.target] = self.examples.iloc[codes].array
        return pd.DataFrame(columns, index=index)[self.names]


@dataclass(frozen=True)
class ColumnSettings:
    """The sampler's settings for reading columns."""

    categorical_features: Any
    integer_features: Any
    snap_to_grid: bool


@dataclass(frozen=True)
class ColumnScan:
    """What some rows tell about one column."""

    kind: Kind | None  # None if no cell tells
    dtype: Any
    shown: pd.Series[Any]
    resolution: float | None  # points of its grid per unit; None if no cell tells
    width: int

    def join(self, other: ColumnScan) -> ColumnScan:
        """Return what both tell; they have the same kind and dtype."""
        kind = self.kind or other.kind
        if not (len(self.shown) and len(other.shown)):
            shown = self.shown if len(self.shown) else other.shown
        else:
            shown = _extremes_or_levels(pd.concat([self.shown, other.shown]), kind)
        # Grids are nested (whole numbers, halves, tenths, hundredths): the finest one holds all.
        known = [r for r in (self.resolution, other.resolution) if r is not None]
        resolution = None if not known else 0.0 if 0.0 in known else max(known)
        return ColumnScan(kind, self.dtype, shown, resolution, self.width)


@dataclass(frozen=True)
class TableScan:
    """What some rows tell: those of a block, of a partition or of the whole table."""

    n_rows: int
    labels: pd.Series[Any]  # counts, by label
    columns: tuple[ColumnScan, ...]
    last_label: int | None  # the largest one of an integer index
    dashes: int  # most dashes of a text index's labels that look like those of new rows
    fault: str = ""

    def join(self, other: TableScan) -> TableScan:
        """Return what both tell."""
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        labels = pd.concat([self.labels, other.labels])
        tops = [top for top in (self.last_label, other.last_label) if top is not None]
        return TableScan(
            self.n_rows + other.n_rows,
            labels.groupby(labels.index, observed=True, sort=False).sum(),
            tuple(a.join(b) for a, b in zip(self.columns, other.columns, strict=True)),
            max(tops, default=None),
            max(self.dashes, other.dashes),
        )


def scan_partition(
    partition: Partition, name: str, target: Any, settings: ColumnSettings, size: int
) -> TableScan:
    """Look at every row of a partition; if it is unusable, the reason comes back as its fault."""
    found = _no_rows()
    try:
        for block in blocks(partition, size, first=True):
            found = found.join(_scan_block(block, target, settings))
    except (TableError, OSError, pa.ArrowException) as error:
        where = partition.path if isinstance(partition, FileRows) else name
        fault = f"{where}: {first_line(error)}"
        return TableScan(0, found.labels, (), None, 0, fault)
    return found


def _no_rows() -> TableScan:
    return TableScan(0, pd.Series(dtype=np.intp), (), None, 0)


def _scan_block(block: pd.DataFrame, target: Any, settings: ColumnSettings) -> TableScan:
    labels = block[target]
    if labels.isna().any():
        raise TableError(
            f"the target {target!r} has {int(labels.isna().sum())} missing labels; "
            "drop these rows or give them a class of their own"
        )
    X = block.drop(columns=target)
    table = read_table(
        X,
        categorical_features=settings.categorical_features,
        integer_features=settings.integer_features,
        snap_to_grid=settings.snap_to_grid,
    )
    assert isinstance(table, Columns)  # noqa: S101  (a frame is never one block)
    columns = tuple(_scan_column(table, m) for m in range(len(table.names)))
    counted = labels.value_counts(sort=False)
    counted = counted[counted > 0]
    if len(counted) > MOST_CLASSES:
        raise TableError(
            f"the target {target!r} has more than {MOST_CLASSES} different labels; "
            "name a column of classes"
        )
    whole = is_integer_dtype(block.index.dtype)
    runs = [] if whole else [_NEW_LABEL.match(str(label)) for label in block.index]
    return TableScan(
        len(block),
        counted,
        columns,
        int(block.index.max()) if whole else None,
        max((len(run.group(1)) for run in runs if run), default=0),
    )


def _scan_column(table: Columns, m: int) -> ColumnScan:
    column = table.columns[m]
    native, kind = column.native, column.kind
    missing = np.isnan(column.codes)
    known = native[~missing] if missing.any() else native
    empty = not len(known)
    return ColumnScan(
        None if empty and native.dtype == object else kind,
        native.dtype,
        _extremes_or_levels(known, kind),
        None if empty else float(table.grid.resolution[m]),
        column.width,
    )


def _extremes_or_levels(cells: pd.Series[Any], kind: Kind | None) -> pd.Series[Any]:
    """Return the least and the largest number, or every level; ``cells`` are not missing."""
    if kind is None or kind.has_levels:
        levels = cells.drop_duplicates()
        if len(levels) > MOST_LEVELS:
            raise TableError(
                f"column {cells.name!r} has more than {MOST_LEVELS} categories; drop it if it "
                "identifies rows, or turn it into numbers"
            )
        return levels.reset_index(drop=True)
    if not len(cells):
        return cells.reset_index(drop=True)
    numbers = cells.to_numpy(dtype=np.float64)
    ends = [int(numbers.argmin()), int(numbers.argmax())]
    return cells.iloc[ends].reset_index(drop=True)


def join_scans(scans: list[TableScan], places: list[Place]) -> TableScan:
    """Join what the partitions tell, or say which of them are unusable, and why."""
    faults = [scan.fault for scan in scans if scan.fault]
    told = [(scan, place) for scan, place in zip(scans, places, strict=True) if scan.n_rows]
    for scan, place in told[1:]:
        faults.extend(_disagreements(scan, place.name, told[0][0], told[0][1].name))
    if faults:
        more = f"; and {len(faults) - NAMED_FAULTS} more" if len(faults) > NAMED_FAULTS else ""
        raise TableError(f"{'; '.join(dict.fromkeys(faults[:NAMED_FAULTS]))}{more}")
    if not told:
        raise TableError("the table has no rows; it needs at least one of each of two classes")
    return reduce(TableScan.join, (scan for scan, _ in told))


def _disagreements(scan: TableScan, name: str, first: TableScan, first_name: str) -> list[str]:
    found = []
    for own, expected in zip(scan.columns, first.columns, strict=True):
        column = own.shown.name
        if own.dtype != expected.dtype:
            found.append(
                f"{name} has the column {column!r} as {own.dtype}, {first_name} as "
                f"{expected.dtype}; give every partition the same dtypes (and categories)"
            )
        elif own.kind and expected.kind and own.kind != expected.kind:
            found.append(
                f"{name} has {own.kind.value} cells in the column {column!r}, {first_name} has "
                f"{expected.kind.value} ones; give every partition the same kind of cells"
            )
    return found


def make_layout(
    scan: TableScan, names: list[Any], target: Any, settings: ColumnSettings
) -> TableLayout:
    """Return the layout of the whole table."""
    n_shown = max(2, *(len(column.shown) for column in scan.columns))
    features = [name for name in names if name != target]
    # Columns with less to show repeat it in the further rows of the sketch; an empty one shows
    # nothing.
    sketch = pd.DataFrame(
        {
            place: (column.shown if len(column.shown) else pd.Series([None], dtype=column.dtype))
            .iloc[np.resize(np.arange(max(1, len(column.shown))), n_shown)]
            .array
            for place, column in enumerate(scan.columns)
        }
    ).set_axis(features, axis=1)
    labels = scan.labels.index.to_series()
    values = as_array(labels)
    if values.dtype.kind == "f" and (np.isfinite(values) & (values != np.rint(values))).any():
        raise TableError(
            f"the target {target!r} looks like a quantity, not a class ({len(labels):,} different "
            "values); cut it into classes with names, or name another column"
        )
    known = read_labels(labels)
    order = np.argsort(known.codes)
    return TableLayout(
        names=names,
        target=target,
        sketch=sketch,
        kinds=[column.kind or Kind.CONTINUOUS for column in scan.columns],
        grid=Grid(
            np.array([column.resolution or 0.0 for column in scan.columns]),
            np.array([column.width for column in scan.columns]),
        ),
        categorical=select_columns(settings.categorical_features, features, "categorical_features"),
        integer=select_columns(settings.integer_features, features, "integer_features"),
        classes=known.classes,
        examples=labels.iloc[order].reset_index(drop=True),
        counts=scan.labels.to_numpy()[order].astype(np.intp),
    )


def with_block(
    known: Evidence, block: pd.DataFrame, first: int, codes: Integers, layout: TableLayout
) -> Evidence:
    """Return what is known with the rows of a block; the first of them has the id ``first``.

    ``codes`` are those of their classes. If no levels are looked for, only rows that join the
    sample are encoded.
    """
    here = np.arange(len(block))
    if known.together is None:
        here = here[known.may_join(first + here, codes)]
    if not len(here):
        return known
    some = block if len(here) == len(block) else block.iloc[here]
    return known.with_rows(first + here, codes[here], layout.encode(some))
