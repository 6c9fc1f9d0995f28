"""BalancedTable: a table before and after a sampler, as every section of a page sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers
from counterbalance.compare.records import SummaryError
from counterbalance.rows.provenance import Provenance
from counterbalance.table import frames
from counterbalance.table.labels import plain, read_labels
from counterbalance.table.table import Table, read_table


@dataclass(frozen=True, eq=False)
class BalancedTable:
    """What a fitted sampler was given and what it made of it."""

    sampler: Any  # the fitted sampler
    table: Table  # the real rows, and the new ones below
    codes: Integers  # the class of each of these rows, as a place in `classes`
    classes: NDArray[Any]  # the labels in sorted order
    n_real: int  # how many rows are real

    @property
    def provenance(self) -> Provenance:
        """Where each new row comes from."""
        found: Provenance = self.sampler.provenance_
        return found

    @property
    def labels(self) -> list[str]:
        """The classes as texts."""
        return [str(plain(label)) for label in self.classes]

    def count(self, code: int, *, new: bool) -> int:
        """Return how many rows a class has, real or new."""
        part = self.codes[self.n_real :] if new else self.codes[: self.n_real]
        return int(np.sum(part == code))


def read_balanced(
    sampler: Any, X: Any, y: Any, X_resampled: Any, y_resampled: Any
) -> BalancedTable:
    """Check that the tables and the sampler belong together, and read them."""
    provenance = getattr(sampler, "provenance_", None)
    if not isinstance(provenance, Provenance):
        raise SummaryError(
            f"sampler must be a sampler of counterbalance after fit_resample, got "
            f"{type(sampler).__name__} without provenance_; call its fit_resample first"
        )
    before, after = [_length(X), _length(y)], [_length(X_resampled), _length(y_resampled)]
    if {n + len(provenance) for n in before} != set(after):
        raise SummaryError(
            f"X and y have {before[0]} and {before[1]} rows, X_resampled and y_resampled have "
            f"{after[0]} and {after[1]}, but the sampler made {len(provenance)} more; pass what "
            "went into its last fit_resample and what came out"
        )
    table = read_table(
        frames.from_list(X_resampled) if isinstance(X_resampled, list) else X_resampled,
        categorical_features=sampler.categorical_features,
        integer_features=sampler.integer_features,
    )
    labels = read_labels(y_resampled)
    return BalancedTable(sampler, table, labels.codes, labels.classes, before[0])


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
