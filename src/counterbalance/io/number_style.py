r"""Columns of texts: read their cells as values, and write new values in the style of the column.

A column of texts becomes the narrowest of these types that holds all its known cells:

    whole numbers   int64, or Int64 where cells are missing
    numbers         float64
    booleans        bool, or boolean where cells are missing: true and false in any case
    texts           str

Money, percentages and numbers with thousands separators are numbers: ``$84,835.00`` is 84835 and
``12%`` is 12. Among numbers and booleans, a blank cell and what people write for "not known" are
missing. Digits that identify something are texts: leading zeros (``007``), and groups of the same
shape in every cell (``612 345 678`` is a phone number, ``192.168.100.101`` an address).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from counterbalance.extras import require_pandas

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
# This many cells are checked first: most columns of texts are rejected quickly.
LOOKED_AT = 1000
CURRENCY = (
    r"(?:[A-Z]{0,2}[$¢£¤¥฿\u20a0-\u20cf﷼]"
    r"|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|MXN|KRW|TRY"
    r"|Rs\.?|kr\.?|zł|Fr\.)"
)
# Non-breaking and thin spaces, the plain one, and the apostrophe used in Switzerland.
BLANKS = ("\xa0", "\u202f", "\u2009", " ", "'")
OTHER_MARK = {".": ",", ",": "."}
FIRST_GROUP = 3
# A column with more decimals holds measurements: its new numbers are written in full.
MOST_DECIMALS = 4


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written; ``decimals`` are the counts that occur, ascending.

    >>> NumberStyle("$", thousands=",", decimals=(2,)).write(84835)
    '$84,835.00'
    >>> NumberStyle(after=" €", thousands=".", decimal=",", decimals=(0, 2)).write(-1234.5)
    '-1.234,50 €'
    """

    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."
    decimals: tuple[int, ...] = ()
    negative: str = "-{before}{digits}{after}"

    @property
    def plain(self) -> bool:
        """Whether numbers consist of digits and a decimal mark only."""
        return not (self.before or self.after or self.thousands)

    def write(self, value: float) -> str:
        """Write a number as the column does."""
        digits = _digits(abs(value), self.decimals)
        if self.thousands and "e" not in digits:
            whole, point, fraction = digits.partition(".")
            digits = f"{int(whole):,}{point}{fraction}"
        marks = {",": self.thousands, ".": self.decimal}
        digits = "".join(marks.get(mark, mark) for mark in digits)
        shape = self.negative if value < 0 else "{before}{digits}{after}"
        return shape.format(before=self.before, digits=digits, after=self.after)


def _digits(value: float, decimals: tuple[int, ...]) -> str:
    """Write a number with the fewest of these decimals that are exact, or else with the most."""
    if not decimals or decimals[-1] > MOST_DECIMALS or "e" in str(value) or "n" in str(value):
        return str(value)
    if isinstance(value, int) and not decimals[0]:
        return str(value)
    exact = (places for places in decimals if round(value, places) == value)
    return f"{value:.{next(exact, decimals[-1])}f}"


@dataclass(frozen=True, eq=False)
class TextColumn:
    """The values of a column of texts, and how it writes them."""

    series: pd.Series[Any]
    style: NumberStyle | None = None  # how its numbers are written
    # Texts that count as missing only because the other cells are numbers.
    not_known: tuple[str, ...] = ()

    def write(self, new: pd.Series[Any], texts: pd.Series[str]) -> list[str]:
        """Write new values; one that the column already has is written as it stands there."""
        blank = next(iter(texts[self.series.isna()]), "")
        first = ~self.series.duplicated()
        seen = dict(zip(self.series[first].tolist(), texts[first].tolist(), strict=True))
        return [
            blank if is_missing else seen.get(value) or self._write_one(value)
            for value, is_missing in zip(new.tolist(), new.isna(), strict=True)
        ]

    def _write_one(self, value: Any) -> str:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return self.style.write(value) if self.style and is_number else str(value)


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
    place, different = require_pandas().factorize(texts)
    column = _read(different.to_series(index=range(len(different))), decimal, kind, missing)
    values = column.series.take(place).set_axis(texts.index)
    return TextColumn(values, column.style, column.not_known)


def _read(
    texts: pd.Series[str], decimal: str, kind: str | None, missing: tuple[str, ...]
) -> TextColumn:
    is_missing = texts.isin(MISSING) | matches_any(texts, missing)
    if kind == "label":
        is_missing |= texts.str.strip() == ""
    if is_missing.all() and kind != "text":
        return TextColumn(texts.where(~is_missing, None).astype("float64"))
    known = texts[~is_missing]
    not_known = known.head(0)
    found = None
    if kind != "text":
        found = _plain(known, decimal)
    if found is None and kind in {None, "number"}:
        unclear = known.str.strip().str.casefold().isin(NO_NUMBER)
        not_known, rest = known[unclear], known[~unclear]
        if len(rest):
            found = _plain(rest, decimal) if len(not_known) else None
            found = found or _styled(rest, decimal, forced=kind == "number")
        if found is not None:
            not_known = known.drop(found.series.index)
        elif kind == "number":
            return TextColumn(texts.where(texts.isna(), None).astype("float64"))
    if found is None:  # spaces in front of every cell belong to the separator
        led = known.str.match(r"\s+\S")
        return TextColumn((texts.str.strip() if led.all() else texts).mask(is_missing))
    dtype = str(found.series.dtype)
    if len(found.series) < len(texts):
        dtype = {"int64": "Int64", "bool": "boolean"}.get(dtype, dtype)
    kept: Any = dtype
    series = found.series.astype(kept).reindex(texts.index)
    return TextColumn(series, found.style, tuple(not_known))


def matches_any(texts: pd.Series[str], missing: tuple[str, ...]) -> pd.Series[bool]:
    """Whether a cell is one of these texts, or the same number: -999 also matches -999.0."""
    pandas = require_pandas()
    found = texts.isin(missing)
    values = pandas.to_numeric(pandas.Series(missing, dtype=str), errors="coerce").dropna()
    if len(values):
        found |= pandas.to_numeric(texts, errors="coerce").isin(values)
    return found


def _plain(known: pd.Series[str], decimal: str) -> TextColumn | None:
    """Read numbers without signs and separators, and booleans; None if there is anything else."""
    booleans = known.str.strip().str.lower()
    if booleans.isin(TRUTHS).all():
        return TextColumn(booleans.map(TRUTHS).astype("bool"))
    if known.str.fullmatch(CODE).any() and not known.str.contains(r"[.,]").any():
        return None
    if known.str.fullmatch(WHOLE).all():
        return TextColumn(known.str.strip().astype("int64"), NumberStyle(decimals=(0,)))
    if decimal != "." and known.str.contains(decimal, regex=False).any():
        if known.str.contains(r"\d\.\d").any():  # the point separates thousands
            return None
        known = known.str.replace(decimal, ".", regex=False)
    elif decimal != ".":
        if known.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})*\s*").all():
            return None
        decimal = "."
    numbers = require_pandas().to_numeric(known, errors="coerce")
    if numbers.isna().any():
        return None
    places = known.str.strip().str.partition(".")[2].str.len().astype(int)
    decimals = set() if known.str.contains("e", case=False).any() else set(places)
    style = NumberStyle(decimal=decimal, decimals=tuple(sorted(decimals)))
    return TextColumn(numbers.astype("float64"), style)


def _styled(known: pd.Series[str], decimal: str, *, forced: bool = False) -> TextColumn | None:
    """Read cells that are numbers in some style; None if one is not, or if they are codes.

    ``decimal`` is the mark of the file. The other mark is accepted only where a cell has both
    marks or a currency. ``forced`` takes the style that reads the most cells, codes included.
    """
    best: TextColumn | None = None
    for mark in (decimal, OTHER_MARK[decimal]):
        for thousands in (OTHER_MARK[mark], *BLANKS):
            pattern = _pattern(mark, thousands)
            if not forced and not known.head(LOOKED_AT).str.fullmatch(pattern).all():
                continue
            parts = known.str.extract(f"^{pattern}\\Z")
            read = parts["digits"].notna()
            if forced:
                if read.sum() > (0 if best is None else len(best.series)):
                    best = _quantities(parts[read], mark, thousands)
            elif read.all() and _is_quantity(parts, mark, thousands, other=mark != decimal):
                return _quantities(parts, mark, thousands)
    return best


@cache
def _pattern(decimal: str, thousands: str) -> str:
    d, t = re.escape(decimal), re.escape(thousands)
    digits = rf"(?:[1-9]\d{{0,2}}(?:{t}\d{{3}})+|\d+)(?:{d}\d*)?|{d}\d+"
    return (
        rf"\s*(?P<open>\(?)(?P<sign>[+-]?)(?P<before>(?:{CURRENCY}\s?)?)(?P<inner>[+-]?)"
        rf"(?P<digits>{digits})(?P<after>(?:\s?(?:{CURRENCY}|%))?)(?P<close>\)?)\s*"
    )


def _is_quantity(parts: pd.DataFrame, decimal: str, thousands: str, *, other: bool) -> bool:
    """Whether cells that look like numbers are meant as numbers of one unit."""
    units = (parts["before"] + parts["after"]).str.strip()
    signs = set(units) - {""}
    digits = parts["digits"]
    grouped = digits.str.contains(thousands, regex=False)
    both = grouped & digits.str.contains(decimal, regex=False)
    if len(signs) > 1 or ("%" in signs and (units == "").any()):
        return False
    if ((parts["open"] == "(") != (parts["close"] == ")")).any():
        return False
    if digits.str.match(r"0\d+$").any():
        return False  # a code
    if other and not (signs or both.any()):
        return False
    shapes = set(digits.str.replace(r"\d", "0", regex=True))
    if grouped.any() and not signs and len(shapes) == 1 and len(digits) > 1:
        groups = next(iter(shapes)).split(thousands)
        address = len(groups[0]) == FIRST_GROUP and len(groups) > 2  # noqa: PLR2004
        return not (thousands in BLANKS or address)
    return True


def _quantities(parts: pd.DataFrame, decimal: str, thousands: str) -> TextColumn:
    digits = parts["digits"].str.replace(thousands, "", regex=False)
    if digits.str.fullmatch(WHOLE).all():
        values: pd.Series[Any] = digits.astype("int64")
    else:
        values = digits.str.replace(decimal, ".", regex=False).astype("float64")
    below = ((parts["sign"] + parts["inner"]) == "-") | (parts["open"] == "(")
    before, after = (str(parts[side].mode()[0]) for side in ("before", "after"))
    grouped = bool(parts["digits"].str.contains(thousands, regex=False).any())
    negative = NumberStyle.negative
    for part in parts[below].head(1).to_dict("records"):
        if part["open"]:
            negative = "({before}{digits}{after})"
        elif part["inner"]:
            negative = "{before}-{digits}{after}"
    places = parts["digits"].str.partition(decimal)[2].str.len()
    style = NumberStyle(
        before,
        after,
        thousands if grouped else "",
        decimal,
        tuple(sorted(set(places.astype(int)))),
        negative,
    )
    return TextColumn(values.where(~below, -values), style)
