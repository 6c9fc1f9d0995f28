"""Explorer: new rows beside the real rows they came from, and which features changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from counterbalance.arrays import Integers, Mask
from counterbalance.projection import spread_evenly
from counterbalance.report.records import Explorer, FeatureChange, Features, NewRow
from counterbalance.rows.origins import CALLED
from counterbalance.rows.provenance import Provenance
from counterbalance.table import containers, frames
from counterbalance.table.labels import plain
from counterbalance.table.table import Table

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
    old = _cells(table, columns, provenance["factual"][shown])
    new = _cells(table, columns, provenance["sample"][shown])
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
    inverted = np.flatnonzero(np.isin(provenance["origin"].astype(str), CALLED))
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


def _cells(table: Table, columns: list[int], positions: Integers) -> list[list[Any]]:
    return [cells_at(table.native, m, positions) for m in columns]


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
