"""Relations: comparisons between columns, such as ``"word_unique <= word_count"``.

    relation    sum  ( < | <= | > | >= | == | != )  sum
    sum         product  { ( + | - )  product }
    product     factor  { ( * | / )  factor }
    factor      number  |  column  |  -  factor  |  ( sum )
    column      a word, which may hold points, or any text between backticks: `cell size`

Relations are parsed by this grammar only and never run as Python. A division by zero gives a
missing value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Mask
from counterbalance.errors import ConstraintError

# Maps a row of the table (along the last axis) to a number.
Term = Callable[[Floats], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>[^\W\d][\w.]*)"
    r"|`(?P<quoted>[^`]+)`|(?P<sign><=|>=|==|!=|[<>+\-*/()]))"
)
# The most terms of a relation.
LONGEST = 100
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Relation:
    """A parsed relation."""

    left: Term
    right: Term
    comparison: Callable[[Any, Any], Any]
    columns: tuple[int, ...] = ()

    def holds(self, x: Floats) -> Mask:
        """Return for each row whether the relation holds; missing cells never break it."""
        with np.errstate(all="ignore"):
            left, right = self.left(x), self.right(x)
            unknown = np.isnan(left) | np.isnan(right)
            return np.broadcast_to(self.comparison(left, right) | unknown, x.shape[:-1])


@dataclass(frozen=True)
class Formula:
    """A parsed sum: the formula of a column."""

    term: Term
    columns: tuple[int, ...]
    is_product: bool  # whether nothing is added or subtracted


def parse(text: str, position: Callable[[str], int]) -> Relation:
    """Parse a relation; ``position`` returns the position of a column."""
    return _Reader(text, position).relation()


def parse_formula(text: str, position: Callable[[str], int]) -> Formula:
    """Parse one side of a relation."""
    return _Reader(text, position).formula()


class _Reader:
    """Parses one relation from left to right."""

    def __init__(self, text: str, position: Callable[[str], int]) -> None:
        self.text = text
        self.position = position
        self.columns: list[int] = []
        self.n_terms = 0
        self.tokens = self._tokens()
        self.place = 0

    def _tokens(self) -> list[tuple[str, str]]:
        tokens, start = [], 0
        text = self.text.rstrip()
        while start < len(text):
            match = _TOKEN.match(text, start)
            if match is None:
                raise self._error(f"cannot read {text[start:]!r}")
            kind = match.lastgroup or ""
            tokens.append(("word" if kind == "quoted" else kind, match.group(kind)))
            start = match.end()
        return tokens

    def relation(self) -> Relation:
        left = self._sum()
        kind, sign = self._next()
        if kind != "sign" or sign not in _COMPARISONS:
            raise self._error(
                f"expected one of {' '.join(_COMPARISONS)}, found {sign or 'the end'!r}"
            )
        right = self._sum()
        if self.place < len(self.tokens):
            raise self._error(f"{self.tokens[self.place][1]!r} is more than one comparison")
        if not self.columns:
            raise self._error("it names no column")
        return Relation(left, right, _COMPARISONS[sign], tuple(self.columns))

    def formula(self) -> Formula:
        term = self._sum()
        if self.place < len(self.tokens):
            raise self._error(f"{self.tokens[self.place][1]!r} does not belong there")
        if not self.columns:
            raise self._error("it names no column")
        added = any(token in {("sign", "+"), ("sign", "-")} for token in self.tokens)
        return Formula(term, tuple(dict.fromkeys(self.columns)), not added)

    def _sum(self) -> Term:
        term = self._product()
        while self._peek() in {"+", "-"}:
            sign = self._next()[1]
            combine = operator.add if sign == "+" else operator.sub
            term = _combined(combine, term, self._product())
        return term

    def _product(self) -> Term:
        term = self._factor()
        while self._peek() in {"*", "/"}:
            sign = self._next()[1]
            term = _combined(operator.mul if sign == "*" else _divide, term, self._factor())
        return term

    def _factor(self) -> Term:
        self.n_terms += 1
        if self.n_terms > LONGEST:
            raise self._error(f"it has more than {LONGEST} terms")
        kind, piece = self._next()
        if kind == "number":
            number = float(piece)
            if not np.isfinite(number):
                raise self._error(f"{piece} is too large")
            return lambda _: number
        if kind == "word":
            place = self.position(piece)
            self.columns.append(place)
            return lambda x: x[..., place]
        if piece == "-":
            factor = self._factor()
            return lambda x: -factor(x)
        if piece == "(":
            term = self._sum()
            if self._next()[1] != ")":
                raise self._error("a bracket is not closed")
            return term
        raise self._error(f"expected a column or a number, found {piece or 'the end'!r}")

    def _peek(self) -> str:
        more = self.place < len(self.tokens)
        return self.tokens[self.place][1] if more and self.tokens[self.place][0] == "sign" else ""

    def _next(self) -> tuple[str, str]:
        if self.place >= len(self.tokens):
            return "end", ""
        self.place += 1
        return self.tokens[self.place - 1]

    def _error(self, what: str) -> ConstraintError:
        return ConstraintError(
            f"the relation {self.text!r} cannot be read: {what}; write for example "
            "'a <= b', 'a + b == total' or '`cell size` < 10'"
        )


def _combined(combine: Callable[[Any, Any], Any], left: Term, right: Term) -> Term:
    return lambda x: combine(left(x), right(x))


def quoted(name: Any) -> str:
    """Return the name of a column as written in a relation."""
    return name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`"


def _divide(left: Any, right: Any) -> Any:
    return left / np.where(np.equal(right, 0), np.nan, right)
