"""Wisconsin breast cancer (original), the paper's WBC. It is bundled: see wisconsin.md."""

from __future__ import annotations

import csv
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from counterbalance.datasets.dataset import Dataset
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOURCE = "UCI Machine Learning Repository 15, doi 10.24432/C5HP4Z, CC BY 4.0 (bundled)"
DESCRIPTION = (
    "A row is a fine needle aspirate of a breast mass, nine cytological grades from 1 to 10; "
    "16 cells of BareNuclei are missing. The class is the diagnosis: benign or malignant."
)


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
    y = np.array([row[-1] for row in rows])
    return X, y, header[:-1]


def load_wisconsin() -> Dataset:
    """Load Wisconsin breast cancer (WBC): 699 rows, 9 features, 458 benign : 241 malignant.

    BareNuclei is float because 16 of its cells are missing, the other features are integers.

    Examples
    --------
    >>> load_wisconsin().class_counts
    {'benign': 458, 'malignant': 241}
    """
    pandas = require_pandas()
    values, labels, names = read_wisconsin()
    X = pandas.DataFrame(values, columns=names)
    whole = [name for name in names if X[name].notna().all()]
    X = X.astype(dict.fromkeys(whole, "int64"))
    y = pandas.Series(labels.astype(object), name="Class", dtype=object)
    return Dataset("wisconsin", X, y, SOURCE, DESCRIPTION)
