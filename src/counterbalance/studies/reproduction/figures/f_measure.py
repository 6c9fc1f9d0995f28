"""Figure 5: the F-measure of each method and classifier, one panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterbalance.studies.reproduction.methods import METHODS
from counterbalance.studies.reproduction.tables.scores import Scores
from counterbalance.trials.canvas import new_figure
from counterbalance.trials.classifiers import CLASSIFIERS

COLOURS = {
    "none": "#b8b8b8",
    "SOMO": "#e0a030",
    "k-SMOTE": "#6aa84f",
    "CUSBoost": "#8e6bbf",
    "ours": "#1f4fd8",
}
LOWEST = 0.05


def draw(figures: Scores, datasets: Sequence[str]) -> Any:
    """Draw grouped bars with the standard deviation as whiskers."""
    rows = (len(datasets) + 1) // 2
    figure, panels = new_figure(2 if len(datasets) > 1 else 1, rows, width=5.2, height=2.7)
    for axes in panels[len(datasets) :]:
        axes.set_axis_off()
    for axes, data in zip(panels, datasets, strict=False):
        _bars(axes, figures, data)
        axes.set_title(f"{data}{' (simulated)' if data == 'ILC' else ''}", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), fontsize=8)
    return figure


def _bars(axes: Any, figures: Scores, data: str) -> None:
    width = 0.8 / len(METHODS)
    tops = []
    for place, method in enumerate(METHODS):
        known = {c: figures[data, method, c] for c in CLASSIFIERS}
        heights = [0.0 if known[c] is None else known[c].mean for c in CLASSIFIERS]  # type: ignore[union-attr]
        whiskers = [getattr(known[c], "deviation", None) or 0.0 for c in CLASSIFIERS]
        across = [number + (place - 2) * width for number in range(len(CLASSIFIERS))]
        axes.bar(across, heights, width, label=method, color=COLOURS[method])
        axes.errorbar(across, heights, whiskers, fmt="none", ecolor="#444444", elinewidth=0.6)
        tops += [height for height in heights if height > 0]
    lowest = max(0.0, min(tops, default=0.0) - LOWEST)
    axes.set(ylim=(lowest, 1.0), ylabel="F-measure")
    axes.set_xticks(range(len(CLASSIFIERS)), CLASSIFIERS)
