"""Pictures of a study: mean ranks with the critical difference, and rank against time."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterbalance.studies.study.comparison import critical_difference, ranks_by_dataset
from counterbalance.studies.study.metrics import LOWER_IS_BETTER, METRICS
from counterbalance.studies.study.ours import OURS
from counterbalance.studies.study.scores import Scores
from counterbalance.trials.canvas import new_figure

OUR_COLOUR, OTHER_COLOUR, BAR_COLOUR = "#c1121f", "#33415c", "#c9d1dc"
CAPTION = (
    "Mean ranks over the data sets (a data set counts once, by the mean over its classifiers; "
    "left is better). The grey band reaches as far from the best as the critical difference of "
    "Nemenyi's test at 0.05: methods inside it are not told apart from the best by that test."
)


def draw_ranks(scores: Scores) -> Any:
    """Draw one panel for each metric where higher is better."""
    metrics = [metric for metric in METRICS if metric not in LOWER_IS_BETTER]
    height = 0.9 + 0.19 * len(scores.methods)
    figure, panels = new_figure(2, 2, width=5.2, height=height)
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, scores, metric)
    return figure


def _draw_panel(panel: Any, scores: Scores, metric: str) -> None:
    mean = ranks_by_dataset(scores, metric).mean(axis=1)
    order = np.argsort(mean)
    best = float(mean[order[0]])
    reach = critical_difference(len(scores.methods), len(scores.datasets))
    panel.axvspan(best, best + reach, color=BAR_COLOUR, alpha=0.5, linewidth=0)
    for height, place in enumerate(order):
        ours = scores.methods[place] in OURS
        colour = OUR_COLOUR if ours else OTHER_COLOUR
        panel.hlines(height, best, mean[place], color=colour, linewidth=0.8)
        panel.plot(mean[place], height, "o", color=colour, markersize=5)
    panel.set_yticks(range(len(order)), [scores.methods[place] for place in order], fontsize=7)
    for label, place in zip(panel.get_yticklabels(), order, strict=True):
        if scores.methods[place] in OURS:
            label.set(color=OUR_COLOUR, fontweight="bold")
    panel.invert_yaxis()
    panel.set_title(METRICS[metric], loc="left")
    panel.set_xlabel("mean rank", fontsize=8)
    panel.tick_params(axis="x", labelsize=7)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
