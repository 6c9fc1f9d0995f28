"""Placement: which rows the map shows, and where they lie on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.report import boundary
from counterbalance.report.explorer import spread_evenly
from counterbalance.report.layout import Layout, lay_out
from counterbalance.report.resampled import Resampled
from counterbalance.table import containers

# Bounds of the map: real rows, new rows, and lines from a new row to its factual.
MOST_REAL, MOST_NEW, MOST_LINKS = 1800, 1000, 120
DECIMALS = 4
COMPONENTS = "The axes are the first two principal components of the real rows."


def place_rows(resampled: Resampled, features: Any = None) -> dict[str, Any]:
    """Return the section "map"; ``features`` are its two axes, or None for components."""
    codes, n_real = resampled.codes, resampled.n_real
    real, new = _shown(resampled)
    linked = new[spread_evenly(len(new), MOST_LINKS)]
    starts = resampled.provenance["factual"][linked - n_real]
    rows = np.unique(np.concatenate([real, new, starts]))
    layout = lay_out(resampled.table, rows, n_real, features)
    points, frame = layout.points, boundary.frame_of(layout.points)
    inside = _inside(points, frame)
    groups = []
    for is_new, listed in ((False, real), (True, new)):
        for code, label in enumerate(resampled.labels):
            at = np.searchsorted(rows, listed[codes[listed] == code])
            x, y = points[at[inside[at]]].T.round(DECIMALS).tolist()
            total = resampled.count(code, new=is_new)
            if total:
                groups.append({"label": label, "new": is_new, "x": x, "y": y, "total": total})
    ends = np.searchsorted(rows, starts), np.searchsorted(rows, linked)
    both = inside[ends[0]] & inside[ends[1]]
    links = np.hstack([points[ends[0][both]], points[ends[1][both]]])
    return {
        "axes": list(layout.axes),
        "points": groups,
        "links": links.round(DECIMALS).tolist(),
        "regions": _regions(resampled, layout, rows, frame),
        "notes": [
            *([COMPONENTS] if layout.columns is None else []),
            *_notes(real, new, n_real, len(codes), int(np.sum(~inside)), len(links)),
        ],
    }


def _shown(resampled: Resampled) -> tuple[Integers, Integers]:
    """Return which real and which new rows to draw: of each class as many, evenly apart."""
    n_classes, n_real, codes = len(resampled.classes), resampled.n_real, resampled.codes
    chosen = []
    for start, stop, most in ((0, n_real, MOST_REAL), (n_real, len(codes), MOST_NEW)):
        rows = [np.zeros(0, dtype=np.intp)]
        for code in range(n_classes):
            places = start + np.flatnonzero(codes[start:stop] == code)
            rows.append(places[spread_evenly(len(places), max(1, most // n_classes))])
        chosen.append(np.concatenate(rows))
    return chosen[0], chosen[1]


def _inside(points: Floats, frame: boundary.Frame) -> NDArray[np.bool_]:
    low, high = (np.array([side[end] for side in frame]) for end in (0, 1))
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))


def _regions(
    resampled: Resampled, layout: Layout, rows: Integers, frame: boundary.Frame
) -> dict[str, Any]:
    """Return which part of the map f gives to which class."""
    f, table, classes = resampled.sampler.estimator_, resampled.table, resampled.classes
    columns = layout.columns if len(table.names) == 2 else None  # noqa: PLR2004
    if columns is not None:
        shares = boundary.shares_exact(table, f, columns, classes, frame)
    else:
        answers = np.asarray(f.predict(containers.take(table.native, rows)))
        place = np.minimum(np.searchsorted(classes, answers), len(classes) - 1)
        # A classifier that was fitted elsewhere may answer a class that y does not have.
        known = classes[place] == answers
        shares = boundary.shares_nearby(layout.points[known], place[known], len(classes), frame)
    return boundary.regions(shares, frame, resampled.labels, exact=columns is not None)


def _notes(
    real: Integers, new: Integers, n_real: int, n_rows: int, n_outside: int, n_links: int
) -> list[str]:
    notes = []
    if len(real) < n_real or len(new) < n_rows - n_real:
        notes.append(
            f"Drawn are {len(real):,} of {n_real:,} real and {len(new):,} of "
            f"{n_rows - n_real:,} new rows, evenly chosen within each class."
        )
    if n_links:
        notes.append(
            f"{n_links:,} thin lines lead from a real row to the new row that was made of it."
        )
    if n_outside:
        notes.append(f"{n_outside:,} of the rows chosen lie outside the frame.")
    return notes
