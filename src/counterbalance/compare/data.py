"""The table that is compared on: features, class codes, groups or times.

    codes       the class of each row: 0 the largest class, C - 1 the smallest
    groups      rows with the same number stay together in a fold, or None
    times       the rank of each row's moment, or None
    subsample   how many rows of each class are used, or None where all are

Of a large table only some rows are used, and the figures still speak of all of it:

    N_c        rows of class c in the whole table, N of all classes
    n_c        rows of it that are kept, n of all classes
    weight     (N_c / N) / (n_c / n): what a kept row counts for in a metric
    prior      the class shares that a model was fitted at

Rows are drawn by class share, but a small class keeps all it has up to n / 2C: the rows that
resampling is about must not be the first to go. So the minority may have a larger share among the
kept rows than in the table, and three things correct for that: metrics that depend on the share of
a class (F1, average precision, Brier, calibration) weight the rows, thresholds are tuned with the
same weights, and the probabilities of a model are moved from the share it was fitted at to the
share that it would have been fitted at with all rows (as in a case-control study). G-mean,
balanced accuracy and ROC AUC of two classes do not depend on the shares.
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
LEAST_SHARE = 1e-12  # of a class that a sampler left nothing of


@dataclass(frozen=True, eq=False)
class Subsample:
    """How many rows of each class were there, and how many are kept."""

    whole: Integers
    kept: Integers

    @cached_property
    def shifts(self) -> bool:
        """Whether the classes have other shares now, beyond rounding."""
        by_share = self.kept.sum() * self.shares
        return bool((np.abs(self.kept - by_share) >= 1).any())

    @property
    def shares(self) -> Floats:
        """The share of each class in the whole table."""
        return np.asarray(self.whole / self.whole.sum())

    @cached_property
    def weights(self) -> Floats:
        """What a row of each class counts for."""
        return np.asarray(self.shares / (self.kept / self.kept.sum()))

    def prior_on_all_rows(self, before: Floats, after: Floats) -> Floats:
        """Return the class shares that a strategy would have made of all rows.

            before, after  (C,) class shares of a training part of the kept rows, and what the
                           strategy made of it

        A strategy that balances the kept rows balances all rows too; one that leaves the shares
        alone leaves those of all rows alone. In between, it goes the same part of the way
        towards balance, on the scale of log shares.
        """
        start, end, real = (_centred(share) for share in (before, after, before * self.weights))
        length = float(start @ start)
        left = float(np.clip(end @ start / length, 0, 1)) if length else 1.0
        odds = np.exp(end + left * (real - start))
        return np.asarray(odds / odds.sum())


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """A table with its classes from the largest to the smallest."""

    X: Any
    codes: Integers
    classes: tuple[str, ...]
    groups: Integers | None = None
    times: Integers | None = None
    subsample: Subsample | None = None

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes: then thresholds are tuned, and class 1 is the minority."""
        return len(self.classes) == BINARY

    @property
    def counts(self) -> Integers:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def counts_of_file(self) -> Integers:
        """Rows of each class in the whole table."""
        return self.counts if self.subsample is None else self.subsample.whole

    @property
    def shares(self) -> Floats:
        """The share of each class; of a subsample, in the whole table."""
        if self.subsample is not None:
            return self.subsample.shares
        return np.asarray(self.counts / len(self.codes))

    @property
    def weights(self) -> Floats | None:
        """What each row counts for in a metric; None where all count the same."""
        if self.subsample is None or not self.subsample.shifts:
            return None
        return np.asarray(self.subsample.weights[self.codes])

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kind of each column."""
        return read_table(self.X).kinds

    @cached_property
    def digest(self) -> str:
        """A text that is the same for the same table only."""
        hashed = require_pandas().util.hash_pandas_object(self.X, index=False).to_numpy()
        digest = hashlib.sha256(hashed.tobytes())
        named = [f"{name!r} {dtype}" for name, dtype in self.X.dtypes.items()]
        digest.update(repr([named, self.classes]).encode())
        for values in (self.codes, self.groups, self.times):
            digest.update(b"-" if values is None else values.astype("<i8").tobytes())
        if self.subsample is not None:
            digest.update(self.subsample.whole.astype("<i8").tobytes())
        return digest.hexdigest()

    @property
    def loose(self) -> ComparedTable:
        """The same without groups and times."""
        return replace(self, groups=None, times=None)

    def part(self, rows: Integers) -> ComparedTable:
        """Return some of the rows."""
        return replace(
            self,
            X=self.X.iloc[rows],
            codes=self.codes[rows],
            groups=None if self.groups is None else self.groups[rows],
            times=None if self.times is None else self.times[rows],
        )


def read_compared(
    X: Any, y: Any, *, groups: Any = None, times: Any = None, rows: int = 0
) -> ComparedTable:
    """Check a table and draw a number of its rows, sparing small classes; 0 takes all.

    X, y, groups, times  as `compare` takes them; times are numbers or dates
    rows                 most rows
    """
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
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    table = ComparedTable(
        _with_levels(frame),
        rank[labels.codes],
        tuple(str(labels.classes[code]) for code in order),
        None if groups is None else _numbered(groups, "groups", len(frame)),
        None if times is None else _numbered(times, "time", len(frame)),
    )
    _check_classes(table)
    if 0 < rows < len(frame):
        drawn = Subsample(table.counts, kept_counts(table.counts, rows))
        table = table.part(kept_rows(table.codes, drawn.kept))
        table = replace(table, X=table.X.reset_index(drop=True), subsample=drawn)
    return table


def kept_counts(counts: Integers, rows: int) -> Integers:
    """Return how many rows each class keeps of ``counts`` when ``rows`` are kept in all.

    >>> kept_counts(np.array([47_559, 701]), 1000).tolist()
    [750, 250]
    >>> kept_counts(np.array([47_559, 701]), 10_000).tolist()
    [9299, 701]
    >>> kept_counts(np.array([7000, 3000]), 1000).tolist()
    [700, 300]
    """
    by_share = rows * counts / counts.sum()
    least = np.minimum(counts, rows // (2 * len(counts)))
    above = np.maximum(by_share - least, 0)
    room = rows - np.maximum(by_share, least).sum() + above.sum()
    wanted = least + above * (room / above.sum())
    kept = np.floor(wanted).astype(np.intp)
    most_left = np.argsort(kept - wanted, kind="stable")  # the largest remainder first
    kept[most_left[: rows - int(kept.sum())]] += 1
    return np.asarray(kept)


def kept_rows(codes: Integers, kept: Integers) -> Integers:
    """Draw so many rows of each class, always the same ones, in their order."""
    rng = np.random.default_rng(0)
    drawn = [
        rng.permutation(np.flatnonzero(codes == code))[:count] for code, count in enumerate(kept)
    ]
    return np.sort(np.concatenate(drawn))


def _with_levels(frame: Any) -> Any:
    """Name the levels of text columns, so that a part without some of them is still text."""
    kinds = read_table(frame).kinds
    texts = [
        name
        for (name, dtype), kind in zip(frame.dtypes.items(), kinds, strict=True)
        if kind is Kind.NOMINAL and dtype != "category"
    ]
    return frame.astype(dict.fromkeys(texts, "category"))


def _numbered(values: Any, name: str, n_rows: int) -> Integers:
    """Give the distinct values the numbers 0, 1, ... in their order."""
    pd = require_pandas()
    series = pd.Series(np.asarray(values)) if not isinstance(values, pd.Series) else values
    if len(series) != n_rows:
        raise TableError(f"{name} has {len(series)} values for {n_rows} rows; give one for each")
    if series.isna().any():
        raise TableError(
            f"the column of {name} must have no missing cell, it has {int(series.isna().sum())}; "
            "fill them or leave those rows out"
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
    if n_classes < BINARY:
        raise TableError(
            f"the target must have at least two classes, it has only {table.classes[0]!r}; "
            "choose another column"
        )
    if n_classes > MOST_CLASSES:
        raise TableError(
            f"the target must have at most {MOST_CLASSES} classes, it has {n_classes}; it looks "
            "like a number or an identifier: choose another column, or cut it into classes"
        )
    if fewest < FEWEST_OF_CLASS:
        raise TableError(
            f"every class must have at least {FEWEST_OF_CLASS} rows, so that it is in training and "
            f"in test; class {table.classes[-1]!r} has {fewest}; collect more, merge the class "
            "with another, or leave its rows out"
        )


def _centred(shares: Floats) -> Floats:
    logs = np.log(np.maximum(shares, LEAST_SHARE))
    return np.asarray(logs - logs.mean())
