"""Figure 4: the synthetic space in three areas, and where each method puts its samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterbalance.datasets import synthetic_area
from counterbalance.experiments.canvas import (
    AREA_COLOURS,
    grid_around,
    new_figure,
    scatter,
)
from counterbalance.experiments.reproduction.cells.areas import (
    AREAS,
    new_samples,
    synthetic_arrays,
)

PANELS = ("original", "SSO", "ADASYN", "ours")
STEPS = 300


def draw() -> Any:
    """Draw the four panels of the first synthetic table."""
    X, y = synthetic_arrays(0)
    figure, panels = new_figure(2, 2)
    for axes, method, letter in zip(panels, PANELS, "abcd", strict=True):
        new = None if method == "original" else new_samples(method, X, y, 0)
        _paint_areas(axes, X)
        scatter(axes, X, y, new)
        count = "" if new is None else f", {len(new)} new samples"
        axes.set_title(f"({letter}) {method}{count}", fontsize=10)
    handles, labels = panels[-1].get_legend_handles_labels()
    from matplotlib.patches import Patch  # noqa: PLC0415 - an extra

    handles += [Patch(color=AREA_COLOURS[area]) for area in AREAS]
    labels += [f"{area} area" for area in AREAS]
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure


def _paint_areas(axes: Any, X: Any) -> None:
    grid, points = grid_around(X, STEPS)
    area = synthetic_area(points)
    levels = np.select([area == name for name in AREAS], range(3)).reshape(STEPS, STEPS)
    colours = [AREA_COLOURS[name] for name in AREAS]
    axes.contourf(*grid, levels, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours)
    axes.set(xlim=grid[0][0, [0, -1]], ylim=grid[1][[0, -1], 0])
