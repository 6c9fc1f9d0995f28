"""Containers: rows of numpy arrays, sparse matrices, lists, pandas and polars objects.

Every container supports three operations: select rows (``take``), append rows (``append``), and
detect the container (``kind``).

The index of a pandas object: old rows keep their labels; new rows get unique labels. An integer
index continues after its largest label, any other index gets the labels ``new-0``, ``new-1``, ...
(with more dashes if such a label exists already).
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
from scipy import sparse

from counterbalance.arrays import Integers

Kind = Literal["array", "list", "sparse", "pandas", "polars"]


def kind(rows: Any) -> Kind:
    """Return the kind of container, without importing a library that is not in use."""
    if sparse.issparse(rows):
        return "sparse"
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(rows, (pandas.DataFrame, pandas.Series)):
        return "pandas"
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(rows, (polars.DataFrame, polars.Series)):
        return "polars"
    return "list" if isinstance(rows, (list, tuple)) else "array"


def take(rows: Any, positions: Integers) -> Any:
    """Return the rows at ``positions``, in a container of the same kind."""
    match kind(rows):
        case "pandas":
            return rows.iloc[positions]
        case "list":
            return [rows[position] for position in positions]
        case "sparse":
            return rows.tocsr()[positions].asformat(rows.format)
        case _:
            return rows[positions]


def append(rows: Any, new: Any) -> Any:
    """Return ``rows`` with ``new``, of the same kind, below them."""
    match kind(rows):
        case "pandas":
            return _append_pandas(rows, new)
        case "polars":
            return rows.clone().extend(new) if len(new) else rows.clone()
        case "list":
            return [*rows, *new]
        case "sparse":
            return sparse.vstack([rows, new], format=rows.format, dtype=rows.dtype)
        case _:
            return np.concatenate([rows, new])


def copy(rows: Any) -> Any:
    """Return a copy of the rows, which may be written into."""
    match kind(rows):
        case "polars":
            return rows.clone()
        case "list":
            return list(rows)
        case _:
            return rows.copy()


def same(rows: Any, others: Any) -> bool:
    """Return whether two containers of one kind hold the same cells."""
    if rows.shape != others.shape:
        return False
    match kind(rows):
        case "pandas" | "polars":
            return bool(rows.equals(others))
        case "sparse":
            left, right = (_in_order(matrix) for matrix in (rows, others))
            places = np.array_equal(left.indptr, right.indptr)
            places = places and np.array_equal(left.indices, right.indices)
            return places and same(left.data, right.data)
        case _:
            # Only nan differs from itself, and nan equals nan here.
            nan = (rows != rows) & (others != others)  # noqa: PLR0124
            return not bool(((rows != others) & ~nan).any())


def _in_order(matrix: Any) -> Any:
    """Return a sparse matrix by rows, with its cells in canonical order."""
    ordered = matrix.tocsr(copy=True)
    ordered.sum_duplicates()
    return ordered


def _append_pandas(rows: Any, new: Any) -> Any:
    import pandas as pd  # noqa: PLC0415  (an extra: only loaded when a frame came in)

    index = new_index(rows.index, len(new))
    new = new.set_axis(index[len(rows) :])
    joined = pd.concat([rows, new]) if len(new) else rows.copy()
    joined.index = index
    return joined


def new_index(index: Any, n_new: int) -> Any:
    """Return ``index`` followed by ``n_new`` labels that are not in it."""
    import pandas as pd  # noqa: PLC0415  (an extra: only loaded when a frame came in)

    if isinstance(index, pd.RangeIndex) and index.step == 1:
        return pd.RangeIndex(index.start, index.stop + n_new, name=index.name)
    if pd.api.types.is_integer_dtype(index.dtype) and not index.hasnans:
        first = int(index.max()) + 1 if len(index) else 0
        own = getattr(index.dtype, "numpy_dtype", index.dtype)  # nullable and arrow ones have it
        if first + n_new <= np.iinfo(own).max:
            more = np.arange(first, first + n_new, dtype=own)
            return index.append(pd.Index(more, dtype=index.dtype))
        if first + n_new <= np.iinfo(np.int64).max:
            return index.astype("int64").append(pd.RangeIndex(first, first + n_new))
    label = "new-"
    while n_new and index.get_level_values(0).astype(str).str.startswith(label).any():
        label += "-"
    labels = [f"{label}{k}" for k in range(n_new)]
    if isinstance(index, pd.MultiIndex):
        tuples = [*index.tolist(), *((text,) * index.nlevels for text in labels)]
        return pd.MultiIndex.from_tuples(tuples, names=index.names)
    if not pd.api.types.is_string_dtype(index.dtype):
        index = index.astype(object)
    return index.append(pd.Index(labels, dtype=index.dtype)).rename(index.name)
