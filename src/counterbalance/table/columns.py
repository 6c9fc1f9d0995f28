"""Columns: the kind of each column, and how it is encoded and decoded.

    kind         code in the float matrix              changes by
    continuous   the value                             a normal step
    integer      the value                             a normal step, put on whole numbers
    ordinal      the position of the level             a normal step, put on a level
    nominal      the position among the sorted values  another category, by its frequency
    boolean      0 or 1                                the other one

A missing cell is nan in the matrix. Codes are exact: decoding an encoded column gives the same
cells, so f predicts exactly the rows that are returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import TableError, near_names
from counterbalance.table import containers, frames
from counterbalance.table.kinds import Kind

# Beyond this, whole numbers are no longer exact in a float.
LARGEST_INTEGER = 2**53
# Grids that are detected, in points per unit: whole numbers, halves, up to four decimals.
RESOLUTIONS = (1, 2, 10, 100, 1000, 10_000)
# Cells that are tested first: most columns have no grid.
FIRST_LOOK = 100


@dataclass(frozen=True)
class Column:
    """One column of the factual table: in the user's container, and as codes."""

    name: Any
    kind: Kind
    native: Any  # the column in the user's container
    codes: Floats
    width: int = 8  # bytes of a float in this column

    def decode(self, codes: Floats, origin: Integers | None = None) -> Any:
        """Turn codes back into cells; a missing one is copied from row ``origin``, if given."""
        missing = np.isnan(codes)
        if self.kind.has_levels:
            place = self._examples[np.where(missing, -1, codes).astype(np.intp)]
            if origin is not None:
                place = np.where(missing, origin, place)
            return containers.take(self.native, place)
        whole = self.kind is Kind.INTEGER
        return frames.numbers_like(self.native, codes, missing, origin, whole=whole)

    @cached_property
    def _examples(self) -> Integers:
        """Return a row that shows each level; the last entry is a row where it is missing."""
        n_levels = int(np.nanmax(self.codes, initial=-1.0)) + 1
        example = np.zeros(n_levels + 1, dtype=np.intp)
        code = np.where(np.isnan(self.codes), n_levels, self.codes).astype(np.intp)
        example[code[::-1]] = np.arange(len(code))[::-1]
        return example


def resolution(column: Column) -> float:
    """Return the number of grid points per unit of the column, 0 for no grid."""
    if column.kind in {Kind.INTEGER, Kind.ORDINAL}:
        return 1.0
    if column.kind is not Kind.CONTINUOUS:
        return 0.0
    known = column.codes[~np.isnan(column.codes)]
    for per_unit in RESOLUTIONS if known.size else ():
        if all(_on_grid(some, per_unit, column.width) for some in (known[:FIRST_LOOK], known)):
            return float(per_unit)
    return 0.0


def _on_grid(known: Floats, per_unit: int, width: int) -> bool:
    with np.errstate(over="ignore"):
        if np.spacing(np.abs(known).max().astype(f"f{width}")) * per_unit > 1:
            return False  # the grid is finer than the floats
        nearest = np.rint(known * per_unit) / per_unit
        return np.array_equal(nearest.astype(f"f{width}"), known)


def check_numbers(column: Column) -> None:
    """Raise for numbers that the search cannot return exactly."""
    if np.isinf(column.codes).any():
        raise TableError(
            f"column {column.name!r} holds an infinite value; "
            "replace it by a missing value (nan) or by a number"
        )
    whole = column.kind is Kind.INTEGER
    if whole and np.nanmax(np.abs(column.codes), initial=0.0) > LARGEST_INTEGER:
        raise TableError(
            f"column {column.name!r} holds whole numbers beyond 2**53, which floats cannot keep "
            "apart; if it is an identifier drop it or name it in categorical_features, "
            "else pass it as a float"
        )


def select_columns(selection: Any, names: list[Any], parameter: str) -> Mask:
    """Read a selection of columns: None, names, positions or a mask."""
    chosen = np.zeros(len(names), dtype=bool)
    if selection is None:
        return chosen
    items = list(selection)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            raise TableError(
                f"{parameter} is a mask of {len(items)} entries, but the table has "
                f"{len(names)} columns; give one entry for each column"
            )
        return np.array(items, dtype=bool)
    for item in items:
        chosen[column_position(item, names, parameter)] = True
    return chosen


def column_position(item: Any, names: list[Any], parameter: str) -> int:
    """Return the position of a column, given by its name or its position."""
    if isinstance(item, (list, set, dict, np.ndarray)) or hasattr(item, "to_list"):
        raise TableError(
            f"{parameter} holds {item!r}, which is several columns in one; name each on its own"
        )
    if item in names and not isinstance(item, (bool, np.bool_)):
        return names.index(item)
    if isinstance(item, (str, tuple)):
        raise TableError(
            f"{parameter} names the column {item!r}, which the table does not have"
            f"{near_names(str(item), [str(name) for name in names])}; its columns are "
            f"{', '.join(map(repr, names))}"
        )
    if isinstance(item, (bool, np.bool_)):
        raise TableError(f"{parameter} holds {item!r}; name columns, or give one entry for each")
    if isinstance(item, (int, np.integer)) and -len(names) <= item < len(names):
        return int(item) % len(names)
    raise TableError(
        f"{parameter} holds {item!r}, which is neither the name of a column nor a position "
        f"below {len(names)}"
    )
