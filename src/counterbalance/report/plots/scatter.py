"""Scatter: the map of real and new rows, over the regions of f's answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from counterbalance.report.plots.svg import (
    COLOURS,
    Drawing,
    Scale,
    dots,
    polyline,
    shortened,
    triangles,
    widened,
)
from counterbalance.report.records import Map, Regions

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 500, 46, 46, 10, 12
TICKS = 6
LETTERS = 70


def colour_of(label: str, labels: Sequence[str]) -> int:
    """Return the number of a class's colour; classes beyond the colours share the last one."""
    return min(labels.index(label), COLOURS - 1)


def draw_map(name: str, plan: Map) -> str:
    """Return the map: regions, then links, then real rows as dots and new ones as triangles."""
    drawing = Drawing(name, (WIDTH, HEIGHT), "Map of real and new rows", describe(plan), "map")
    across, up = _limits(plan)
    x = Scale(*across, LEFT, WIDTH - RIGHT)
    y = Scale(*up, HEIGHT - BOTTOM, TOP)
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


def describe(plan: Map) -> str:
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
    for tick in x.ticks(TICKS):
        drawing.line((x(tick), y.start), (x(tick), y.start + 5), "axis-line")
        drawing.text((x(tick), y.start + 18), f"{tick:g}", "tick", "middle")
    for tick in y.ticks(TICKS):
        drawing.line((x.start - 5, y(tick)), (x.start, y(tick)), "axis-line")
        drawing.text((x.start - 8, y(tick) + 4), f"{tick:g}", "tick", "end")
    drawing.line((x.start, y.start), (x.stop, y.start), "axis-line")
    drawing.line((x.start, y.start), (x.start, y.stop), "axis-line")
    middle = (y.start + y.stop) / 2
    drawing.text(
        ((x.start + x.stop) / 2, HEIGHT - 8), shortened(plan.axes[0], LETTERS), "axis", "middle"
    )
    drawing.add(
        "text",
        shortened(plan.axes[1], LETTERS),
        x=13,
        y=middle,
        class_="axis",
        text_anchor="middle",
        transform=f"rotate(-90 13 {middle:.0f})",
    )
