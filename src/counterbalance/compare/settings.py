"""Settings of a comparison: what is tried, how it is judged, and when a difference counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from counterbalance.compare.classifiers import DEFAULT_CLASSIFIERS, classifier_name
from counterbalance.compare.metrics import VERDICT_METRICS
from counterbalance.compare.strategies import (
    BASELINE,
    DEFAULT_STRATEGIES,
    strategy_name,
)
from counterbalance.constraints import as_constraints
from counterbalance.errors import CounterbalanceError


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
