"""Table: the factual rows, as the user passed them and as a float matrix.

    native    what f is fitted on: the user's own container
    codes     the same as floats, one column each (see ``columns``)
    grid      what values each column can hold

A dense or sparse array of numbers is one block: it is encoded and decoded whole,
a chunk of rows at a time. Anything with columns of its own (a pandas or polars
frame, an array of objects) goes column by column.

An identifier is a column that identifies rows and does not describe them:

    different    how many different values a column has
    n            how many of its cells are known
    called       whether its name is that of an identifier

A changed identifier is meaningless, and a copied one assigns a real person's name to a synthetic
row. The callers decide what to do about such a column, and report it.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from counterbalance.errors import TableError
from counterbalance.table import containers, frames
from counterbalance.table.columns import (
    LARGEST_INTEGER,
    Column,
    check_numbers,
    resolution,
    select_columns,
)
from counterbalance.table.kinds import Grid, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from counterbalance.arrays import Floats, Integers, Mask


class Table(ABC):
    """The factual table."""

    native: Any
    names: list[Any]
    kinds: list[Kind]
    grid: Grid
    groups: tuple[Any, ...] = ()  # of dummy columns that are one category each (see ``dummies``)

    @property
    def nominal(self) -> Mask:
        """Which columns have no order."""
        return np.array([not kind.has_order for kind in self.kinds], dtype=bool)

    @property
    def is_encoded(self) -> bool:
        """Whether the encoded rows are what the user's container holds, as they are."""
        return False

    @abstractmethod
    def rows(self, positions: Integers | slice) -> Floats:
        """Return the encoded rows at ``positions``."""

    @abstractmethod
    def column(self, m: int) -> Floats:
        """Return one encoded column."""

    def native_column(self, m: int) -> Any:
        """Return a column as the user passed it, None in a table that is one block."""
        del m

    def unfolded(self, codes: Floats, origin: Integers | None = None) -> Floats:
        """Return encoded rows with each dummy column on its own; others are what they are."""
        del origin
        return codes

    @abstractmethod
    def decode(self, codes: Floats, origin: Integers | None = None) -> Any:
        """Turn encoded rows into the user's container; missing cells come from ``origin``."""

    def codes_of_levels(self, m: int) -> dict[Any, float]:
        """Return the code of every level of a column."""
        cells = frames.cells_of(frames.column(self.native, m))
        pairs = zip(cells, self.column(m).tolist(), strict=True)
        return {cell: code for cell, code in pairs if not math.isnan(code)}

    def append(self, n_new: int, new: Iterator[tuple[Floats, Integers]]) -> Any:
        """Return the user's table with ``n_new`` rows below, given as (codes, origin) in blocks."""
        del n_new
        parts = list(new)
        if not parts:
            return containers.append(self.native, containers.take(self.native, np.zeros(0, int)))
        codes, origin = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return containers.append(self.native, self.decode(codes, origin))


class Block(Table):
    """A dense or sparse array of numbers, all of one dtype."""

    def __init__(self, native: Any, names: list[Any]) -> None:
        self.native = native
        self.names = names
        self._sparse = sparse.issparse(native)
        self._by_row = native.tocsr() if self._sparse else native
        self._by_column = native.tocsc() if self._sparse else native
        kind = Kind.INTEGER if native.dtype.kind in "iu" else Kind.CONTINUOUS
        self.kinds = [kind] * len(names)
        width = native.dtype.itemsize if native.dtype.kind == "f" else 8
        columns = (Column(name, kind, None, self.column(m), width) for m, name in enumerate(names))
        self.grid = _grid(columns, [width] * len(names))

    @property
    def is_encoded(self) -> bool:
        """Whether this is a dense array of double precision."""
        return not self._sparse and self.native.dtype == np.float64

    def append(self, n_new: int, new: Iterator[tuple[Floats, Integers]]) -> Any:
        """Fill one preallocated array: joining blocks at the end would need twice the memory."""
        if self._sparse:
            return super().append(n_new, new)
        stop, n_features = self.native.shape
        result = np.empty((stop + n_new, n_features), dtype=self.native.dtype)
        result[:stop] = self.native
        for codes, _ in new:
            start, stop = stop, stop + len(codes)
            result[start:stop] = codes
        return result

    def rows(self, positions: Integers | slice) -> Floats:
        """Return rows as floats, dense."""
        rows = self._by_row[positions]
        return np.asarray(rows.toarray() if self._sparse else rows, dtype=np.float64)

    def column(self, m: int) -> Floats:
        """Return a column as floats, dense."""
        column = self._by_column[:, [m]].toarray()[:, 0] if self._sparse else self.native[:, m]
        return np.asarray(column, dtype=np.float64)

    def decode(self, codes: Floats, origin: Integers | None = None) -> Any:
        """Cast the numbers to the dtype of the array."""
        del origin  # an array has only one missing value
        rows = codes.astype(self.native.dtype, copy=False)
        return type(self._by_row)(rows).asformat(self.native.format) if self._sparse else rows


class Columns(Table):
    """Columns of their own kinds: a frame, an array of objects, or one with categories."""

    def __init__(self, native: Any, columns: list[Column]) -> None:
        self.native = native
        self.columns = columns
        self.names = [column.name for column in columns]
        self.kinds = [column.kind for column in columns]
        self.grid = _grid(columns, [column.width for column in columns])

    @cached_property
    def codes(self) -> Floats:
        """All columns as floats, (N, M)."""
        return np.column_stack([column.codes for column in self.columns])

    def rows(self, positions: Integers | slice) -> Floats:
        """Return rows of the codes."""
        return np.asarray(self.codes[positions])

    def column(self, m: int) -> Floats:
        """Return a column of the codes."""
        return np.asarray(self.codes[:, m])

    def native_column(self, m: int) -> Any:
        """Return a column as the user passed it."""
        return self.columns[m].native

    def decode(self, codes: Floats, origin: Integers | None = None) -> Any:
        """Decode column by column, or a frame of floats in one step."""
        if self._is_float_frame:
            return frames.from_floats(self.native, codes)
        cells = [
            column.decode(np.ascontiguousarray(code), origin)
            for column, code in zip(self.columns, codes.T, strict=True)
        ]
        return frames.from_columns(self.native, cells)

    @cached_property
    def _is_float_frame(self) -> bool:
        """Whether this is a pandas frame of which every column is an array of 64-bit floats."""
        return containers.kind(self.native) == "pandas" and all(
            column.kind is Kind.CONTINUOUS and column.native.dtype == np.dtype(np.float64)
            for column in self.columns
        )


def read_table(X: Any, *, categorical_features: Any = None) -> Table:
    """Detect the kind of every column of ``X``, which has two dimensions."""
    names = frames.column_names(X)
    nominal = select_columns(categorical_features, names, "categorical_features")
    numbers = not frames.has_columns(X) and X.dtype.kind in "fiu"
    is_sparse = bool(sparse.issparse(X))
    if is_sparse and not numbers:
        raise TableError(f"X is sparse with dtype {X.dtype}; give it numbers with astype(float)")
    if is_sparse and nominal.any():
        raise TableError(
            "categorical_features cannot be used with a sparse X; pass X.toarray() or a frame"
        )
    if numbers and not nominal.any():
        return Block(X, names)
    columns = [
        read_column(frames.column(X, m), name, nominal=nominal[m]) for m, name in enumerate(names)
    ]
    return Columns(X, columns)


def read_column(native: Any, name: Any, *, nominal: bool) -> Column:
    """Detect the kind of one column, or read it as nominal."""
    kind = Kind.NOMINAL if nominal else frames.kind_of(native, name)
    if kind.has_levels:
        return Column(name, kind, native, frames.level_codes(native, name))
    try:
        codes = frames.number_codes(native)
    except OverflowError:
        raise TableError(
            f"column {name!r} holds a whole number beyond 1e308, which no float can hold; drop it "
            "or name it in categorical_features if it is an identifier, else rescale it"
        ) from None
    return Column(name, kind, native, codes, frames.width(native))


def _grid(columns: Any, widths: list[int]) -> Grid:
    points = []
    for column in columns:
        check_numbers(column)
        points.append(resolution(column))
    return Grid(np.array(points), np.array(widths))


# With fewer rows, distinct values are not significant.
ENOUGH_ROWS = 20
# Shares of different values that make an identifier, without and with a telling name.
DIFFERENT, HALF = 0.9, 0.5
# Cells that are tested first.
LOOKED_AT = 1000

# Whole numbers with this many digits, of equal length and nearly all different, are identifiers.
DIGITS = 6
# A column named as a code of a place or a person is an identifier above this number of values.
MANY_CODES = 20

CALLED_IDENTIFIER = re.compile(
    r"(?:^|[\W_])(?:key|nr|no|number|index|idx|rownames?)$|^unnamed.*|^$", re.IGNORECASE
)
CALLED_CODE = re.compile(
    r"(?i:(?:^|[\W_])(?:ids?|[ug]uid|zip|zip_?code|post_?code|postal_?code|phone|ssn|fips|ticket)$)"
    r"|[a-z]I[dD]$"
)
DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    r"|[^\W\d]{3,9}\.? \d{1,2},? \d{4}|\d{1,2}\.? [^\W\d]{3,9} \d{4})(?:[T ].*)?\s*"
    r"|\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*"
)


def numbers_identify(
    name: Any, numbers: NDArray[np.float64], different: int, *, counted: bool = True
) -> bool:
    """Return whether the known cells of a column of numbers look like identifiers.

    They are whole: numbers too large to compute with, one for each row without a gap (if
    ``counted``), nearly all different and of one length, or mostly different under the name of an
    identifier.
    """
    n = len(numbers)
    if not n or (numbers != np.rint(numbers)).any():
        return False
    low, high = float(numbers.min()), float(numbers.max())
    rows_counted = counted and different == n >= ENOUGH_ROWS and high - low == n - 1
    one_length = low >= 10 ** (DIGITS - 1) and high <= LARGEST_INTEGER
    one_length = one_length and len(f"{low:.0f}") == len(f"{high:.0f}")
    by_shape = one_length and n >= ENOUGH_ROWS and different > DIFFERENT * n
    too_large = counted and max(high, -low) > LARGEST_INTEGER
    return too_large or rows_counted or by_shape or _name_identifies(name, n, different)


def texts_identify(name: Any, n: int, different: int) -> bool:
    """Return whether the ``n`` known cells of a column of texts look like identifiers."""
    if different > DIFFERENT * n:
        return n >= ENOUGH_ROWS or (_called(name) and different == n)
    return n >= ENOUGH_ROWS and _name_identifies(name, n, different)


def _name_identifies(name: Any, n: int, different: int) -> bool:
    if _called(name) and different > HALF * n:
        return True
    return isinstance(name, str) and bool(CALLED_CODE.search(name)) and different > MANY_CODES


def identifiers(table: Table) -> list[tuple[int, int, int]]:
    """Return the columns of a table that look like identifiers: (position, different, n).

    Numbers with decimals are measurements; columns that the user declared categorical are
    categories. Small tables, and tables of one column, have no identifiers.
    """
    found: list[tuple[int, int, int]] = []
    if table.native.shape[0] < ENOUGH_ROWS or len(table.names) == 1:
        return found
    for m, (name, kind) in enumerate(zip(table.names, table.kinds, strict=True)):
        column = table.native_column(m)
        dtype = str(getattr(column, "dtype", "")).lower()
        is_category = dtype.startswith(("categor", "dictionary", "enum"))
        if kind in {Kind.ORDINAL, Kind.BOOLEAN} or is_category:
            continue
        codes = table.column(m)
        known = codes[~np.isnan(codes)]
        if kind is Kind.CONTINUOUS and not _whole(known):
            continue
        different = len(np.unique(known))
        if kind is Kind.NOMINAL:
            identifies = texts_identify(name, len(known), different)
        else:
            counted = kind is Kind.INTEGER
            identifies = numbers_identify(name, known, different, counted=counted)
        if identifies:
            found.append((m, different, len(known)))
    return found


def dates(table: Table) -> list[int]:
    """Return the columns that hold dates or times, as such or as texts."""
    found = []
    for m, kind in enumerate(table.kinds):
        column = table.native_column(m)
        if kind is not Kind.NOMINAL or column is None:
            continue
        some = frames.cells_of(column[:LOOKED_AT])
        known = [cell for cell in some if isinstance(cell, str) or frames.is_temporal(cell)]
        shown = [not isinstance(cell, str) or bool(DATE.fullmatch(cell)) for cell in known]
        if shown and np.mean(shown) > DIFFERENT:
            found.append(m)
    return found


def _whole(known: Floats) -> bool:
    few = known[:LOOKED_AT]
    return bool((few == np.rint(few)).all() and (known == np.rint(known)).all())


def _called(name: Any) -> bool:
    names = CALLED_IDENTIFIER, CALLED_CODE
    return isinstance(name, str) and any(pattern.search(name) for pattern in names)
