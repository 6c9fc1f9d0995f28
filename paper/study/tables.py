"""The tables that both kinds of study have, and the picture of the mean ranks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from paper.study.scores import (
    LOWER_IS_BETTER,
    Scores,
    critical_difference,
    mean_ranks,
    probability,
    record,
)
from paper.tables import Table, bold, new_figure

MILLISECONDS = 1000
PANELS = 4
OUR_COLOUR, OTHER_COLOUR, BAR_COLOUR = "#c1121f", "#33415c", "#c9d1dc"


def rank_table(scores: Scores, note: str, *, with_brier: bool) -> Table:
    """Return the mean ranks of all methods, the best sum on top.

    The Brier score counts in the sum only where a method is measured with all its parts, as
    baselines are: what a resampler does to probabilities is undone by a prior correction.
    """
    ranks = pd.DataFrame({metric: mean_ranks(scores, metric) for metric in scores.kind.metrics})
    summed = [metric for metric in ranks if with_brier or metric not in LOWER_IS_BETTER]
    ranks = ranks.loc[ranks[summed].sum(axis=1).sort_values(kind="stable").index]
    failed = scores.failed.groupby("method").sum().reindex(ranks.index, fill_value=0)
    rows = [
        (
            bold(str(method), when=method in scores.ours),
            *(bold(f"{value:.2f}", when=value == ranks[m].min()) for m, value in values.items()),
            f"{scores.seconds[method] * MILLISECONDS:.0f}",
            str(failed[method] or ""),
        )
        for method, values in ranks.iterrows()
    ]
    return Table(
        "ranks",
        f"Mean ranks of {len(scores.methods)} methods (1 is the best)",
        ("method", *scores.kind.metrics.values(), "ms", "failed"),
        rows,
        (f"{len(scores.datasets)} data sets{note}",),
        ranks.assign(seconds=scores.seconds, failed=failed).rename_axis("method").reset_index(),
    )


def against_table(scores: Scores, ours: str) -> Table:
    """Return how sure one can be that ours is better than each other method."""
    rows, figures = [], []
    for other in (method for method in scores.methods if method != ours):
        row = [other]
        for metric in scores.kind.metrics:
            better = probability(scores, metric, ours, other)
            won = record(scores, metric, ours, other)
            row.append(f"{better:.2f} ({won.wins}/{won.ties}/{won.losses})")
            figures.append(
                {"other": other, "metric": metric, "probability": better, **won._asdict()}
            )
        rows.append(row)
    return Table(
        f"against_{slug(ours)}",
        f"{ours}: probability of being better than each other method (wins/ties/losses)",
        ("method", *scores.kind.metrics.values()),
        rows,
        (
            (
                "Bayesian signed-rank test over the data sets, without a region of equivalence; "
                "wins, ties and losses over pairs of data set and classifier."
            ),
        ),
        pd.DataFrame(figures),
    )


def mean_table(scores: Scores) -> Table:
    """Return the plain means over data sets and classifiers."""
    means = {metric: scores.by_dataset(metric).mean() for metric in scores.kind.metrics}
    rows = [
        (bold(method, when=method in scores.ours), *(f"{m[method]:.4f}" for m in means.values()))
        for method in scores.methods
    ]
    return Table(
        "means",
        "Plain means over data sets and classifiers",
        ("method", *scores.kind.metrics.values()),
        rows,
        ("Means over unlike tables say less than ranks; they are here to show the magnitudes.",),
    )


def failure_tables(scores: Scores) -> list[Table]:
    """Return the table of failures, if there are any."""
    rows = [(method, str(count), error) for (method, error), count in scores.failed.items()]
    title = "Folds that count as no resampling"
    return [Table("failures", title, ("method", "folds", "reason"), rows)] if rows else []


def slug(name: str) -> str:
    """Return a name in a form that fits into a file name."""
    return name.lower().replace(" ", "_").replace("-", "_")


def draw_ranks(scores: Scores) -> Any:
    """Draw a panel for each of the first four metrics."""
    metrics = list(scores.kind.metrics)[:PANELS]
    height = 0.9 + 0.19 * len(scores.methods)
    figure, panels = new_figure(2, len(metrics) // 2, width=5.2, height=height)
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, scores, metric)
    return figure


def _draw_panel(panel: Any, scores: Scores, metric: str) -> None:
    ranks = mean_ranks(scores, metric, by_dataset=True).sort_values(kind="stable")
    best = ranks.iloc[0]
    reach = critical_difference(len(scores.methods), len(scores.datasets))
    panel.axvspan(best, best + reach, color=BAR_COLOUR, alpha=0.5, linewidth=0)
    for height, (method, rank) in enumerate(ranks.items()):
        colour = OUR_COLOUR if method in scores.ours else OTHER_COLOUR
        panel.hlines(height, best, rank, color=colour, linewidth=0.8)
        panel.plot(rank, height, "o", color=colour, markersize=5)
    panel.set_yticks(range(len(ranks)), list(ranks.index), fontsize=7)
    for label in panel.get_yticklabels():
        if label.get_text() in scores.ours:
            label.set(color=OUR_COLOUR, fontweight="bold")
    panel.invert_yaxis()
    panel.set_title(scores.kind.metrics[metric], loc="left")
    panel.set_xlabel("mean rank", fontsize=8)
    panel.tick_params(axis="x", labelsize=7)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
