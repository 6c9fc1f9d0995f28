"""The sensitivity figure: yield, distance and G-mean over T, epsilon and f."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterbalance.studies.reproduction.tables.groups import Spread
from counterbalance.studies.reproduction.trials.sensitivity import STEPS
from counterbalance.trials.canvas import NEW, new_figure

SHOWN = {"yield": "yield", "distance": "distance", "g_mean": "G-mean of SVM"}
Figures = Mapping[tuple[str, str], Mapping[str, Spread | None]]


def draw(figures: Figures) -> Any:
    """Draw one row for each figure and one column for each setting."""
    figure, panels = new_figure(len(STEPS), len(SHOWN), width=3.5, height=2.2)
    places = [(name, setting) for name in SHOWN for setting in STEPS]
    for axes, (name, setting) in zip(panels, places, strict=True):
        values = STEPS[setting]
        known = [(k, figures.get((setting, v), {}).get(name)) for k, v in enumerate(values)]
        points = [(k, spread) for k, spread in known if spread is not None]
        style = "o" if setting == "f" else "o-"
        axes.errorbar(
            [k for k, _ in points],
            [spread.mean for _, spread in points],
            [spread.deviation or 0.0 for _, spread in points],
            fmt=style,
            color=NEW,
            markersize=4,
            capsize=2,
            elinewidth=0.8,
        )
        axes.set_xticks(
            range(len(values)), values, fontsize=7, rotation=30 if setting == "f" else 0
        )
        axes.set(xlim=(-0.5, len(values) - 0.5))
        if setting == "T":
            axes.set_ylabel(SHOWN[name])
        if name == list(SHOWN)[-1]:
            axes.set_xlabel(setting)
    return figure
