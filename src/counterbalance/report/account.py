"""Account: what a sampler did in words and numbers, for a page of its own."""

from __future__ import annotations

import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import counterbalance
from counterbalance.report.explorer import cells_changed
from counterbalance.report.resampled import Resampled
from counterbalance.rows.origins import (
    CALLED,
    MOST_PER_ROW,
    MOST_PER_ROW_WITHIN,
    add_counts,
    all_inflated,
    ask_for_fewer,
    count_nearest,
    count_origins,
    most_from_one,
    tell_inflated,
    tell_origins,
)
from counterbalance.search.problem import Yield
from counterbalance.table.labels import plain

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
    counts = count_origins(resampled.provenance)
    total = add_counts(list(counts.values()))
    caveats = [COUNTERFACTUAL, HELPS] if any(total[origin] for origin in CALLED) else [HELPS]
    return {
        "headline": _headline(resampled, total),
        "sentences": [
            *tell_origins(total, most=most_from_one(resampled.provenance)),
            *_yields(getattr(resampled.sampler, "yield_", {})),
            *_changes(resampled, features, example=explorer is not None),
        ],
        "caveats": [*_inflated(resampled, counts), *caveats, *_privacy(resampled, explorer)],
    }


def _headline(resampled: Resampled, total: dict[str, int]) -> str:
    """Say how many rows there are of which class, and how many of them are minimum inversions."""
    counts = [
        (resampled.count(code, new=True), label) for code, label in enumerate(resampled.labels)
    ]
    grown = [f"{count:,} new rows of {label}" for count, label in counts if count]
    if not grown:
        return "No new rows: no class asked for any"
    if len(grown) > MOST_NAMED:
        grown[MOST_NAMED:] = [f"more of {len(grown) - MOST_NAMED} other classes"]
    named, found = ", ".join(grown), count_nearest(total)
    if found == sum(total.values()):
        return f"{named}, all of them minimum inversions"
    searched = hasattr(resampled.sampler, "on_shortfall")
    what = f"{found:,} minimum inversions" if found else "no minimum inversion"
    return f"{named}; {what} among them" if searched else f"{named}, made within their class"


def _yields(yields: dict[tuple[Any, Any], Yield]) -> list[str]:
    """Say of each pair of classes what the search gave; of many pairs, by the class it gave to."""
    if len(yields) <= MOST_NAMED:
        return [
            f"{got.inversions:,} of {got.factuals:,} {plain(larger)} rows could be turned into "
            f"{plain(smaller)}; {got.used:,} of these were used."
            for (larger, smaller), got in yields.items()
        ]
    by_class: dict[Any, list[Yield]] = {}
    for (_, smaller), got in yields.items():
        by_class.setdefault(plain(smaller), []).append(got)
    return [
        f"{sum(one.inversions for one in got):,} of {sum(one.factuals for one in got):,} rows of "
        f"larger classes could be turned into {label}; {sum(one.used for one in got):,} of these "
        "were used."
        for label, got in by_class.items()
    ]


def _inflated(resampled: Resampled, counts: dict[Any, dict[str, int]]) -> list[str]:
    """Warn of classes that got far more rows than their real ones bear out."""
    searched = hasattr(resampled.sampler, "on_shortfall")
    rows = {
        plain(label): resampled.count(code, new=False)
        for code, label in enumerate(resampled.classes)
    }
    most = MOST_PER_ROW if searched else MOST_PER_ROW_WITHIN
    found = all_inflated(counts, rows, most)
    if not found:
        return []
    ratios = " ".join(
        f"--ratio {shlex.quote(f'{one.label}={one.most}')}" for one in found[:MOST_NAMED]
    )
    remedy = f"{ask_for_fewer(found, counts, rows)}; on the command line {ratios}"
    return [f"Warning: {tell_inflated(found, remedy)}."]


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


def _changes(resampled: Resampled, features: dict[str, Any] | None, *, example: bool) -> list[str]:
    """Say which features change most, and the nearest new row."""
    if features is None:
        return []
    most = [f"{row['name']} ({row['share']:.0%})" for row in features["rows"][:MOST_NAMED]]
    often = f"What changes most often: {', '.join(most)}."
    if not example:
        return [often]
    provenance = resampled.provenance
    # A row that f calls its class is nearest, if there is one: a copy is nearer and says nothing.
    other = ~np.isin(provenance["origin"].astype(str), CALLED)
    nearest = provenance[[int(np.lexsort((provenance["distance"], other))[0])]]
    return [often, f"The nearest: {nearest.sentences(resampled.table.native)[0]}."]


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
