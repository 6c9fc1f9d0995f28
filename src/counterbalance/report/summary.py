"""Summary: what a fitted sampler did, in words, numbers and pictures, as the records of a page."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterbalance.compare.results import CITATION, versions
from counterbalance.constraints import tell_constraints
from counterbalance.report.plain import ClassCount, ColumnFacts, Data, Verdict
from counterbalance.report.records import (
    BalancedTable,
    Explorer,
    Features,
    Origins,
    Page,
    read_balanced,
)
from counterbalance.report.sections import cells_changed, explore, map_rows, rank_features
from counterbalance.rows.origins import (
    HEADS,
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
from counterbalance.samplers.counterfactual import Yield
from counterbalance.table.labels import in_words, plain, rows_of

# Classes that the headline names, and features that a sentence does.
MOST_NAMED = 3
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "polars")
COUNTERFACTUAL = (
    "A counterfactual says what the classifier would answer, not what would happen in the world."
)
HELPS = "Whether new rows help a classifier is another question: counterbalance compare answers it."


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
) -> Page:
    """Return what a fitted sampler did as a page with a map, an explorer and features.

    Parameters
    ----------
    sampler : CounterfactualOverSampler or InteriorOverSampler
        Fitted: it made ``X_resampled`` and ``y_resampled`` of ``X`` and ``y``.
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
    page : Page
        What `render` shows; ``as_plain`` makes it plain values.
    """
    balanced = read_balanced(sampler, X, y, X_resampled, y_resampled)
    provenance, table = balanced.provenance, balanced.table
    is_new = len(provenance) > 0
    page = Page(
        map=map_rows(balanced, features) if rows else None,
        explorer=explore(provenance, table) if rows and is_new else None,
        features=rank_features(provenance, table) if is_new else None,
    )
    if not alone:
        return page
    return replace(
        page,
        title=f"Balanced: {file}" if file else "A balanced table",
        verdict=tell_result(balanced, page.features, page.explorer),
        origins=tabulate_origins(count_origins(provenance), getattr(sampler, "yield_", {}))
        if is_new
        else None,
        data=describe_data(balanced, file, target, notes),
        settings={name: repr(value) for name, value in sampler.get_params(deep=False).items()},
        versions={name: text for name, text in versions(PACKAGES).items() if text != "absent"},
        reproduce=reproduce,
        cite=CITATION,
    )


def tell_result(
    balanced: BalancedTable, features: Features | None, explorer: Explorer | None
) -> Verdict:
    """Return the section "verdict"; ``features`` and ``explorer`` are the sections of that name."""
    counts = count_origins(balanced.provenance)
    total = add_counts(list(counts.values()))
    caveats = [COUNTERFACTUAL, HELPS] if total["inversion"] else [HELPS]
    return Verdict(
        headline=_headline(balanced, total),
        sentences=(
            *tell_origins(total, most=most_from_one(balanced.provenance)),
            *_yields(getattr(balanced.sampler, "yield_", {})),
            *_changes(balanced, features, example=explorer is not None),
            *_outliers(balanced),
            *filter(None, [tell_constraints(getattr(balanced.sampler, "constraints", None))]),
        ),
        caveats=(*_inflated(balanced, counts), *caveats, *_privacy(balanced, explorer)),
    )


def _headline(balanced: BalancedTable, total: dict[str, int]) -> str:
    """Say how many of the new rows are counterfactuals, and of which classes they are."""
    counts = [(balanced.count(code, new=True), label) for code, label in enumerate(balanced.labels)]
    grown = [f"{count:,} new rows of {in_words(label)}" for count, label in counts if count]
    if not grown:
        return "No new rows: no class asked for any"
    made, found = sum(total.values()), total["inversion"]
    one = in_words(next(label for count, label in counts if count))
    new = f"{made:,} new rows of {one if len(grown) == 1 else f'{len(grown)} classes'}"
    if not hasattr(balanced.sampler, "on_shortfall"):
        several = len(grown) > MOST_NAMED
        return f"{new if several else ', '.join(grown)}, made within their class"
    if found == made:
        return f"All {new} are counterfactuals" if made > 1 else f"1 counterfactual of {one}"
    if not found:
        return f"No counterfactual in {new}"
    return f"{found:,} of {new} {'is a counterfactual' if found == 1 else 'are counterfactuals'}"


def _yields(yields: dict[tuple[Any, Any], Yield]) -> list[str]:
    """Say of each pair of classes what the search gave; of many pairs a table does."""
    if len(yields) > MOST_NAMED:
        return []
    return [
        f"{got.inversions:,} of {got.factuals:,} {rows_of(plain(larger))} could be turned into "
        f"{in_words(plain(smaller))}; {got.used:,} new rows were made from them."
        for (larger, smaller), got in yields.items()
    ]


def tabulate_origins(
    counts: dict[Any, dict[str, int]], yields: dict[tuple[Any, Any], Yield]
) -> Origins:
    """Return for each class that grew what its new rows are, and what was found for it."""
    shown = [origin for origin in HEADS if any(made[origin] for made in counts.values())]
    searched = ("rows searched", "inverted") if yields else ()
    cells = []
    for label, made in counts.items():
        numbers = [made[origin] for origin in shown]
        if yields:
            got = [one for (_, smaller), one in yields.items() if plain(smaller) == label]
            numbers += [sum(one.factuals for one in got), sum(one.inversions for one in got)]
        cells.append((str(label), *(f"{number:,}" for number in numbers)))
    return Origins(("class", *(HEADS[origin] for origin in shown), *searched), tuple(cells))


def _real_rows(balanced: BalancedTable) -> dict[Any, int]:
    return {
        plain(label): balanced.count(code, new=False) for code, label in enumerate(balanced.classes)
    }


def _inflated(balanced: BalancedTable, counts: dict[Any, dict[str, int]]) -> list[str]:
    """Warn of classes that got far more rows than their real ones bear out."""
    searched = hasattr(balanced.sampler, "on_shortfall")
    rows = _real_rows(balanced)
    most = MOST_PER_ROW if searched else MOST_PER_ROW_AT_ALL
    found = all_inflated(counts, rows, most)
    if not found:
        return []
    ratios = " ".join(
        f"--ratio {shlex.quote(f'{one.label}={one.most}')}" for one in found[:MOST_NAMED]
    )
    remedy = f"{ask_for_fewer(found, counts, rows)}; on the command line {ratios}"
    return [f"Warning: {tell_inflated(found, remedy)}."]


def describe_data(
    balanced: BalancedTable, file: str = "", target: str = "", notes: Sequence[str] = ()
) -> Data:
    """Return the section "data"."""
    table = balanced.table
    columns = []
    for m, name in enumerate(table.names):
        column = table.column(m)[: balanced.n_real]
        known = column[~np.isnan(column)]
        missing, distinct = len(column) - len(known), len(np.unique(known))
        columns.append(ColumnFacts(str(name), table.kinds[m].value, missing, distinct))
    classes = [
        ClassCount(label, balanced.count(code, new=False), new=balanced.count(code, new=True))
        for code, label in enumerate(balanced.labels)
    ]
    return Data(
        file=file,
        target=target,
        rows=balanced.n_real,
        classes=tuple(classes),
        columns=tuple(columns),
        notes=(*notes, *_relations(balanced.sampler)),
    )


def _relations(sampler: Any) -> list[str]:
    """Say what nearly all rows keep, and the new ones with them."""
    found = getattr(sampler, "relations_", [])
    if not found:
        return []
    listed = "; ".join(f"{one.text} ({one.kept:.1%} of the rows)" for one in found)
    what = f"Found in the table and kept by every new row: {listed}."
    return [f"{what} --ignore-relation (ignore_relations in Python) takes one out."]


def _outliers(balanced: BalancedTable) -> list[str]:
    """Say how many new rows lie farther out than nearly all real ones of their class."""
    score = balanced.provenance["outlier_to"]
    score = score[~np.isnan(score)]
    if not len(score):
        return []
    far = f"{np.mean(score > 1):.0%} of the new rows lie farther out"
    return [f"{far} than 95% of the real rows of their class."]


def _changes(balanced: BalancedTable, features: Features | None, *, example: bool) -> list[str]:
    """Say which features change most, and the nearest new row."""
    if features is None:
        return []
    most = [f"{row.name} ({row.share:.0%})" for row in features.rows[:MOST_NAMED]]
    often = f"What changes most often: {', '.join(most)}."
    if not example:
        return [often]
    provenance = balanced.provenance
    # A row that f calls its class is nearest, if there is one: a copy is nearer and says nothing.
    other = provenance["origin"].astype(str) != "inversion"
    nearest = provenance[[int(np.lexsort((provenance["distance"], other))[0])]]
    return [often, f"The nearest: {nearest.sentences(balanced.table.native)[0]}."]


def _privacy(balanced: BalancedTable, explorer: Explorer | None) -> list[str]:
    """Say how near the new rows are to real ones, and which real rows stand on the page."""
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
    real = len({row.factual for row in explorer.rows})
    shown = (
        f"This page shows {real:,} real rows with their values: whoever gets the page gets them. "
        "--no-rows (rows=False in Python) makes it without."
    )
    return [near, shown]
