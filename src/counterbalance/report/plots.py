"""Plots of a page: curves of a classifier, intervals of all strategies, the map of the rows."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from counterbalance.report.plain import Curves, Metric, Score, ScoreRow, ScoreTable
from counterbalance.report.records import Map, Regions
from counterbalance.report.svg import (
    COLOURS,
    Drawing,
    Scale,
    dots,
    polyline,
    shortened,
    triangles,
    widened,
)

CURVE_SIZE, CURVE_LEFT, CURVE_BOTTOM, CURVE_TOP, CURVE_RIGHT = 250, 46, 40, 8, 10
CURVE_TICKS = (0.0, 0.5, 1.0)
# More points than this cannot be told apart in a picture of this size.
MOST_POINTS = 80

Series = Sequence[tuple[float, ...]]


def draw_calibration(name: str, curves: Curves) -> str:
    """Return the observed share over the predicted probability, raw and corrected."""
    title = f"Calibration of {curves.classifier}, {curves.strategy}"
    drawing, x, y = _square(name, title, _gap(curves), "predicted probability", "observed share")
    drawing.line((x(0), y(0)), (x(1), y(1)), "ideal")
    for points, kind in ((curves.calibration, "raw"), (curves.calibration_corrected, "corrected")):
        places = [(x(point[0]), y(point[1])) for point in known(points)]
        drawing.path(polyline(places), f"curve {kind}")
        drawing.path(dots(places), f"marks {kind}")
    return drawing.markup()


def draw_precision_recall(name: str, curves: Curves, baseline: Curves | None) -> str:
    """Return precision over recall, the baseline's beneath."""
    title = f"Precision and recall of {curves.classifier}, {curves.strategy}"
    drawing, x, y = _square(name, title, _reach(curves), "recall", "precision")
    if baseline is not None and baseline is not curves:
        places = [(x(point[0]), y(point[1])) for point in thinned(known(baseline.precision_recall))]
        drawing.path(polyline(places), "curve below")
    places = [(x(point[0]), y(point[1])) for point in thinned(known(curves.precision_recall))]
    drawing.path(polyline(places), "curve raw")
    return drawing.markup()


def known(points: Iterable[tuple[float | None, ...]]) -> list[tuple[float, ...]]:
    """Return the points without those that lack a value, as an empty bin does."""
    listed = ((point, tuple(value for value in point if value is not None)) for point in points)
    return [full for point, full in listed if len(full) == len(point)]


def thinned(points: Series, most: int = MOST_POINTS) -> Series:
    """Return at most ``most`` of the points, the first and the last among them."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(place * step)] for place in range(most)]


def _square(
    name: str, title: str, description: str, across: str, up: str
) -> tuple[Drawing, Scale, Scale]:
    """Return a square of [0, 1] by [0, 1] with its axes."""
    drawing = Drawing(name, (CURVE_SIZE, CURVE_SIZE), title, description, "curves")
    x, y = (
        Scale(0, 1, CURVE_LEFT, CURVE_SIZE - CURVE_RIGHT),
        Scale(0, 1, CURVE_SIZE - CURVE_BOTTOM, CURVE_TOP),
    )
    for tick in CURVE_TICKS:
        drawing.line((x(tick), y(0)), (x(tick), y(1)), "grid")
        drawing.line((x(0), y(tick)), (x(1), y(tick)), "grid")
        drawing.text((x(tick), y(0) + 15), f"{tick:g}", "tick", "middle")
        drawing.text((x(0) - 6, y(tick) + 4), f"{tick:g}", "tick", "end")
    drawing.text(((x(0) + x(1)) / 2, CURVE_SIZE - 8), across, "axis", "middle")
    drawing.upright((12, (y(0) + y(1)) / 2), up, "axis")
    return drawing, x, y


def _gap(curves: Curves) -> str:
    """Say how far the probabilities are off, raw and corrected."""
    said = []
    for points, kind in (
        (curves.calibration, "as predicted"),
        (curves.calibration_corrected, "corrected for the base rate"),
    ):
        bins = known(points)
        total = sum(rows for _, _, rows in bins)
        if total > 0:
            gap = sum(rows * abs(mean - seen) for mean, seen, rows in bins) / total
            said.append(f"{kind}, {gap:.3f}")
    if not said:
        return "There are no probabilities to show."
    return f"Mean distance from the diagonal: {'; '.join(said)}."


def _reach(curves: Curves) -> str:
    points = known(curves.precision_recall)
    if not points:
        return "There is no curve to show."
    half = [point[1] for point in points if point[0] >= 0.5]  # noqa: PLR2004
    return f"The best precision at a recall of one half or more is {max(half, default=0.0):.3f}."


PANEL_WIDTH, PANEL_LABELS, PANEL_ROW, PANEL_TOP, PANEL_BOTTOM = 364, 150, 27, 12, 40
PANEL_RIGHT = 14
PANEL_LETTERS = 20
PANEL_TICKS = 5
# Dots of several thresholds of one strategy lie above each other, so far apart.
APART = 9
# An interval may reach so many times the range of all means beyond them before it is cut.
REACH = 1.5


def draw_intervals(name: str, comparison: ScoreTable, metric: Metric, classifier: str) -> str:
    """Return one panel: strategies from top to bottom, a dot and an interval per threshold."""
    rows = [row for row in comparison.rows if row.classifier == classifier]
    height = PANEL_TOP + PANEL_ROW * len(comparison.strategies) + PANEL_BOTTOM
    drawing = Drawing(
        name,
        (PANEL_WIDTH, height),
        f"{metric.label} with {classifier}",
        describe_panel(metric, rows),
        "intervals",
    )
    low, high = limits(comparison.rows, metric)
    scale = Scale(low, high, PANEL_LABELS, PANEL_WIDTH - PANEL_RIGHT)
    bottom = height - PANEL_BOTTOM + 4
    for tick in scale.ticks(PANEL_TICKS):
        drawing.line((scale(tick), PANEL_TOP - 6), (scale(tick), bottom), "grid")
        drawing.text((scale(tick), bottom + 14), f"{tick:g}", "tick", "middle")
    if metric.ideal is not None and low <= metric.ideal <= high:
        drawing.line((scale(metric.ideal), PANEL_TOP - 6), (scale(metric.ideal), bottom), "ideal")
    arrow = {True: " →", False: "← "}[metric.higher_is_better]
    words = metric.direction
    if metric.ideal is None:
        words = words + arrow if metric.higher_is_better else arrow + words
    drawing.text(
        ((PANEL_LABELS + PANEL_WIDTH - PANEL_RIGHT) / 2, height - 6), words, "axis", "middle"
    )
    _baseline(drawing, comparison, metric, rows, scale, bottom)
    for place, strategy in enumerate(comparison.strategies):
        middle = PANEL_TOP + PANEL_ROW * (place + 0.5)
        kind = "label baseline" if strategy == comparison.baseline else "label"
        drawing.text(
            (PANEL_LABELS - 10, middle + 4), shortened(strategy, PANEL_LETTERS), kind, "end"
        )
        own = [row for row in rows if row.strategy == strategy]
        known = [row for row in own if row.mean(metric.name) is not None]
        if not known:
            drawing.text((PANEL_LABELS + 4, middle + 4), "failed" if own else "not run", "tick")
        first = middle - APART * (len(comparison.thresholds) - 1) / 2
        for row in known:
            number = comparison.thresholds.index(row.threshold)
            _dot(drawing, row, row.scores[metric.name], scale, first + APART * number, number)
    return drawing.markup()


def describe_panel(metric: Metric, rows: Sequence[ScoreRow]) -> str:
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
            drawing.line((scale(score), PANEL_TOP - 6), (scale(score), bottom), "reference")


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


MAP_WIDTH, MAP_HEIGHT, MAP_LEFT, MAP_BOTTOM, MAP_TOP, MAP_RIGHT = 760, 500, 46, 46, 10, 12
MAP_TICKS = 6
MAP_LETTERS = 70


def colour_of(label: str, labels: Sequence[str]) -> int:
    """Return the number of a class's colour; classes beyond the colours share the last one."""
    return min(labels.index(label), COLOURS - 1)


def draw_map(name: str, plan: Map) -> str:
    """Return the map: regions, then links, then real rows as dots and new ones as triangles."""
    drawing = Drawing(
        name, (MAP_WIDTH, MAP_HEIGHT), "Map of real and new rows", describe_map(plan), "map"
    )
    across, up = _limits(plan)
    x = Scale(*across, MAP_LEFT, MAP_WIDTH - MAP_RIGHT)
    y = Scale(*up, MAP_HEIGHT - MAP_BOTTOM, MAP_TOP)
    labels = classes(plan)
    if plan.regions is not None:
        _draw_regions(drawing, plan.regions, x, y, labels)
    _draw_axes(drawing, plan, x, y)
    links = "".join(polyline([(x(a), y(b)), (x(c), y(d))]) for a, b, c, d in plan.links)
    drawing.path(links, "links")
    for new in (False, True):
        for points in plan.points:
            if points.new is not new:
                continue
            places = [(x(a), y(b)) for a, b in zip(points.x, points.y, strict=True)]
            shape, kind = (triangles, "new") if new else (dots, "real")
            drawing.path(shape(places), f"{kind} colour-{colour_of(points.label, labels)}")
    if plan.regions is not None:
        lines = "".join(polyline([(x(a), y(b)) for a, b in line]) for line in plan.regions.lines)
        drawing.path(lines, "boundary")
    return drawing.markup()


def classes(plan: Map) -> list[str]:
    """Return the classes in the order of their colours."""
    of_regions = plan.regions.classes if plan.regions is not None else ()
    return list(dict.fromkeys([*(points.label for points in plan.points), *of_regions]))


def describe_map(plan: Map) -> str:
    """Say in words what the map shows."""
    parts = [
        f"{points.total} {'new' if points.new else 'real'} rows of class {points.label}"
        for points in plan.points
    ]
    boundary = "" if plan.regions is None else " A line separates the regions of f's answers."
    return f"{', '.join(parts)}, over {plan.axes[0]} and {plan.axes[1]}.{boundary}"


def _limits(plan: Map) -> tuple[tuple[float, float], tuple[float, float]]:
    if plan.regions is not None:
        return plan.regions.x, plan.regions.y
    across = [value for points in plan.points for value in points.x] or [0.0]
    up = [value for points in plan.points for value in points.y] or [0.0]
    return widened(min(across), max(across)), widened(min(up), max(up))


def _draw_regions(
    drawing: Drawing, regions: Regions, x: Scale, y: Scale, labels: Sequence[str]
) -> None:
    """Fill the regions, one path for each class: a run of equal cells is one rectangle."""
    steps: dict[int, str] = {}
    n_rows = len(regions.cells)
    for place, row in enumerate(regions.cells):
        height = (y.start - y.stop) / n_rows
        top = y.start - height * (place + 1)
        width = (x.stop - x.start) / max(len(row), 1)
        start = 0
        for code, run in groupby(row):
            length = len(list(run))
            if code >= 0:
                left, wide = x.start + width * start, width * length
                steps[code] = steps.get(code, "") + (
                    f"M{left:.1f} {top:.1f}h{wide:.1f}v{height:.1f}h-{wide:.1f}z"
                )
            start += length
    for code, path in sorted(steps.items()):
        colour = colour_of(regions.classes[code], labels)
        drawing.path(path, f"region colour-{colour}")


def _draw_axes(drawing: Drawing, plan: Map, x: Scale, y: Scale) -> None:
    for tick in x.ticks(MAP_TICKS):
        drawing.line((x(tick), y.start), (x(tick), y.start + 5), "axis-line")
        drawing.text((x(tick), y.start + 18), f"{tick:g}", "tick", "middle")
    for tick in y.ticks(MAP_TICKS):
        drawing.line((x.start - 5, y(tick)), (x.start, y(tick)), "axis-line")
        drawing.text((x.start - 8, y(tick) + 4), f"{tick:g}", "tick", "end")
    drawing.line((x.start, y.start), (x.stop, y.start), "axis-line")
    drawing.line((x.start, y.start), (x.start, y.stop), "axis-line")
    drawing.text(
        ((x.start + x.stop) / 2, MAP_HEIGHT - 8),
        shortened(plan.axes[0], MAP_LETTERS),
        "axis",
        "middle",
    )
    drawing.upright((13, (y.start + y.stop) / 2), shortened(plan.axes[1], MAP_LETTERS), "axis")
