"""Summary: the result of a fitted sampler as a dictionary of texts, numbers and plots."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers
from counterbalance.compare.results import CITATION, versions
from counterbalance.constraints import tell_constraints
from counterbalance.displays import BoundaryDisplay, CounterfactualDisplay
from counterbalance.report.page import SummaryError, as_svg
from counterbalance.report.rows import cells_changed, explore, rank_features
from counterbalance.rows.origins import (
    MOST_PER_ROW,
    MOST_PER_ROW_AT_ALL,
    add_counts,
    all_inflated,
    ask_for_fewer,
    count_origins,
    most_from_one,
    tell_inflated,
    tell_origins,
)
from counterbalance.rows.provenance import Provenance
from counterbalance.table import frames
from counterbalance.table.labels import in_words, plain, read_labels
from counterbalance.table.table import Table, read_table

# Classes that the headline names, and features that a sentence does.
MOST_NAMED = 3
HEADS = {"inversion": "counterfactuals", "interior": "within_the_class", "copy": "copies"}
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "polars")
COUNTERFACTUAL = (
    "A counterfactual says what the classifier would answer, not what would happen in the world."
)
HELPS = "Whether new rows help a classifier is another question: counterbalance compare answers it."
MAP_HEIGHT = 4.6  # inches


def summarise_sampler(
    sampler: Any,
    X: Any,
    y: Any,
    X_resampled: Any,
    y_resampled: Any,
    *,
    features: Any = None,
    alone: bool = False,
    file: str = "",
    target: str = "",
    reproduce: str = "",
    notes: Sequence[str] = (),
    rows: bool = True,
) -> dict[str, Any]:
    """Summarise a fitted sampler: a map of the rows, new rows beside real rows, features.

    Parameters
    ----------
    sampler : CounterfactualOverSampler or InteriorOverSampler
        Fitted: it made ``X_resampled`` and ``y_resampled`` from ``X`` and ``y``.
    X, y, X_resampled, y_resampled
        What went into ``fit_resample`` and what came out.
    features : two columns, default=None
        Names or positions of the axes of the map. ``None`` takes principal components.
    alone : bool, default=False
        Whether these are the only sections of the report: adds title, verdict, data, settings,
        versions, citation and command.
    file, target, reproduce : str
        Name of the table and of its target, and the command that made this, if ``alone``.
    notes : sequence of str
        What was found in the table, if ``alone``.
    rows : bool, default=True
        Whether rows may be shown, real ones and new ones: without them there is no map, no
        explorer and no example.

    Returns
    -------
    summary : dict
        Plain values, as JSON holds them, that `render` shows.
    """
    balanced = read_balanced(sampler, X, y, X_resampled, y_resampled)
    provenance, table = balanced.provenance, balanced.table
    summary: dict[str, Any] = {}
    if rows and len(table.names) > 1:
        summary["map"] = draw_maps(balanced, y_resampled, features)
    if len(provenance):
        summary["features"] = rank_features(provenance, table)
        if rows:
            summary["explorer"] = explore(provenance, table)
    if not alone:
        return summary
    return summary | {
        "title": f"Balanced: {file}" if file else "A balanced table",
        "verdict": tell_result(balanced, summary),
        "data": describe_data(balanced, file, target, notes),
        "settings": {name: repr(value) for name, value in sampler.get_params(deep=False).items()},
        "versions": {name: text for name, text in versions(PACKAGES).items() if text != "absent"},
        "reproduce": reproduce,
        "cite": CITATION,
    }


@dataclass(frozen=True, eq=False)
class BalancedTable:
    """The input and the output of a fitted sampler."""

    sampler: Any  # the fitted sampler
    table: Table  # the real rows, and the new ones below
    codes: Integers  # the class of each of these rows, as a place in `classes`
    classes: NDArray[Any]  # the labels in sorted order
    n_real: int  # how many rows are real

    @property
    def provenance(self) -> Provenance:
        """Where each new row comes from."""
        found: Provenance = self.sampler.provenance_
        return found

    def counts(self, *, new: bool) -> dict[Any, int]:
        """Return how many rows each class has, real or new."""
        part = self.codes[self.n_real :] if new else self.codes[: self.n_real]
        counted = np.bincount(part, minlength=len(self.classes)).tolist()
        return dict(zip(map(plain, self.classes), counted, strict=True))


def read_balanced(
    sampler: Any, X: Any, y: Any, X_resampled: Any, y_resampled: Any
) -> BalancedTable:
    """Check that the tables and the sampler belong together, and read them."""
    provenance = getattr(sampler, "provenance_", None)
    if not isinstance(provenance, Provenance):
        raise SummaryError(
            f"sampler must be a sampler of counterbalance after fit_resample, got "
            f"{type(sampler).__name__} without provenance_; call its fit_resample first"
        )
    before, after = [_length(X), _length(y)], [_length(X_resampled), _length(y_resampled)]
    if {n + len(provenance) for n in before} != set(after):
        raise SummaryError(
            f"X and y have {before[0]} and {before[1]} rows, X_resampled and y_resampled have "
            f"{after[0]} and {after[1]}, but the sampler made {len(provenance)} more; pass what "
            "went into its last fit_resample and what came out"
        )
    table = read_table(
        frames.from_list(X_resampled) if isinstance(X_resampled, list) else X_resampled,
        categorical_features=sampler.categorical_features,
    )
    labels = read_labels(y_resampled)
    return BalancedTable(sampler, table, labels.codes, labels.classes, before[0])


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def draw_maps(balanced: BalancedTable, y: Any, features: Any) -> list[dict[str, str]]:
    """Return pictures: all rows with the decision boundary, and pairs where there are any."""
    sampler, X = balanced.sampler, balanced.table.native

    def boundary(ax: Any) -> None:
        BoundaryDisplay.from_sampler(sampler, X, y, features=features, ax=ax)

    maps = [
        {
            "svg": as_svg(boundary, MAP_HEIGHT),
            "title": "Real and new rows with the decision boundary",
            "text": "A tint is what the classifier (f in the paper) predicts for most of "
            "the rows nearby. f sees every column, the map two dimensions: a row can "
            "lie on the wrong side here and on the right one for f.",
        }
    ]
    if "inversion" in balanced.provenance["origin"].astype(str):
        maps.append(
            {
                "svg": as_svg(
                    lambda ax: CounterfactualDisplay.from_sampler(sampler, X, y, ax=ax), MAP_HEIGHT
                ),
                "title": "Counterfactuals joined to the real rows that they were made from",
                "text": "The two columns that change most often. An arrow leads from a real row "
                "to its counterfactual.",
            }
        )
    return maps


def tell_result(balanced: BalancedTable, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the section "verdict" of a page that has these sections."""
    counts = count_origins(balanced.provenance)
    total = add_counts(list(counts.values()))
    caveats = [COUNTERFACTUAL, HELPS] if total["inversion"] else [HELPS]
    explorer = summary.get("explorer")
    return {
        "headline": headline(balanced),
        "sentences": [
            *tell_origins(total, most=most_from_one(balanced.provenance)),
            *_changes(balanced, summary.get("features"), example=explorer is not None),
            *_outliers(balanced),
            *filter(None, [tell_constraints(getattr(balanced.sampler, "constraints", None))]),
        ],
        "caveats": [*_inflated(balanced, counts), *caveats, *_privacy(balanced, explorer)],
    }


def headline(balanced: BalancedTable) -> str:
    """Say how many rows were added, and how many each class has now."""
    real, new = balanced.counts(new=False), balanced.counts(new=True)
    added, grown = sum(new.values()), [label for label in new if new[label]]
    if not added:
        return "No rows added: no class needed any"
    rows = f"{added:,} {'row' if added == 1 else 'rows'} added"
    now = {label: real[label] + new[label] for label in real}
    if len(set(now.values())) == 1:
        every = "both" if len(now) == 2 else f"all {len(now)}"  # noqa: PLR2004
        return f"{rows}; {every} classes now have {now[grown[0]]:,}"
    if len(grown) > MOST_NAMED:
        return f"{rows} to {len(grown)} of {len(now)} classes"
    named = ", ".join(f"{in_words(label)} now has {now[label]:,}" for label in grown)
    return f"{rows}; {named}"


def _inflated(balanced: BalancedTable, counts: dict[Any, dict[str, int]]) -> list[str]:
    """Warn about classes that got too many new rows for each real one."""
    rows = balanced.counts(new=False)
    searched = hasattr(balanced.sampler, "on_shortfall")
    found = all_inflated(counts, rows, MOST_PER_ROW if searched else MOST_PER_ROW_AT_ALL)
    if not found:
        return []
    ratios = " ".join(
        f"--ratio {shlex.quote(f'{one.label}={one.most}')}" for one in found[:MOST_NAMED]
    )
    remedy = f"{ask_for_fewer(found, counts, rows)}; on the command line {ratios}"
    return [f"Warning: {tell_inflated(found, remedy)}."]


def describe_data(
    balanced: BalancedTable, file: str, target: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the section "data": classes before and after, and columns."""
    table, columns = balanced.table, []
    for m, name in enumerate(table.names):
        column = table.column(m)[: balanced.n_real]
        known = column[~np.isnan(column)]
        facts = {"missing": len(column) - len(known), "distinct": len(np.unique(known))}
        columns.append({"name": str(name), "kind": table.kinds[m].value, **facts})
    real, new = balanced.counts(new=False), balanced.counts(new=True)
    origins = count_origins(balanced.provenance)
    made = [origin for origin in HEADS if any(counts[origin] for counts in origins.values())]
    yields = getattr(balanced.sampler, "yield_", {})
    classes = []
    for label, count in real.items():
        item = {"label": str(label), "count": count, "new": new[label]}
        item["after"] = count + new[label]
        item |= {HEADS[origin]: origins.get(label, {}).get(origin, 0) for origin in made}
        if yields:
            found = [got for (_, smaller), got in yields.items() if plain(smaller) == label]
            item["rows_searched"] = sum(got.factuals for got in found)
            item["inverted"] = sum(got.inversions for got in found)
        classes.append(item)
    return {
        "file": file,
        "target": target,
        "rows": balanced.n_real,
        "classes": classes,
        "columns": columns,
        "notes": [*notes, *_relations(balanced.sampler)],
    }


def _relations(sampler: Any) -> list[str]:
    """List the relations that nearly all rows keep, and the new rows with them."""
    found = getattr(sampler, "relations_", [])
    if not found:
        return []
    listed = "; ".join(f"{one.text} ({one.kept:.1%} of the rows)" for one in found)
    what = f"Found in the table and kept by every new row: {listed}."
    return [f"{what} --ignore-relation (ignore_relations in Python) ignores one."]


def _outliers(balanced: BalancedTable) -> list[str]:
    """Say how many new rows lie farther out than nearly all real ones of their class."""
    score = balanced.provenance["outlier_to"]
    score = score[~np.isnan(score)]
    if not len(score):
        return []
    far = f"{np.mean(score > 1):.0%} of the new rows lie farther out"
    return [f"{far} than 95% of the real rows of their class."]


def _changes(
    balanced: BalancedTable, features: dict[str, Any] | None, *, example: bool
) -> list[str]:
    """Say which features change most, and the nearest new row."""
    if features is None:
        return []
    most = [f"{row['name']} ({row['share']:.0%})" for row in features["rows"][:MOST_NAMED]]
    often = f"What changes most often: {', '.join(most)}."
    if not example:
        return [often]
    provenance = balanced.provenance
    # Prefer a counterfactual: a copy is nearer, but shows no change.
    other = provenance["origin"].astype(str) != "inversion"
    nearest = provenance[[int(np.lexsort((provenance["distance"], other))[0])]]
    return [often, f"The nearest: {nearest.sentences(balanced.table.native)[0]}."]


def _privacy(balanced: BalancedTable, explorer: dict[str, Any] | None) -> list[str]:
    """Say how near the new rows are to real ones, and how many real rows the page shows."""
    if not len(balanced.provenance):
        return []
    n_columns = len(balanced.table.names)
    same = n_columns - int(np.median(cells_changed(balanced.provenance)))
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
        "--no-rows (rows=False in Python) leaves them out."
    )
    return [near, shown]
