"""Data sets: what every loader returns or raises, and the loader for your own table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.errors import DataNotFoundError, TableError, near_names
from counterbalance.io import Reading, read_table_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import pandas as pd

FEWEST_OF_CLASS = 10  # rows that a subset keeps of a class
# Types of columns that not every classifier takes, and what they become.
DTYPES = {
    "str": "category",
    "string": "category",
    "object": "category",
    "boolean": "category",
    "Int64": "float64",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its labels and its origin.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame
        Features. Nominal columns are ``category``, whole numbers are integers,
        missing cells are NaN (a column of whole numbers with missing cells is float).
    y : pandas.Series
        Labels, one per row of X, with the same index.
    source : str
        Where the data come from.
    description : str
        What a row is and what is to be predicted.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    source: str
    description: str

    @property
    def class_counts(self) -> dict[Any, int]:
        """Rows per class, the largest class first."""
        counts = self.y.value_counts(sort=True)
        return {label: int(count) for label, count in counts.items()}

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Dataset({self.name!r}, rows={rows}, features={features}, {self.class_counts})"


@dataclass(frozen=True)
class DatasetSummary:
    """What is known about a data set without loading its features."""

    name: str
    rows: int
    features: int
    class_counts: Mapping[str, int]

    @property
    def imbalance_ratio(self) -> float:
        """Rows of the largest class per row of the smallest."""
        return max(self.class_counts.values()) / min(self.class_counts.values())


def share_of_rows(y: NDArray[Any], rows: int, least: int = FEWEST_OF_CLASS) -> NDArray[np.intp]:
    """Choose rows by class share, always the same ones.

        y      (N,) labels
        rows   how many rows are wanted; where a class is given its least, a few more are chosen
        least  A class keeps as many rows as this, or all that it has

    >>> y = np.array(["a"] * 900 + ["b"] * 100)
    >>> np.unique(y[share_of_rows(y, 200)], return_counts=True)[1].tolist()
    [180, 20]
    >>> np.unique(y[share_of_rows(y, 200, least=50)], return_counts=True)[1].tolist()
    [180, 50]
    """
    rng = np.random.default_rng(0)
    kept = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        wanted = max(round(rows * len(members) / len(y)), least)
        kept.append(rng.permutation(members)[:wanted])
    return np.sort(np.concatenate(kept))


def load_table(path: str | PathLike[str], target: str) -> Dataset:
    """Load a file with a header, one row per line and one column to predict.

    Parameters
    ----------
    path : path-like
        A ``.csv`` or ``.tsv`` file, which may be gzipped (``.csv.gz``), an ``.xlsx`` file,
        which needs openpyxl, or a ``.parquet``, ``.feather`` or ``.arrow`` file, which needs
        pyarrow.
    target : str
        Name of the column with the classes.

    Returns
    -------
    Dataset
        Text columns become categories; the other columns keep their dtype.
    """
    file = Path(path)
    table = read_table_file(file, Reading(header=True, labels=(target,))).frame
    names = [str(name) for name in table.columns]
    if target not in table.columns:
        raise TableError(
            f"target must be a column of {file.name}, got {target!r}{near_names(target, names)}; "
            f"its columns are {', '.join(names)}"
        )
    y = table[target]
    if bool(y.isna().any()):
        raise TableError(
            f"target must have a class in every row; {target!r} of {file.name} is empty in "
            f"{int(y.isna().sum())} of {len(y)} rows: drop these rows or fill them"
        )
    X = table.drop(columns=target)
    X = X.astype({name: DTYPES[str(X[name].dtype)] for name in X if str(X[name].dtype) in DTYPES})
    y = y.astype(object) if str(y.dtype) == "str" else y
    return Dataset(file.name, X, y, f"file {file.name}", f"Predict {target}.")


def not_found(what: str, looked: Sequence[str], ways: Sequence[str]) -> DataNotFoundError:
    """Return the error for missing data: where we looked, and every way to get them."""
    places = "; ".join(looked) if looked else "nowhere"
    remedies = "".join(f"\n  - {way}" for way in ways)
    return DataNotFoundError(
        f"{what} was not found (looked in: {places}). Ways to get it:{remedies}"
    )
