"""Drawing: matplotlib without a screen, the paper's colours, one way to save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# The paper's: green area and dots for the majority, red dots for the minority, blue
# triangles for new samples, blue area at the boundary, yellow area inside.
AREA_COLOURS = {"majority": "#c8e6c0", "boundary": "#bfd7f5", "interior": "#fff3b0"}
MAJORITY, MINORITY, NEW = "#2e8b3d", "#d62828", "#1f4fd8"
RESOLUTION = 100
MARGIN = 1.0


def new_figure(columns: int, rows: int, *, width: float = 4.2, height: float = 3.4) -> Any:
    """Return a figure and its axes as a flat list, or say how to install matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "the figures need matplotlib, which is not installed; "
            'run: pip install "counterbalance[cli]"'
        ) from error
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def save_figure(figure: Any, folder: Path, name: str) -> list[Path]:
    """Save a figure as png and svg, the same bytes for the same figure; return both paths."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(paths[0], dpi=RESOLUTION, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def grid_around(X: Any, steps: int) -> tuple[Any, Any]:
    """Return a square grid over the rows with a margin: its two axes, and its points as rows."""
    low, high = X.min(axis=0) - MARGIN, X.max(axis=0) + MARGIN
    grid = np.meshgrid(*(np.linspace(low[k], high[k], steps) for k in range(2)))
    return grid, np.column_stack([axis.ravel() for axis in grid])


def scatter(axes: Any, X: Any, y: Any, new: Any = None) -> None:
    """Draw the rows of both classes, and new samples, in the paper's colours."""
    flat = {"linewidths": 0, "rasterized": True}
    axes.scatter(*X[y == "majority"].T, s=6, c=MAJORITY, label="majority", **flat)
    if new is not None:
        axes.scatter(*new.T, s=11, c=NEW, marker="^", alpha=0.6, label="new", **flat)
    axes.scatter(*X[y == "minority"].T, s=10, c=MINORITY, label="minority", **flat)
    axes.set(xlabel="x1", ylabel="x2")
