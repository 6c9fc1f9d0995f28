"""The table that is compared on: features, class codes, groups or times.

    codes          the class of each row: 0 the largest class, C - 1 the smallest
    y              the same as positions in the sorted labels, which a model is fitted to
    groups         rows with the same number stay together in a fold, or None
    times          the rank of each row's moment, or None; the rows are in its order
    counts_of_file rows of each class in the whole table

A large table is sampled. Rows are drawn in proportion to the classes, but a small class keeps all
its rows up to n / 2C of n rows, because resampling is about them. If that gives a class a larger
share than it has in the table, metrics weight the rows by their share in the table, and the
probabilities of a model are corrected for the prior (see `trials`).
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.extras import require_pandas
from counterbalance.table.kinds import Kind
from counterbalance.table.labels import read_labels
from counterbalance.table.table import read_table

BINARY = 2
FEWEST_OF_CLASS = 4  # two in each half, and two in each half of those
MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """A table with its classes from the largest to the smallest."""

    X: Any
    codes: Integers
    classes: tuple[str, ...]
    order: Integers  # the place of each class among the sorted labels
    counts_of_file: Integers
    groups: Integers | None = None
    times: Integers | None = None

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes: then class 1 is the minority."""
        return len(self.classes) == BINARY

    @property
    def y(self) -> Integers:
        """What a model is fitted to: whole numbers in the order of the labels."""
        return self.order[self.codes]

    @property
    def counts(self) -> Integers:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def is_drawn(self) -> bool:
        """Whether the table has more rows than are used."""
        return len(self.codes) < int(self.counts_of_file.sum())

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kind of each column."""
        return read_table(self.X).kinds

    @cached_property
    def class_weights(self) -> Floats | None:
        """The weight of a row of each class in a metric; None where all weights are equal.

        The weights restore the share that each class has in the file.
        """
        by_share = self.counts_of_file * (len(self.codes) / self.counts_of_file.sum())
        is_same = (np.abs(self.counts - by_share) < 1).all()
        return None if is_same else np.asarray(by_share / self.counts)

    def part(self, rows: Integers) -> ComparedTable:
        """Return some of the rows."""
        groups = None if self.groups is None else self.groups[rows]
        times = None if self.times is None else self.times[rows]
        X = self.X.iloc[rows].reset_index(drop=True)
        return replace(self, X=X, codes=self.codes[rows], groups=groups, times=times)

    def digest(self) -> str:
        """Return a text that is the same for the same table only."""
        cells = require_pandas().util.hash_pandas_object(self.X, index=False)
        columns = [f"{name!r} {dtype}" for name, dtype in self.X.dtypes.items()]
        arrays = (cells, self.codes, self.groups, self.times, self.counts_of_file)
        numbers = [None if values is None else values.tolist() for values in arrays]
        return hashlib.sha256(repr([columns, self.classes, numbers]).encode()).hexdigest()


def read_compared(
    X: Any, y: Any, *, groups: Any = None, times: Any = None, rows: int = 0
) -> ComparedTable:
    """Check a table and draw at most ``rows`` of it, keeping small classes; 0 takes all."""
    pd = require_pandas()
    frame = X.reset_index(drop=True) if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    labels = read_labels(y)
    if len(labels.codes) != len(frame):
        raise TableError(
            f"X has {len(frame)} rows but y has {len(labels.codes)} labels; give one for each row"
        )
    if not len(frame.columns):
        raise TableError("X has no column to learn from; give a table with features")
    if groups is not None and times is not None:
        raise TableError("groups and time cannot be used together; give one of them")
    order = np.argsort(-labels.counts, kind="stable")
    table = ComparedTable(
        frame,
        np.argsort(order)[labels.codes],
        tuple(str(labels.classes[code]) for code in order),
        order,
        labels.counts[order],
        None if groups is None else _numbered(groups, "groups", len(frame)),
        None if times is None else _numbered(times, "time", len(frame)),
    )
    _check_classes(table)
    if 0 < rows < len(frame):
        table = table.part(kept_rows(table.codes, kept_counts(table.counts, rows)))
    return table if table.times is None else table.part(np.argsort(table.times, kind="stable"))


def kept_counts(counts: Integers, rows: int) -> Integers:
    """Return how many rows each class keeps of ``counts`` when ``rows`` are kept in all.

    >>> kept_counts(np.array([47_559, 701]), 1000).tolist()
    [750, 250]
    """
    by_share = rows * counts / counts.sum()
    least = np.minimum(counts, rows // (2 * len(counts)))
    above = np.maximum(by_share - least, 0)
    left_over = rows - np.maximum(by_share, least).sum() + above.sum()
    wanted = least + above * (left_over / above.sum())
    kept = np.floor(wanted).astype(np.intp)
    most_left = np.argsort(kept - wanted, kind="stable")  # the largest remainder first
    kept[most_left[: rows - int(kept.sum())]] += 1
    return np.asarray(kept)


def kept_rows(codes: Integers, kept: Integers) -> Integers:
    """Draw the given number of rows of each class, always the same ones, in their order."""
    rng = np.random.default_rng(0)
    drawn = [
        rng.permutation(np.flatnonzero(codes == code))[:count] for code, count in enumerate(kept)
    ]
    return np.sort(np.concatenate(drawn))


def _numbered(values: Any, name: str, n_rows: int) -> Integers:
    """Give the distinct values the numbers 0, 1, ... in their order."""
    pd = require_pandas()
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    missing = int(series.isna().sum())
    if len(series) != n_rows:
        raise TableError(f"{name} has {len(series)} values for {n_rows} rows; give one for each")
    if missing:
        raise TableError(
            f"the column of {name} must have no missing cell, it has {missing}; fill them or leave "
            "those rows out"
        )
    if name == "time" and not pd.api.types.is_numeric_dtype(series):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a mixture of formats is read one by one
                series = pd.to_datetime(series)
        except (ValueError, TypeError) as error:
            raise TableError(
                f"the column of time must hold numbers or dates, got {series.iloc[0]!r}: {error}; "
                "write dates as 2026-01-31"
            ) from None
    return np.asarray(pd.factorize(series, sort=True)[0], dtype=np.intp)


def _check_classes(table: ComparedTable) -> None:
    n_classes, fewest = len(table.classes), int(table.counts.min())
    if not BINARY <= n_classes <= MOST_CLASSES:
        raise TableError(
            f"the target must have at least two and at most {MOST_CLASSES} classes, it has "
            f"{n_classes}; choose another column, or cut a number into classes"
        )
    if fewest < FEWEST_OF_CLASS:
        raise TableError(
            f"every class must have at least {FEWEST_OF_CLASS} rows, for training and for test; "
            f"class {table.classes[-1]!r} has {fewest}; collect more, merge the class with "
            "another, or leave its rows out"
        )
