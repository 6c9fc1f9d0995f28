"""Columns of texts: their cells as values, and values as texts.

A column of texts becomes the narrowest of these types that holds all its known cells:

    whole numbers   int64, or Int64 where cells are missing
    numbers         float64
    booleans        bool, or boolean where cells are missing: true and false in any case
    texts           str

Numbers with leading zeros (007) are codes, hence texts. Money, percentages and numbers with
thousands separators are numbers, see ``number_style``; among numbers and booleans, a blank cell
and whatever people write for "not known" are missing. A value that the column already has is
written as it stands there; any other number in the column's style, with as few digits as
identify it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.extras import require
from counterbalance.io.number_style import NumberStyle, plain_style, read_styled

if TYPE_CHECKING:
    import pandas as pd

# What spreadsheets, R, pandas and databases write for a missing cell.
MISSING = frozenset(
    {"", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "NaT"}
)
# What people write in place of a number that is not known, in any case and with any spaces.
NO_NUMBER = frozenset(
    {*map(str.casefold, MISSING), "?", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*"}
    | {"n.a.", "n.d.", "nd", "nil", "missing", "unknown", "unk", "not available", "not known"}
    | {"not applicable", "no data", "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?"}
)
WHOLE = r"\s*[+-]?\d{1,18}\s*"
CODE = r"\s*[+-]?0\d.*"
TRUTHS = {"true": True, "false": False}
# For the decimal mark of a file: 3,14 or 1.234,56, perhaps with a unit; what is either that or
# thousands (1,234); and what can only be a decimal point.
COMMA_NUMBER = re.compile(
    r"\s*[^\w,.]?\s*[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?\s*[^\w,.]?\s*"
)
THOUSANDS = re.compile(r"\s*[^\w,.]?\s*[+-]?[1-9]\d{0,2}(?:,\d{3})*\s*[^\w,.]?\s*")
POINT_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d+,\d{3}\.\d+)\s*")
LOOKED_AT = 1000


@dataclass(frozen=True, eq=False)
class TextColumn:
    """The values of a column of texts, and how it writes them."""

    series: pd.Series[Any]  # the values
    style: NumberStyle | None = None  # how its numbers are written, unless they are plain
    # Texts that count as missing only because the other cells are numbers.
    not_known: tuple[str, ...] = ()


def read_column(
    texts: pd.Series[str],
    decimal: str = ".",
    *,
    kind: str | None = None,
    missing: tuple[str, ...] = (),
) -> TextColumn:
    """Return the values that a column of texts holds.

    ``kind`` is "number" or "text" where it is known, "label" for a column of classes;
    ``missing`` are texts that stand for a missing cell, besides the usual ones.
    """
    place, different = require("pandas", "reading a table").factorize(texts)
    column = _read(different.to_series(index=range(len(different))), decimal, kind, missing)
    values = column.series.take(place).set_axis(texts.index)
    return TextColumn(values, column.style, column.not_known)


def _read(
    texts: pd.Series[str], decimal: str, kind: str | None, missing: tuple[str, ...]
) -> TextColumn:
    gone = texts.isin(MISSING) | matches_any(texts, missing)
    if kind == "text":
        return TextColumn(texts.mask(gone))
    if kind == "label":
        gone |= texts.str.strip() == ""
    found = _plain(texts, gone, decimal)
    if kind == "label" or (found is not None and (kind is None or _is_number(found))):
        return found or TextColumn(texts.mask(gone))
    not_known = ~gone & texts.str.strip().str.casefold().isin(NO_NUMBER)
    listed = tuple(texts[not_known])
    if not_known.any() and not (gone | not_known).all():
        found = _plain(texts, gone | not_known, decimal)
        if found is not None and _is_number(found):
            return TextColumn(found.series, found.style, listed)
    found = _styled(texts, gone | not_known, decimal, forced=kind == "number")
    if found is not None:
        return TextColumn(found.series, found.style, (*listed, *found.not_known))
    return TextColumn(texts.mask(gone))


def matches_any(texts: pd.Series[str], missing: tuple[str, ...]) -> pd.Series[bool]:
    """Whether a cell is one of these texts, or the same number: -999 also matches -999.0."""
    pandas = require("pandas", "reading a table")
    found = texts.isin(missing)
    values = pandas.to_numeric(pandas.Series(missing, dtype=str), errors="coerce").dropna()
    if len(values):
        found |= pandas.to_numeric(texts, errors="coerce").isin(values)
    return found


def _is_number(column: TextColumn) -> bool:
    return column.series.dtype.kind in "iufb"


def _plain(texts: pd.Series[str], gone: Any, decimal: str) -> TextColumn | None:
    """Read numbers, booleans and codes; None if there is anything else."""
    known = texts[~gone]
    missing = bool(gone.any())
    style = None
    if known.empty:
        return TextColumn(texts.where(~gone, None).astype("float64"))
    if known.str.fullmatch(CODE).any() and not known.str.contains(r"[.,]").any():
        return TextColumn(texts.mask(gone))
    if known.str.fullmatch(WHOLE).all():
        whole = known.str.strip().astype("int64")
        return TextColumn(_spread(whole, texts, "Int64" if missing else "int64"))
    if decimal != ".":
        # Where 3,14 is a number, 1.234 is more than a thousand.
        styled = read_styled(known, decimal) if known.str.contains(r"\d\.\d").any() else None
        if styled is not None and styled.style.decimal == decimal:
            return TextColumn(_numbers(styled.series, texts), styled.style)
        if known.str.contains(decimal, regex=False).any():
            known = known.str.replace(decimal, ".", regex=False)
        else:
            style = plain_style(known, ".")
    numbers = require("pandas", "reading a table").to_numeric(known, errors="coerce")
    if not numbers.isna().any():
        return TextColumn(_spread(numbers.astype("float64"), texts, "float64"), style)
    truths = known.str.strip().str.lower()
    if truths.isin(TRUTHS).all():
        return TextColumn(_spread(truths.map(TRUTHS), texts, "boolean" if missing else "bool"))
    return None


def _styled(texts: pd.Series[str], gone: Any, decimal: str, *, forced: bool) -> TextColumn | None:
    """Read numbers with units and separators; if ``forced``, what is not one is missing."""
    known = texts[~gone]
    styled = None if known.empty else read_styled(known, decimal, forced=forced)
    if styled is None:
        none = _spread(known.head(0), texts, "float64")
        return TextColumn(none, None, tuple(known)) if forced else None
    style = None if styled.style.plain and styled.style.decimal == decimal else styled.style
    not_known = tuple(known.drop(styled.series.index))
    return TextColumn(_numbers(styled.series, texts), style, not_known)


def _numbers(known: pd.Series[Any], texts: pd.Series[str]) -> pd.Series[Any]:
    """Put numbers in their places; whole ones stay integers."""
    if known.dtype.kind == "i":
        return _spread(known, texts, "Int64" if len(known) < len(texts) else "int64")
    return _spread(known, texts, "float64")


def decimal_mark(texts: pd.DataFrame, separator: str = ";") -> str:
    """Return the comma if some column holds nothing but numbers like 3,14 or 1.234,56.

    Where it might also separate thousands (1,234 in every cell), it is a decimal comma only in
    a file with semicolons, and only if no other column has decimal points. In a file that is
    separated by commas, the mark is the point.
    """
    if separator == ",":
        return "."
    doubtful = points = False
    for name in texts:
        known = texts[name][~texts[name].str.strip().isin(MISSING)].head(LOOKED_AT)
        points |= bool(len(known)) and bool(known.str.fullmatch(POINT_NUMBER).all())
        if known.str.fullmatch(COMMA_NUMBER).all() and known.str.contains(",").any():
            if not known.str.fullmatch(THOUSANDS).all():
                return ","
            doubtful = True
    return "," if doubtful and separator == ";" and not points else "."


def write_cells(
    new: pd.Series[Any],
    texts: pd.Series[str],
    values: pd.Series[Any],
    decimal: str = ".",
    style: NumberStyle | None = None,
) -> list[str]:
    """Write new values of a column, given its ``texts`` so far and their ``values``."""
    blank = next(iter(texts[values.isna()]), "")
    first = ~values.duplicated()
    seen = dict(zip(values[first].tolist(), texts[first].tolist(), strict=True))
    if style is None and values.dtype.kind in "iuf":
        style = plain_style(texts[first & values.notna()], decimal)
    return [
        blank if is_gone else seen.get(value) or write_cell(value, decimal, style)
        for value, is_gone in zip(new.tolist(), new.isna(), strict=True)
    ]


def write_cell(value: Any, decimal: str = ".", style: NumberStyle | None = None) -> str:
    """Write one value."""
    if style is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return style.write(value)
    text = str(value)
    return text.replace(".", decimal) if isinstance(value, float) and decimal != "." else text


def _spread(known: Any, texts: pd.Series[str], dtype: str) -> pd.Series[Any]:
    """Put known cells back in their places among the missing ones."""
    column: pd.Series[Any] = known.astype(dtype).reindex(texts.index)
    return column
