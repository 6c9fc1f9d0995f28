"""Preparation: a table as the numbers that classifiers and samplers take.

    table -> plain -> encoded

``plain`` has the ordered columns first (missing cells get the median, then scaled to unit
variance), then the codes of the unordered ones (a missing cell is a category of its own).
``encoded`` replaces the codes by one column for each category. All of it is learned from the
rows that are given to ``prepare``: the training part, never the test part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterbalance.arrays import Floats
from counterbalance.table.encoder import TableEncoder
from counterbalance.table.kinds import Kind

NO_LEVEL = -1.0
MOST_LEVELS = 30  # rarer levels share one column


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was learned from a training part."""

    codes: TableEncoder
    ordered: NDArray[np.intp]
    nominal: NDArray[np.intp]
    numbers: Pipeline | None
    levels: OneHotEncoder | None

    @property
    def nominal_places(self) -> list[int]:
        """Where the codes of unordered columns stand in ``plain``."""
        start = len(self.ordered)
        return list(range(start, start + len(self.nominal)))

    def plain(self, X: Any) -> Floats:
        """Return scaled numbers and codes of categories."""
        return self._plain(self.codes.transform(X))

    def encoded(self, plain: Floats) -> Floats:
        """Replace the codes of ``plain`` by one column for each category."""
        start = len(self.ordered)
        if self.levels is None:
            return plain
        return np.hstack([plain[:, :start], self.levels.transform(plain[:, start:])])

    def transform(self, X: Any) -> Floats:
        """Return a table as numbers."""
        return self.encoded(self.plain(X))

    def _plain(self, codes: Floats) -> Floats:
        numbers = codes[:, self.ordered]
        if self.numbers is not None:
            numbers = self.numbers.transform(numbers)
        return np.hstack([numbers, _codes(codes[:, self.nominal])])


def prepare(X: Any, kinds: list[Kind]) -> Preparation:
    """Learn the preparation from a training part whose columns are of these kinds."""
    has_order = np.array([kind.has_order for kind in kinds], dtype=bool)
    ordered, nominal = np.flatnonzero(has_order), np.flatnonzero(~has_order)
    encoder = TableEncoder().fit(X)
    codes = encoder.transform(X)
    numbers = levels = None
    if ordered.size:
        median = SimpleImputer(strategy="median", keep_empty_features=True)
        numbers = make_pipeline(median, StandardScaler()).fit(codes[:, ordered])
    if nominal.size:
        levels = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_LEVELS,
            sparse_output=False,
        ).fit(_codes(codes[:, nominal]))
    return Preparation(encoder, ordered, nominal, numbers, levels)


def _codes(codes: Floats) -> Floats:
    return np.where(np.isnan(codes), NO_LEVEL, codes)
