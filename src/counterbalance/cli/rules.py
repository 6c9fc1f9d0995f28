"""Rules: the options that say which changes make sense, for every command that makes new rows.

    --immutable COL         stays what it is
    --increasing COL        only grows (--decreasing: only shrinks)
    --range COL=LOW:HIGH    stays between two numbers; either may be left out
    --one-of COL=A,B        takes one of these values
    --max-changed N         at most this many features change
    --transitions COL=A>B,C A may only become B or C; with nothing after > A never changes
    --at-least COL=STEP     changes by this much or more, or not at all
    --cost COL=WEIGHT       its change has this weight in the distance
    --constraint TEXT       a relation between columns, such as "word_unique <= word_count"

``options`` declares them; a command passes them to ``given_rules``. ``make_sampler`` makes a
sampler of them and ``--ratio``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.errors import ConstraintError

if TYPE_CHECKING:
    from counterbalance.cli.user_table import UserTable
    from counterbalance.constraints import Constraint

# Returns the columns that the texts of an option name; raises for an unknown column.
NameColumns = Callable[[Sequence[str], str], list[str]]


@dataclass(frozen=True)
class GivenRules:
    """The rules as texts, as the user gave them."""

    immutable: tuple[str, ...] = ()
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    constraint: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()
    at_least: tuple[str, ...] = ()
    cost: tuple[str, ...] = ()
    max_changed: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options by name that were given."""
        return {_dash(name): value for name, value in vars(self).items() if value}

    def constraints(self, columns: NameColumns) -> list[Constraint]:
        """Return the constraints of the options; ``columns`` finds the columns that they name.

        Raise for a text that cannot be parsed, and for options that contradict each other.
        """
        from counterbalance import constraints as kinds

        frozen, growing, shrinking = (
            columns(getattr(self, name), _dash(name))
            for name in ("immutable", "increasing", "decreasing")
        )
        ranges = [_read_range(text, columns) for text in self.range]
        choices = [_read_choice(text, columns) for text in self.one_of]
        found: list[Constraint] = [
            *map(kinds.Immutable, frozen),
            *map(kinds.Increasing, growing),
            *map(kinds.Decreasing, shrinking),
            *(kinds.Range(*given) for given in ranges),
            *(kinds.OneOf(*given) for given in choices),
            *(kinds.Transitions(*given) for given in _read_transitions(self.transitions, columns)),
            *(kinds.AtLeast(*_read_number(text, "--at-least", columns)) for text in self.at_least),
            *(kinds.Cost(*_read_number(text, "--cost", columns)) for text in self.cost),
        ]
        restricted = {
            "--increasing": growing,
            "--decreasing": shrinking,
            "--range": [name for name, *_ in ranges],
            "--one-of": [name for name, _ in choices],
        }
        _check_conflicts(frozen, restricted)
        for text in self.constraint:
            named = _named_in(text, columns)
            if set(named) <= set(frozen):
                raise ConstraintError(
                    f"--constraint {text!r} names only columns that --immutable keeps as they are, "
                    "so it could not be met by any change; free one of them, or leave it out"
                )
            found.append(kinds.Relation(text))
        return found if self.max_changed is None else [*found, kinds.MaxChanged(self.max_changed)]

    def checked(self, user: UserTable) -> list[Constraint]:
        """Return the constraints; raise now if the table cannot keep them, not after a long run."""
        from counterbalance.constraints import compile_rules
        from counterbalance.table.table import read_table

        found = self.constraints(user.columns)
        compile_rules(found, read_table(user.X))
        return found


def given_rules(*texts: Sequence[str] | None, max_changed: int | None) -> GivenRules:
    """Return the rules of a command, whose options come in the order of the fields."""
    names = [name for name in GivenRules.__dataclass_fields__ if name != "max_changed"]
    given = {name: tuple(text or ()) for name, text in zip(names, texts, strict=True)}
    return GivenRules(**given, max_changed=max_changed)


def _dash(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _column_and_rest(text: str, option: str, form: str, columns: NameColumns) -> tuple[str, str]:
    column, sign, rest = text.partition("=")
    if not sign or not column.strip():
        raise ConstraintError(f"{option} must be {form}, got {text!r}")
    return columns([column.strip()], option)[0], rest.strip()


def _read_range(text: str, columns: NameColumns) -> tuple[str, float | None, float | None]:
    form = "COL=LOW:HIGH, such as dose=0:40, dose=0: or dose=:40"
    column, rest = _column_and_rest(text, "--range", form, columns)
    low, sign, high = rest.partition(":")
    try:
        ends = [float(end) if end.strip() else None for end in (low, high)]
    except ValueError:
        ends = [None, None]
    known = [end for end in ends if end is not None]
    if not sign or not known or any(map(math.isnan, known)):
        raise ConstraintError(f"--range must be {form}, got {text!r}")
    if known[0] > known[-1]:
        raise ConstraintError(
            f"--range must name the lower number first, got {text!r}; write {column}={high}:{low}"
        )
    return column, ends[0], ends[1]


def _read_choice(text: str, columns: NameColumns) -> tuple[str, list[str]]:
    form = "COL=A,B, such as ward=A,B"
    column, rest = _column_and_rest(text, "--one-of", form, columns)
    values = [value.strip() for value in next(csv.reader([rest], skipinitialspace=True), [])]
    if not any(values):
        raise ConstraintError(f"--one-of must be {form}, got {text!r}; name at least one value")
    return column, [value for value in values if value]


def _read_number(text: str, option: str, columns: NameColumns) -> tuple[str, float]:
    form = "COL=NUMBER, such as income=100"
    column, rest = _column_and_rest(text, option, form, columns)
    try:
        return column, float(rest)
    except ValueError:
        raise ConstraintError(f"{option} must be {form}, got {text!r}") from None


def _read_transitions(
    texts: Sequence[str], columns: NameColumns
) -> list[tuple[str, dict[str, list[str]]]]:
    """Return for each column which of its values may become which."""
    form = "COL=A>B,C, such as degree=BSc>MSc,PhD"
    found: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        column, rest = _column_and_rest(text, "--transitions", form, columns)
        before, sign, after = rest.partition(">")
        if not sign or not before.strip():
            raise ConstraintError(f"--transitions must be {form}, got {text!r}")
        values = [value.strip() for value in next(csv.reader([after], skipinitialspace=True), [])]
        allowed = found.setdefault(column, {}).setdefault(before.strip(), [])
        allowed.extend(filter(None, values))
    return list(found.items())


def _check_conflicts(frozen: Sequence[str], restricted: dict[str, list[str]]) -> None:
    """Raise for a column that is immutable and has another rule, or must grow and shrink."""
    for option, names in restricted.items():
        for name in names:
            if name in frozen:
                raise ConstraintError(
                    f"{option} names {name!r}, which --immutable keeps as it is; name it in one "
                    "of them"
                )
    both = [name for name in restricted["--increasing"] if name in restricted["--decreasing"]]
    if both:
        raise ConstraintError(
            f"--increasing and --decreasing both name {both[0]!r}, which could then only stay as "
            f"it is; write --immutable {both[0]}, or name it in one of them"
        )


def _named_in(text: str, columns: NameColumns) -> list[str]:
    """Return the columns that a relation names; raise for a text that is not a relation."""
    from counterbalance.constraints import relations

    named: list[str] = []

    def note(name: str) -> int:
        named.extend(columns([name], "--constraint"))
        return 0

    relations.parse(text, note)
    return named


def make_sampler(
    user: UserTable,
    strategy: dict[Any, int] | str,
    rules: GivenRules,
    seed: int,
    method: str = "Counterfactual",
    **more: Any,
) -> Any:
    """Return one of our samplers, with the parameters that the options describe."""
    from counterbalance.methods import all_samplers

    return all_samplers()[method].factory(
        sampling_strategy=strategy,
        constraints=rules.constraints(user.columns) or None,
        use=list(user.use) or None,
        random_state=seed,
        **more,
    )
