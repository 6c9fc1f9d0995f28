"""Agreement: a second opinion on new rows, of which f knows nothing.

f calls every inversion the class: that is how it was found. Whether the row belongs there is asked
of two judges that are unlike f and unlike each other, and weigh no class more than another:

    boosting    a few rounds on all features (see ``boosting``)
    logistic    a logistic regression on the cells as columns
    score       the mean of the two probabilities

Cells become columns one by one:

    number      (cell - mean) / deviation; at most FARTHEST deviations count
    level       a column for each of the MOST_LEVELS most frequent ones, 1 where the cell has it
    missing     the mean of a number, no level, and 1 in a column of its own

Both are fitted to a sample of a large table, drawn by the seed of the search. A row's score is its
own, to the last bit: it does not depend on those that are asked about with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.boosting import Boosting, draw_rows

# Rows that the judges are fitted to.
MOST_ROWS = 10_000
# Levels of a category that are told apart, the most frequent ones; the others add nothing.
MOST_LEVELS = 20
# A number farther from the mean counts as if it were so many deviations away.
FARTHEST = 20.0
MAX_ITER = 300
CENTRED = ("centre", "scale")  # what a number is placed by


def sampled(codes: Integers, seed: int) -> tuple[Integers, Floats]:
    """Return the rows that the judges are fitted to, and how many rows each stands for.

    A row whose class code is negative has no class and is never drawn.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) <= MOST_ROWS:
        return rows, np.ones(len(rows))
    _, dense = np.unique(codes[rows], return_inverse=True)
    drawn, more = draw_rows(dense, MOST_ROWS, np.random.RandomState(seed % 2**32))
    return rows[drawn], more


@dataclass(frozen=True, eq=False)
class Agreement:
    """The two judges."""

    boosting: Boosting
    logistic: Logistic
    n_classes: int

    @classmethod
    def fit(cls, x: Floats, codes: Integers, weight: Floats, nominal: Mask, n_classes: int) -> Self:
        """Fit the judges to encoded rows, see ``sampled``, and to the codes of their classes."""
        boosting = Boosting(max_rows=len(x)).fit(x, codes, weight)
        return cls(boosting, Logistic.fit(x, codes, weight, nominal), n_classes)

    def scores(self, x: Floats, target: Integers | Small) -> Floats:
        """Return how far the judges agree that each encoded row is of its class ``target``."""
        if not len(x):
            return np.zeros(0)
        probability = np.zeros((len(x), self.n_classes))
        probability[:, self.boosting.classes_] = self.boosting.probabilities(x)
        probability[:, self.logistic.classes] += self.logistic.probability(x)
        return np.asarray(probability[np.arange(len(x)), target] / 2)


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic regression of the classes on the cells as columns."""

    columns: list[Columns]
    classes: Integers
    weight: Floats  # (columns, classes)
    start: Floats  # of each class

    @classmethod
    def fit(cls, x: Floats, codes: Integers, weight: Floats, nominal: Mask) -> Self:
        """Fit it to encoded rows; ``nominal`` features hold codes of levels."""
        columns = [
            Columns.of(cell, nominal=bool(one)) for cell, one in zip(x.T, nominal, strict=True)
        ]
        placed = np.hstack([own.place(x[:, m]) for m, own in enumerate(columns)])
        # One thread: a product of matrices rounds as the threads that share it have it. An opinion
        # need not be settled to the last digit.
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(max_iter=MAX_ITER).fit(placed, codes, weight)
        slope, start = model.coef_.T, model.intercept_
        if len(model.classes_) == 2:  # noqa: PLR2004  (scikit-learn keeps the second one only)
            slope, start = np.hstack([np.zeros_like(slope), slope]), np.append(0.0, start)
        return cls(columns, model.classes_, np.ascontiguousarray(slope), start)

    def probability(self, x: Floats) -> Floats:
        """Return the probability of each class, (n, classes)."""
        by_class = np.repeat(self.start[:, None], len(x), axis=1)
        # Summed column by column: a product of matrices rounds as their shapes have it.
        for weight, column in zip(self.weight, self._placed(x), strict=True):
            by_class += weight[:, None] * column
        logit = np.ascontiguousarray(by_class.T)
        likely = np.exp(logit - logit.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def _placed(self, x: Floats) -> Iterator[Floats]:
        """Return the cells as columns, one behind the other; plain numbers are placed together."""
        plain = [own.level is None and not own.holes for own in self.columns]
        some = [own for own, is_plain in zip(self.columns, plain, strict=True) if is_plain]
        centre, scale = (np.array([getattr(own, name) for own in some]) for name in CENTRED)
        numbers = iter(place_numbers(np.ascontiguousarray(x.T[plain]), centre, scale))
        for m, own in enumerate(self.columns):
            if plain[m]:
                yield next(numbers)
            else:
                yield from own.place(x[:, m]).T


def place_numbers(cells: Floats, centre: Floats, scale: Floats) -> Floats:
    """Return cells in deviations from the mean, (features, n)."""
    with np.errstate(invalid="ignore"):  # infinite by infinite
        place = np.clip((cells - centre[:, None]) / scale[:, None], -FARTHEST, FARTHEST)
    return np.where(np.isnan(place), 0.0, place)


@dataclass(frozen=True, eq=False)
class Columns:
    """What the cells of one feature become."""

    centre: float = 0.0
    scale: float = 1.0
    level: Integers | None = None  # of a category: the one that each column stands for
    holes: bool = False  # whether a missing cell has a column of its own, the last

    @classmethod
    def of(cls, cell: Floats, *, nominal: bool) -> Self:
        """Learn it from the cells."""
        known = cell[~np.isnan(cell)]
        holes = len(known) < len(cell)
        if nominal:
            counts = np.bincount(known.astype(np.intp))
            frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            return cls(level=np.sort(frequent[counts[frequent] > 0]), holes=holes)
        with np.errstate(all="ignore"):
            centre, scale = (known.mean(), known.std()) if known.size else (0.0, 0.0)
        if not (np.isfinite(centre) and np.isfinite(scale) and scale > 0):
            return cls(scale=np.inf, holes=holes)  # nothing that could be told apart
        return cls(float(centre), float(scale), holes=holes)

    def place(self, cell: Floats) -> Floats:
        """Return the cells as columns, (n, columns)."""
        width = (1 if self.level is None else len(self.level)) + self.holes
        made = np.zeros((len(cell), width))
        if self.level is None:
            centre, scale = (np.array([getattr(self, name)]) for name in CENTRED)
            made[:, 0] = place_numbers(cell[None, :], centre, scale)[0]
        else:
            made[:, : len(self.level)] = cell[:, None] == self.level
        if self.holes:
            made[:, -1] = np.isnan(cell)
        return made
