"""The result of ``balance``: how it is made, and its summary as plain values and as text."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.cli.rules import told_in_options
from counterbalance.cli.terminal import note, say, show_tables, working
from counterbalance.errors import ShortfallWarning
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from counterbalance.cli.user_table import UserTable
    from counterbalance.io import TableFile
    from counterbalance.methods import Method

# How many counterfactuals are told in words, and how many features are listed.
EXAMPLES = 3
MOST_CHANGED = 8
# More pairs of classes than this are added up by the smaller class.
MOST_PAIRS = 10
# How many relations are listed.
MOST_RELATIONS = 12
# A share of the largest class is written with this many digits.
DIGITS = 3


@dataclass(frozen=True)
class Peer:
    """What is known of the rows of a method of the literature."""

    name: str
    random_state: int
    left_out: int
    new: int

    def in_words(self) -> list[str]:
        """Say what the method did."""
        said = []
        if self.new:
            said.append(
                f"{self.new:,} new rows were made by {self.name}, which does not say what from."
            )
        if self.left_out:
            said.append(f"{self.left_out:,} rows of the table were left out by {self.name}.")
        return said


@dataclass(frozen=True, eq=False)
class BalancedTable:
    """A user's table and the result of balancing it."""

    user: UserTable
    sampler: Any  # one of ours, fitted, or a Peer
    X: Any
    y: Any
    stored: TableFile  # the whole result, as a file holds it


def balance_table(user: UserTable, sampler: Any) -> BalancedTable:
    """Run one of our samplers on the table and put the new rows below those of the file."""
    searching = hasattr(sampler, "search")
    doing = "searching for counterfactuals" if searching else "drawing rows"
    with told_in_options(), working(doing, told=ShortfallWarning):
        X, y = sampler.fit_resample(user.X, user.y)
    new = X.iloc[len(user.X) :].reset_index(drop=True)
    new[user.target] = y.iloc[len(user.y) :].reset_index(drop=True)
    return BalancedTable(user, sampler, X, y, user.stored.append(new))


def balance_with_peer(user: UserTable, method: Method, strategy: Any, seed: int) -> BalancedTable:
    """Run a method of the literature on the table; rows that it leaves out are left out."""
    import pandas as pd

    from counterbalance.methods.any_table import resample_table
    from counterbalance.table.labels import read_labels
    from counterbalance.table.table import read_table

    table = read_table(user.X)
    labels = read_labels(user.y)
    with working(f"resampling with {method.name}"):
        wanted = None if method.kind == "under" else strategy
        made = resample_table(method, table, labels, wanted, seed)
    new, stored = made.new.reset_index(drop=True), user.stored
    if len(made.kept) < len(user.y):
        stored = stored.take(made.kept)
    classes = user.y.drop_duplicates()
    first = classes.iloc[read_labels(classes).codes.argsort()]
    y = first.iloc[made.target].reset_index(drop=True)
    X = pd.concat([user.X.iloc[made.kept], new], ignore_index=True)
    labels_after = pd.concat([user.y.iloc[made.kept], y], ignore_index=True)
    new[user.target] = y
    peer = Peer(method.name, seed, len(user.y) - len(made.kept), len(new))
    return BalancedTable(user, peer, X, labels_after, stored.append(new) if len(new) else stored)


def summarise(balanced: BalancedTable, ratio: Sequence[str] = ()) -> dict[str, Any]:
    """Return everything there is to say about the result, as plain values.

    ``ratio`` is the option as it was given.
    """
    from counterbalance.constraints import tell_constraints
    from counterbalance.rows.origins import count_origins, most_from_one

    user, sampler = balanced.user, balanced.sampler
    before, after = user.y.value_counts(), balanced.y.value_counts()
    real = {label: int(count) for label, count in before.items()}
    if isinstance(sampler, Peer):
        origins: dict[str, Any] = summarise_new_rows({}, real, ratio)
        origins["origins_in_words"] = sampler.in_words()
    else:
        provenance = sampler.provenance_
        most, counted = most_from_one(provenance), count_origins(provenance)
        within = not hasattr(sampler, "yield_")
        origins = summarise_new_rows(counted, real, ratio, most=most, within=within)
    return {
        "table": str(user.path),
        "target": user.target,
        "rows_before": len(user.y),
        "rows_after": len(balanced.y),
        "features": [str(name) for name in user.X.columns],
        "kept": list(user.kept),
        **summarise_classes(real, after, getattr(sampler, "yield_", {})),
        **origins,
        **summarise_relations(getattr(sampler, "relations_", ())),
        "constraints": tell_constraints(getattr(sampler, "constraints", None)),
        "most_changed": [] if isinstance(sampler, Peer) else _most_changed(balanced),
        "examples": [] if isinstance(sampler, Peer) else _examples(balanced),
        "findings": [{"topic": item.topic, "text": item.text} for item in user.findings],
        "seed": sampler.random_state,
    }


def summarise_classes(
    before: Mapping[Any, int], after: Mapping[Any, int], yields: Mapping[Any, Any]
) -> dict[str, Any]:
    """Return the rows of each class before and after, and the yield of each pair of classes."""
    return {
        "classes": [
            {"class": label, "before": int(count), "after": int(after[label])}
            for label, count in before.items()
        ],
        "yield": [
            {"from": larger, "to": smaller, **got._asdict(), "share": got.share}
            for (larger, smaller), got in yields.items()
        ],
    }


def summarise_relations(found: Sequence[Any]) -> dict[str, Any]:
    """Return the relations between columns that the new rows keep, as plain values."""
    return {
        "relations": [
            {"relation": one.text, "words": one.words, "kept": round(one.kept, 4)} for one in found
        ]
    }


def say_relations(summary: Mapping[str, Any]) -> None:
    """Say which relations were found in the table, and how to have one ignored."""
    from counterbalance.rows.origins import percent

    found = summary["relations"]
    if not found:
        return
    say("New rows keep what nearly all rows of the table keep:")
    for one in found[:MOST_RELATIONS]:
        say(f"  {one['relation']}  ({percent(one['kept'])} of the rows: {one['words']})")
    if len(found) > MOST_RELATIONS:
        say(f"  and {len(found) - MOST_RELATIONS} more (--json lists all)")
    say(f"--ignore-relation {shlex.quote(found[0]['relation'])} takes one out\n")


def _most_changed(balanced: BalancedTable) -> list[dict[str, Any]]:
    """Return the share of the counterfactuals in which each feature changed, largest first."""
    provenance = balanced.sampler.provenance_
    counterfactual = provenance["origin"].astype(str) == "inversion"
    if not counterfactual.any():
        return []
    share = provenance[counterfactual].changed_mask().mean(axis=0)
    return [
        {"column": str(balanced.user.X.columns[m]), "share": float(share[m])}
        for m in (-share).argsort(kind="stable").tolist()
        if share[m] > 0
    ]


def _examples(balanced: BalancedTable) -> list[str]:
    """Return the nearest counterfactual of each pair of classes, then the nearest of the rest."""
    import numpy as np

    provenance = balanced.sampler.provenance_
    larger, smaller = provenance["from_class"], provenance["to_class"]
    places = np.flatnonzero(provenance["origin"].astype(str) == "inversion")
    places = places[np.argsort(provenance["distance"][places], kind="stable")]
    first: dict[tuple[Any, Any], int] = {}
    for place in places.tolist():
        first.setdefault((larger[place], smaller[place]), place)
    rest = places[~np.isin(places, list(first.values()))].tolist()
    told = provenance[[*first.values(), *rest[:EXAMPLES]][:EXAMPLES]]
    return list(told.sentences(balanced.X))


def show_summary(summary: dict[str, Any]) -> None:
    """Show counts, yields, the most changed features and a few counterfactuals in words."""
    from counterbalance.rows.origins import percent

    say(
        f"{summary['table']}: {summary['rows_before']:,} rows, "
        f"{len(summary['features'])} features, target {summary['target']}\n"
    )
    say_origins(summary)
    if summary["constraints"]:
        say(f"{summary['constraints']}\n")
    shown = result_tables(summary)
    if summary["most_changed"]:
        most = summary["most_changed"][:MOST_CHANGED]
        features = [(item["column"], percent(item["share"])) for item in most]
        title = "Most changed features"
        shown.append(ResultTable("changed", title, ("feature", "counterfactuals"), features))
    show_tables(shown)
    say_relations(summary)
    for sentence in summary["examples"]:
        say(sentence)
    if summary["written"]:
        say("")
    what = {
        "out": f"{summary['rows_after']:,} rows",
        "provenance": "where the new ones come from",
        "report": "the report",
    }
    for name, path in summary["written"].items():
        say(f"wrote {what[name]} to {path}")


def result_tables(summary: Mapping[str, Any]) -> list[ResultTable]:
    """Return the rows of each class, what the new ones are, and the yields, as tables."""
    from counterbalance.rows.origins import percent

    rows = [
        (
            str(item["class"]),
            f"{item['before']:,}",
            f"{item['after']:,}",
            f"{item['after'] - item['before']:,}",
        )
        for item in summary["classes"]
    ]
    columns = ("class", "before", "after", "new")
    shown = [ResultTable("classes", "Rows of each class", columns, rows), *origins_table(summary)]
    if summary["yield"]:
        pairs = [
            (
                f"{got['from']} → {got['to']}",
                f"{got['factuals']:,}",
                f"{got['inversions']:,}",
                percent(got["share"]),
                f"{got['used']:,}",
            )
            for got in _by_class(summary["yield"])
        ]
        heads = ("pair", "searched", "inverted", "yield", "used")
        title = "What the search found, from class to class"
        shown.append(ResultTable("yield", title, heads, pairs))
    return shown


def _by_class(yields: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Add up the pairs of each smaller class, where there are more pairs than one reads."""
    if len(yields) <= MOST_PAIRS:
        return list(yields)
    found: dict[Any, dict[str, Any]] = {}
    for got in yields:
        total = found.setdefault(got["to"], {"from": "larger classes", "to": got["to"]})
        for name in ("factuals", "inversions", "used"):
            total[name] = total.get(name, 0) + got[name]
    return [
        {**total, "share": total["inversions"] / max(1, total["factuals"])}
        for total in found.values()
    ]


def summarise_new_rows(
    counts: Mapping[Any, Mapping[str, int]],
    rows: Mapping[Any, int],
    ratio: Sequence[str],
    *,
    most: int = 0,
    only_shares: bool = False,
    within: bool = False,
) -> dict[str, Any]:
    """Return what there is to say about the origins of the new rows, as plain values.

    ``counts`` holds the new rows of each class by origin, ``rows`` its real ones, ``ratio`` the
    option as it was given, ``most`` the most inversions of one row (0 if unknown);
    ``only_shares`` says that ``--ratio`` cannot name a class, and ``within`` that the sampler
    makes all rows within their class.
    """
    from counterbalance.rows.origins import (
        MOST_PER_ROW,
        MOST_PER_ROW_AT_ALL,
        add_counts,
        all_gives_fewer,
        all_inflated,
        tell_inflated,
        tell_origins,
    )

    total = add_counts(list(counts.values()))
    inflated = all_inflated(counts, rows, MOST_PER_ROW_AT_ALL if within else MOST_PER_ROW)
    remedy = _share_for(inflated, rows) if only_shares else _ratios_for(inflated, counts, ratio)
    if all_gives_fewer(inflated):
        remedy += ", or --ratio all for counterfactuals alone"
    return {
        "origins": {origin: n for origin, n in total.items() if n},
        "origins_by_class": [
            {"class": label, "rows": rows[label], **made}
            for label, made in counts.items()
            if sum(made.values())
        ],
        "origins_in_words": tell_origins(total, most=most),
        "warnings": [tell_inflated(inflated, remedy)] if inflated else [],
    }


def origins_table(summary: Mapping[str, Any]) -> list[ResultTable]:
    """Return the origins of the new rows by class, unless one sentence says it all."""
    from counterbalance.rows.origins import HEADS

    classes = summary["origins_by_class"]
    shown = [origin for origin in HEADS if any(one[origin] for one in classes)]
    if not classes or (len(classes) == 1 and shown == ["inversion"]):
        return []
    if any(one["inversion"] for one in classes) or len(shown) > 1:
        shown = list(dict.fromkeys(["inversion", *shown]))
    cells = [
        (
            str(one["class"]),
            *(f"{one[origin]:,}" for origin in shown),
            f"{sum(one[origin] for origin in HEADS) / one['rows']:,.1f}",
        )
        for one in classes
    ]
    columns = ("class", *(HEADS[origin] for origin in shown), "new for each real row")
    return [ResultTable("origins", "What the new rows are", columns, cells)]


def say_origins(summary: Mapping[str, Any]) -> None:
    """Say in plain words what the new rows are."""
    for sentence in summary["origins_in_words"]:
        say(sentence)
    if summary["origins_in_words"]:
        say("")


def say_warnings(summary: Mapping[str, Any]) -> None:
    """Say last what a reader must not overlook."""
    for text in summary["warnings"]:
        note(f"WARNING: {text}")


def _ratios_for(
    inflated: Sequence[Any], counts: Mapping[Any, Mapping[str, int]], ratio: Sequence[str]
) -> str:
    """Return options that ask for fewer rows of these classes and leave the others as they are."""
    named = {str(one.label) for one in inflated}
    kept = [text for text in ratio if text.rpartition("=")[0].strip() not in named]
    grown = [label for label, made in counts.items() if sum(made.values())]
    if not ratio and len(grown) > len(inflated):
        kept = ["1"]
    elif len(grown) == len(inflated):
        kept = []
    # A few classes only: a line with a hundred options would not help.
    most = 5
    words = [*kept, *(f"{one.label}={one.most}" for one in inflated[:most])]
    text = " ".join(f"--ratio {shlex.quote(word)}" for word in words)
    return text if len(inflated) <= most else f"{text} ..."


def _share_for(inflated: Sequence[Any], rows: Mapping[Any, int]) -> str:
    """Return the share of the largest class at which no class is inflated."""
    if not inflated:
        return ""
    share = min(one.most for one in inflated) / max(rows.values())
    # Rounded down: with a little more, a class would be inflated again.
    scale = 10 ** (DIGITS - 1 - math.floor(math.log10(share)))
    return f"--ratio {math.floor(share * scale) / scale:.{DIGITS}g}"
