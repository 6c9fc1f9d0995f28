"""Constraints: what a user says about which changes make sense.

    from counterbalance.constraints.constraint import Immutable, Increasing, Range
    CounterfactualOverSampler(constraints=[
        Immutable("sex"),                # stays what it is
        Increasing("age"),               # nobody gets younger
        Range("dose", 0, 40),            # stays within bounds
        OneOf("ward", ["A", "B"]),       # takes one of these
        MaxChanged(3),                   # at most three features differ
        "word_unique <= word_count",     # a relation between columns
        "total follows price * number",  # a column that moves along with others
    ])

They hold between a factual and the row made from it, and for every new row that
is returned, whatever its origin.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.constraints import relations
from counterbalance.constraints.follower import Follower, Lookup, in_turn, reaches
from counterbalance.constraints.rules import Rules
from counterbalance.errors import ConstraintError, TableError
from counterbalance.table import frames
from counterbalance.table.columns import column_position
from counterbalance.table.kinds import Kind
from counterbalance.table.table import Table

_FOLLOWS = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<word>[^\W\d][\w.]*))\s+follows\s+(?P<of>.+)")
# Values that an error lists.
MOST_LISTED = 10


class Constraint:
    """Base of all constraints."""

    def apply(self, rules: Rules, table: Table) -> None:
        """Write the constraint into ``rules``."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What every new row keeps, as a reader would say it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        values = vars(self).values()
        return f"{type(self).__name__}({', '.join(map(repr, values))})"


@dataclass(frozen=True, init=False, repr=False)
class Immutable(Constraint):
    """The columns never change.

    Examples
    --------
    >>> Immutable("race", "sex").words
    'race, sex never change'
    """

    columns: tuple[Any, ...]

    def __init__(self, *columns: Any) -> None:
        object.__setattr__(self, "columns", columns)

    def apply(self, rules: Rules, table: Table) -> None:
        """Freeze the columns."""
        for column in self.columns:
            is_name = isinstance(column, (str, tuple)) and column in table.names
            if isinstance(column, Iterable) and not isinstance(column, str) and not is_name:
                listed = ", ".join(map(repr, column))
                raise ConstraintError(f"{self} names a list of columns; write Immutable({listed})")
            rules.frozen[_find(column, table, self)] = True

    @property
    def words(self) -> str:
        """Which columns never change."""
        changes = "changes" if len(self.columns) == 1 else "change"
        return f"{', '.join(map(str, self.columns))} never {changes}"

    def __repr__(self) -> str:
        return f"Immutable({', '.join(map(repr, self.columns))})"


@dataclass(frozen=True, repr=False)
class Increasing(Constraint):
    """The column may only grow.

    Examples
    --------
    >>> Increasing("age").words
    'age only grows'
    """

    column: Any

    def apply(self, rules: Rules, table: Table) -> None:
        """Bound the column from below by the factual's value."""
        rules.rising[_find_ordered(self.column, table, self)] = True

    @property
    def words(self) -> str:
        """Which column grows."""
        return f"{self.column} only grows"


@dataclass(frozen=True, repr=False)
class Decreasing(Constraint):
    """The column may only shrink.

    Examples
    --------
    >>> Decreasing("debt").words
    'debt only shrinks'
    """

    column: Any

    def apply(self, rules: Rules, table: Table) -> None:
        """Bound the column from above by the factual's value."""
        rules.falling[_find_ordered(self.column, table, self)] = True

    @property
    def words(self) -> str:
        """Which column shrinks."""
        return f"{self.column} only shrinks"


@dataclass(frozen=True, repr=False)
class Range(Constraint):
    """The column stays between ``low`` and ``high`` (None for no bound).

    Examples
    --------
    >>> Range("dose", 0, 40).words
    'dose stays between 0 and 40'
    """

    column: Any
    low: float | None = None
    high: float | None = None

    def apply(self, rules: Rules, table: Table) -> None:
        """Intersect with the bounds so far."""
        m = _find_number(self.column, table, self)
        low = -np.inf if self.low is None else _number(self.low, self)
        high = np.inf if self.high is None else _number(self.high, self)
        if not low <= high:
            raise ConstraintError(f"{self} has no value in it: low must not be above high")
        low, high = max(low, rules.low[m]), min(high, rules.high[m])
        if low > high:
            raise ConstraintError(f"{self} contradicts another Range of the same column")
        known = table.column(m)
        least, most = np.nanmin(known, initial=np.inf), np.nanmax(known, initial=-np.inf)
        if low > most or high < least:
            raise ConstraintError(
                f"{self} lies outside the values of the column, {least:g} to {most:g}, "
                "which counterfactuals never leave; widen it"
            )
        low, high = table.grid.inside(low, high, m)
        if low > high:
            raise ConstraintError(f"{self} holds no value of the column's grid")
        rules.low[m], rules.high[m] = low, high

    @property
    def words(self) -> str:
        """Where the column stays."""
        low, high = ("" if end is None else f"{end:g}" for end in (self.low, self.high))
        if low and high:
            return f"{self.column} stays between {low} and {high}"
        return f"{self.column} stays {f'at {low} or above' if low else f'at {high} or below'}"


@dataclass(frozen=True, init=False, repr=False)
class OneOf(Constraint):
    """The column takes one of ``values``.

    Examples
    --------
    >>> OneOf("ward", ["A", "B"]).words
    'ward is one of A, B'
    """

    column: Any
    values: tuple[Any, ...]

    def __init__(self, column: Any, values: Iterable[Any]) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ConstraintError(
                f"OneOf({column!r}, ...) needs a list of values, got {values!r}; write [{values!r}]"
            )
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "values", tuple(values))

    def apply(self, rules: Rules, table: Table) -> None:
        """Restrict the column to the codes of the values."""
        m = _find(self.column, table, self)
        if not self.values:
            raise ConstraintError(f"{self} names no value; name values of the column")
        codes = _codes(self.values, table, m, self)
        absent = [value for value, code in zip(self.values, codes, strict=True) if np.isnan(code)]
        if absent:
            raise ConstraintError(
                f"{self} names {absent[0]!r}, which the column does not have; "
                f"name values of the column: {_examples(table, m)}"
            )
        allowed = np.unique(codes)
        if m in rules.levels:
            allowed = np.intersect1d(allowed, rules.levels[m])
            if not allowed.size:
                raise ConstraintError(f"{self} contradicts another OneOf of the same column")
        rules.levels[m] = allowed

    @property
    def words(self) -> str:
        """Which values the column takes."""
        return f"{self.column} is one of {', '.join(map(str, self.values))}"


@dataclass(frozen=True, repr=False)
class MaxChanged(Constraint):
    """At most ``count`` features differ from the factual."""

    count: int

    def apply(self, rules: Rules, table: Table) -> None:
        """Note the smallest count."""
        del table
        if not isinstance(self.count, (int, np.integer)) or self.count < 1:
            raise ConstraintError(f"{self} must allow at least one feature to change")
        rules.most_changed = min(self.count, rules.most_changed or self.count)

    @property
    def words(self) -> str:
        """How many features change."""
        return f"at most {self.count} {'feature changes' if self.count == 1 else 'features change'}"


@dataclass(frozen=True, repr=False)
class Relation(Constraint):
    """A comparison between columns; in a list of constraints its text alone will do.

    Examples
    --------
    >>> Relation("word_unique <= word_count").words
    'word_unique <= word_count'
    """

    text: str

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def words(self) -> str:
        """The relation as it was written."""
        return self.text

    def apply(self, rules: Rules, table: Table) -> None:
        """Parse the text."""
        parsed = relations.parse(self.text, lambda name: _find_number(name, table, self))
        rules.relations.append(parsed)


@dataclass(frozen=True, repr=False)
class Follows(Constraint):
    """A column moves along with what it is made of: ``"total follows price * number"``.

    ``formula`` is a sum or a product of columns of numbers; a new row keeps the difference from
    the sum, or the ratio to the product, that its real row has. Where the column or the formula
    is a category, the column takes the value that goes with the category in the table.
    """

    column: Any
    formula: str

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def words(self) -> str:
        """What is kept."""
        return f"{self.column} moves along with {self.formula}"

    @property
    def text(self) -> str:
        """The constraint as a text."""
        return f"{relations.quoted(self.column)} follows {self.formula}"

    def apply(self, rules: Rules, table: Table, sample: Floats | None = None) -> None:
        """Add a follower; where a table of values is needed, it is learned from ``sample``."""
        m, single = _find(self.column, table, self), self.formula.strip().strip("`")
        levels = [kind.has_levels for kind in table.kinds]
        if levels[m] or (single in table.names and levels[table.names.index(single)]):
            source = _find(single, table, self)
            x = table.rows(slice(None)) if sample is None else sample
            rule: Lookup | relations.Formula
            rule = Lookup.learn(x[:, source], x[:, m], by_nearest=not levels[source])
            sources: tuple[int, ...] = (source,)
        else:
            rule = relations.parse_formula(
                self.formula, lambda name: _find_number(name, table, self)
            )
            sources = rule.columns
        if any(follower.column == m for follower in rules.followers):
            raise ConstraintError(f"{self} is the second formula for a column; give one")
        if any(reaches(rules.followers, source, m) for source in sources):
            raise ConstraintError(f"{self} makes a column follow itself; leave one formula out")
        known = table.column(m)
        ends = float(np.nanmin(known, initial=np.inf)), float(np.nanmax(known, initial=-np.inf))
        follower = Follower(m, sources, rule, *ends, table.grid)
        rules.followers = in_turn([*rules.followers, follower])


def compile_rules(constraints: Any, table: Table, sample: Floats | None = None) -> Rules:
    """Turn a list of constraints (a text is a relation) into rules for ``table``.

    ``sample`` holds encoded rows that show which values go together; by default all of them do.
    """
    rules = Rules.none(len(table.names))
    for constraint in as_constraints(constraints):
        if isinstance(constraint, Follows):
            constraint.apply(rules, table, sample)
        else:
            constraint.apply(rules, table)
    return rules


def as_constraints(constraints: Any) -> list[Constraint]:
    """Return the constraints as objects."""
    if constraints is None:
        return []
    result: list[Constraint] = []
    for item in [constraints] if isinstance(constraints, (str, Constraint)) else constraints:
        constraint = _read(item) if isinstance(item, str) else item
        if not isinstance(constraint, Constraint):
            raise ConstraintError(
                f"constraints must hold constraints or texts, got {item!r}; "
                "see counterbalance.constraints.constraint"
            )
        result.append(constraint)
    return result


def _read(text: str) -> Constraint:
    match = _FOLLOWS.fullmatch(text)
    if match is None:
        return Relation(text)
    return Follows(match["quoted"] or match["word"], match["of"].strip())


def tell_constraints(constraints: Any) -> str:
    """Say what every new row keeps; nothing where nothing is asked for.

    >>> tell_constraints([Immutable("sex"), Range("dose", 0, 40), "low <= high"])
    'Kept in every new row: sex never changes; dose stays between 0 and 40; low <= high.'
    """
    said = [constraint.words for constraint in as_constraints(constraints)]
    return f"Kept in every new row: {'; '.join(said)}." if said else ""


def _find(column: Any, table: Table, constraint: Constraint) -> int:
    try:
        return column_position(column, table.names, str(constraint))
    except TableError as error:
        raise ConstraintError(str(error)) from None


def _find_ordered(column: Any, table: Table, constraint: Constraint) -> int:
    m = _find(column, table, constraint)
    if not table.kinds[m].has_order:
        raise ConstraintError(
            f"{constraint} needs a column with an order, but {table.names[m]!r} is "
            f"{table.kinds[m].value}; make it an ordered category, or use OneOf or Immutable"
        )
    return m


def _find_number(column: Any, table: Table, constraint: Constraint) -> int:
    m = _find(column, table, constraint)
    if table.kinds[m] not in {Kind.CONTINUOUS, Kind.INTEGER}:
        raise ConstraintError(
            f"{constraint} needs a column of numbers, but {table.names[m]!r} is "
            f"{table.kinds[m].value}; use OneOf or Immutable for it"
        )
    return m


def _number(value: Any, constraint: Constraint) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConstraintError(f"{constraint} needs numbers, got {value!r}") from None
    except OverflowError:
        raise ConstraintError(
            f"{type(constraint).__name__} needs numbers that a float can hold, got one of "
            f"{len(str(value))} digits; leave the bound out (None) or name a smaller one"
        ) from None


def _codes(values: tuple[Any, ...], table: Table, m: int, constraint: Constraint) -> list[float]:
    """Return the codes of some cells of a column, nan for a cell that it cannot have."""
    codes = table.column(m)
    if not table.kinds[m].has_levels:
        least, most = np.nanmin(codes, initial=np.inf), np.nanmax(codes, initial=-np.inf)
        numbers = np.array([[_number(value, constraint)] for value in values])
        table.grid.snap(numbers, np.array([m]))
        return [float(n) if least <= n <= most else np.nan for n in numbers[:, 0]]
    lookup = frames.lookup(frames.column(table.native, m), codes)
    hashable = [value if isinstance(value, Hashable) else None for value in values]
    # A text stands for the value that is written like it, such as "True" for True.
    written = {str(value): code for value, code in lookup.items()}
    return [
        lookup.get(value, written.get(value, np.nan) if isinstance(value, str) else np.nan)
        for value in hashable
    ]


def _examples(table: Table, m: int) -> str:
    """List some values of a column, or the range of a column of numbers."""
    codes = table.column(m)
    if not table.kinds[m].has_levels:
        least, most = np.nanmin(codes, initial=np.inf), np.nanmax(codes, initial=-np.inf)
        return f"{least:g} to {most:g}"
    values = list(frames.lookup(frames.column(table.native, m), codes))
    listed = ", ".join(map(repr, values[:MOST_LISTED]))
    return listed if len(values) <= MOST_LISTED else f"{listed}, ..."
