"""Drawing: axes, colours, texts and jitter of points, shared by the displays."""

import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.displays.projection import Projection, spread_evenly
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.rows.provenance import Provenance

# Okabe and Ito's colours, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# Points that coincide on whole numbers are jittered by at most this share of a step.
SPREAD = 0.25
MOST_LEVELS = 12
LONGEST_LABEL = 48
TITLE = 11  # points
# Real rows are dots, new ones triangles with an edge, above all else.
REAL: dict[str, Any] = {"s": 14, "alpha": 0.5, "linewidths": 0, "zorder": 2, "rasterized": True}
NEW: dict[str, Any] = {
    "s": 26,
    "marker": "^",
    "edgecolors": "black",
    "linewidths": 0.5,
    "zorder": 4,
    "rasterized": True,
}


class Display:
    """Base class of the displays.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes of the last plot.
    figure_ : matplotlib figure
        The figure of these axes.
    """

    ax_: Any
    figure_: Any

    def _drawn(self, ax: Any) -> Any:
        """Store and return the axes that were drawn on."""
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def provenance_of(sampler: Any) -> Provenance:
    """Return the provenance of a fitted sampler."""
    provenance: Provenance | None = getattr(sampler, "provenance_", None)
    if provenance is None:
        raise TableError(
            f"sampler must have been run, but this {type(sampler).__name__} has no "
            "provenance_; call its fit_resample first and pass what it returned"
        )
    return provenance


def axes_or_new(ax: Any) -> Any:
    """Return the axes to draw on; new ones with a figure of their own if none are given."""
    if ax is not None:
        return ax
    plt = require("matplotlib.pyplot", "a plot")
    return plt.subplots(layout="constrained")[1]


# Categories of characters that show nothing, and letters that do not.
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def visible(text: str) -> str:
    r"""Return a text without invisible characters.

    Control characters, direction marks, zero-width characters and broken Unicode become code
    points.

    >>> visible("age\x00 \u202eega")
    'age[U+0000] [U+202E]ega'
    """
    if text.isprintable() and BLANK.isdisjoint(text):
        return text
    return "".join(
        f"[U+{ord(character):04X}]"
        if (character in BLANK or unicodedata.category(character) in INVISIBLE)
        and character not in "\t\n"
        else character
        for character in text
    )


def shortened(text: str, most: int = LONGEST_LABEL) -> str:
    """Cut a text to ``most`` characters; dots replace the rest."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def as_written(text: Any) -> str:
    """Escape a name of the user for matplotlib: it is no formula, and the legend shows it."""
    written = shortened(visible(str(text))).replace("$", r"\$")
    return f"\u200b{written}" if written.startswith("_") else written


def colour_of(code: int) -> str:
    """Return the colour of a class."""
    return COLOURS[code % len(COLOURS)]


def spread(points: Floats, projection: Projection) -> Floats:
    """Jitter points that coincide on whole numbers or levels, with a fixed seed."""
    offset = np.random.default_rng(0).uniform(-SPREAD, SPREAD, points.shape)
    return points + offset * [projection.stepped(0), projection.stepped(1)]


def label_axes(ax: Any, projection: Projection) -> None:
    """Name the axes, and the levels along them."""
    ax.set(xlabel=as_written(projection.labels[0]), ylabel=as_written(projection.labels[1]))
    for axis, which in enumerate((ax.xaxis, ax.yaxis)):
        levels = projection.levels(axis)
        if levels is not None and len(levels) <= MOST_LEVELS:
            which.set_ticks(range(len(levels)), [as_written(level) for level in levels])
    ax.spines[["top", "right"]].set_visible(False)


def beside(ax: Any) -> None:
    """Put the legend beside the axes, where it hides nothing."""
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def some_of(places: NDArray[np.intp], most: int) -> Integers:
    """Return at most ``most`` of the places, evenly spaced."""
    return places[spread_evenly(len(places), most)]
