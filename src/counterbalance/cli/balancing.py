"""Balancing: from a user's table and options to the balanced table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.cli.terminal import note, working
from counterbalance.cli.user_table import UserTable
from counterbalance.errors import CounterbalanceError, ShortfallWarning, TableError

if TYPE_CHECKING:
    from counterbalance import CounterfactualOverSampler
    from counterbalance.constraints import Constraint
    from counterbalance.io import TableFile

# A class gets at most so many times the rows of the table, written with so many digits.
MOST_TIMES, MOST_DIGITS = 10, 18
# Words of the library in its messages, and what they are called here.
OPTION_OF = {
    "integer_features": "--integer",
    "sampling_strategy": "--ratio",
    "categorical_features": "--keep",
    "Immutable(": "--immutable (",
    "Increasing(": "--increasing (",
    "Decreasing(": "--decreasing (",
}
# What --ratio and sampling_strategy call the paper's reading: every counterfactual that is found.
EVERY = "all"


@dataclass(frozen=True, eq=False)
class Balanced:
    """A user's table and what became of it."""

    user: UserTable
    sampler: CounterfactualOverSampler
    X: Any
    y: Any
    stored: TableFile
    """The whole result, as a file has it."""


def balance(user: UserTable, sampler: CounterfactualOverSampler) -> Balanced:
    """Run the sampler on the table and put the new rows below those of the file."""
    try:
        with working("searching for counterfactuals", told=ShortfallWarning):
            X, y = sampler.fit_resample(user.X, user.y)
    except CounterbalanceError as error:
        raise type(error)(in_options(str(error))) from error
    new = X.iloc[len(user.X) :].reset_index(drop=True)
    new[user.target] = y.iloc[len(user.y) :].reset_index(drop=True)
    return Balanced(user, sampler, X, y, user.stored.append(new))


def make_sampler(
    user: UserTable,
    strategy: dict[Any, int] | str,
    rules: dict[str, list[str] | None],
    integer: list[str],
    seed: int,
) -> CounterfactualOverSampler:
    """Return the sampler that the options describe."""
    from counterbalance import CounterfactualOverSampler

    named = {option: user.columns(given, option) for option, given in rules.items()}
    return CounterfactualOverSampler(
        sampling_strategy=strategy,
        integer_features=integer or None,
        snap_to_grid=True,
        constraints=make_rules(named) or None,
        random_state=seed,
    )


def make_rules(named: Mapping[str, Sequence[str] | None]) -> list[Constraint]:
    """Return the constraints behind --immutable, --increasing and --decreasing."""
    from counterbalance.constraints import Decreasing, Immutable, Increasing

    return [
        *map(Immutable, named["--immutable"] or ()),
        *map(Increasing, named["--increasing"] or ()),
        *map(Decreasing, named["--decreasing"] or ()),
    ]


def asks_for_every(ratio: Sequence[str]) -> bool:
    """Return whether --ratio asks for every counterfactual, and for no number of rows."""
    if EVERY not in ratio:
        return False
    if len(ratio) > 1:
        raise TableError(
            f"--ratio all must stand alone, got {', '.join(ratio)}; it takes every counterfactual "
            "that is found, for every smaller class"
        )
    return True


def share_of_largest(ratio: Sequence[str]) -> float:
    """Return the share that --ratio asks for where it may name no class."""
    if len(ratio) > 1 or any("=" in text for text in ratio):
        raise TableError(
            f"--ratio must be one share, or all, with --engine dask, got {', '.join(ratio)}; "
            "for example --ratio 0.5"
        )
    return _share(ratio[0]) if ratio else 1.0


def rows_wanted(user: UserTable, ratio: Sequence[str]) -> dict[Any, int] | str:
    """Return how many rows each class is to have in all: one share for all, numbers for some.

    "all" asks for no number: every counterfactual that is found is taken.
    """
    if asks_for_every(ratio):
        return EVERY
    counts = {label: int(count) for label, count in user.y.value_counts().items()}
    largest = max(counts.values())
    named = [text for text in ratio if "=" in text]
    shares = [text for text in ratio if "=" not in text]
    if len(shares) > 1:
        raise TableError(f"--ratio must have one share only, got {', '.join(shares)}; give one")
    share = _share(shares[0]) if shares else 1.0
    whole = not named or bool(shares)
    wanted = {
        label: max(count, int(share * largest)) if whole else count
        for label, count in counts.items()
    }
    for text in named:
        name, _, number = text.rpartition("=")
        label = user.label(name.strip(), "--ratio")
        rows, most = _whole(number), MOST_TIMES * len(user.y)
        if rows < counts[label]:
            raise TableError(
                f"--ratio must give class {name!r} at least the {counts[label]} rows that it has, "
                f"got {text!r}; rows are only ever added"
            )
        if rows > most:
            raise TableError(
                f"--ratio must give class {name!r} at most {MOST_TIMES} times as many rows as the "
                f"table has, {most:,}, got {text!r}; so many more would be copies of each other"
            )
        wanted[label] = rows
    if wanted == counts:
        note("every class has as many rows as asked for; no row is added")
    return wanted


def _whole(text: str) -> int:
    """Return a whole number, -1 for anything else; none has as many digits as would take long."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else -1


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise TableError(
            "--ratio must be a share of the largest class above 0 and at most 1, CLASS=N, or all, "
            f"got {text!r}; for example --ratio 0.5"
        )
    return share


def in_options(message: str) -> str:
    """Say a message of the library with the names of the options."""
    for word, option in OPTION_OF.items():
        message = message.replace(word, option)
    return message
