"""The reproduction as a list of independent cells, and how each is computed.

A cell names its experiment and everything that tells it from the others::

    {"experiment": "scores", "data": "WBC", "method": "ours", "classifier": "RF",
     "run": 0, "fold": 3}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.studies.reproduction.trials import areas, class_counts, scores, sensitivity
from counterbalance.trials.expected import expected_warnings

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.store import Cell
    from counterbalance.trials.workers import CellResult

EXPERIMENTS = {
    areas.EXPERIMENT: areas,
    sensitivity.EXPERIMENT: sensitivity,
    class_counts.EXPERIMENT: class_counts,
    scores.EXPERIMENT: scores,
}


def all_cells(settings: Settings) -> list[Cell]:
    """Return every cell of a reproduction, those of the small experiments first."""
    return [cell for experiment in EXPERIMENTS.values() for cell in experiment.cells(settings)]


def compute(settings: Settings, cell: Cell) -> CellResult:
    """Compute one cell, from nothing but the settings and the cell itself."""
    with expected_warnings():
        result: CellResult = EXPERIMENTS[str(cell["experiment"])].compute(settings, cell)
    return result
