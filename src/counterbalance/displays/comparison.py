"""ComparisonDisplay: how strategies score, as dots with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from counterbalance.displays.drawing import as_written, axes_or_new, colour_of
from counterbalance.errors import TableError

# A classifier's thresholds stand side by side: the tuned one is filled, 0.5 is open.
HALF = "0.5"
STEP = 0.8
HEIGHT, LEAST = 0.32, 2.5


@dataclass(frozen=True)
class Dot:
    """The score of a strategy with a classifier at a threshold, and its interval."""

    strategy: str
    classifier: str
    threshold: str
    mean: float
    low: float
    high: float


class ComparisonDisplay:
    """Scores of all strategies with their 95 % intervals, one colour for each classifier.

    A filled dot is the tuned threshold, an open one 0.5 (a metric without a threshold has the
    first only). A dashed line in the colour of each classifier marks its better score without
    resampling: what the others have to beat. Strategies that failed are not drawn.

    Make it with :meth:`from_comparison` or :meth:`from_summary`.

    Parameters
    ----------
    dots : tuple of Dot
        What is drawn, in the order of the comparison.
    label : str
        Name of the metric.
    higher_is_better : bool
        Whether a larger score is a better one.
    baseline : str
        The strategy that does nothing.

    Attributes
    ----------
    ax_ : matplotlib axes
        What was drawn on last.
    figure_ : matplotlib figure
        The figure of these axes.
    """

    def __init__(
        self, dots: tuple[Dot, ...], label: str, *, higher_is_better: bool, baseline: str = "none"
    ) -> None:
        self.dots = dots
        self.label = label
        self.higher_is_better = higher_is_better
        self.baseline = baseline

    @classmethod
    def from_comparison(cls, comparison: Any, *, metric: str | None = None, ax: Any = None) -> Self:
        """Draw what :func:`counterbalance.compare.run` returned.

        Parameters
        ----------
        comparison : Comparison
            What came out.
        metric : str, optional
            Name of a metric; by default that of the verdict.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.
        """
        return cls.from_summary(comparison.summary, metric=metric, ax=ax)

    @classmethod
    def from_summary(
        cls, summary: Mapping[str, Any], *, metric: str | None = None, ax: Any = None
    ) -> Self:
        """Draw a summary, such as ``json.load`` reads from ``summary.json``.

        Parameters
        ----------
        summary : mapping
            What ``counterbalance compare --json`` writes.
        metric : str, optional
            Name of a metric; by default that of the verdict.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.
        """
        if "comparison" not in summary:
            raise TableError(
                "summary must hold a comparison, and this one has none; pass the summary of "
                "counterbalance compare"
            )
        compared = summary["comparison"]
        metrics = {item["name"]: item for item in compared["metrics"]}
        name = metric or summary["settings"]["metric"]
        if name not in metrics:
            raise TableError(f"metric must be one of {', '.join(metrics)}, got {name!r}")
        dots = tuple(
            Dot(row["strategy"], row["classifier"], row["threshold"], **row["scores"][name])
            for row in compared["rows"]
            if name in row["scores"]
            and (metrics[name]["needs_threshold"] or row["threshold"] == HALF)
        )
        display = cls(
            dots,
            metrics[name]["label"],
            higher_is_better=metrics[name]["higher_is_better"],
            baseline=compared["baseline"],
        )
        display.plot(ax=ax)
        return display

    def plot(self, *, ax: Any = None) -> Any:
        """Draw once more.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        is_new = ax is None
        ax = axes_or_new(ax)
        strategies = list(dict.fromkeys(dot.strategy for dot in self.dots))
        classifiers = list(dict.fromkeys(dot.classifier for dot in self.dots))
        lines = [(c, t) for c in classifiers for t in self._thresholds]
        for dot in self.dots:
            place = (lines.index((dot.classifier, dot.threshold)) + 0.5) / len(lines) - 0.5
            self._draw(ax, dot, strategies.index(dot.strategy) + STEP * place, classifiers)
        for code, classifier in enumerate(classifiers):
            to_beat = self._to_beat(classifier)
            if to_beat is not None:
                ax.axvline(to_beat, color=colour_of(code), linestyle="--", linewidth=1, zorder=1)
            ax.plot([], [], "o", color=colour_of(code), label=as_written(classifier))
        if len(self._thresholds) > 1:
            ax.plot([], [], "o", color="grey", label="tuned threshold")
            ax.plot([], [], "o", color="grey", markerfacecolor="white", label="threshold 0.5")
        ax.set_yticks(range(len(strategies)), [as_written(name) for name in strategies])
        ax.set_ylim(len(strategies) - 0.5, -0.5)
        better = "higher" if self.higher_is_better else "lower"
        ax.set_xlabel(f"{self.label} ({better} is better)")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        if is_new:
            self.figure_.set_figheight(max(LEAST, HEIGHT * len(strategies) * len(classifiers)))
        return ax

    @property
    def _thresholds(self) -> list[str]:
        return list(dict.fromkeys(dot.threshold for dot in self.dots))

    def _to_beat(self, classifier: str) -> float | None:
        """Return the better score of a classifier without resampling."""
        means = [
            dot.mean
            for dot in self.dots
            if dot.classifier == classifier and dot.strategy == self.baseline
        ]
        return (max if self.higher_is_better else min)(means, default=None)

    def _draw(self, ax: Any, dot: Dot, height: float, classifiers: list[str]) -> None:
        colour = colour_of(classifiers.index(dot.classifier))
        ax.plot([dot.low, dot.high], [height, height], color=colour, linewidth=1, zorder=2)
        is_open = dot.threshold == HALF and len(self._thresholds) > 1
        face = "white" if is_open else colour
        ax.plot(dot.mean, height, "o", color=colour, markerfacecolor=face, markersize=5, zorder=3)
