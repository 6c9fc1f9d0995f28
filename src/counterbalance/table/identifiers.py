"""Identifiers: columns that say which row it is, not what it is like.

    different    how many different values a column has
    n            how many of its cells are known
    called       whether its name says that it identifies

A changed identifier means nothing, and a copied one puts a real person's name beside an
invented row. Whoever looks at a table decides what to do about such a column, and says so.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.table.kinds import Kind
from counterbalance.table.table import Columns, Table

# With fewer rows, that all values differ says nothing.
ENOUGH_ROWS = 20
# Shares of different values that make an identifier, the second beside a name that says so.
DIFFERENT, HALF = 0.9, 0.5
# Beyond this, whole numbers are no longer exact in a float.
LARGEST_INTEGER = 2**53

CALLED_IDENTIFIER = re.compile(
    r"(?:^|[\W_])(?:id|ids|uuid|guid|key|nr|no|index|idx|rownames?)$|[a-z]I[dD]$|^unnamed.*|^$",
    re.IGNORECASE,
)


def numbers_identify(name: Any, numbers: NDArray[np.float64], different: int) -> bool:
    """Say whether the known cells of a column of numbers look like identifiers.

    They are whole: numbers too large to compute with, one for each row without a gap, or
    mostly different ones under a name that says so.
    """
    n = len(numbers)
    if not n or (numbers != np.rint(numbers)).any():
        return False
    rows_counted = different == n >= ENOUGH_ROWS and float(np.ptp(numbers)) == n - 1
    too_large = bool((np.abs(numbers) > LARGEST_INTEGER).any())
    return too_large or rows_counted or (_called(name) and different > HALF * n)


def texts_identify(name: Any, n: int, different: int) -> bool:
    """Say whether the ``n`` known cells of a column of texts look like identifiers."""
    called = _called(name)
    share = HALF if called else DIFFERENT
    return different > share * n and (n >= ENOUGH_ROWS or (called and different == n))


def identifiers(table: Table) -> list[tuple[int, int, int]]:
    """Return the columns of a table that look like identifiers: (position, different, n).

    Floats are measurements, unless their name says otherwise; what the user made a category
    is one. A table of fewer rows, or of one column, has none.
    """
    found: list[tuple[int, int, int]] = []
    if table.native.shape[0] < ENOUGH_ROWS or len(table.names) == 1:
        return found
    for m, (name, kind) in enumerate(zip(table.names, table.kinds, strict=True)):
        if not _may_identify(table, m, name, kind):
            continue
        codes = table.column(m)
        known = codes[~np.isnan(codes)]
        different = len(np.unique(known))
        if kind is Kind.NOMINAL:
            identifies = texts_identify(name, len(known), different)
        else:
            identifies = numbers_identify(name, known, different)
        if identifies:
            found.append((m, different, len(known)))
    return found


def _may_identify(table: Table, m: int, name: Any, kind: Kind) -> bool:
    if kind is Kind.CONTINUOUS:
        return _called(name)
    if kind is Kind.NOMINAL and isinstance(table, Columns):
        dtype = str(getattr(table.columns[m].native, "dtype", ""))
        return not dtype.lower().startswith(("categor", "dictionary", "enum"))
    return kind in {Kind.INTEGER, Kind.NOMINAL}


def _called(name: Any) -> bool:
    return isinstance(name, str) and bool(CALLED_IDENTIFIER.search(name))
