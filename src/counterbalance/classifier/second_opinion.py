"""Second opinion: how likely another model finds the class of new rows.

f puts every inversion into its class by definition. A logistic regression, which is unlike f and
has no class weights, gives the probability of that class.

Cells become columns one by one:

    number      (cell - mean) / deviation, clipped at FARTHEST deviations
    level       a column for each of the MOST_LEVELS most frequent ones, 1 where the cell has it
    missing     the mean of a number, no level, and 1 in a column of its own

The model is fitted to a sample of a large table, drawn by the seed of the search. The score of a
row is the same to the last bit, whatever rows are scored with it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.boosting import draw_rows

# Rows that the model is fitted to.
MOST_ROWS = 10_000
# Levels of a category with a column, the most frequent ones; the others add nothing.
MOST_LEVELS = 20
# Numbers are clipped at this many deviations from the mean.
FARTHEST = 20.0
MAX_ITER = 300


def draw_sample(codes: Integers, seed: int) -> tuple[Integers, Floats]:
    """Return the rows that the model is fitted to, and their weights.

    A row whose class code is negative has no class and is never drawn.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) <= MOST_ROWS:
        return rows, np.ones(len(rows))
    _, dense = np.unique(codes[rows], return_inverse=True)
    drawn, more = draw_rows(dense, MOST_ROWS, np.random.RandomState(seed % 2**32))
    return rows[drawn], more


@dataclass(frozen=True, eq=False)
class SecondOpinion:
    """A logistic regression of the classes on the cells as columns."""

    columns: list[FeatureColumns]
    classes: Integers
    weight: Floats  # (columns, classes)
    start: Floats  # of each class

    @classmethod
    def fit(cls, x: Floats, codes: Integers, weight: Floats, nominal: Mask) -> Self:
        """Fit it to encoded rows; ``nominal`` features hold codes of levels."""
        columns = [
            FeatureColumns.from_cells(cell, nominal=bool(one))
            for cell, one in zip(x.T, nominal, strict=True)
        ]
        placed = np.ascontiguousarray(_place(columns, x).T)
        # One thread, because the rounding of a matrix product depends on the number of threads. The
        # fit need not converge to the last digit.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(max_iter=MAX_ITER).fit(placed, codes, weight)
        slope, start = model.coef_.T, model.intercept_
        if len(model.classes_) == 2:  # noqa: PLR2004  (scikit-learn stores the second one only)
            slope, start = np.hstack([np.zeros_like(slope), slope]), np.append(0.0, start)
        return cls(columns, model.classes_, np.ascontiguousarray(slope), start)

    def scores(self, x: Floats, target: Integers | Small) -> Floats:
        """Return the probability of class ``target`` for each encoded row."""
        logit = np.repeat(self.start[:, None], len(x), axis=1)
        # Sum column by column: the rounding of a matrix product depends on the shapes.
        for column, weight in zip(_place(self.columns, x), self.weight, strict=True):
            logit += weight[:, None] * column
        logit = np.ascontiguousarray(logit.T)
        likely = np.exp(logit - logit.max(axis=1, keepdims=True))
        place = np.searchsorted(self.classes, target)
        return np.asarray(likely[np.arange(len(x)), place] / likely.sum(axis=1))


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """The model's columns for one feature."""

    centre: float = 0.0
    scale: float = 1.0
    level: Integers | None = None  # of a category: the level of each column
    has_missing: bool = False  # whether missing cells have their own column, the last

    @classmethod
    def from_cells(cls, cell: Floats, *, nominal: bool) -> Self:
        """Learn the columns from the cells."""
        known = cell[~np.isnan(cell)]
        has_missing = len(known) < len(cell)
        if nominal:
            counts = np.bincount(known.astype(np.intp))
            frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            return cls(level=np.sort(frequent[counts[frequent] > 0]), has_missing=has_missing)
        with np.errstate(all="ignore"):
            centre, scale = (known.mean(), known.std()) if known.size else (0.0, 0.0)
        if not (np.isfinite(centre) and np.isfinite(scale) and scale > 0):
            return cls(scale=np.inf, has_missing=has_missing)  # all values are the same
        return cls(float(centre), float(scale), has_missing=has_missing)

    @property
    def width(self) -> int:
        """The number of columns."""
        return (1 if self.level is None else len(self.level)) + self.has_missing


def _place(columns: list[FeatureColumns], x: Floats) -> Floats:
    """Return the cells of each feature as columns, (columns, n); all numbers at once."""
    first = np.cumsum([0, *(own.width for own in columns)])
    made = np.zeros((int(first[-1]), len(x)))
    numbers = [m for m, own in enumerate(columns) if own.level is None]
    centre, scale = (
        np.array([getattr(columns[m], name) for m in numbers])[:, None]
        for name in ("centre", "scale")
    )
    with np.errstate(invalid="ignore"):  # infinite by infinite
        place = np.clip((x.T[numbers] - centre) / scale, -FARTHEST, FARTHEST)
    made[first[numbers]] = np.where(np.isnan(place), 0.0, place)
    for m, (start, own) in enumerate(zip(first.tolist(), columns, strict=False)):
        if own.level is not None:
            made[start : start + len(own.level)] = x[:, m] == own.level[:, None]
        if own.has_missing:
            made[start + own.width - 1] = np.isnan(x[:, m])
    return made
