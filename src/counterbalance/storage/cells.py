"""Cells: texts as values, and values as texts.

A column of texts becomes the narrowest of these that holds all its known cells:

    whole numbers   int64, or Int64 where cells are missing
    numbers         float64
    booleans        bool, or boolean where cells are missing: true and false in any case
    texts           str

Numbers with leading zeros (007) are codes, so texts. A value that the column has is written
as the column writes it; any other number is written with as few digits as tell it apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from counterbalance.extras import require

if TYPE_CHECKING:
    import pandas as pd

# What spreadsheets, R, pandas and databases write for a missing cell.
MISSING = frozenset(
    {"", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "NaT"}
)
WHOLE = r"\s*[+-]?\d{1,18}\s*"
CODE = r"\s*[+-]?0\d.*"
COMMA_NUMBER = re.compile(r"\s*[+-]?\d+(?:,\d+)?\s*")
TRUTHS = {"true": True, "false": False}


def typed(texts: pd.Series[str], decimal: str = ".") -> pd.Series[Any]:
    """Return a column of texts as what it holds."""
    place, different = require("pandas", "reading a table").factorize(texts)
    column = _typed(different.to_series(index=range(len(different))), decimal)
    return column.take(place).set_axis(texts.index)


def _typed(texts: pd.Series[str], decimal: str) -> pd.Series[Any]:
    gone = texts.isin(MISSING)
    known = texts[~gone]
    missing = bool(gone.any())
    if known.empty:
        return texts.where(~gone, None).astype("float64")
    if known.str.fullmatch(CODE).any() and not known.str.contains(r"[.,]").any():
        return texts.mask(gone)
    if known.str.fullmatch(WHOLE).all():
        return _spread(known.str.strip().astype("int64"), texts, "Int64" if missing else "int64")
    if decimal != ".":
        known = known.str.replace(decimal, ".", regex=False)
    numbers = require("pandas", "reading a table").to_numeric(known, errors="coerce")
    if not numbers.isna().any():
        return _spread(numbers.astype("float64"), texts, "float64")
    truths = known.str.lower()
    if truths.isin(TRUTHS).all():
        return _spread(truths.map(TRUTHS), texts, "boolean" if missing else "bool")
    return texts.mask(gone)


def decimal_mark(texts: pd.DataFrame) -> str:
    """Return the comma if some column holds nothing but numbers like 3,14."""
    for name in texts:
        known = texts[name][~texts[name].isin(MISSING)].head(1000)
        if known.str.fullmatch(COMMA_NUMBER).all() and known.str.contains(",").any():
            return ","
    return "."


def written(
    new: pd.Series[Any], texts: pd.Series[str], values: pd.Series[Any], decimal: str = "."
) -> list[str]:
    """Write new values of a column, given its ``texts`` so far and what ``values`` they are."""
    blank = next(iter(texts[values.isna()]), "")
    first = ~values.duplicated()
    seen = dict(zip(values[first].tolist(), texts[first].tolist(), strict=True))
    return [
        blank if is_gone else seen.get(value) or plain_text(value, decimal)
        for value, is_gone in zip(new.tolist(), new.isna(), strict=True)
    ]


def plain_text(value: Any, decimal: str = ".") -> str:
    """Write one value."""
    text = str(value)
    return text.replace(".", decimal) if isinstance(value, float) and decimal != "." else text


def _spread(known: Any, texts: pd.Series[str], dtype: str) -> pd.Series[Any]:
    """Give known cells back their places among the missing ones."""
    column: pd.Series[Any] = known.astype(dtype).reindex(texts.index)
    return column
