"""The data sets of the study: one suite to develop on, one that is kept for the final check.

Every choice in this library that figures decided was decided on the development suite. The
final suite is all other KEEL tables that a study of hours can hold: they are looked at when
choices have been made (docs/research-log.md says when).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.datasets import list_datasets, load
from counterbalance.trials.subset import FEWEST_OF_CLASS, share_of_rows

DEVELOPMENT = (
    *("ecoli1", "ecoli3", "ecoli4", "ecoli-0-1-4-6_vs_5", "glass0", "glass2", "glass6"),
    *("glass-0-1-6_vs_5", "haberman", "pima", "yeast1", "yeast4", "yeast6", "yeast-1_vs_7"),
    *("yeast-2_vs_4", "vehicle1", "vehicle2", "abalone9-18", "abalone-21_vs_8", "wisconsin"),
    *("cm1", "winequality-red-4", "winequality-white-3_vs_7", "new_thyroid1"),
    *("page-blocks-1-3_vs_4", "page-blocks0", "spectfheart", "poker-8-9_vs_6", "car-good"),
    *("cleveland-0_vs_4", "pc1", "kr-vs-k-zero_vs_eight", "led7digit-0-2-4-5-6-7-8-9_vs_1"),
    *("shuttle-c0-vs-c4", "vowel0", "segment0"),
    *("page-blocks", "glass", "newthyroid", "balance"),
)
# Above this a table is hours of work on a laptop, or is the same table under another name.
MOST_ROWS_OF_FINAL = 6000
SUITES = ("development", "final")


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table with class codes, 0 the largest class, the smallest last."""

    X: Any
    y: NDArray[np.intp]
    n_classes: int


def suite(name: str) -> tuple[str, ...]:
    """Return the names of the data sets of a suite.

    Examples
    --------
    >>> len(suite("development"))
    40
    >>> set(suite("development")) & set(suite("final"))
    set()
    """
    return DEVELOPMENT if name == "development" else _final()


def _final() -> tuple[str, ...]:
    """Return the other KEEL tables that folds can be cut from, the small ones first."""
    kept = [
        entry
        for entry in list_datasets()
        if entry.name not in DEVELOPMENT
        and entry.rows <= MOST_ROWS_OF_FINAL
        and min(entry.class_counts.values()) >= FEWEST_OF_CLASS
    ]
    kept.sort(key=lambda entry: (entry.rows * entry.features * len(entry.class_counts), entry.name))
    return tuple(entry.name for entry in kept)


@lru_cache(maxsize=2)
def load_labelled(name: str, rows: int) -> Labelled:
    """Load a data set, cut by class share to a number of rows; 0 takes all."""
    dataset = load(name)
    labels = dataset.y.to_numpy().astype(str)
    codes = {str(label): code for code, label in enumerate(dataset.class_counts)}
    y = np.array([codes[label] for label in labels], dtype=np.intp)
    X = dataset.X
    if 0 < rows < len(y):
        kept = share_of_rows(y, rows)
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    return Labelled(X, y, len(codes))
