"""The Wisconsin breast cancer table, which comes with the package (source: wisconsin.md)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Dataset", "load_wisconsin", "read_wisconsin"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its labels and its origin.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame
        Features. Nominal columns are ``category``, whole numbers are integers, missing cells are
        NaN (a column of whole numbers with missing cells is float).
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
        return {label: int(count) for label, count in self.y.value_counts().items()}

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Dataset({self.name!r}, rows={rows}, features={features}, {self.class_counts})"


def read_wisconsin() -> tuple[NDArray[np.float64], NDArray[np.str_], list[str]]:
    """Read Wisconsin breast cancer as plain arrays; needs no pandas.

    Returns
    -------
    X : ndarray of shape (699, 9)
        Grades from 1 to 10; a missing cell is NaN.
    y : ndarray of shape (699,)
        ``"benign"`` (458 rows) or ``"malignant"`` (241 rows).
    names : list of str
        Names of the nine features.

    Examples
    --------
    >>> X, y, names = read_wisconsin()
    >>> X.shape, names[0]
    ((699, 9), 'ClumpThickness')
    """
    file = resources.files("counterbalance.datasets") / "wisconsin.csv"
    header, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    X = np.array([[float(cell or "nan") for cell in row[:-1]] for row in rows])
    return X, np.array([row[-1] for row in rows]), header[:-1]


def load_wisconsin() -> Dataset:
    """Load Wisconsin breast cancer: 699 rows, 9 features, 458 benign : 241 malignant.

    BareNuclei is float because 16 of its cells are missing, the other features are integers.

    Examples
    --------
    >>> load_wisconsin().class_counts
    {'benign': 458, 'malignant': 241}
    """
    pandas = require_pandas()
    values, labels, names = read_wisconsin()
    X = pandas.DataFrame(values, columns=names)
    X = X.astype({name: "int64" for name in names if X[name].notna().all()})
    y = pandas.Series(labels.astype(object), name="Class", dtype=object)
    source = "UCI Machine Learning Repository 15, doi 10.24432/C5HP4Z, CC BY 4.0 (bundled)"
    description = (
        "A row is a fine needle aspirate of a breast mass, nine cytological grades from 1 to 10; "
        "16 cells of BareNuclei are missing. The class is the diagnosis: benign or malignant."
    )
    return Dataset("wisconsin", X, y, source, description)
