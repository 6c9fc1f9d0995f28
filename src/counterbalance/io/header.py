"""Headers: whether the first row of a file holds names, or is a row like those below.

Each column is looked at:

    like    the first cell is a number, a date or a boolean, as the cells below are; or it is a
            text that also occurs below
    unlike  the cells below are numbers, dates or booleans, and the first one is not

The first row is not a header if some column is "like" and none is "unlike"; where every column
holds texts, all of them have to be "like". Consecutive numbers (0, 1, 2 or 2019, 2020) are names:
pandas writes such headers, and so do tables with a column for each year.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from counterbalance.extras import require
from counterbalance.io.csv_columns import NO_NUMBER, read_column
from counterbalance.io.reading import HeaderError

if TYPE_CHECKING:
    import pandas as pd

# How many rows are looked at; how many cells a message lists, and how much of each.
LOOKED_AT = 200
LISTED, LONGEST = 4, 20
DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ].*)?"
)
WHOLE = re.compile(r"\s*\d{1,9}\s*")


def column_names(number: int) -> list[str]:
    """Return the names of the columns of a file without a header.

    >>> column_names(2)
    ['column 1', 'column 2']
    """
    return [f"column {place + 1}" for place in range(number)]


def check_header(first: Sequence[str], below: pd.DataFrame, decimal: str, name: str) -> None:
    """Refuse a first row that looks like those below."""
    if len(below) == 0 or not looks_like_rows(first, below.head(LOOKED_AT), decimal):
        return
    listed = ", ".join(repr(cell[:LONGEST]) for cell in first[:LISTED])
    more = ", ..." if len(first) > LISTED else ""
    raise HeaderError(
        f"{name} seems to have no header: its first row ({listed}{more}) looks like the rows "
        "below it; with --no-header it is a row, and the columns are called 'column 1', 'column 2' "
        "and so on; with --header it holds their names"
    )


def looks_like_rows(first: Sequence[str], below: pd.DataFrame, decimal: str = ".") -> bool:
    """Whether the first row is like those below it."""
    if _is_consecutive(first):
        return False
    texts = []
    special = False
    for m, cell in enumerate(first):
        kind = _kind(below[m], decimal)
        if kind is None:
            texts.append(bool(cell.strip()) and cell in set(below[m]))
        elif cell.strip().casefold() in NO_NUMBER:
            continue
        elif _kind(_alone(cell), decimal) != kind:
            return False
        else:
            special = True
    return special or (bool(texts) and all(texts))


def _alone(cell: str) -> pd.Series[str]:
    column: pd.Series[str] = require("pandas", "reading a table").Series([cell], dtype=str)
    return column


def _is_consecutive(first: Sequence[str]) -> bool:
    """Whether the numbers in a row are consecutive, such as 0, 1, 2."""
    numbers = [int(cell) for cell in first if WHOLE.fullmatch(cell)]
    steps = {after - before for before, after in pairwise(numbers)}
    return steps == {1}


def _kind(cells: pd.Series[Any], decimal: str) -> str | None:
    """Return what cells hold unless it is text: number, boolean or date."""
    values = read_column(cells, decimal).series
    if values.dtype.kind in "iufb":
        none = values.isna().all()
        return None if none else {"b": "boolean"}.get(values.dtype.kind, "number")
    known = cells[cells.str.strip() != ""]
    return "date" if len(known) and known.str.fullmatch(DATE).all() else None
