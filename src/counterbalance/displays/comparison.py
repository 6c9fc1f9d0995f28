"""ComparisonDisplay: how strategies score, as dots with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from counterbalance.displays.drawing import Display, as_written, axes_or_new, beside, colour_of
from counterbalance.errors import TableError

if TYPE_CHECKING:
    from counterbalance.compare import Comparison

# A classifier's thresholds stand side by side: the tuned one is filled, 0.5 is open.
HALF = "0.5"
STEP = 0.8
HEIGHT, LEAST = 0.32, 2.5


@dataclass(eq=False, repr=False)
class ComparisonDisplay(Display):
    """Scores of all strategies with their 95 % intervals, one colour for each classifier.

    A filled dot is the tuned threshold, an open one 0.5 (a metric without a threshold has the
    first only). A dashed line in the colour of each classifier marks its better score without
    resampling, the baseline. Strategies that failed are not drawn.

    Make it with :meth:`from_comparison` or :meth:`from_summary`.

    Parameters
    ----------
    scores : mapping
        The part ``comparison`` of a summary.
    metric : mapping
        Which of its metrics to draw.

    See Also
    --------
    counterbalance.compare.compare : Makes the comparison.
    """

    scores: Mapping[str, Any]
    metric: Mapping[str, Any]

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, metric: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the result of :func:`counterbalance.compare.compare`.

        Parameters
        ----------
        comparison : Comparison
            The result of :func:`~counterbalance.compare.compare`.
        metric, ax
            See :meth:`from_summary`.
        """
        return cls.from_summary(comparison.summary, metric=metric, ax=ax)

    @classmethod
    def from_summary(
        cls, summary: Mapping[str, Any], *, metric: str | None = None, ax: Any = None
    ) -> Self:
        """Draw a summary, also one that ``json.load`` reads from ``summary.json``.

        Parameters
        ----------
        summary : mapping
            That of a comparison, which is also what ``counterbalance compare --json`` writes.
        metric : str, optional
            Name of a metric; by default that of the verdict.
        ax : matplotlib axes, optional
            Axes to draw on; by default those of a new figure.
        """
        scores = summary.get("comparison")
        if scores is None:
            raise TableError(
                "summary must hold a comparison, and this one has none; pass the summary of "
                "counterbalance compare"
            )
        metrics = {item["name"]: item for item in scores["metrics"]}
        name = metric or summary.get("settings", {}).get("metric") or next(iter(metrics))
        if name not in metrics:
            raise TableError(f"metric must be one of {', '.join(metrics)}, got {name!r}")
        display = cls(scores, metrics[name])
        display.plot(ax=ax)
        return display

    @property
    def dots(self) -> list[Mapping[str, Any]]:
        """The rows that are drawn, in the order of the comparison."""
        return [
            row
            for row in self.scores["rows"]
            if self.metric["name"] in row["scores"]
            and (self.metric["needs_threshold"] or row["threshold"] == HALF)
        ]

    def plot(self, *, ax: Any = None) -> Any:
        """Draw, and return the matplotlib axes (where scikit-learn returns the display)."""
        is_new = ax is None
        ax, dots = axes_or_new(ax), self.dots
        strategies, classifiers, thresholds = (
            list(dict.fromkeys(dot[name] for dot in dots))
            for name in ("strategy", "classifier", "threshold")
        )
        lines = [(c, t) for c in classifiers for t in thresholds]
        for dot in dots:
            place = (lines.index((dot["classifier"], dot["threshold"])) + 0.5) / len(lines) - 0.5
            colour = colour_of(classifiers.index(dot["classifier"]))
            is_open = dot["threshold"] == HALF and len(thresholds) > 1
            height = strategies.index(dot["strategy"]) + STEP * place
            self._draw_dot(ax, dot, height, colour, "white" if is_open else colour)
        for code, classifier in enumerate(classifiers):
            baseline_score = self._baseline_score(classifier)
            if baseline_score is not None:
                ax.axvline(
                    baseline_score, color=colour_of(code), linestyle="--", linewidth=1, zorder=1
                )
            ax.plot([], [], "o", color=colour_of(code), label=as_written(classifier))
        if len(thresholds) > 1:
            ax.plot([], [], "o", color="grey", label="tuned threshold")
            ax.plot([], [], "o", color="grey", markerfacecolor="white", label="threshold 0.5")
        ax.set_yticks(range(len(strategies)), [as_written(name) for name in strategies])
        ax.set_ylim(len(strategies) - 0.5, -0.5)
        better = "higher" if self.metric["higher_is_better"] else "lower"
        ax.set_xlabel(as_written(f"{self.metric['label']} ({better} is better)"))
        ax.spines[["top", "right"]].set_visible(False)
        beside(ax)
        if is_new:
            ax.figure.set_figheight(max(LEAST, HEIGHT * len(strategies) * len(classifiers)))
        return self._drawn(ax)

    def _baseline_score(self, classifier: str) -> float | None:
        """Return the better score of a classifier without resampling."""
        means = [
            dot["scores"][self.metric["name"]]["mean"]
            for dot in self.dots
            if dot["classifier"] == classifier and dot["strategy"] == self.scores["baseline"]
        ]
        best = max if self.metric["higher_is_better"] else min
        return best(means, default=None)

    def _draw_dot(
        self, ax: Any, dot: Mapping[str, Any], height: float, colour: str, face: str
    ) -> None:
        score = dot["scores"][self.metric["name"]]
        if score["low"] is not None:
            ends = [score["low"], score["high"]]
            ax.plot(ends, [height, height], color=colour, linewidth=1, zorder=2)
        style = {"color": colour, "markerfacecolor": face, "markersize": 5, "zorder": 3}
        ax.plot(score["mean"], height, "o", **style)
