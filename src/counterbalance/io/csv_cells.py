"""Cells: texts as values, and values as texts.

A column of texts becomes the narrowest of these that holds all its known cells:

    whole numbers   int64, or Int64 where cells are missing
    numbers         float64
    booleans        bool, or boolean where cells are missing: true and false in any case
    texts           str

Numbers with leading zeros (007) are codes, so texts. Money, percentages and separators of
thousands are numbers, see ``number_style``; among numbers and booleans, a blank cell and what
people write for "not known" are missing. A value that the column has is written as the column
writes it; any other number in the column's style, with as few digits as tell it apart.
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
# What people write among numbers for one that is not known, in any case and with any spaces.
NO_NUMBER = frozenset(
    {*map(str.casefold, MISSING), "?", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*"}
    | {"n.a.", "n.d.", "nd", "nil", "missing", "unknown", "unk", "not available", "not known"}
    | {"not applicable", "no data", "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?"}
)
WHOLE = r"\s*[+-]?\d{1,18}\s*"
CODE = r"\s*[+-]?0\d.*"
TRUTHS = {"true": True, "false": False}
# For the decimal mark of a file: 3,14 or 1.234,56, perhaps with a unit, and what is either
# that or thousands (1,234), and what can only be a decimal point.
COMMA_NUMBER = re.compile(
    r"\s*[^\w,.]?\s*[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?\s*[^\w,.]?\s*"
)
THOUSANDS = re.compile(r"\s*[^\w,.]?\s*[+-]?[1-9]\d{0,2}(?:,\d{3})*\s*[^\w,.]?\s*")
POINT_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d+,\d{3}\.\d+)\s*")
LOOKED_AT = 1000


@dataclass(frozen=True, eq=False)
class Column:
    """A column of texts as what it holds.

    Parameters
    ----------
    series : pandas.Series
        The values.
    style : NumberStyle, optional
        How its numbers are written, unless they are plain ones.
    not_known : tuple of str
        Texts that were taken as missing only because they stand among numbers.
    """

    series: pd.Series[Any]
    style: NumberStyle | None = None
    not_known: tuple[str, ...] = ()


def typed(texts: pd.Series[str], decimal: str = ".") -> pd.Series[Any]:
    """Return a column of texts as what it holds."""
    return read_column(texts, decimal).series


def read_column(
    texts: pd.Series[str],
    decimal: str = ".",
    *,
    kind: str | None = None,
    missing: tuple[str, ...] = (),
) -> Column:
    """Return a column of texts as what it holds.

    ``kind`` is "number" or "text" where it is known, "label" for a column of classes;
    ``missing`` are texts that mean a missing cell, besides the usual ones.
    """
    place, different = require("pandas", "reading a table").factorize(texts)
    column = _read(different.to_series(index=range(len(different))), decimal, kind, missing)
    values = column.series.take(place).set_axis(texts.index)
    return Column(values, column.style, column.not_known)


def _read(
    texts: pd.Series[str], decimal: str, kind: str | None, missing: tuple[str, ...]
) -> Column:
    gone = texts.isin(MISSING) | stands_for(texts, missing)
    if kind == "text":
        return Column(texts.mask(gone))
    if kind == "label":
        gone |= texts.str.strip() == ""
    found = _plain(texts, gone, decimal)
    if kind == "label" or (found is not None and (kind is None or _is_number(found))):
        return found or Column(texts.mask(gone))
    not_known = ~gone & texts.str.strip().str.casefold().isin(NO_NUMBER)
    listed = tuple(texts[not_known])
    if not_known.any() and not (gone | not_known).all():
        found = _plain(texts, gone | not_known, decimal)
        if found is not None and _is_number(found):
            return Column(found.series, found.style, listed)
    found = _styled(texts, gone | not_known, decimal, forced=kind == "number")
    if found is not None:
        return Column(found.series, found.style, (*listed, *found.not_known))
    return Column(texts.mask(gone))


def stands_for(texts: pd.Series[str], missing: tuple[str, ...]) -> pd.Series[bool]:
    """Whether a cell is one of these texts, or the same number as one: -999 means -999.0, too."""
    pandas = require("pandas", "reading a table")
    found = texts.isin(missing)
    values = pandas.to_numeric(pandas.Series(missing, dtype=str), errors="coerce").dropna()
    if len(values):
        found |= pandas.to_numeric(texts, errors="coerce").isin(values)
    return found


def _is_number(column: Column) -> bool:
    return column.series.dtype.kind in "iufb"


def _plain(texts: pd.Series[str], gone: Any, decimal: str) -> Column | None:
    """Read whole numbers, numbers, booleans and codes; None if there is anything else."""
    known = texts[~gone]
    missing = bool(gone.any())
    style = None
    if known.empty:
        return Column(texts.where(~gone, None).astype("float64"))
    if known.str.fullmatch(CODE).any() and not known.str.contains(r"[.,]").any():
        return Column(texts.mask(gone))
    if known.str.fullmatch(WHOLE).all():
        whole = known.str.strip().astype("int64")
        return Column(_spread(whole, texts, "Int64" if missing else "int64"))
    if decimal != ".":
        # 1.234 beside 3,14 is a thousand and more.
        styled = read_styled(known, decimal) if known.str.contains(r"\d\.\d").any() else None
        if styled is not None and styled.style.decimal == decimal:
            return Column(_numbers(styled.series, texts), styled.style)
        if known.str.contains(decimal, regex=False).any():
            known = known.str.replace(decimal, ".", regex=False)
        else:
            style = plain_style(known, ".")
    numbers = require("pandas", "reading a table").to_numeric(known, errors="coerce")
    if not numbers.isna().any():
        return Column(_spread(numbers.astype("float64"), texts, "float64"), style)
    truths = known.str.strip().str.lower()
    if truths.isin(TRUTHS).all():
        return Column(_spread(truths.map(TRUTHS), texts, "boolean" if missing else "bool"))
    return None


def _styled(texts: pd.Series[str], gone: Any, decimal: str, *, forced: bool) -> Column | None:
    """Read numbers with signs and separators; if ``forced``, what is none is missing."""
    known = texts[~gone]
    styled = None if known.empty else read_styled(known, decimal, forced=forced)
    if styled is None:
        none = _spread(known.head(0), texts, "float64")
        return Column(none, None, tuple(known)) if forced else None
    style = None if styled.style.plain and styled.style.decimal == decimal else styled.style
    not_known = tuple(known.drop(styled.series.index))
    return Column(_numbers(styled.series, texts), style, not_known)


def _numbers(known: pd.Series[Any], texts: pd.Series[str]) -> pd.Series[Any]:
    """Return numbers at their places, whole ones as such."""
    if known.dtype.kind == "i":
        return _spread(known, texts, "Int64" if len(known) < len(texts) else "int64")
    return _spread(known, texts, "float64")


def decimal_mark(texts: pd.DataFrame, separator: str = ";") -> str:
    """Return the comma if some column holds nothing but numbers like 3,14 or 1.234,56.

    What may be thousands as well (1,234 in every cell) is a decimal comma only between
    semicolons, and only where no other column has decimal points. Between commas the mark is
    the point.
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


def written(
    new: pd.Series[Any],
    texts: pd.Series[str],
    values: pd.Series[Any],
    decimal: str = ".",
    style: NumberStyle | None = None,
) -> list[str]:
    """Write new values of a column, given its ``texts`` so far and what ``values`` they are."""
    blank = next(iter(texts[values.isna()]), "")
    first = ~values.duplicated()
    seen = dict(zip(values[first].tolist(), texts[first].tolist(), strict=True))
    if style is None and values.dtype.kind in "iuf":
        style = plain_style(texts[first & values.notna()], decimal)
    return [
        blank if is_gone else seen.get(value) or plain_text(value, decimal, style)
        for value, is_gone in zip(new.tolist(), new.isna(), strict=True)
    ]


def plain_text(value: Any, decimal: str = ".", style: NumberStyle | None = None) -> str:
    """Write one value."""
    if style is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return style.write(value)
    text = str(value)
    return text.replace(".", decimal) if isinstance(value, float) and decimal != "." else text


def _spread(known: Any, texts: pd.Series[str], dtype: str) -> pd.Series[Any]:
    """Give known cells back their places among the missing ones."""
    column: pd.Series[Any] = known.astype(dtype).reindex(texts.index)
    return column
