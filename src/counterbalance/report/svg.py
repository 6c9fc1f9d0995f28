"""Svg: a picture as a tree of elements, so that every text and attribute is escaped.

Colours are never written here: elements carry classes, and the style sheet of the page
colours them, in light and in dark.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

Point = tuple[float, float]

# How many colours the style sheet has for classes and strategies.
COLOURS = 6


@dataclass(frozen=True)
class Scale:
    """A straight map from data to places in the picture."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; one outside goes to the nearer end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int) -> list[float]:
        """Return at most ``most`` round values within the scale."""
        width = self.high - self.low
        power = 10.0 ** math.floor(math.log10(width / most))
        step = next(s * power for s in (1, 2, 2.5, 5, 10, 20) if width / (s * power) <= most - 1)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(place * step, 12) for place in range(first, last + 1)]


def widened(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return a range with some air on both sides, never an empty one."""
    air = (high - low) * share or abs(low) * share or 1.0
    return low - air, high + air


class Drawing:
    """An svg picture with a title and a description for those who do not see it.

    ``name`` is an id that no other picture of the page has, ``size`` its width and height in its
    own units, which are pixels where the page does not scale it.
    """

    def __init__(
        self, name: str, size: tuple[int, int], title: str, description: str, kind: str = ""
    ) -> None:
        self.root = Element(
            "svg",
            {
                "class": f"plot {kind}".strip(),
                "viewBox": f"0 0 {size[0]} {size[1]}",
                "role": "img",
                "aria-labelledby": f"{name}-title {name}-text",
            },
        )
        self.add("title", title, id=f"{name}-title")
        self.add("desc", description, id=f"{name}-text")

    def add(
        self, tag: str, text: str = "", inside: Element | None = None, **attributes: object
    ) -> Element:
        """Add an element; numbers are rounded, ``class_`` and ``text_anchor`` lose underscores."""
        written = {
            key.rstrip("_").replace("_", "-"): _number(value)
            if isinstance(value, (int, float))
            else str(value)
            for key, value in attributes.items()
        }
        element = SubElement(self.root if inside is None else inside, tag, written)
        element.text = text or None
        return element

    def line(self, start: Point, end: Point, class_: str) -> None:
        """Draw a straight line."""
        self.add("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_)

    def text(self, at: Point, text: str, class_: str = "", anchor: str = "start") -> None:
        """Write a text."""
        self.add("text", text, x=at[0], y=at[1], class_=class_, text_anchor=anchor)

    def upright(self, middle: Point, text: str, class_: str) -> None:
        """Write a text from the bottom to the top."""
        x, y = middle
        turn = f"rotate(-90 {x} {y:.0f})"
        self.add("text", text, x=x, y=y, class_=class_, text_anchor="middle", transform=turn)

    def path(self, steps: str, class_: str) -> None:
        """Draw a path, if there is anything to draw."""
        if steps:
            self.add("path", d=steps, class_=class_)

    def markup(self) -> str:
        """Return the picture as svg."""
        return tostring(self.root, encoding="unicode")


def polyline(points: Iterable[Point]) -> str:
    """Return the steps of a path through points."""
    return "".join(
        f"{'L' if place else 'M'}{_number(x)} {_number(y)}" for place, (x, y) in enumerate(points)
    )


def dots(points: Iterable[Point]) -> str:
    """Return the steps of a path that shows each point as the round end of a line without length.

    One path for thousands of points takes a tenth of the bytes of as many circles.
    """
    return "".join(f"M{_number(x)} {_number(y)}h0" for x, y in points)


def triangles(points: Iterable[Point], size: float = 3.2) -> str:
    """Return the steps of a path that shows each point as a small triangle."""
    low, side = _number(size), _number(2 * size)
    return "".join(f"M{_number(x)} {_number(y - size)}l{low} {side}h-{side}z" for x, y in points)


def shortened(text: str, most: int) -> str:
    """Return a text that fits a place; what is cut off is shown by dots."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _number(value: object) -> str:
    return f"{float(str(value)):.1f}".removesuffix(".0")
