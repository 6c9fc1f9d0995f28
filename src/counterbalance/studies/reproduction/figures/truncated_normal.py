"""The distribution figure: the truncated normal and what both ways of drawing give."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import truncnorm

from counterbalance.search.draws import exact_normal, gibbs_normal, stream, uniform
from counterbalance.trials.canvas import NEW, new_figure

SAMPLES = 20_000
# a factual in the middle of its feature's range, one near the edge, one at it; the
# bounds are in standard deviations of the feature
INTERVALS = {
    "in the middle of its range": (-2.0, 2.0),
    "near its edge": (-0.5, 3.0),
    "at its edge": (0.0, 2.5),
}


def draw() -> Any:
    """Draw density and histograms, one row for each way of drawing."""
    figure, panels = new_figure(3, 2, width=3.4, height=2.6)
    ways = [(way, interval) for way in ("exact", "gibbs") for interval in INTERVALS.items()]
    for axes, (way, (place, (low, high))) in zip(panels, ways, strict=True):
        values = draws(way, low, high)
        axes.hist(values, bins=60, range=(low, high), density=True, color="#bfd7f5")
        z = np.linspace(low, high, 300)
        axes.plot(z, truncnorm.pdf(z, low, high), color=NEW, linewidth=1.5)
        axes.set_title(f"{way}: factual {place}", fontsize=9)
        axes.set(xlabel="step / standard deviation", ylabel="density")
    return figure


def draws(way: str, low: float, high: float, count: int = SAMPLES) -> Any:
    """Return truncated standard normals drawn as the sampler draws them."""
    state = stream(0, np.arange(count), 0)
    lower, upper = np.full(count, low), np.full(count, high)
    if way == "gibbs":
        return gibbs_normal(state, 0, 1, lower, upper)
    return exact_normal(uniform(state, 0), ndtr(lower), ndtr(upper) - ndtr(lower))
