"""Summary: all that is to be said of a balanced table, as values and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterbalance.cli.balancing import Balanced
from counterbalance.cli.new_rows import origins_table, say_origins, summarise_new_rows
from counterbalance.cli.terminal import say, show_tables
from counterbalance.result_table import Table

TOLD = 3
MOST_CHANGED = 8
# Origins of the rows that f calls the class that they were given.
BY_F = ("inversion", "minimum", "redraw")


def summarise(balanced: Balanced, ratio: Sequence[str] = ()) -> dict[str, Any]:
    """Return all that is to be said of the result, as plain values.

    ``ratio`` is the option as it was given.
    """
    from counterbalance.rows.origins import count_origins, most_from_one

    user, sampler = balanced.user, balanced.sampler
    before, after = user.y.value_counts(), balanced.y.value_counts()
    provenance = sampler.provenance_
    real = {label: int(count) for label, count in before.items()}
    most = most_from_one(provenance)
    return {
        "table": str(user.path),
        "target": user.target,
        "rows_before": len(user.y),
        "rows_after": len(balanced.y),
        "features": [str(name) for name in user.X.columns],
        "kept": list(user.kept),
        "classes": [
            {"class": label, "before": int(count), "after": int(after[label])}
            for label, count in before.items()
        ],
        "yield": [
            {"from": larger, "to": smaller, **got._asdict(), "share": got.share}
            for (larger, smaller), got in sampler.yield_.items()
        ],
        **summarise_new_rows(count_origins(provenance), real, ratio, most=most),
        "most_changed": _most_changed(balanced),
        "examples": _told(balanced),
        "findings": [{"topic": item.topic, "text": item.text} for item in user.findings],
        "seed": sampler.random_state,
    }


def _most_changed(balanced: Balanced) -> list[dict[str, Any]]:
    """Return for each feature in how many of the counterfactuals it changed, most first."""
    import numpy as np

    provenance = balanced.sampler.provenance_
    counterfactual = np.isin(provenance["origin"].astype(str), BY_F)
    if not counterfactual.any():
        return []
    share = provenance[counterfactual].changed_mask().mean(axis=0)
    return [
        {"column": str(balanced.user.X.columns[m]), "share": float(share[m])}
        for m in (-share).argsort(kind="stable").tolist()
        if share[m] > 0
    ]


def _told(balanced: Balanced) -> list[str]:
    """Return the nearest counterfactual of each pair of classes, then the next nearest."""
    import numpy as np

    provenance = balanced.sampler.provenance_
    larger, smaller = provenance["from_class"], provenance["to_class"]
    places = np.flatnonzero(np.isin(provenance["origin"].astype(str), BY_F))
    places = places[np.argsort(provenance["distance"][places], kind="stable")]
    first: dict[tuple[Any, Any], int] = {}
    for place in places.tolist():
        first.setdefault((larger[place], smaller[place]), place)
    rest = places[~np.isin(places, list(first.values()))].tolist()
    told = provenance[[*first.values(), *rest[:TOLD]][:TOLD]]
    return list(told.sentences(balanced.X))


def show_summary(summary: dict[str, Any]) -> None:
    """Show counts, yields, the most changed features and a few counterfactuals in words."""
    from counterbalance.rows.origins import percent

    say(
        f"{summary['table']}: {summary['rows_before']:,} rows, "
        f"{len(summary['features'])} features, target {summary['target']}\n"
    )
    say_origins(summary)
    rows = [
        (
            str(item["class"]),
            f"{item['before']:,}",
            f"{item['after']:,}",
            f"{item['after'] - item['before']:,}",
        )
        for item in summary["classes"]
    ]
    counts = Table("classes", "Rows of each class", ("class", "before", "after", "new"), rows)
    shown = [counts, *origins_table(summary)]
    if summary["yield"]:
        pairs = [
            (
                f"{got['from']} → {got['to']}",
                f"{got['factuals']:,}",
                f"{got['inversions']:,}",
                percent(got["share"]),
                f"{got['used']:,}",
            )
            for got in summary["yield"]
        ]
        columns = ("pair", "searched", "found", "yield", "used")
        shown.append(Table("yield", "Counterfactuals from class to class", columns, pairs))
    if summary["most_changed"]:
        most = summary["most_changed"][:MOST_CHANGED]
        features = [(item["column"], percent(item["share"])) for item in most]
        title = "Most changed features"
        shown.append(Table("changed", title, ("feature", "counterfactuals"), features))
    show_tables(shown)
    for sentence in summary["examples"]:
        say(sentence)
    written = summary["written"]
    if written:
        say("")
    if "out" in written:
        say(f"wrote {summary['rows_after']:,} rows to {written['out']}")
    if "provenance" in written:
        say(f"wrote where the new ones come from to {written['provenance']}")
    if "report" in written:
        say(f"wrote a page to look at to {written['report']}")
