"""Curves: how far probabilities can be believed, and precision over recall."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from counterbalance.compare.records import Curves
from counterbalance.report.plots.svg import Drawing, Scale, dots, polyline

SIZE, LEFT, BOTTOM, TOP, RIGHT = 250, 46, 40, 8, 10
TICKS = (0.0, 0.5, 1.0)
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
    drawing = Drawing(name, (SIZE, SIZE), title, description, "curves")
    x, y = Scale(0, 1, LEFT, SIZE - RIGHT), Scale(0, 1, SIZE - BOTTOM, TOP)
    for tick in TICKS:
        drawing.line((x(tick), y(0)), (x(tick), y(1)), "grid")
        drawing.line((x(0), y(tick)), (x(1), y(tick)), "grid")
        drawing.text((x(tick), y(0) + 15), f"{tick:g}", "tick", "middle")
        drawing.text((x(0) - 6, y(tick) + 4), f"{tick:g}", "tick", "end")
    drawing.text(((x(0) + x(1)) / 2, SIZE - 8), across, "axis", "middle")
    middle = (y(0) + y(1)) / 2
    drawing.add(
        "text",
        up,
        x=12,
        y=middle,
        class_="axis",
        text_anchor="middle",
        transform=f"rotate(-90 12 {middle:.0f})",
    )
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
