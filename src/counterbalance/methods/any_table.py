"""Any table: a method of the literature on a table with categories and missing cells.

    codes -> numbers -> the method -> numbers -> codes

Methods of the literature take a matrix of numbers. A column with an order is scaled to unit
variance, and its missing cells become the median. A category becomes one column for each level (a
missing cell is a level), scaled so that two levels are one standard deviation apart. A method
with a parameter ``categorical_features`` gets a code for each level in one column instead. A new
row is decoded to the nearest level, on the grid and within the range of its column. Rows that
the method kept are rows of the table, unchanged.
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.errors import TableError
from counterbalance.methods.registry import Method
from counterbalance.table.labels import Labels, plain
from counterbalance.table.table import Table

# Two levels differ in two columns of this height: their distance is 1.
HEIGHT = np.sqrt(0.5)


@dataclass(frozen=True)
class ResampledTable:
    """The result of a method: rows that it kept, and new ones."""

    kept: Integers  # rows of the table that stay, ascending
    new: Any  # new rows, in the container of the table
    target: Integers  # the class code of each new row


class AsNumbers:
    """Encode the codes of a table as numbers, and decode them."""

    def __init__(self, table: Table, codes: Floats, *, one_hot: bool = True) -> None:
        known = np.where(np.isnan(codes).all(axis=0), 0.0, codes)
        self._table = table
        self._lower, self._upper = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        self._middle, deviation = np.nanmedian(known, axis=0), np.nanstd(known, axis=0)
        self._scale = np.where(deviation > 0, deviation, 1.0)
        # Levels of nominal columns, with that of a missing cell; 0 for ordered ones.
        self._n_levels = np.where(table.nominal, self._upper + 2, 0).astype(np.intp)
        self._one_hot = one_hot

    def encode(self, codes: Floats) -> Floats:
        """Return codes as numbers."""
        columns = []
        for m, n in enumerate(self._n_levels):
            missing = np.isnan(codes[:, m])
            if n:
                level = np.where(missing, n - 1, codes[:, m])[:, None]
                columns.append((level == np.arange(n)) * HEIGHT if self._one_hot else level)
            else:
                cells = np.where(missing, self._middle[m], codes[:, m])
                columns.append(((cells - self._middle[m]) / self._scale[m])[:, None])
        return np.ascontiguousarray(np.hstack(columns))

    def decode(self, numbers: Floats) -> Floats:
        """Return numbers as codes."""
        codes, start = np.empty((len(numbers), len(self._n_levels))), 0
        for m, n in enumerate(self._n_levels.tolist()):
            width = n if n and self._one_hot else 1
            cells = numbers[:, start : start + width]
            start += width
            if n:
                level = cells.argmax(axis=1) if self._one_hot else cells[:, 0]
                codes[:, m] = np.where(level == n - 1, np.nan, level)
            else:
                codes[:, m] = cells[:, 0] * self._scale[m] + self._middle[m]
        self._table.grid.snap(codes, np.arange(len(self._n_levels)))
        return np.where(self._n_levels > 0, codes, np.clip(codes, self._lower, self._upper))


def resample_table(
    method: Method, table: Table, labels: Labels, wanted: dict[Any, int] | None, seed: int
) -> ResampledTable:
    """Resample a table with any method that works on numbers.

    ``wanted`` is the number of rows of each class, for a method that adds rows; None is the
    method's default.
    """
    check_resampler(method)
    sampler = method.factory()
    settings: dict[str, Any] = {"random_state": seed}
    if wanted is not None:
        codes_of = {plain(label): code for code, label in enumerate(labels.classes.tolist())}
        settings["sampling_strategy"] = {codes_of[plain(label)]: n for label, n in wanted.items()}
    codes = table.rows(slice(None))
    takes_codes = "categorical_features" in sampler.get_params() and bool(table.nominal.any())
    if takes_codes:
        settings["categorical_features"] = np.flatnonzero(table.nominal)
    numbers = AsNumbers(table, codes, one_hot=not takes_codes)
    Z = numbers.encode(codes)
    try:
        rows, y = sampler.set_params(**settings).fit_resample(Z, labels.codes)
    except (ValueError, RuntimeError) as error:
        raise TableError(
            f"{method.name} cannot balance this table: {str(error).rstrip('.')}; ask for another "
            "method or, if a class has too few rows for it, add rows or leave that class out"
        ) from error
    rows, y = np.ascontiguousarray(rows, dtype=np.float64), np.asarray(y, dtype=np.intp)
    kept, is_new = _match(Z, labels.codes, rows, y)
    made = numbers.decode(rows[is_new])
    return ResampledTable(np.sort(np.array(kept, np.intp)), table.decode(made), y[is_new])


def check_resampler(method: Method) -> None:
    """Raise for a method that returns no table."""
    if method.kind == "classifier":
        raise TableError(
            f"{method.name} is a classifier that resamples while it is fitted and gives no table; "
            "use it in Python: "
            f"counterbalance.methods.all_samplers()[{method.name!r}].factory()"
        )


def _match(Z: Floats, codes: Integers, rows: Floats, y: Integers) -> tuple[list[int], list[bool]]:
    """Return which rows of ``Z`` are among ``rows``, each at most once, and which rows are new."""
    places: dict[tuple[bytes, int], deque[int]] = defaultdict(deque)
    for place, (row, code) in enumerate(zip(Z, codes.tolist(), strict=True)):
        places[row.tobytes(), code].append(place)
    kept, is_new = [], []
    for row, code in zip(rows, y.tolist(), strict=True):
        same = places.get((row.tobytes(), code))
        is_new.append(not same)
        if same:
            kept.append(same.popleft())
    return kept, is_new
