"""Survey: the first pass tells what the columns hold and how many rows each class has.

    surveyed    what one partition tells, small whatever its size
    shown       cells that show a column: its least and largest number, or all its levels

Everything here is exact and the same for any partitioning. What cannot be used is
reported with the name of the partition before the work starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_integer_dtype

from counterbalance.distributed.layout import Layout
from counterbalance.distributed.partitions import FileRows, Partition, Place, blocks
from counterbalance.errors import TableError
from counterbalance.table.columns import select_columns
from counterbalance.table.kinds import Grid, Kind
from counterbalance.table.labels import read_labels
from counterbalance.table.table import Columns, read_table

# More levels than a category has: such a column is a name or a number of a row.
MOST_LEVELS = 10_000
MOST_CLASSES = 1_000
# A text index with labels like new-0 gets more dashes for the new rows.
_NEW_LABEL = re.compile(r"new(-+)")


@dataclass(frozen=True)
class Reading:
    """How the sampler wants the columns to be read."""

    categorical_features: Any
    integer_features: Any
    snap_to_grid: bool


@dataclass(frozen=True)
class ColumnSurvey:
    """What one partition tells about one column."""

    kind: Kind | None  # None where no cell says
    dtype: Any
    shown: pd.Series[Any]
    resolution: float | None  # points of its grid per unit; None where no cell says
    width: int

    def join(self, other: ColumnSurvey) -> ColumnSurvey:
        """Return what both tell; they are of one kind and dtype."""
        kind = self.kind or other.kind
        if not (len(self.shown) and len(other.shown)):
            shown = self.shown if len(self.shown) else other.shown
        else:
            shown = _extremes_or_levels(pd.concat([self.shown, other.shown]), kind)
        # Grids are nested (whole numbers, halves, tenths, hundredths): the finest is the one.
        known = [r for r in (self.resolution, other.resolution) if r is not None]
        resolution = None if not known else 0.0 if 0.0 in known else max(known)
        return ColumnSurvey(kind, self.dtype, shown, resolution, self.width)


@dataclass(frozen=True)
class Surveyed:
    """What one partition tells."""

    n_rows: int
    labels: pd.Series[Any]  # counts, by label
    columns: tuple[ColumnSurvey, ...]
    last_label: int | None  # of an integer index
    dashes: int  # of the labels of a text index that look like new ones
    fault: str = ""

    def join(self, other: Surveyed) -> Surveyed:
        """Return what both tell."""
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        labels = pd.concat([self.labels, other.labels])
        tops = [top for top in (self.last_label, other.last_label) if top is not None]
        return Surveyed(
            self.n_rows + other.n_rows,
            labels.groupby(labels.index, observed=True, sort=False).sum(),
            tuple(a.join(b) for a, b in zip(self.columns, other.columns, strict=True)),
            max(tops, default=None),
            max(self.dashes, other.dashes),
        )


def survey_partition(
    partition: Partition, name: str, target: Any, reading: Reading, size: int
) -> Surveyed:
    """Look at every row of a partition; what is wrong with it comes back as its fault."""
    found = nothing()
    try:
        for block in blocks(partition, size):
            found = found.join(_survey_block(block, target, reading))
    except (TableError, OSError, pa.ArrowException) as error:
        where = partition.path if isinstance(partition, FileRows) else name
        fault = f"{where}: {str(error).strip().splitlines()[0]}"
        return Surveyed(0, found.labels, (), None, 0, fault)
    return found


def nothing() -> Surveyed:
    """Return what an empty partition tells."""
    return Surveyed(0, pd.Series(dtype=np.intp), (), None, 0)


def _survey_block(block: pd.DataFrame, target: Any, reading: Reading) -> Surveyed:
    labels = block[target]
    if labels.isna().any():
        raise TableError(
            f"the target {target!r} has {int(labels.isna().sum())} missing labels; "
            "drop these rows or give them a class of their own"
        )
    X = block.drop(columns=target)
    table = read_table(
        X,
        categorical_features=reading.categorical_features,
        integer_features=reading.integer_features,
        snap_to_grid=reading.snap_to_grid,
    )
    assert isinstance(table, Columns)  # noqa: S101  (a frame is never one block)
    columns = tuple(_survey_column(table, m) for m in range(len(table.names)))
    counted = labels.value_counts(sort=False)
    counted = counted[counted > 0]
    if len(counted) > MOST_CLASSES:
        raise TableError(
            f"the target {target!r} has more than {MOST_CLASSES} different labels; "
            "name a column of classes"
        )
    whole = is_integer_dtype(block.index.dtype)
    runs = [] if whole else [_NEW_LABEL.match(str(label)) for label in block.index]
    return Surveyed(
        len(block),
        counted,
        columns,
        int(block.index.max()) if whole else None,
        max((len(run.group(1)) for run in runs if run), default=0),
    )


def _survey_column(table: Columns, m: int) -> ColumnSurvey:
    column = table.columns[m]
    native, kind = column.native, column.kind
    known = native[~np.isnan(column.codes)]
    empty = not len(known)
    return ColumnSurvey(
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
                "names rows, or turn it into numbers"
            )
        return levels.reset_index(drop=True)
    if not len(cells):
        return cells.reset_index(drop=True)
    numbers = cells.to_numpy(dtype=np.float64)
    ends = [int(numbers.argmin()), int(numbers.argmax())]
    return cells.iloc[ends].reset_index(drop=True)


def join_surveys(surveys: list[Surveyed], places: list[Place]) -> Surveyed:
    """Join what the partitions tell, or say which of them cannot be used, and why."""
    faults = [survey.fault for survey in surveys if survey.fault]
    told = [(survey, place) for survey, place in zip(surveys, places, strict=True) if survey.n_rows]
    for survey, place in told[1:]:
        faults.extend(_disagreements(survey, place.name, told[0][0], told[0][1].name))
    if faults:
        more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""  # noqa: PLR2004
        raise TableError(f"{'; '.join(dict.fromkeys(faults[:5]))}{more}")
    if not told:
        raise TableError("the table has no row; it needs at least one of each of two classes")
    return reduce(Surveyed.join, (survey for survey, _ in told))


def _disagreements(survey: Surveyed, name: str, first: Surveyed, first_name: str) -> list[str]:
    found = []
    for own, expected in zip(survey.columns, first.columns, strict=True):
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


def make_layout(survey: Surveyed, names: list[Any], target: Any, reading: Reading) -> Layout:
    """Return the layout of the whole table."""
    n_shown = max(2, *(len(column.shown) for column in survey.columns))
    features = [name for name in names if name != target]
    # A column of one cell or level shows it in every row of the sketch, an empty one nothing.
    sketch = pd.DataFrame(
        {
            place: (column.shown if len(column.shown) else pd.Series([None], dtype=column.dtype))
            .iloc[np.resize(np.arange(max(1, len(column.shown))), n_shown)]
            .array
            for place, column in enumerate(survey.columns)
        }
    ).set_axis(features, axis=1)
    labels = survey.labels.index.to_series()
    try:
        known = read_labels(labels)
    except TableError:
        raise
    except ValueError:  # scikit-learn's, of numbers with a fraction
        raise TableError(
            f"the target {target!r} looks like a quantity, not a class ({len(labels):,} different "
            "values); cut it into classes with names, or name another column"
        ) from None
    order = np.argsort(known.codes)
    return Layout(
        names=names,
        target=target,
        sketch=sketch,
        kinds=[column.kind or Kind.CONTINUOUS for column in survey.columns],
        grid=Grid(
            np.array([column.resolution or 0.0 for column in survey.columns]),
            np.array([column.width for column in survey.columns]),
        ),
        categorical=select_columns(reading.categorical_features, features, "categorical_features"),
        integer=select_columns(reading.integer_features, features, "integer_features"),
        classes=known.classes,
        examples=labels.iloc[order].reset_index(drop=True),
        counts=survey.labels.to_numpy()[order].astype(np.intp),
    )
