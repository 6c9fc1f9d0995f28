"""Plan of a comparison: its settings, its folds, and when the results are evaluated.

    plain      stratified by class, shuffled, repeated with other seeds
    grouped    the same, but a group is never split
    timed      scikit-learn's TimeSeriesSplit, but rows of one moment are never split

A fold whose training part has fewer than two rows of a class, or whose test part lacks a class,
cannot be resampled or scored: it is left out.
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from counterbalance.arrays import Integers
from counterbalance.compare.data import ComparedTable
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.strategies import (
    BASELINE,
    DEFAULT_CLASSIFIERS,
    DEFAULT_STRATEGIES,
    FULL_CLASSIFIERS,
    FULL_STRATEGIES,
    classifier_name,
    strategy_name,
)
from counterbalance.constraints import as_constraints
from counterbalance.errors import CounterbalanceError, TableError

FEWEST_ROWS = 200
FEWEST_TO_TRAIN = 2
FEWEST_FOLDS = 3  # fewest folds for any conclusion
QUICK: dict[str, Any] = {"repeats": 1, "inner_folds": 2, "rows": 1000, "seconds": 30}
FULL: dict[str, Any] = {"strategies": FULL_STRATEGIES, "classifiers": FULL_CLASSIFIERS}
FULL |= {"rows": 0, "seconds": 0, "adaptive": False}


class ComparisonError(CounterbalanceError):
    """A setting of the comparison cannot be used."""


@dataclass(frozen=True)
class Settings:
    """What `compare` tries, and how much it computes.

    Parameters
    ----------
    strategies : tuple of str
        Names of strategies against imbalance; ``"none"`` is always added.
    classifiers : tuple of str
        Names of classifiers, or the user's own as ``module:object``.
    metric : str
        The metric of the verdict.
    rope : float
        Half the width of the region of practical equivalence: a smaller difference does not
        count.
    folds, repeats, inner_folds : int
        Folds of the cross-validation, how often it is repeated with other folds, and folds
        inside a training part, for threshold and calibration.
    adaptive : bool
        Whether to drop strategies that can no longer be shown to help, and to stop when the
        answer is settled or the time is over.
    seconds : float or None
        Most processor time; None depends on the number of rows, 0 is no limit.
    draws : int
        Random halvings of the table for the trust in the new labels; 0 leaves it out.
    rows : int
        Most rows, drawn at random, small classes kept (see `data`); 0 takes all.
    seed : int
        Seed of the folds, the samplers and the classifiers.
    constraints : constraint, str or list of them
        Constraints for the new rows of our samplers; the other methods ignore them.
    """

    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    classifiers: tuple[str, ...] = DEFAULT_CLASSIFIERS
    metric: str = "g_mean"
    rope: float = 0.01
    folds: int = 5
    repeats: int = 3
    inner_folds: int = 3
    adaptive: bool = True
    seconds: float | None = None
    draws: int = 0
    rows: int = 10_000
    seed: int = 0
    constraints: Any = ()

    def __post_init__(self) -> None:
        strategies = [BASELINE, *map(strategy_name, self.strategies)]
        for name, value in (
            ("strategies", tuple(dict.fromkeys(strategies))),
            ("classifiers", tuple(dict.fromkeys(map(classifier_name, self.classifiers)))),
            ("constraints", tuple(as_constraints(self.constraints))),
        ):
            object.__setattr__(self, name, value)
        if not self.classifiers:
            raise ComparisonError("classifiers must name at least one; leave it out for the usual")
        if self.metric not in METRICS:
            raise ComparisonError(
                f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}"
            )
        if not 0 <= self.rope < 1:
            raise ComparisonError(
                f"rope must be at least 0 and below 1, got {self.rope}; 0.01 is a usual choice"
            )
        least = {"folds": 2, "repeats": 1, "inner_folds": 2, "draws": 0, "seed": 0}
        least["rows"] = FEWEST_ROWS if self.rows else 0  # 0 is all rows
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ComparisonError(f"{name} must be at least {bound}, got {getattr(self, name)}")

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        plain = {**asdict(self), "constraints": tuple(map(repr, self.constraints))}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}


class Fold(NamedTuple):
    """A split, by positions of rows."""

    repeat: int
    train: Integers
    test: Integers


@dataclass(frozen=True, eq=False)
class ComparisonPlan:
    """The table, the settings and the folds; every process gets the same."""

    table: ComparedTable
    settings: Settings

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every strategy with every classifier."""
        return [(s, c) for c in self.settings.classifiers for s in self.settings.strategies]

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds to score on; at least two."""
        table, settings = self.table, self.settings
        repeats = 1 if table.times is not None else settings.repeats  # time has one order
        usable = [
            Fold(repeat, *split)
            for repeat in range(repeats)
            for split in splits(table, settings.folds, settings.seed + repeat)
        ]
        if len(usable) < FEWEST_TO_TRAIN:
            what = "groups" if table.groups is not None else "time"
            raise TableError(
                f"only {len(usable)} of the folds by {what} have every class both in training and "
                f"in test; class {table.classes[-1]!r} is in too few of them: use fewer folds, or "
                f"leave out {what}"
            )
        return usable

    @cached_property
    def looks(self) -> list[int]:
        """Numbers of folds after which the results are evaluated; the last is all of them."""
        if not self.settings.adaptive:
            return [len(self.folds)]
        ends = {sum(fold.repeat <= one.repeat for fold in self.folds) for one in self.folds}
        return sorted({number for number in (1, FEWEST_FOLDS) if number < min(ends)} | ends)

    @cached_property
    def fewest(self) -> int:
        """Rows of the smallest class in the smallest training part, inner folds included."""
        parts = [self.table.part(fold.train) for fold in self.folds]
        inner = (self.settings.inner_folds, self.settings.seed)
        parts += [part.part(rows) for part in parts for rows, _ in splits(part, *inner)]
        return min(int(part.counts.min()) for part in parts)

    @cached_property
    def ratio(self) -> float:
        """Rows of a test part over rows of its training part, on average."""
        return sum(len(f.test) / len(f.train) for f in self.folds) / len(self.folds)

    @property
    def seconds(self) -> float:
        """Most processor time: 1.7 minutes at 1,000 rows, 4.4 at 10,000."""
        limit = self.settings.seconds
        return (85 + 0.018 * len(self.table.codes) if limit is None else limit) or np.inf


def splits(table: ComparedTable, folds: int, seed: int) -> list[tuple[Integers, Integers]]:
    """Return training and test rows of the folds that can be used."""
    codes, groups, times = table.codes, table.groups, table.times
    most = int(table.counts.min()) if groups is None else len(np.unique(groups))
    count = min(folds, most if times is None else len(np.unique(times)) - 1)
    found = []
    if count >= FEWEST_TO_TRAIN and times is not None:
        # a cut within a moment moves to its beginning
        tests = [test for _, test in TimeSeriesSplit(count).split(times)]
        cuts = [int(np.searchsorted(times, times[test[0]])) for test in tests]
        ends = zip(cuts, [*cuts[1:], len(times)], strict=True)
        found = [(np.arange(start), np.arange(start, stop)) for start, stop in ends]
    elif count >= FEWEST_TO_TRAIN:
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(count, shuffle=True, random_state=seed)
        found = list(splitter.split(codes, codes, groups))
    sizes = [[np.bincount(codes[rows], minlength=len(table.classes)) for rows in f] for f in found]
    usable = [train.min() >= FEWEST_TO_TRAIN and test.min() > 0 for train, test in sizes]
    return [fold for fold, is_usable in zip(found, usable, strict=True) if is_usable]
