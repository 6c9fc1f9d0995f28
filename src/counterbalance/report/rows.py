"""Rows of a page: new rows beside their real rows, and the features that changed."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.displays.drawing import shortened
from counterbalance.displays.projection import spread_evenly
from counterbalance.rows.provenance import Provenance
from counterbalance.table import containers, frames
from counterbalance.table.labels import plain
from counterbalance.table.table import Table

# Limits: columns, and rows depending on the number of columns; features in the ranking.
MOST_COLUMNS, MOST_CELLS, FEWEST_ROWS, MOST_ROWS = 40, 7500, 60, 250
MOST_FEATURES = 30
BLOCK = 2**15  # new rows that are processed at a time
MISSING = "—"
LONGEST = 60  # characters of a cell that are shown
# Digits to try, one after the other, until two values that differ look different.
DIGITS = (4, 6, 9, 17)
SMALL, LARGE = 1e-4, 1e15  # numbers between them are written without an exponent


def explore(provenance: Provenance, table: Table) -> dict[str, Any]:
    """Return new rows, evenly chosen and sorted by distance, beside their real rows."""
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
        facts, mask = provenance[at], changed[place]
        texts = [
            pair_as_text(old[k][place], new[k][place]) if differs else (as_text(old[k][place]),) * 2
            for k, differs in enumerate(mask)
        ]
        rows.append(
            {
                "sample": facts["sample"],
                "factual": facts["factual"],
                "name": _name(table.native, facts["factual"]),
                "from_class": str(facts["from_class"]),
                "to_class": str(facts["to_class"]),
                "origin": facts["origin"],
                "distance": facts["distance"] if math.isfinite(facts["distance"]) else None,
                "old": [before for before, _ in texts],
                "new": [after for _, after in texts],
                "changed": np.flatnonzero(mask).tolist(),
            }
        )
    return {
        "columns": [str(table.names[m]) for m in columns],
        "rows": rows,
        "total": len(provenance),
        "columns_left_out": len(table.names) - len(columns),
    }


def rank_features(provenance: Provenance, table: Table) -> dict[str, Any]:
    """Return which features change most in the counterfactuals; without any, in all new rows."""
    inverted = np.flatnonzero(provenance["origin"].astype(str) == "inversion")
    some = provenance[inverted] if inverted.size else provenance
    counts = _changes(some)
    order = [m for m in _by_count(counts) if counts[m]]
    top = order[:MOST_FEATURES]
    changed = np.vstack([block.changed_mask()[:, top] for block in _blocks(some)])
    rows = []
    for place, m in enumerate(top):
        pair = (some[which][changed[:, place]] for which in ("factual", "sample"))
        share = float(counts[m] / len(some))
        rows.append(
            {"name": str(table.names[m]), "share": share, "typical": _typical(table, m, *pair)}
        )
    left_out = max(0, len(order) - MOST_FEATURES)
    return {"rows": rows, "total": len(some), "left_out": left_out, "inverted": bool(inverted.size)}


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
    """Return a value as text: a number with few decimals, a missing value as a dash.

    >>> as_text(0.1 + 0.2), as_text(111398.7), as_text(float("nan")), as_text(True)
    ('0.3', '111399', '—', 'True')
    """
    value = plain(value)
    if isinstance(value, float) and not np.isnan(value):
        if not SMALL <= abs(value) < LARGE:
            return f"{value:.{digits}g}"
        digits = max(digits, math.floor(math.log10(abs(value))) + 1)
        return np.format_float_positional(value, digits, fractional=False, trim="-")
    alone = np.empty(1, dtype=object)
    alone[0] = value
    return MISSING if frames.missing(alone)[0] else shortened(str(value), LONGEST)


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
    """Split the provenance: a mask of all cells of a large wide table would not fit in memory."""
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
    """Return the label of a row in the index of a pandas frame, unless it is its position."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return ""
    label = as_text(index[position])
    return "" if label == str(position) else label


def _typical(table: Table, m: int, factual: Integers, sample: Integers) -> str:
    """Describe the typical change of a feature."""
    if table.kinds[m].has_levels:
        pairs = Counter(
            zip(cells_at(table.native, m, factual), cells_at(table.native, m, sample), strict=True)
        )
        # Break ties by the text of the change, so that the order of rows does not matter.
        (old, new), count = min(pairs.items(), key=lambda item: (-item[1], str(item[0])))
        return f"{as_text(old)} → {as_text(new)} in {count / len(factual):.0%}"
    column = table.column(m)
    step = column[sample] - column[factual]
    step = step[~np.isnan(step)]
    if not step.size:
        return "filled in"
    up = float(np.mean(step > 0))
    direction = f"up in {up:.0%}" if up >= 0.5 else f"down in {1 - up:.0%}"  # noqa: PLR2004
    return f"by {as_text(float(np.median(np.abs(step))))}, {direction}"
