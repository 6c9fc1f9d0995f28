"""The colours of the page stand out from each other, in light and in dark (WCAG 2, level AA)."""

import re
from importlib.resources import files

import pytest

STYLE = files("counterbalance.report").joinpath("templates", "style.css").read_text("utf-8")
COLOURS = {
    name: dict(zip(("light", "dark"), pair, strict=True))
    for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
}
# Texts and what is behind them.
TEXTS = [
    *((ink, paper) for ink in ("ink", "soft", "accent") for paper in ("paper", "card", "rise")),
    ("alarm", "card"), ("ink", "mark"),
]  # fmt: skip
# Edges of a control.
MARKS = [("edge", "card"), ("accent", "card")]


def luminance(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_that_the_standard_says():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "needed"),
    [*((*pair, 4.5) for pair in TEXTS), *((*pair, 3.0) for pair in MARKS)],
)
def test_text_stands_out_from_its_background(front, back, needed, theme):
    assert contrast(COLOURS[front][theme], COLOURS[back][theme]) >= needed


def test_every_colour_is_declared_once_for_light_and_dark():
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE)) - {"sans", "mono"}
    assert used == set(COLOURS)
    assert re.findall(r"#[0-9a-f]{3,8}\b", STYLE.split("--sans")[1]) == []
