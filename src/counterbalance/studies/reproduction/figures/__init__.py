"""Figures of the reproduction, as png and svg."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.studies.reproduction.figures import (
    areas,
    boundaries,
    f_measure,
    sensitivity,
    truncated_normal,
)
from counterbalance.studies.reproduction.tables.scores import scores
from counterbalance.studies.reproduction.tables.sensitivity import sensitivity_figures
from counterbalance.studies.reproduction.trials.areas import SHAPE
from counterbalance.trials.canvas import save_figure
from counterbalance.trials.expected import expected_warnings

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

CAPTIONS = {
    "figure_1_boundaries": "Figure 1: the decision boundary of a support vector machine before "
    f"and after each method, synthetic data of the shape {SHAPE}.",
    "figure_3_truncated_normal": f"The truncated normal (line) and {truncated_normal.SAMPLES:,} "
    "samples from both ways of drawing.",
    "figure_4_areas": "Figure 4: where the methods put new samples, one row for each shape of the "
    "synthetic table; areas from the known densities.",
    "figure_5_f_measure": "Figure 5: F-measure of each method and classifier; whiskers are one "
    "standard deviation over folds.",
    "sensitivity": "Yield, distance and G-mean of ours over T, epsilon and f; whiskers are one "
    "standard deviation over synthetic tables.",
}


def save_figures(
    records: Sequence[CellRecord], datasets: Sequence[str], folder: Path
) -> list[Path]:
    """Draw every figure into a folder; return the paths."""
    with expected_warnings():
        drawn = {
            "figure_1_boundaries": boundaries.draw(),
            "figure_3_truncated_normal": truncated_normal.draw(),
            "figure_4_areas": areas.draw(),
            "sensitivity": sensitivity.draw(sensitivity_figures(records)),
        }
    if datasets:
        drawn["figure_5_f_measure"] = f_measure.draw(scores(records)[-1], datasets)
    return [
        path
        for name in CAPTIONS
        if name in drawn
        for path in save_figure(drawn[name], folder, name)
    ]
