"""Figure 4: for each shape the synthetic space in three areas, and where new samples fall."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterbalance.datasets import SHAPES, synthetic_area
from counterbalance.studies.reproduction.trials.areas import (
    AREAS,
    OURS,
    area_counts,
    new_samples,
    synthetic_arrays,
)
from counterbalance.trials.canvas import (
    AREA_COLOURS,
    grid_around,
    new_figure,
    scatter,
)

PANELS = ("original", "SSO", "ADASYN", OURS)
STEPS = 300


def draw() -> Any:
    """Draw the first synthetic table of each shape in a row: as it is, and after each method."""
    figure, panels = new_figure(len(PANELS), len(SHAPES), width=2.9, height=2.5)
    places = [(shape, method) for shape in SHAPES for method in PANELS]
    for axes, (shape, method) in zip(panels, places, strict=True):
        X, y = synthetic_arrays(0, shape)
        new = None if method == "original" else new_samples(method, X, y, 0)
        _paint_areas(axes, X, shape)
        scatter(axes, X, y, new)
        share = "" if new is None else f", {_share(new, shape):.1%} boundary"
        axes.set_title(f"{shape}: {method}{share}", fontsize=8)
    handles, labels = panels[-1].get_legend_handles_labels()
    from matplotlib.patches import Patch  # noqa: PLC0415 - an extra

    handles += [Patch(color=AREA_COLOURS[area]) for area in AREAS]
    labels += [f"{area} area" for area in AREAS]
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure


def _share(new: Any, shape: str) -> float:
    return area_counts(new, shape)["boundary"] / max(len(new), 1)


def _paint_areas(axes: Any, X: Any, shape: str) -> None:
    grid, points = grid_around(X, STEPS)
    area = synthetic_area(points, shape)
    levels = np.select([area == name for name in AREAS], range(3)).reshape(STEPS, STEPS)
    colours = [AREA_COLOURS[name] for name in AREAS]
    axes.contourf(*grid, levels, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours)
    axes.set(xlim=grid[0][0, [0, -1]], ylim=grid[1][[0, -1], 0])
