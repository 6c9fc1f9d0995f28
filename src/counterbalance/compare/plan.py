"""Plan of a comparison: its settings, and which rows train and which test, outside and inside.

    plain      stratified by class, shuffled, repeated with other seeds
    grouped    the same, but a group is never split
    timed      the rows in the order of time, cut into blocks; what was learned from blocks 0 to
               b is tested on block b + 1, and rows of one moment are never split

A fold whose training part has fewer than two rows of a class, or whose test part lacks a
class, can neither be resampled nor scored: it is left out and counted.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from counterbalance.arrays import Integers
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.metrics import VERDICT_METRICS
from counterbalance.compare.strategies import (
    BASELINE,
    DEFAULT_CLASSIFIERS,
    DEFAULT_STRATEGIES,
    classifier_name,
    strategy_name,
)
from counterbalance.constraints import as_constraints
from counterbalance.errors import CounterbalanceError, TableError


class ComparisonError(CounterbalanceError):
    """A setting of the comparison cannot be used."""


@dataclass(frozen=True)
class Settings:
    """What is compared and how much is computed.

    Parameters
    ----------
    strategies : tuple of str
        What is done about the imbalance; ``"none"`` is always among them.
    classifiers : tuple of str
        Names of classifiers, or the user's own as ``module:object``.
    metric : str
        The metric that the verdict is about.
    rope : float
        Half the width of the region of practical equivalence: a smaller difference does not
        count.
    folds, repeats : int
        Folds of the cross-validation, and how often it is repeated with other folds.
    inner_folds : int
        Folds inside a training part, for its decision threshold.
    draws : int
        Random halvings of the table for the trust in the new labels; 0 leaves it out.
    rows : int
        Most rows; where the table has more, they are drawn at random, and small classes keep
        what they have up to a share (see `data`). 0 takes all.
    seed : int
        Seed of the folds, the samplers and the classifiers.
    constraints : constraint, str or list of them
        What the new rows of our samplers keep; the other methods know no constraints.
    """

    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    classifiers: tuple[str, ...] = DEFAULT_CLASSIFIERS
    metric: str = "g_mean"
    rope: float = 0.01
    folds: int = 5
    repeats: int = 3
    inner_folds: int = 3
    draws: int = 5
    rows: int = 10_000
    seed: int = 0
    constraints: Any = ()

    def __post_init__(self) -> None:
        named = [strategy_name(name) for name in self.strategies]
        strategies = tuple(dict.fromkeys([BASELINE, *named]))
        classifiers = tuple(dict.fromkeys(map(classifier_name, self.classifiers)))
        object.__setattr__(self, "strategies", strategies)
        object.__setattr__(self, "classifiers", classifiers)
        object.__setattr__(self, "constraints", tuple(as_constraints(self.constraints)))
        if not classifiers:
            raise ComparisonError(
                "classifiers must name at least one; leave it out for the usual three"
            )
        if self.metric not in VERDICT_METRICS:
            raise ComparisonError(
                f"metric must be one of {', '.join(VERDICT_METRICS)}, got {self.metric!r}"
            )
        if not 0 <= self.rope < 1:
            raise ComparisonError(
                f"rope must be at least 0 and below 1, got {self.rope}; 0.01 is a usual choice"
            )
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ComparisonError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if 0 < self.rows < FEWEST_ROWS:
            raise ComparisonError(
                f"rows must be 0 (all rows) or at least {FEWEST_ROWS}, got {self.rows}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        plain = {**asdict(self), "constraints": tuple(map(repr, self.constraints))}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}


LEAST = {"folds": 2, "repeats": 1, "inner_folds": 2, "draws": 0, "rows": 0, "seed": 0}
FEWEST_ROWS = 200
QUICK: dict[str, Any] = {"repeats": 1, "inner_folds": 2, "draws": 2, "rows": 1000}


FEWEST_TO_TRAIN = 2


@dataclass(frozen=True, eq=False)
class Fold:
    """A split, by positions of rows."""

    repeat: int
    number: int
    train: Integers
    test: Integers


@dataclass(frozen=True, eq=False)
class ComparisonPlan:
    """The table, the settings and the folds, as every worker gets them."""

    table: ComparedTable
    settings: Settings

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds to score on."""
        s = self.settings
        return outer_folds(self.table, s.folds, s.repeats, s.seed)

    def fold(self, repeat: int, number: int) -> Fold:
        """Return one fold."""
        return next(f for f in self.folds if (f.repeat, f.number) == (repeat, number))

    @cached_property
    def ratio(self) -> float:
        """Rows of a test part over rows of its training part, on average."""
        return sum(len(f.test) / len(f.train) for f in self.folds) / len(self.folds)


def usable_folds(table: ComparedTable, folds: int, repeats: int, seed: int) -> list[Fold]:
    """Return the folds that can be used.

    table           with groups or times, they decide
    folds, repeats  how many; no more folds than rows of the smallest class. Time has one
                    order, so it is never repeated
    seed            seed of the first repeat; each next one has the next seed
    """
    if table.times is not None:
        repeats = 1
    return [
        Fold(repeat, number, train, test)
        for repeat in range(repeats)
        for number, (train, test) in enumerate(_splits(table, folds, seed + repeat))
        if _is_usable(table, train, test)
    ]


def outer_folds(table: ComparedTable, folds: int, repeats: int, seed: int) -> list[Fold]:
    """Return the folds to score on; at least two."""
    usable = usable_folds(table, folds, repeats, seed)
    if len(usable) < FEWEST_TO_TRAIN:
        what = "groups" if table.groups is not None else "time"
        raise TableError(
            f"only {len(usable)} of the folds by {what} have every class both in training and in "
            f"test; class {table.classes[-1]!r} is in too few of them: use fewer folds, or leave "
            f"out {what}"
        )
    return usable


def fold_count(table: ComparedTable, folds: int) -> int:
    """Return how many folds there can be."""
    if table.groups is not None:
        return min(folds, len(np.unique(table.groups)))
    if table.times is not None:
        return min(folds, len(np.unique(table.times)) - 1)
    return min(folds, int(table.counts.min()))


def _splits(table: ComparedTable, folds: int, seed: int) -> Iterator[tuple[Integers, Integers]]:
    count = fold_count(table, folds)
    if table.times is not None:
        return _timed(table.times, count)
    if count < FEWEST_TO_TRAIN:
        return iter(())
    kind = StratifiedKFold if table.groups is None else StratifiedGroupKFold
    splitter = kind(count, shuffle=True, random_state=seed)
    return iter(splitter.split(np.zeros(len(table.codes)), table.codes, table.groups))


def _timed(times: Integers, folds: int) -> Iterator[tuple[Integers, Integers]]:
    """Cut the moments into folds + 1 blocks of about as many rows each."""
    if folds < 1:
        return
    moments, counts = np.unique(times, return_counts=True)
    rows_before = np.cumsum(counts) - counts
    block = rows_before * (folds + 1) // len(times)
    block_of = block[np.searchsorted(moments, times)]
    for number in range(1, folds + 1):
        yield np.flatnonzero(block_of < number), np.flatnonzero(block_of == number)


def _is_usable(table: ComparedTable, train: Integers, test: Integers) -> bool:
    n_classes = len(table.classes)
    seen = np.bincount(table.codes[train], minlength=n_classes)
    asked = np.bincount(table.codes[test], minlength=n_classes)
    return bool(seen.min() >= FEWEST_TO_TRAIN and asked.min() > 0)
