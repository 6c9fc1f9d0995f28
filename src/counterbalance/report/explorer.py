"""Twins: new rows beside the real rows they came from, and which features changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers
from counterbalance.report.cells import as_text, cells_at, pair_as_text
from counterbalance.rows.provenance import Provenance
from counterbalance.table.table import Table

# Bounds of the explorer: columns, and rows by how many columns there are.
MOST_COLUMNS = 40
MOST_CELLS = 7500
FEWEST_ROWS, MOST_ROWS = 60, 250
# Features that the ranking shows.
MOST_FEATURES = 30
# New rows that are looked at together.
BLOCK = 2**15


def explore(provenance: Provenance, table: Table) -> dict[str, Any]:
    """Return new rows, spread evenly over all and sorted by distance, with their twins."""
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
        rows.append(
            {
                "sample": facts["sample"],
                "factual": facts["factual"],
                "name": _name(table.native, facts["factual"]),
                "from_class": str(facts["from_class"]),
                "to_class": str(facts["to_class"]),
                "origin": facts["origin"],
                "distance": facts["distance"],
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
    """Return which features change most in rows that went over to another class, or in all."""
    inverted = np.flatnonzero(provenance["from_class"] != provenance["to_class"])
    some = provenance[inverted] if inverted.size else provenance
    counts = _changes(some)
    order = [m for m in _by_count(counts) if counts[m]]
    top = order[:MOST_FEATURES]
    changed = np.vstack([block.changed_mask()[:, top] for block in _blocks(some)])
    rows = [
        {
            "name": str(table.names[m]),
            "share": float(counts[m] / len(some)),
            "typical": _typical(table, m, some["factual"], some["sample"], changed[:, place]),
        }
        for place, m in enumerate(top)
    ]
    return {
        "rows": rows,
        "total": len(some),
        "left_out": max(0, len(order) - MOST_FEATURES),
        "inverted": bool(inverted.size),
    }


def cells_changed(provenance: Provenance) -> Integers:
    """Return how many cells of each new row differ from those of its factual."""
    return np.concatenate([block.changed_mask().sum(axis=1) for block in _blocks(provenance)])


def spread_evenly(n: int, most: int) -> Integers:
    """Return at most ``most`` of the places 0 to n - 1, evenly apart."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


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


def _typical(
    table: Table, m: int, factual: Integers, sample: Integers, changed: NDArray[np.bool_]
) -> str:
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
