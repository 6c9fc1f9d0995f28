"""Sections of a page: the map of the rows, new rows beside real ones, and which features changed.

Where the axes are the only two columns of the table, f is asked about every cell of the map.
Anywhere else a point of the map stands for many rows, and f has no single answer: a cell then
shows the answers that f gives to the rows lying nearest on the map, weighted by how near they are.
"""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.errors import TableError
from counterbalance.extras import require
from counterbalance.projection import DIMENSIONS, Components, Projection, spread_evenly
from counterbalance.report.records import (
    BalancedTable,
    Explorer,
    FeatureChange,
    Features,
    Map,
    NewRow,
    Points,
    Regions,
)
from counterbalance.rows.provenance import Provenance
from counterbalance.table import containers, frames
from counterbalance.table.columns import column_position
from counterbalance.table.labels import plain
from counterbalance.table.table import Table

Frame = tuple[tuple[float, float], tuple[float, float]]

# Bounds of the map: real rows, new rows, and lines from a new row to its factual.
MOST_REAL, MOST_NEW, MOST_LINKS = 1800, 1000, 120
DECIMALS = 4
COLUMNS, ROWS = 150, 96
NEIGHBOURS = 40
# Smoothing and reach of a row, as shares of the frame's width.
BANDWIDTH, REACH = 0.03, 0.13
NOTE = "The axes are the first two principal components of the real rows."


def map_rows(balanced: BalancedTable, features: Any = None) -> Map:
    """Return the section "map"; ``features`` are its two axes, or None for components."""
    codes, n_real = balanced.codes, balanced.n_real
    real, new = _shown(balanced)
    linked = new[spread_evenly(len(new), MOST_LINKS)]
    starts = balanced.provenance["factual"][linked - n_real]
    rows = np.unique(np.concatenate([real, new, starts]))
    projection = project(balanced.table, n_real, features)
    points = projection.place(rows)
    frame = frame_of(points)
    inside = _inside(points, frame)
    groups = []
    for is_new, listed in ((False, real), (True, new)):
        for code, label in enumerate(balanced.labels):
            at = np.searchsorted(rows, listed[codes[listed] == code])
            x, y = points[at[inside[at]]].T.round(DECIMALS).tolist()
            total = balanced.count(code, new=is_new)
            if total:
                groups.append(Points(label, is_new, tuple(x), tuple(y), total))
    ends = np.searchsorted(rows, starts), np.searchsorted(rows, linked)
    both = inside[ends[0]] & inside[ends[1]]
    links = np.hstack([points[ends[0][both]], points[ends[1][both]]])
    notes = _notes(real, new, n_real, len(codes), int(np.sum(~inside)), len(links))
    return Map(
        _axes(projection),
        tuple(groups),
        tuple(map(tuple, links.round(DECIMALS).tolist())),
        _regions(balanced, projection, rows, points, frame),
        (*([NOTE] if projection.features is None else []), *notes),
    )


def project(table: Table, n_real: int, features: object = None) -> Projection:
    """Project a table on two columns, or on the components of its first ``n_real`` rows.

    ``features`` names two columns; without it a table of two ordered columns is shown as it
    is, any other by its principal components.
    """
    ordered = np.flatnonzero(~table.nominal)
    if features is None and len(table.names) == len(ordered) == DIMENSIONS:
        return Projection.on_features(table, 0, 1)
    if features is None:
        components = Components.of(table, n_real)
        return Projection(table, ("first component", "second component"), components=components)
    places = [column_position(item, table.names, "features") for item in _two(features)]
    for place in places:
        if place not in ordered:
            raise TableError(
                f"features names the column {table.names[place]!r}, which has no order to lay out "
                "along an axis; name two columns of numbers or ordered levels"
            )
    return Projection.on_features(table, places[0], places[1])


def frame_of(points: Floats, inner: float = 0.01, air: float = 0.08) -> Frame:
    """Return the part to show; single rows far outside do not squeeze the rest."""
    low, high = np.quantile(points, [inner, 1 - inner], axis=0)
    width = np.where(high > low, high - low, np.maximum(np.abs(low), 1.0))
    low, high = low - air * width, high + air * width
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def centres(frame: Frame) -> Floats:
    """Return the middle of every cell, row by row from the bottom, (ROWS * COLUMNS, 2)."""
    (left, right), (bottom, top) = frame
    x = left + (np.arange(COLUMNS) + 0.5) / COLUMNS * (right - left)
    y = bottom + (np.arange(ROWS) + 0.5) / ROWS * (top - bottom)
    return np.column_stack([np.tile(x, ROWS), np.repeat(y, COLUMNS)])


def shares_nearby(points: Floats, answers: Integers, n_classes: int, frame: Frame) -> Floats:
    """Return for every cell the share of each class among f's answers nearby, nan if none is."""
    # The frame becomes one unit wide, and as high as it is drawn.
    unit = np.array([side[1] - side[0] for side in frame]) * [1.0, COLUMNS / ROWS]
    k = min(NEIGHBOURS, len(points))
    found = KDTree(points / unit).query(centres(frame) / unit, k=range(1, k + 1))
    away, nearest = np.asarray(found[0]), np.asarray(found[1])
    weight = np.exp(-(away**2 - away[:, :1] ** 2) / (2 * BANDWIDTH**2))
    shares = np.stack(
        [(weight * (answers[nearest] == code)).sum(axis=1) for code in range(n_classes)], axis=1
    )
    shares /= shares.sum(axis=1, keepdims=True)
    shares[away[:, 0] > REACH] = np.nan
    return np.asarray(shares)


def regions_of(shares: Floats, frame: Frame, classes: list[str], *, exact: bool) -> Regions:
    """Return the cells and the lines between them."""
    grid = shares.reshape(ROWS, COLUMNS, -1)
    seen = ~np.isnan(grid[..., 0])
    cells = np.where(seen, np.argmax(np.nan_to_num(grid), axis=2), -1)
    (left, right), (bottom, top) = frame
    start, step = np.array([left, bottom]), np.array([right - left, top - bottom])
    lines = []
    # Each class against those after it, so that a boundary is drawn once.
    for code in range(len(classes) - 1):
        lead = np.where(cells < code, np.nan, grid[..., code] - grid[..., code + 1 :].max(axis=2))
        for line in contours(lead):
            places = start + (line + 0.5) / [COLUMNS, ROWS] * step
            lines.append(tuple((float(x), float(y)) for x, y in places))
    rows = tuple(map(tuple, cells.tolist()))
    return Regions(tuple(classes), frame[0], frame[1], rows, tuple(lines), exact)


def contours(heights: Floats) -> list[Floats]:
    """Return where heights on a grid are zero, as lines of (column, row); nan has no line."""
    contourpy = require("contourpy", "a report", "report")
    generator = contourpy.contour_generator(z=np.ma.masked_invalid(heights))
    return list(generator.lines(0.0))


def _axes(projection: Projection) -> tuple[str, str]:
    (first, second), components = projection.labels, projection.components
    if components is None:
        return first, second
    along, across = (f"{share:.0%} of the variance" for share in components.variance_shares)
    return f"{first}, {along}", f"{second}, {across}"


def _two(features: object) -> list[object]:
    listed = list(features) if isinstance(features, (list, tuple)) else [features]
    if len(listed) != DIMENSIONS or listed[0] == listed[1]:
        raise TableError(
            f"features must name two different columns for the map, got {features!r}; "
            "give for example ('age', 'dose'), or None for principal components"
        )
    return listed


def _shown(balanced: BalancedTable) -> tuple[Integers, Integers]:
    """Return which real and which new rows to draw: as many of each class, evenly spread."""
    n_classes, n_real, codes = len(balanced.classes), balanced.n_real, balanced.codes
    chosen = []
    for start, stop, most in ((0, n_real, MOST_REAL), (n_real, len(codes), MOST_NEW)):
        rows = [np.zeros(0, dtype=np.intp)]
        for code in range(n_classes):
            places = start + np.flatnonzero(codes[start:stop] == code)
            rows.append(places[spread_evenly(len(places), max(1, most // n_classes))])
        chosen.append(np.concatenate(rows))
    return chosen[0], chosen[1]


def _inside(points: Floats, frame: Frame) -> Mask:
    low, high = (np.array([side[end] for side in frame]) for end in (0, 1))
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))


def _regions(
    balanced: BalancedTable, projection: Projection, rows: Integers, points: Floats, frame: Frame
) -> Regions:
    """Return which part of the map f gives to which class."""
    f, table, classes = balanced.sampler.estimator_, balanced.table, balanced.classes
    exact = projection.features is not None and len(table.names) == DIMENSIONS
    if exact:
        answers = np.asarray(f.predict(projection.rows_at(centres(frame))))
        shares = (answers[:, None] == classes[None, :]).astype(np.float64)
    else:
        answers = np.asarray(f.predict(containers.take(table.native, rows)))
        place = np.minimum(np.searchsorted(classes, answers), len(classes) - 1)
        # A classifier that was fitted elsewhere may answer a class that y does not have.
        known = classes[place] == answers
        shares = shares_nearby(points[known], place[known], len(classes), frame)
    return regions_of(shares, frame, balanced.labels, exact=exact)


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


# Bounds of the explorer: columns, and rows by how many columns there are.
MOST_COLUMNS = 40
MOST_CELLS = 7500
FEWEST_ROWS, MOST_ROWS = 60, 250
# Features that the ranking shows.
MOST_FEATURES = 30
# New rows that are looked at together.
BLOCK = 2**15
MISSING = "—"
# Texts longer than this are cut: a cell is to be recognised, not to be read out.
LONGEST = 60
# Numbers that are written in full: money, not the distances of stars.
LARGE, TOO_LARGE = 1e4, 1e12
# Digits to try, one after the other, until two values that differ look different.
DIGITS = (4, 6, 9, 17)


def explore(provenance: Provenance, table: Table) -> Explorer:
    """Return new rows, spread evenly over all and sorted by distance, beside their real rows."""
    columns = _by_count(_changes(provenance))[:MOST_COLUMNS]
    n_rows = int(np.clip(MOST_CELLS // max(len(columns), 1), FEWEST_ROWS, MOST_ROWS))
    shown = spread_evenly(len(provenance), n_rows)
    shown = shown[np.argsort(provenance["distance"][shown], kind="stable")]
    changed = provenance[shown].changed_mask()[:, columns]
    old, new = (
        [cells_at(table.native, m, provenance[which][shown]) for m in columns]
        for which in ("factual", "sample")
    )
    rows = []
    for place, at in enumerate(shown.tolist()):
        mask = changed[place]
        texts = [
            pair_as_text(old[k][place], new[k][place]) if differs else (as_text(old[k][place]),) * 2
            for k, differs in enumerate(mask)
        ]
        facts = provenance[at]
        row = NewRow(
            sample=facts["sample"],
            factual=facts["factual"],
            name=_name(table.native, facts["factual"]),
            from_class=str(facts["from_class"]),
            to_class=str(facts["to_class"]),
            origin=facts["origin"],
            distance=facts["distance"] if math.isfinite(facts["distance"]) else None,
            old=tuple(before for before, _ in texts),
            new=tuple(after for _, after in texts),
            changed=tuple(np.flatnonzero(mask).tolist()),
        )
        rows.append(row)
    names = tuple(str(table.names[m]) for m in columns)
    return Explorer(names, tuple(rows), len(provenance), len(table.names) - len(columns))


def rank_features(provenance: Provenance, table: Table) -> Features:
    """Return which features change most in rows that f calls their new class, or in all."""
    inverted = np.flatnonzero(provenance["origin"].astype(str) == "inversion")
    some = provenance[inverted] if inverted.size else provenance
    counts = _changes(some)
    order = [m for m in _by_count(counts) if counts[m]]
    top = order[:MOST_FEATURES]
    changed = np.vstack([block.changed_mask()[:, top] for block in _blocks(some)])
    rows = [
        FeatureChange(
            str(table.names[m]),
            float(counts[m] / len(some)),
            _typical(table, m, some["factual"], some["sample"], changed[:, place]),
        )
        for place, m in enumerate(top)
    ]
    left_out = max(0, len(order) - MOST_FEATURES)
    return Features(tuple(rows), len(some), left_out, bool(inverted.size))


def cells_changed(provenance: Provenance) -> Integers:
    """Return how many cells of each new row differ from those of its factual."""
    return np.concatenate([block.changed_mask().sum(axis=1) for block in _blocks(provenance)])


def cells_at(X: Any, m: int, positions: Integers) -> list[Any]:
    """Return cells of the ``m``-th column of a table of any kind, as Python values."""
    column = containers.take(frames.column(X, m), positions)
    if hasattr(column, "toarray"):
        column = column.toarray().ravel()
    return [plain(cell) for cell in np.asarray(column, dtype=object).ravel().tolist()]


def as_text(value: Any, digits: int = DIGITS[0]) -> str:
    """Return a value as text: a number short, a missing one as a dash.

    >>> as_text(0.1 + 0.2), as_text(float("nan")), as_text(True)
    ('0.3', '—', 'True')
    """
    value = plain(value)
    if isinstance(value, float):
        if np.isnan(value):
            return MISSING
        in_full = digits == DIGITS[0] and LARGE <= abs(value) < TOO_LARGE
        return f"{value:.0f}" if in_full else f"{value:.{digits}g}"
    alone = np.empty(1, dtype=object)
    alone[0] = value
    if frames.missing(alone)[0]:
        return MISSING
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def pair_as_text(old: Any, new: Any) -> tuple[str, str]:
    """Return two different values as texts that differ, too.

    >>> pair_as_text(1.00001, 1.00002)
    ('1.00001', '1.00002')
    """
    for digits in DIGITS:
        texts = as_text(old, digits), as_text(new, digits)
        if texts[0] != texts[1]:
            return texts
    return texts


def _blocks(provenance: Provenance) -> Iterator[Provenance]:
    """Cut the provenance up: a mask of all cells of a large wide table would not fit."""
    return (provenance[start : start + BLOCK] for start in range(0, len(provenance), BLOCK))


def _changes(provenance: Provenance) -> Integers:
    """Return how often each feature changed."""
    counts = [block.changed_mask().sum(axis=0) for block in _blocks(provenance)]
    return np.asarray(np.sum(counts, axis=0))


def _by_count(counts: Integers) -> list[int]:
    """Return the features, the most often changed first; ties keep the table's order."""
    order: list[int] = np.argsort(-counts, kind="stable").tolist()
    return order


def _name(X: Any, position: int) -> str:
    """Return the label of a row in the index of a pandas frame, if it says more than a place."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return ""
    label = as_text(index[position])
    return "" if label == str(position) else label


def _typical(table: Table, m: int, factual: Integers, sample: Integers, changed: Mask) -> str:
    """Say what the change of a feature is like."""
    factual, sample = factual[changed], sample[changed]
    if table.kinds[m].has_levels:
        pairs = Counter(
            zip(cells_at(table.native, m, factual), cells_at(table.native, m, sample), strict=True)
        )
        # Of equally frequent changes the first by its text, so that the order of rows is no matter.
        (old, new), count = min(pairs.items(), key=lambda item: (-item[1], str(item[0])))
        return f"{as_text(old)} → {as_text(new)} in {count / len(factual):.0%}"
    column = table.column(m)
    step = column[sample] - column[factual]
    step = step[~np.isnan(step)]
    if not step.size:
        return "filled in"
    up = float(np.mean(step > 0))
    way = f"up in {up:.0%}" if up >= 0.5 else f"down in {1 - up:.0%}"  # noqa: PLR2004
    return f"by {as_text(float(np.median(np.abs(step))))}, {way}"
