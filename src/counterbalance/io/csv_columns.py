r"""Columns of texts: their cells as values, and values as texts.

A column of texts becomes the narrowest of these types that holds all its known cells:

    whole numbers   int64, or Int64 where cells are missing
    numbers         float64
    booleans        bool, or boolean where cells are missing: true and false in any case
    texts           str

Numbers with leading zeros (007) are codes, hence texts. Money, percentages and numbers with
thousands separators are numbers; among numbers and booleans, a blank cell and whatever people
write for "not known" are missing. A value that the column already has is written as it stands
there; any other number in the column's style, with as few digits as identify it:

    " ($84,835.00) "
     | ||       | \- trail        before   a currency sign, with its space
     | ||       \--- after        after    the same, or %
     | |\----------- digits       digits   with separators of thousands and a decimal mark
     | \------------ before       sign     -, + or the parentheses of accountants
     \-------------- lead

A number is read as the figure that is written: ``12%`` is 12. Digits that are a name and not a
quantity are left alone: leading zeros (``007``), and blocks of the same shape in every cell
(``612 345 678`` is a phone number, ``192.168.100.101`` an address).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from counterbalance.extras import require

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
# Checking this many cells first rejects most columns of texts quickly.
LOOKED_AT = 1000
CURRENCY = (
    r"(?:[A-Z]{0,2}[$¢£¤¥฿\u20a0-\u20cf﷼]"
    r"|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|MXN|KRW|TRY"
    r"|Rs\.?|kr\.?|zł|Fr\.)"
)
MINUS = "\u2212-"  # the hyphen last, because they form a character class
# Non-breaking and thin spaces, the plain one, and the apostrophes used in Switzerland.
BLANKS = ("\xa0", "\u202f", "\u2009", " ", "'", "\u2019")
THOUSANDS = {".": (",", *BLANKS), ",": (".", *BLANKS)}
OTHER_MARK = {".": ",", ",": "."}
FIRST_GROUP = 3
# Zeros are added up to this many decimals: more are noise, not a style.
MOST_DECIMALS = 6
# Digits of a whole number that still fits into 64 bits.
MOST_DIGITS = 18


@dataclass(frozen=True)
class NumberStyle:
    """How the cells of a column are written; ``decimals`` are the counts of decimals that occur."""

    before: str = ""
    after: str = ""
    thousands: str = ""
    decimal: str = "."
    decimals: tuple[int, ...] = ()
    lead: str = ""
    trail: str = ""
    width: int = 0
    negative: str = "-{before}{digits}{after}"

    @property
    def plain(self) -> bool:
        """Whether numbers consist of digits and a decimal mark only."""
        return not (self.before or self.after or self.thousands)

    def write(self, value: float) -> str:
        """Write a number as the column does.

        >>> NumberStyle("$", thousands=",", decimals=(2,), trail=" ").write(84835)
        '$84,835.00 '
        >>> NumberStyle(after=" €", thousands=".", decimal=",", decimals=(0, 2)).write(-1234.5)
        '-1.234,50 €'
        """
        digits = _digits(abs(value), self.decimals)
        if self.thousands:
            whole, point, fraction = digits.partition(".")
            digits = f"{int(whole):,}" + point + fraction if whole.isdigit() else digits
        marks = {",": self.thousands, ".": self.decimal}
        digits = "".join(marks.get(mark, mark) for mark in digits)
        shape = self.negative if value < 0 else "{before}{digits}{after}"
        text = shape.format(before=self.before, digits=digits, after=self.after)
        return f"{self.lead}{text}{self.trail}".rjust(self.width)


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


@dataclass(frozen=True, eq=False)
class StyledNumbers:
    """The values of cells that are numbers, indexed like the column, and their style."""

    series: pd.Series[Any]
    style: NumberStyle


def read_styled(
    known: pd.Series[str], decimal: str, *, forced: bool = False
) -> StyledNumbers | None:
    """Read cells that are numbers in some style; None if one is not, or if they are codes.

    ``decimal`` is the mark of the file. The other mark is accepted only where a cell has both
    marks or a currency. ``forced`` takes the style that reads the most cells, codes included.
    """
    best: StyledNumbers | None = None
    for mark in (decimal, OTHER_MARK[decimal]):
        for thousands in THOUSANDS[mark]:
            pattern = _pattern(mark, thousands)
            if not forced and not known.head(LOOKED_AT).str.fullmatch(pattern).all():
                continue
            parts = known.str.extract(f"^{pattern}\\Z")
            matched = parts["digits"].notna()
            if not matched.any():
                continue
            if not forced and not (
                matched.all() and _is_quantity(parts, mark, thousands, other=mark != decimal)
            ):
                continue
            found = _quantities(parts[matched], mark, thousands)
            if not forced:
                return found
            if len(found.series) > (0 if best is None else len(best.series)):
                best = found
    return best


def plain_style(known: pd.Series[str], decimal: str) -> NumberStyle:
    """Return how plain numbers are written: how many decimals, which spaces around them."""
    parts = known.str.extract(f"^{_pattern(decimal, THOUSANDS[decimal][0])}\\Z")
    if len(parts) == 0 or parts["digits"].isna().any():
        return NumberStyle(decimal=decimal)
    style = _style(parts, decimal, "")
    return style if style.plain else NumberStyle(decimal=decimal)


@cache
def _pattern(decimal: str, thousands: str) -> str:
    d, t = re.escape(decimal), re.escape(thousands)
    digits = rf"(?:[1-9]\d{{0,2}}(?:{t}\d{{3}})+|\d+)(?:{d}\d*)?|{d}\d+"
    return (
        rf"(?P<lead>\s*)(?P<open>\(?)(?P<sign>[+{MINUS}]?)(?P<before>(?:{CURRENCY}\s?)?)"
        rf"(?P<inner>[+{MINUS}]?)(?P<digits>{digits})(?P<after>(?:\s?(?:{CURRENCY}|%))?)"
        rf"(?P<close>\)?)(?P<trail>\s*)"
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
        block = len(groups[0]) == FIRST_GROUP and len(groups) > 2  # noqa: PLR2004
        return not (thousands in BLANKS or block)
    return True


def _quantities(parts: pd.DataFrame, decimal: str, thousands: str) -> StyledNumbers:
    digits = parts["digits"].str.replace(thousands, "", regex=False)
    below = _is_below(parts)
    whole = not digits.str.contains(decimal, regex=False).any()
    if whole and bool((digits.str.len() <= MOST_DIGITS).all()):
        values: pd.Series[Any] = digits.astype("int64")
    else:
        values = digits.str.replace(decimal, ".", regex=False).astype("float64")
    return StyledNumbers(values.where(~below, -values), _style(parts, decimal, thousands))


def _is_below(parts: pd.DataFrame) -> Any:
    signs = parts["sign"] + parts["inner"]
    return signs.isin(list(MINUS)) | (parts["open"] == "(")


def _style(parts: pd.DataFrame, decimal: str, thousands: str) -> NumberStyle:
    digits = parts["digits"]
    before, after = _usual(parts["before"]), _usual(parts["after"])
    grouped = bool(thousands) and bool(digits.str.contains(thousands, regex=False).any())
    fractions = digits.str.partition(decimal)[2].str.len()
    lead, trail = set(parts["lead"]), set(parts["trail"])
    # Right-aligned numbers: all cells are equally long.
    lengths = set(parts.map(len).sum(axis=1))
    flush = len(lead) > 1 and len(lengths) == 1
    return NumberStyle(
        before,
        after,
        thousands if grouped else "",
        decimal,
        tuple(sorted(set(fractions.astype(int)))),
        lead.pop() if len(lead) == 1 else "",
        trail.pop() if len(trail) == 1 else "",
        lengths.pop() if flush else 0,
        _negative(parts),
    )


def _negative(parts: pd.DataFrame) -> str:
    """Return how the first number below zero in the column is written."""
    for part in parts[_is_below(parts)].head(1).to_dict("records"):
        if part["open"]:
            return "({before}{digits}{after})"
        if part["inner"]:
            return f"{{before}}{part['inner']}{{digits}}{{after}}"
        return f"{part['sign']}{{before}}{{digits}}{{after}}"
    return "-{before}{digits}{after}"


def _digits(value: float, decimals: tuple[int, ...]) -> str:
    """Write a number with the fewest of these decimals that are exact, or all that it needs."""
    shortest = str(value)
    for places in decimals:
        if places <= MOST_DECIMALS and round(value, places) == value and "e" not in shortest:
            return f"{value:.{places}f}"
    return shortest


def _usual(texts: pd.Series[str]) -> str:
    return str(Counter(texts).most_common(1)[0][0])
