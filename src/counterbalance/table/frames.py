"""Frames: single columns of pandas and polars frames and of arrays, whatever they hold.

    native    one column in the user's container
    codes     the same as floats, nan where missing

The dtypes of both kinds of frame are read through narwhals; what narwhals does not support (sparse
columns, columns of objects) is handled here.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Sized
from datetime import date, time, timedelta
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import CellError, TableError
from counterbalance.table.containers import kind as container
from counterbalance.table.kinds import Kind

# By numpy's letter for a kind of dtype.
KIND_OF_ARRAY = {
    "b": Kind.BOOLEAN,
    "f": Kind.CONTINUOUS,
    "i": Kind.INTEGER,
    "u": Kind.INTEGER,
    "U": Kind.NOMINAL,
}


def has_columns(X: Any) -> bool:
    """Whether ``X`` is a frame."""
    return container(X) in {"pandas", "polars"}


def check_container(X: Any) -> None:
    """Raise for containers that would be misread."""
    if has_columns(X) and not hasattr(X, "columns"):
        raise TableError(
            f"X is a {type(X).__name__} of one column; pass a frame, for example X.to_frame()"
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TableError("X is a masked array; fill the masked cells: X.filled(numpy.nan)")
    if hasattr(X, "collect") and not has_columns(X):
        raise TableError(f"X is a lazy {type(X).__name__}; call its collect() first")
    foreign = hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")
    if foreign and not has_columns(X):
        raise TableError(
            f"X is a {type(X).__module__}.{type(X).__name__}, which cannot be given back; "
            "pass a pandas or polars frame, or an array"
        )
    if isinstance(X, list):
        lengths = {len(row) for row in X if hasattr(row, "__len__")}
        if len(lengths) > 1:
            raise TableError(
                f"X is a list of rows of {min(lengths)} to {max(lengths)} cells; "
                "give every row the same number"
            )
    elif has_columns(X):
        _check_names(list(X.columns))


def from_list(rows: list[Any]) -> NDArray[Any]:
    """Return a list of rows as an array; where columns differ in type, cells stay what they are."""
    if not all(isinstance(row, (list, tuple)) for row in rows):
        return np.asarray(rows)
    types = {frozenset(map(type, column)) for column in zip(*rows, strict=True)}
    return np.array(rows, dtype=object) if len(types) > 1 or {str} in types else np.asarray(rows)


def _check_names(names: list[Any]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"column names must be unique, but {', '.join(map(repr, repeated))} is there more "
            "than once; rename the columns"
        )
    if len({isinstance(name, str) for name in names}) > 1:
        raise TableError(
            f"the names of the columns must be all texts or all not, got {names}; "
            "make them texts: X.columns = X.columns.astype(str)"
        )


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns; those of an array are x0, x1, ..."""
    return list(X.columns) if has_columns(X) else [f"x{m}" for m in range(X.shape[1])]


def column(X: Any, m: int) -> Any:
    """Return the ``m``-th column."""
    match container(X):
        case "pandas":
            return X.iloc[:, m]
        case "polars":
            return X.to_series(m)
        case _ if issparse(X):  # SciPy before 1.15 has no sparse arrays of one dimension
            return cast("Any", X)[:, [m]].toarray().ravel()
        case _:
            return X[:, m]


def from_columns(X: Any, columns: list[Any]) -> Any:
    """Combine columns into a table of the same kind as ``X``."""
    match container(X):
        case "pandas":
            import pandas as pd  # noqa: PLC0415  (an extra: only loaded when a frame came in)

            arrays = {m: column.array for m, column in enumerate(columns)}
            return pd.DataFrame(arrays, copy=False).set_axis(X.columns, axis=1)
        case "polars":
            import polars as pl  # noqa: PLC0415  (an extra: only loaded when a frame came in)

            return pl.DataFrame({series.name: series for series in columns})  # a name may be ""
        case _:
            rows = np.empty((len(columns[0]), len(columns)), dtype=X.dtype)
            for m, cells in enumerate(columns):
                rows[:, m] = cells
            return rows


def from_floats(X: Any, rows: Floats) -> Any:
    """Put rows of floats into a frame with the columns of the pandas frame ``X``."""
    import pandas as pd  # noqa: PLC0415  (an extra: only loaded when a frame came in)

    return pd.DataFrame(rows, columns=X.columns, copy=True)


def kind_of(native: Any, name: Any) -> Kind:
    """Detect the kind of a column from its dtype, or from its cells if they are objects."""
    plain = isinstance(native.dtype, np.dtype) and native.dtype.kind in "fiub"
    if plain or not has_columns(native):
        return _kind_of_array(native, name)
    if _is_sparse(native):
        return _kind_of_array(np.zeros(0, dtype=native.dtype.subtype), name)
    column = nw.from_native(native, series_only=True)
    dtype = column.dtype
    if dtype.is_integer():
        return Kind.INTEGER
    if dtype.is_float() or (dtype == nw.Unknown and column.null_count() == len(native)):
        return Kind.CONTINUOUS
    if dtype == nw.Boolean:
        return Kind.BOOLEAN
    if isinstance(dtype, nw.Enum):
        return Kind.ORDINAL
    if dtype in {nw.String, nw.Categorical} or dtype.is_temporal():
        return Kind.NOMINAL
    if dtype == nw.Object and container(native) == "pandas":
        return _kind_of_objects(np.asarray(native, dtype=object), name)
    what = native.dtype if dtype == nw.Unknown else dtype
    raise _refusal(name, str(what))


def number_codes(native: Any) -> Floats:
    """Return numbers as floats."""
    match container(native):
        case "pandas":
            if str(native.dtype) == "null[pyarrow]":  # pandas cannot convert it
                return np.full(len(native), np.nan)
            return np.asarray(native.to_numpy(dtype=np.float64, na_value=np.nan))
        case "polars":
            import polars as pl  # noqa: PLC0415  (an extra: only loaded when a frame came in)

            return np.asarray(native.cast(pl.Float64).fill_null(np.nan).to_numpy())
        case _:
            if native.dtype != object:
                return np.asarray(native, dtype=np.float64)
            gone = missing(native)
            return np.where(gone, np.nan, np.where(gone, 0, native).astype(np.float64))


def level_codes(native: Any, name: Any) -> Floats:
    """Return for each cell the position of its level among those that occur, in their order."""
    if container(native) == "polars":
        import polars as pl  # noqa: PLC0415  (an extra: only loaded when a frame came in)

        physical = native.to_physical() if isinstance(native.dtype, pl.Enum) else native
        if native.dtype == pl.Categorical:
            physical = native.cast(pl.String)
        if native.dtype.is_float():
            physical = native.fill_nan(None)  # no category, but missing like null
        return number_codes(physical.rank("dense")) - 1
    if getattr(native.dtype, "categories", None) is not None:
        codes = native.cat.codes.to_numpy()
        return _dense(codes.astype(np.float64), codes < 0)
    cells = np.asarray(native, dtype=object)
    gone = missing(cells)
    try:
        hash(tuple(cells[~gone]))
        place = np.unique(cells[~gone], return_inverse=True)[1]
    except TypeError:
        types = sorted({type(cell).__name__ for cell in cells[~gone]})
        raise TableError(
            f"column {name!r} mixes cells of the types {', '.join(types)}, which cannot be "
            "told apart as categories; make them all text, for example with astype(str)"
        ) from None
    codes = np.full(len(cells), np.nan)
    codes[~gone] = place
    return codes


def cells_of(native: Any) -> list[Any]:
    """Return the cells of a column as Python objects; numpy does not support some of polars'."""
    if container(native) == "polars":
        return list(native.to_list())
    return list(np.asarray(native, dtype=object).tolist())


def width(native: Any) -> int:
    """Return the bytes of the floats of a column, 8 for anything else."""
    if isinstance(native.dtype, np.dtype):
        return min(native.dtype.itemsize, 8) if native.dtype.kind == "f" else 8
    dtype = str(nw.from_native(native, series_only=True).dtype)
    return {"Float32": 4, "float32": 4, "float16": 2, "Float16": 2}.get(dtype, 8)


def numbers_like(
    native: Any, values: Floats, gone: Mask, origin: Integers | None, *, whole: bool
) -> Any:
    """Return numbers in the container and dtype of ``native``, ``whole`` ones as such.

    Where ``gone``, the cell is missing: it is copied from row ``origin`` of
    ``native``, if given, so that null stays null and nan stays nan.
    """
    match container(native):
        case "pandas":
            import pandas as pd  # noqa: PLC0415  (an extra: only loaded when a frame came in)

            if native.dtype == object:
                return pd.Series(
                    _objects_like(np.asarray(native), values, gone, origin, whole=whole)
                )
            if gone.all() and origin is not None:
                return native.iloc[origin]
            numbers_ = pd.Series(values).astype(native.dtype)
            # A sparse column is missing in one way only, and takes no assignment.
            if origin is not None and gone.any() and not _is_sparse(native):
                numbers_[gone] = native.iloc[origin[gone]].array
            return numbers_
        case "polars":
            import polars as pl  # noqa: PLC0415  (an extra: only loaded when a frame came in)

            series = pl.Series(native.name, values).fill_nan(None).cast(native.dtype)
            if origin is not None and gone.any():
                series = series.zip_with(~pl.Series(gone), native[origin])
            return series
        case _:
            if native.dtype != object:
                return values.astype(native.dtype)
            return _objects_like(native, values, gone, origin, whole=whole)


def _is_sparse(native: Any) -> bool:
    """Return whether a column is a sparse pandas one; an interval has a subtype, too."""
    return type(native.dtype).__name__ == "SparseDtype"


def _objects_like(
    native: NDArray[np.object_], values: Floats, gone: Mask, origin: Integers | None, *, whole: bool
) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    cells[~gone] = [int(value) if whole else value for value in values[~gone].tolist()]
    if origin is not None:
        cells[gone] = native[origin[gone]]
    return cells


def missing(cells: NDArray[np.object_]) -> Mask:
    """Return for each object whether it is None, nan, NaT or pandas.NA."""
    return np.array([_is_missing(cell) for cell in cells], dtype=bool)


def _is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    if isinstance(cell, (str, bool, int, float)):
        return cell != cell  # noqa: PLR0124  (as below)
    if isinstance(cell, Sized):
        return False
    try:
        same = cell == cell  # noqa: PLR0124  (nan is the value that differs from itself)
    except ArithmeticError:  # a signalling nan of decimal
        return False
    return not isinstance(same, (bool, np.bool_)) or not same


def _dense(codes: Floats, gone: Mask) -> Floats:
    """Renumber the codes that occur 0, 1, ... in their order."""
    dense = np.full(len(codes), np.nan)
    dense[~gone] = np.unique(codes[~gone], return_inverse=True)[1]
    return dense


def _kind_of_array(cells: NDArray[Any], name: Any) -> Kind:
    letter = cells.dtype.kind
    if letter == "O":
        return _kind_of_objects(cells, name)
    if letter not in KIND_OF_ARRAY:
        raise _refusal(name, str(cells.dtype))
    return KIND_OF_ARRAY[letter]


def _kind_of_objects(cells: NDArray[np.object_], name: Any) -> Kind:
    types = {type(cell) for cell in cells[~missing(cells)]}
    for kind, of in (
        (Kind.BOOLEAN, (bool, np.bool_)),
        (Kind.NOMINAL, (str,)),
        (Kind.NOMINAL, (date, time, timedelta)),
        (Kind.INTEGER, (numbers.Integral,)),
        (Kind.CONTINUOUS, (float, np.floating, numbers.Integral)),
    ):
        if all(issubclass(type_, of) for type_ in types):
            return kind if types else Kind.CONTINUOUS
    listed = ", ".join(sorted(type_.__name__ for type_ in types))
    raise _refusal(name, listed)


def is_temporal(cell: Any) -> bool:
    """Return whether a cell is a date, a time, or a time span."""
    return isinstance(cell, (date, time, timedelta, np.datetime64, np.timedelta64))


def _refusal(name: Any, what: str) -> CellError:
    return CellError(
        f"column {name!r} holds {what}, which cannot be perturbed (an argument must be a string "
        "or a number); turn it into numbers (a date into days since a fixed date) or into text "
        "(astype(str)), or drop it"
    )
