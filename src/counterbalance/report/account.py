"""Account: what a sampler did in words and numbers, for a page of its own."""

from __future__ import annotations

import platform
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import counterbalance
from counterbalance.labels import plain
from counterbalance.report.resampled import Resampled
from counterbalance.report.twins import cells_changed

# Classes that the headline names, and features that a sentence does.
MOST_NAMED = 3
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "polars")
CITE = (
    "Luo and Liu, Counterfactual-based minority oversampling for imbalanced classification. "
    f"Computed with counterbalance {counterbalance.__version__}."
)
COUNTERFACTUAL = (
    "A counterfactual says what the classifier would answer, not what would happen in the world."
)
HELPS = "Whether new rows help a classifier is another question: counterbalance compare answers it."


def tell_result(
    resampled: Resampled, features: dict[str, Any] | None, explorer: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the section "verdict"; ``features`` and ``explorer`` are the sections of that name."""
    counts = [
        (resampled.count(code, new=True), label) for code, label in enumerate(resampled.labels)
    ]
    grown = [f"{count:,} new rows of {label}" for count, label in counts if count]
    if len(grown) > MOST_NAMED:
        grown[MOST_NAMED:] = [f"more of {len(grown) - MOST_NAMED} other classes"]
    sentences = [
        f"{got.inversions:,} of {got.factuals:,} {plain(larger)} rows could be turned into "
        f"{plain(smaller)}; {got.used:,} of these were used."
        for (larger, smaller), got in getattr(resampled.sampler, "yield_", {}).items()
    ]
    any_inversion = "inversion" in resampled.provenance["origin"]
    return {
        "headline": ", ".join(grown) or "No new rows: no class asked for any",
        "sentences": [
            *sentences,
            *_others(resampled),
            *_changes(resampled, features, example=explorer is not None),
        ],
        "caveats": [
            *([COUNTERFACTUAL] if any_inversion else []),
            HELPS,
            *_privacy(resampled, explorer),
        ],
    }


def describe_data(resampled: Resampled, file: str, target: str) -> dict[str, Any]:
    """Return the section "data"."""
    table = resampled.table
    columns = []
    for m, name in enumerate(table.names):
        column = table.column(m)[: resampled.n_real]
        known = column[~np.isnan(column)]
        columns.append(
            {
                "name": str(name),
                "kind": table.kinds[m].value,
                "missing": len(column) - len(known),
                "distinct": len(np.unique(known)),
            }
        )
    classes = [
        {
            "label": label,
            "count": resampled.count(code, new=False),
            "new": resampled.count(code, new=True),
        }
        for code, label in enumerate(resampled.labels)
    ]
    rows = resampled.n_real
    return {"file": file, "target": target, "rows": rows, "classes": classes, "columns": columns}


def settings_of(sampler: Any) -> dict[str, str]:
    """Return the parameters of a sampler as texts."""
    return {name: repr(value) for name, value in sampler.get_params(deep=False).items()}


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of those that it computes with."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _others(resampled: Resampled) -> list[str]:
    """Say which rows are no plain inversions."""
    origins = Counter(map(str, resampled.provenance["origin"]))
    what = (
        "are no plain inversions but were made by the policy for shortfalls"
        if hasattr(resampled.sampler, "on_shortfall")
        else "are no counterfactuals but were made within their class"
    )
    return [
        f"{count:,} rows {what}: {origin}."
        for origin, count in sorted(origins.items())
        if origin != "inversion"
    ]


def _changes(resampled: Resampled, features: dict[str, Any] | None, *, example: bool) -> list[str]:
    """Say which features change most, and the nearest new row."""
    if features is None:
        return []
    most = [f"{row['name']} ({row['share']:.0%})" for row in features["rows"][:MOST_NAMED]]
    often = f"What changes most often: {', '.join(most)}."
    if not example:
        return [often]
    provenance = resampled.provenance
    nearest = provenance[[int(np.argmin(provenance["distance"]))]]
    return [often, f"The nearest: {next(iter(nearest.sentences(resampled.table.native)))}."]


def _privacy(resampled: Resampled, explorer: dict[str, Any] | None) -> list[str]:
    """Say how near the new rows are to real ones, and which real rows stand on the page."""
    if not len(resampled.provenance):
        return []
    n_columns = len(resampled.table.names)
    same = n_columns - int(np.median(cells_changed(resampled.provenance)))
    near = (
        "New rows are near copies of real ones and not anonymous: half of them share at least "
        f"{same:,} of {n_columns:,} cells with the real row that they were made from. Treat the "
        "balanced table as you treat the original."
    )
    if explorer is None:
        return [near]
    real = len({row["factual"] for row in explorer["rows"]})
    shown = (
        f"This page shows {real:,} real rows with their values: whoever gets the page gets them. "
        "--no-rows (rows=False in Python) makes it without."
    )
    return [near, shown]
