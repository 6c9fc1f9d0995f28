"""Labels: y as the user passed it, and as class codes.

native     y itself: list, array, pandas or polars series, one-hot array
classes    the labels in sorted order
codes      the position of each label in ``classes``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from imblearn.utils import check_target_type
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from counterbalance.arrays import Integers
from counterbalance.errors import TableError
from counterbalance.table import containers, frames

# Labels that are not descriptive on their own.
TRUTHS = frozenset({"yes", "no", "true", "false", "nan", "inf"})


@dataclass(frozen=True)
class Labels:
    """The class of every factual row."""

    native: Any
    values: NDArray[Any]
    classes: NDArray[Any]
    codes: Integers
    total: Integers | None = None  # N_c of the whole table, where these rows are a block of it

    @property
    def counts(self) -> Integers:
        """N_c, the number of rows of each class."""
        if self.total is not None:
            return self.total
        return np.bincount(self.codes, minlength=len(self.classes))

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of ``values`` within each class."""
        return np.asarray(np.bincount(self.codes, weights=values) / self.counts)

    @property
    def balanced_weight(self) -> NDArray[np.float64]:
        """A weight for each row that gives all classes the same total weight.

        It does what ``class_weight="balanced"`` does; scikit-learn 1.9 fails on that in a
        forest where labels are texts like "1".
        """
        return np.asarray((len(self.codes) / len(self.classes) / self.counts)[self.codes])

    def append(self, codes: Integers) -> Any:
        """Return y with the labels of new rows below, copied from rows that have them."""
        example = np.zeros(len(self.classes), dtype=np.intp)
        example[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return containers.append(self.native, containers.take(self.native, example[codes]))


def read_labels(y: Any) -> Labels:
    """Read the classes of ``y``."""
    if y is None:
        raise TableError(
            "the sampler requires y to be passed, but the target y is None; "
            "give the class of every row"
        )
    if sparse.issparse(y):
        raise TableError("y is sparse; pass y.toarray(), or better the label of every row")
    values = as_array(y)
    if values.dtype == object and frames.missing(values.ravel()).any():
        raise TableError(_missing_label(frames.missing(values.ravel())))
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise TableError(_missing_label(np.isnan(values.ravel())))
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise TableError("y holds an infinite label; give every class a finite number or a name")
    try:
        check_classification_targets(values)
        values = check_target_type(values)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"y cannot be read as classes: {error} Make the labels whole numbers or texts, for "
            "example with astype(str)"
        ) from None
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in values})
        raise TableError(
            f"y mixes labels of the types {', '.join(kinds)}; make them all of one type"
        ) from None
    if len(classes) == 1:
        raise TableError(
            f"y has one class only ({classes.tolist()[0]!r}); there is nothing to balance with "
            "fewer than two classes"
        )
    return Labels(y, values, classes, codes.astype(np.intp))


def plain(label: Any) -> Any:
    """Return a numpy scalar as the Python value it stands for."""
    return label.item() if isinstance(label, np.generic) else label


def in_words(label: Any) -> str:
    """Return the name of a class in a sentence; "class" precedes numbers, letters and booleans.

    >>> in_words("benign"), in_words(5), in_words("yes")
    ('benign', 'class 5', 'class yes')
    """
    text = str(label)
    return (
        text
        if len(text) > 1 and text[0].isalpha() and text.lower() not in TRUTHS
        else (f"class {text}")
    )


def rows_of(label: Any) -> str:
    """Return what the rows of a class are called.

    >>> rows_of("benign"), rows_of(5)
    ('benign rows', 'rows of class 5')
    """
    named = in_words(label)
    return f"rows of {named}" if named != str(label) else f"{named} rows"


def as_array(y: Any) -> NDArray[Any]:
    """Return labels as an array of one dtype that scikit-learn takes."""
    if str(getattr(y, "dtype", "")) in {"Int128", "UInt128"}:  # polars' own, numpy has none
        y = y.to_list()
    values = y.to_numpy() if frames.has_columns(y) else np.asarray(y)
    _check_texts(y if isinstance(y, (list, tuple)) else values)
    if values.dtype.kind == "O" and values.size and all(type(v) is bool for v in values.ravel()):
        return values.astype(bool)
    # Use numpy's text type: scikit-learn sometimes reads objects like "1" as numbers.
    if values.dtype.kind == "O" and all(isinstance(v, str) for v in values.ravel()):
        return values.astype(str)
    # Whole numbers in a column of objects.
    if values.dtype.kind == "O" and all(type(v) is int for v in values.ravel()):
        return np.array(values.tolist())
    return np.asarray(values)


def _check_texts(labels: Any) -> None:
    """Raise for texts that end in NUL: numpy removes it, which gives another label."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind != "O":
        return
    cells = labels.ravel() if isinstance(labels, np.ndarray) else labels
    cut = next((cell for cell in cells if isinstance(cell, str) and cell.endswith("\0")), None)
    if cut is not None:
        raise TableError(
            f"y holds the label {cut!r}, which ends in a NUL character that numpy cuts off; "
            "take it off, or replace it by another character"
        )


def _missing_label(gone: NDArray[np.bool_]) -> str:
    return (
        f"y has {gone.sum()} missing {'label' if gone.sum() == 1 else 'labels'}, the first in row "
        f"{np.argmax(gone)}; "
        "drop these rows or give them a class of their own"
    )
