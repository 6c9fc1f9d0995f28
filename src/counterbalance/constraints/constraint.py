"""The constraints, and the rules that each adds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.constraints import relations
from counterbalance.constraints.follower import Follower, Lookup, in_turn, reaches
from counterbalance.constraints.rules import Rules, Step
from counterbalance.errors import ConstraintError, TableError
from counterbalance.table.columns import column_position
from counterbalance.table.dummies import group_text
from counterbalance.table.kinds import Kind
from counterbalance.table.table import Table
from counterbalance.user_warnings import renamed

# The number of values listed in an error.
MOST_LISTED = 10
_NUMBERS = {Kind.CONTINUOUS, Kind.INTEGER}


class Constraint:
    """Base of all constraints."""

    def apply(self, rules: Rules, table: Table) -> None:
        """Write the constraint into ``rules``."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """A sentence that states what every new row keeps."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The former name of ``description``."""
        return str(renamed(self, "words", "description"))

    def __repr__(self) -> str:
        values = vars(self).values()
        return f"{type(self).__name__}({', '.join(map(repr, values))})"


@dataclass(frozen=True, init=False, repr=False)
class Immutable(Constraint):
    """The columns never change.

    Examples
    --------
    >>> Immutable("race", "sex").description
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
    def description(self) -> str:
        """Which columns never change."""
        changes = "changes" if len(self.columns) == 1 else "change"
        return f"{', '.join(map(str, self.columns))} never {changes}"

    def __repr__(self) -> str:
        return f"Immutable({', '.join(map(repr, self.columns))})"


@dataclass(frozen=True, repr=False)
class _OneWay(Constraint):
    """The column may only move in one direction."""

    column: Any
    _bound: ClassVar[str]
    _verb: ClassVar[str]

    def apply(self, rules: Rules, table: Table) -> None:
        """Bound the column by the factual's value."""
        getattr(rules, self._bound)[_find(self.column, table, self, "an order")] = True

    @property
    def description(self) -> str:
        """Which column moves, and in which direction."""
        return f"{self.column} only {self._verb}"


class Increasing(_OneWay):
    """The column may only grow.

    Examples
    --------
    >>> Increasing("age").description
    'age only grows'
    """

    _bound, _verb = "rising", "grows"


class Decreasing(_OneWay):
    """The column may only shrink.

    Examples
    --------
    >>> Decreasing("debt").description
    'debt only shrinks'
    """

    _bound, _verb = "falling", "shrinks"


@dataclass(frozen=True, repr=False)
class Range(Constraint):
    """The column stays between ``low`` and ``high`` (None for no bound).

    Examples
    --------
    >>> Range("dose", 0, 40).description
    'dose stays between 0 and 40'
    """

    column: Any
    low: float | None = None
    high: float | None = None

    def apply(self, rules: Rules, table: Table) -> None:
        """Intersect with the bounds so far."""
        m = _find(self.column, table, self, "numbers")
        low = -np.inf if self.low is None else _number(self.low, self)
        high = np.inf if self.high is None else _number(self.high, self)
        if not low <= high:
            raise ConstraintError(f"{self} has no value in it: low must not be above high")
        low, high = max(low, rules.low[m]), min(high, rules.high[m])
        if low > high:
            raise ConstraintError(f"{self} contradicts another Range of the same column")
        least, most = _ends(table, m)
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
    def description(self) -> str:
        """The range of the column."""
        low, high = ("" if end is None else f"{end:g}" for end in (self.low, self.high))
        if low and high:
            return f"{self.column} stays between {low} and {high}"
        return f"{self.column} stays {f'at {low} or above' if low else f'at {high} or below'}"


@dataclass(frozen=True, init=False, repr=False)
class OneOf(Constraint):
    """The column takes one of ``values``.

    Examples
    --------
    >>> OneOf("ward", ["A", "B"]).description
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
        codes = _codes_of_dummy(self.column, self.values, table)
        if codes is None:
            codes = _codes(self.values, table, m, self)
        absent = [value for value, code in zip(self.values, codes, strict=False) if np.isnan(code)]
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
    def description(self) -> str:
        """Which values the column takes."""
        return f"{self.column} is one of {', '.join(map(str, self.values))}"


@dataclass(frozen=True, repr=False)
class MaxChanged(Constraint):
    """At most ``count`` features differ from the factual."""

    count: int

    def apply(self, rules: Rules, table: Table) -> None:
        """Store the smallest count."""
        del table
        if not isinstance(self.count, (int, np.integer)) or self.count < 1:
            raise ConstraintError(f"{self} must allow at least one feature to change")
        rules.most_changed = min(self.count, rules.most_changed or self.count)

    @property
    def description(self) -> str:
        """How many features change."""
        return f"at most {self.count} {'feature changes' if self.count == 1 else 'features change'}"


@dataclass(frozen=True, repr=False)
class AtLeast(Constraint):
    """The column changes by at least ``step``, or not at all.

    Examples
    --------
    >>> AtLeast("income", 100).description
    'income changes by 100 or more, or not at all'
    """

    column: Any
    step: float

    def apply(self, rules: Rules, table: Table) -> None:
        """Store the largest step; on a grid it is a whole number of grid points."""
        m = _find(self.column, table, self, "numbers")
        step, per_unit = _number(self.step, self), float(table.grid.resolution[m])
        if not 0 < step < np.inf:
            raise ConstraintError(f"{self} needs a number above 0; name the smallest change")
        if per_unit:
            step = float(np.ceil(step * per_unit * (1 - 1e-9)) / per_unit)
        least, most = _ends(table, m)
        if step > most - least:
            raise ConstraintError(
                f"{self} allows no change: the values of the column, {least:g} to {most:g}, lie "
                "nearer together; name a smaller one, or use Immutable"
            )
        step = max(step, rules.at_least[m].least if m in rules.at_least else 0.0)
        rules.at_least[m] = Step(step, least, most, per_unit)

    @property
    def description(self) -> str:
        """By how much the column changes."""
        return f"{self.column} changes by {self.step:g} or more, or not at all"


@dataclass(frozen=True, repr=False)
class Cost(Constraint):
    """A change of the column counts ``weight`` times as much in the distance.

    Examples
    --------
    >>> Cost("age", 5).description
    'a change of age counts 5 times'
    """

    column: Any
    weight: float

    def apply(self, rules: Rules, table: Table) -> None:
        """Store the weight; several weights are multiplied."""
        m, weight = _find(self.column, table, self), _number(self.weight, self)
        if not 0 < weight < np.inf:
            raise ConstraintError(f"{self} needs a weight above 0; for example 5")
        rules.cost[m] = weight * rules.cost.get(m, 1.0)

    @property
    def description(self) -> str:
        """How much a change of the column counts."""
        return f"a change of {self.column} counts {self.weight:g} times"


@dataclass(frozen=True, init=False, repr=False)
class Transitions(Constraint):
    """A value of the column may only become one of those listed for it.

    ``allowed`` maps a value to the values that it may become; an empty list allows none. A value
    without an entry may become any other.

    Examples
    --------
    >>> Transitions("education", {"school": ["college"], "master": []}).description
    'education goes from school only to college, from master to nothing else'
    """

    column: Any
    allowed: tuple[tuple[Any, tuple[Any, ...]], ...]

    def __init__(self, column: Any, allowed: Mapping[Any, Iterable[Any]]) -> None:
        if not isinstance(allowed, Mapping) or any(
            isinstance(after, str) or not isinstance(after, Iterable) for after in allowed.values()
        ):
            raise ConstraintError(
                f"Transitions({column!r}, ...) needs a dictionary of lists, got {allowed!r}; for "
                "example {'school': ['college']}"
            )
        pairs = tuple((before, tuple(after)) for before, after in allowed.items())
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "allowed", pairs)

    def apply(self, rules: Rules, table: Table) -> None:
        """Write the matrix of allowed transitions."""
        m = _find(self.column, table, self)
        if not table.kinds[m].has_levels:
            raise ConstraintError(
                f"{self} needs a column with categories, but {table.names[m]!r} holds numbers; use "
                "Increasing, Decreasing or Range, or name it in categorical_features"
            )
        n_levels = int(np.nanmax(table.column(m), initial=-1.0)) + 1
        may = rules.transitions.get(m, np.ones((n_levels, n_levels), dtype=bool)).copy()
        for before, after in self.allowed:
            codes = _codes((before, *after), table, m, self)
            absent = [v for v, code in zip((before, *after), codes, strict=True) if np.isnan(code)]
            if absent:
                raise ConstraintError(
                    f"{self} names {absent[0]!r}, which the column does not have; "
                    f"name values of the column: {_examples(table, m)}"
                )
            row = np.isin(np.arange(n_levels), np.array(codes))  # no change is always allowed
            may[int(codes[0])] &= row
        rules.transitions[m] = may

    @property
    def description(self) -> str:
        """Which value may become which."""
        steps = [
            f"from {before} {f'only to {_or(after)}' if after else 'to nothing else'}"
            for before, after in self.allowed
        ]
        return f"{self.column} goes {', '.join(steps)}"

    def __repr__(self) -> str:
        return f"Transitions({self.column!r}, {dict(self.allowed)})"


def _or(values: tuple[Any, ...]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}" if first else last


@dataclass(frozen=True, repr=False)
class Relation(Constraint):
    """A comparison between columns; in a list of constraints a plain string is enough.

    Examples
    --------
    >>> Relation("word_unique <= word_count").description
    'word_unique <= word_count'
    """

    text: str

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def description(self) -> str:
        """The relation as the user wrote it."""
        return self.text

    def apply(self, rules: Rules, table: Table) -> None:
        """Parse the text; relations that dummy columns always keep need no rule."""
        if " ".join(self.text.split()) in {group_text(one, table.names) for one in table.groups}:
            return
        parsed = relations.parse(self.text, lambda name: _find(name, table, self, "numbers"))
        rules.relations.append(parsed)


@dataclass(frozen=True, repr=False)
class Follows(Constraint):
    """A column is computed from others: ``"total follows price * number"``.

    ``formula`` is a sum or a product of numeric columns; a new row keeps the difference from the
    sum, or the ratio to the product, of its real row. If the column or the formula is a category,
    the column takes the value that most rows with this category have.
    """

    column: Any
    formula: str

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def description(self) -> str:
        """What is kept."""
        return f"{self.column} moves along with {self.formula}"

    @property
    def text(self) -> str:
        """The constraint as a text."""
        return f"{relations.quoted(self.column)} follows {self.formula}"

    def apply(self, rules: Rules, table: Table, sample: Floats | None = None) -> None:
        """Add a follower; a lookup, if needed, is learned from ``sample``."""
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
                self.formula, lambda name: _find(name, table, self, "numbers")
            )
            sources = rule.columns
        if any(follower.column == m for follower in rules.followers):
            raise ConstraintError(f"{self} is the second formula for a column; give one")
        if any(reaches(rules.followers, source, m) for source in sources):
            raise ConstraintError(f"{self} makes a column follow itself; leave one formula out")
        follower = Follower(m, sources, rule, *_ends(table, m), table.grid)
        rules.followers = in_turn([*rules.followers, follower])


@dataclass(frozen=True, init=False, repr=False)
class GoesWith(Constraint):
    """Values of the columns occur together as in the table: ``"city goes with state, zip"``.

    A new row has no pair of values of ``column`` and of one of the ``others`` that no real row
    has, or that real rows have far more rarely than expected (see ``together``).
    """

    column: Any
    others: tuple[Any, ...]

    def __init__(self, column: Any, *others: Any) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "others", others)

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def description(self) -> str:
        """What is kept."""
        return self.text

    @property
    def text(self) -> str:
        """The constraint as a text."""
        others = ", ".join(map(relations.quoted, self.others))
        return f"{relations.quoted(self.column)} goes with {others}"

    def apply(self, rules: Rules, table: Table) -> None:
        """Store the pairs of columns."""
        m = _find(self.column, table, self)
        rules.pairs |= {(m, _find(other, table, self)) for other in self.others}


# The requirements of constraints on a column, and the remedy if the column does not meet them.
_REMEDIES = {
    "an order": "make it an ordered category, or use OneOf or Immutable",
    "numbers": "use OneOf or Immutable for it",
}


def _find(column: Any, table: Table, constraint: Constraint, need: str = "") -> int:
    """Return the position of a column; raise if it does not meet the constraint's requirement."""
    try:
        m = column_position(column, table.names, str(constraint))
    except TableError as error:
        raise ConstraintError(str(error)) from None
    for group in table.groups:
        if m in group.columns:
            if need:
                raise ConstraintError(
                    f"{constraint} needs a column {'of' if need == 'numbers' else 'with'} {need}, "
                    f"but {table.names[m]!r} is one of the dummy columns "
                    f"{', '.join(str(table.names[k]) for k in group.columns)}, which are one "
                    "category; use OneOf or Immutable for it, or take the group apart with "
                    f"ignore_relations={group_text(group, table.names)!r}"
                )
            return int(group.first)
    kind = table.kinds[m]
    has = {"": True, "an order": kind.has_order, "numbers": kind in _NUMBERS}
    if not has[need]:
        raise ConstraintError(
            f"{constraint} needs a column {'of' if need == 'numbers' else 'with'} {need}, but "
            f"{table.names[m]!r} is {kind.value}; {_REMEDIES[need]}"
        )
    return m


def _ends(table: Table, m: int) -> tuple[float, float]:
    """Return the least and the largest value of a column."""
    known = table.column(m)
    return float(np.nanmin(known, initial=np.inf)), float(np.nanmax(known, initial=-np.inf))


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
    """Return the codes of cell values of a column, nan for a value that it does not have."""
    if not table.kinds[m].has_levels:
        least, most = _ends(table, m)
        numbers = np.array([[_number(value, constraint)] for value in values])
        table.grid.snap(numbers, np.array([m]))
        return [float(n) if least <= n <= most else np.nan for n in numbers[:, 0]]
    lookup = table.codes_of_levels(m)
    hashable = [value if isinstance(value, Hashable) else None for value in values]
    # A string matches the value with the same text, such as "True" for True.
    written = {str(value): code for value, code in lookup.items()}
    return [
        lookup.get(value, written.get(value, np.nan) if isinstance(value, str) else np.nan)
        for value in hashable
    ]


def _codes_of_dummy(column: Any, values: tuple[Any, ...], table: Table) -> list[float] | None:
    """Return the levels of a dummy group in which its column has one of the values."""
    m = column_position(column, table.names, "OneOf")
    for group in table.groups:
        if m in group.columns:
            wanted = {str(float(value)) for value in values}
            cells = group.patterns[:, group.columns.index(m)]
            return [float(k) for k in group.allowed if str(float(cells[k])) in wanted] or [np.nan]
    return None


def _examples(table: Table, m: int) -> str:
    """List some values of a column, or the range of a column of numbers."""
    if not table.kinds[m].has_levels:
        return "{:g} to {:g}".format(*_ends(table, m))
    values = list(table.codes_of_levels(m))
    listed = ", ".join(map(repr, values[:MOST_LISTED]))
    return listed if len(values) <= MOST_LISTED else f"{listed}, ..."
