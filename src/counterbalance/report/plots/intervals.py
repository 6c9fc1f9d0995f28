"""Intervals: for one metric and one classifier, every strategy as a dot with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from counterbalance.compare.records import Metric, Score, ScoreRow, ScoreTable
from counterbalance.report.plots.svg import Drawing, Scale, shortened, widened

WIDTH, LABELS, ROW, TOP, BOTTOM = 364, 150, 27, 12, 40
RIGHT = 14
LETTERS = 20
TICKS = 5
# Dots of several thresholds of one strategy lie above each other, so far apart.
APART = 9
# An interval may reach so many times the range of all means beyond them before it is cut.
REACH = 1.5


def draw_intervals(name: str, comparison: ScoreTable, metric: Metric, classifier: str) -> str:
    """Return one panel: strategies from top to bottom, a dot and an interval per threshold."""
    rows = [row for row in comparison.rows if row.classifier == classifier]
    height = TOP + ROW * len(comparison.strategies) + BOTTOM
    drawing = Drawing(
        name,
        (WIDTH, height),
        f"{metric.label} with {classifier}",
        describe(metric, rows),
        "intervals",
    )
    low, high = limits(comparison.rows, metric)
    scale = Scale(low, high, LABELS, WIDTH - RIGHT)
    bottom = height - BOTTOM + 4
    for tick in scale.ticks(TICKS):
        drawing.line((scale(tick), TOP - 6), (scale(tick), bottom), "grid")
        drawing.text((scale(tick), bottom + 14), f"{tick:g}", "tick", "middle")
    if metric.ideal is not None and low <= metric.ideal <= high:
        drawing.line((scale(metric.ideal), TOP - 6), (scale(metric.ideal), bottom), "ideal")
    arrow = {True: " →", False: "← "}[metric.higher_is_better]
    words = metric.direction
    if metric.ideal is None:
        words = words + arrow if metric.higher_is_better else arrow + words
    drawing.text(((LABELS + WIDTH - RIGHT) / 2, height - 6), words, "axis", "middle")
    _baseline(drawing, comparison, metric, rows, scale, bottom)
    for place, strategy in enumerate(comparison.strategies):
        middle = TOP + ROW * (place + 0.5)
        kind = "label baseline" if strategy == comparison.baseline else "label"
        drawing.text((LABELS - 10, middle + 4), shortened(strategy, LETTERS), kind, "end")
        own = [row for row in rows if row.strategy == strategy]
        known = [row for row in own if row.mean(metric.name) is not None]
        if not known:
            drawing.text((LABELS + 4, middle + 4), "failed" if own else "not run", "tick")
        for at, row in _spread(known, comparison.thresholds, middle):
            number = comparison.thresholds.index(row.threshold)
            _dot(drawing, row, row.scores[metric.name], scale, at, number)
    return drawing.markup()


def describe(metric: Metric, rows: Sequence[ScoreRow]) -> str:
    """Say in words what the panel shows."""
    means = [(row.mean(metric.name), row) for row in rows]
    known = [(mean, row) for mean, row in means if mean is not None]
    if not known:
        return f"{metric.label} could not be measured."
    mean, best = max(known, key=lambda pair: metric.better(pair[0]))
    return (
        f"{metric.label}, {metric.direction}. Best of {len(known)}: {best.strategy} at threshold "
        f"{best.threshold} with {mean:.3f}. "
        "The table above holds every figure."
    )


def limits(rows: Sequence[ScoreRow], metric: Metric) -> tuple[float, float]:
    """Return the range of the axis, the same for every classifier.

    An interval that reaches far beyond all means is cut, so that it does not squeeze the rest.
    """
    scores = [row.scores[metric.name] for row in rows if metric.name in row.scores]
    means = [score.mean for score in scores if score.mean is not None]
    if not means:
        return 0.0, 1.0
    ends = [end for score in scores for end in (score.low, score.high) if end is not None]
    air = REACH * (max(means) - min(means)) or float("inf")
    low = max(min([*means, *ends]), min(means) - air)
    high = min(max([*means, *ends]), max(means) + air)
    return widened(low, high)


def _baseline(
    drawing: Drawing,
    comparison: ScoreTable,
    metric: Metric,
    rows: Sequence[ScoreRow],
    scale: Scale,
    bottom: float,
) -> None:
    """Draw a line down from what is reached without any resampling at the first threshold."""
    for row in rows:
        score = row.mean(metric.name)
        plain = row.strategy == comparison.baseline and row.threshold == comparison.thresholds[0]
        if plain and score is not None:
            drawing.line((scale(score), TOP - 6), (scale(score), bottom), "reference")


def _spread(
    rows: Sequence[ScoreRow], thresholds: Sequence[str], middle: float
) -> list[tuple[float, ScoreRow]]:
    """Return the rows with their heights, around the middle of their strategy."""
    first = middle - APART * (len(thresholds) - 1) / 2
    return [(first + APART * thresholds.index(row.threshold), row) for row in rows]


def _dot(
    drawing: Drawing, row: ScoreRow, score: Score, scale: Scale, at: float, threshold: int
) -> None:
    group = drawing.add("g", class_=f"threshold-{min(threshold, 1)}")
    drawing.add("title", _tooltip(row, score), group)
    if score.low is not None and score.high is not None:
        drawing.add(
            "line",
            "",
            group,
            x1=scale(score.low),
            x2=scale(score.high),
            y1=at,
            y2=at,
            class_="interval",
        )
    if score.mean is not None:
        drawing.add("circle", "", group, cx=scale(score.mean), cy=at, r=4, class_="dot")


def _tooltip(row: ScoreRow, score: Score) -> str:
    text = f"{row.strategy}, threshold {row.threshold}: {score.mean:.3f}"
    if score.low is None or score.high is None:
        return text
    return f"{text} ({score.low:.3f} to {score.high:.3f})"
