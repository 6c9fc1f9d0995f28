"""The comparison as a list of independent cells, and how each is computed.

    {"experiment": "scores", "strategy": "SMOTE", "classifier": "random forest",
     "repeat": 0, "fold": 3}
    {"experiment": "trust", "strategy": "SMOTE", "draw": 2}

Warnings of samplers and classifiers are kept with the cell, so that the verdict can name them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from counterbalance.compare import score_trials as scores
from counterbalance.compare import trust_trials as trust
from counterbalance.errors import ShortfallWarning
from counterbalance.methods import PeerFallbackWarning
from counterbalance.trials.trial import TrialResult

if TYPE_CHECKING:
    from counterbalance.compare.plan import Plan
    from counterbalance.trials.trial import Trial

EXPERIMENTS = {scores.EXPERIMENT: scores, trust.EXPERIMENT: trust}
WORTH_SAYING = (ShortfallWarning, PeerFallbackWarning, ConvergenceWarning)


def all_cells(plan: Plan) -> list[Trial]:
    """Return every cell of a comparison, those of one fold together."""
    return [cell for experiment in EXPERIMENTS.values() for cell in experiment.cells(plan)]


def compute(plan: Plan, cell: Trial) -> TrialResult:
    """Compute one cell, from nothing but the plan and the cell itself."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result: TrialResult = EXPERIMENTS[str(cell["experiment"])].compute(plan, cell)
    kinds = sorted({w.category.__name__ for w in heard if issubclass(w.category, WORTH_SAYING)})
    return TrialResult(result.figures, {**(result.payload or {}), "warnings": kinds})
