"""Run ``balance``, and summarise its result as plain values and as text."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.cli.terminal import say, show_tables, working
from counterbalance.errors import ShortfallWarning
from counterbalance.result_table import ResultTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.cli.user_table import UserTable
    from counterbalance.methods import Method

# How many counterfactuals are described in sentences; how many features, pairs of classes,
# relations and classes are listed.
EXAMPLES, MOST_CHANGED, MOST_PAIRS, MOST_RELATIONS, MOST_CLASSES = 3, 5, 5, 12, 5
# A share of the largest class is written with this many digits.
DIGITS = 3
BOTH = 2


@dataclass(frozen=True, eq=False)
class Balanced:
    """A user's table and the result of balancing it."""

    user: UserTable
    method: str
    sampler: Any  # one of ours, fitted; None for a method of the literature
    X: Any
    y: Any
    new: Any  # the new rows with their classes
    rows: NDArray[Any] | None  # positions of the rows of the file that stay; None if all do
    seed: int


def balance_table(user: UserTable, sampler: Any) -> Balanced:
    """Run one of our samplers on the table."""
    doing = "searching for counterfactuals" if hasattr(sampler, "search") else "drawing rows"
    with working(doing, told=ShortfallWarning):
        X, y = sampler.fit_resample(user.X, user.y)
    new = _with_classes(X.iloc[len(user.X) :], y.iloc[len(user.y) :], user)
    rows = None if len(user.rows) == len(user.stored.frame) else user.rows
    return Balanced(user, "ours", sampler, X, y, new, rows, sampler.random_state)


def resample_table(user: UserTable, method: Method, strategy: Any, seed: int) -> Balanced:
    """Run a method of the literature on the table; rows that it leaves out are left out."""
    import pandas as pd

    from counterbalance.methods import any_table
    from counterbalance.table.labels import read_labels
    from counterbalance.table.table import read_table

    labels = read_labels(user.y)
    with working(f"resampling with {method.name}"):
        wanted = None if method.kind == "under" else strategy
        made = any_table.resample_table(method, read_table(user.X), labels, wanted, seed)
    new = made.new.reset_index(drop=True)
    classes = user.y.drop_duplicates()
    first = classes.iloc[read_labels(classes).codes.argsort()]
    labels_of_new = first.iloc[made.target].reset_index(drop=True)
    X = pd.concat([user.X.iloc[made.kept], new], ignore_index=True)
    y = pd.concat([user.y.iloc[made.kept], labels_of_new], ignore_index=True)
    rows = None if len(made.kept) == len(user.stored.frame) else user.rows[made.kept]
    new = _with_classes(new, labels_of_new, user)
    return Balanced(user, method.name, None, X, y, new, rows, seed)


def _with_classes(new: Any, labels: Any, user: UserTable) -> Any:
    """Return the new rows with their classes beside them."""
    import pandas as pd

    parts = [new.reset_index(drop=True), labels.reset_index(drop=True).rename(user.target)]
    return pd.concat(parts, axis=1)


def summarise(result: Balanced, ratio: Sequence[str] = ()) -> dict[str, Any]:
    """Return the summary of the result as plain values.

    ``ratio`` is the option as it was given.
    """
    from counterbalance.constraints import tell_constraints
    from counterbalance.rows.origins import count_origins, most_from_one

    user, sampler = result.user, result.sampler
    before, after = user.y.value_counts(), result.y.value_counts()
    real = {label: int(count) for label, count in before.items()}
    if sampler is None:
        origins: dict[str, Any] = summarise_new_rows({}, real, ratio)
        origins["origins_in_words"] = _made_by(result)
        most_changed, examples = [], []
    else:
        provenance = sampler.provenance_
        origins = summarise_new_rows(
            count_origins(provenance),
            real,
            ratio,
            most=most_from_one(provenance),
            within=not hasattr(sampler, "yield_"),
        )
        most_changed, examples = _most_changed(result), _examples(result)
    return {
        "table": str(user.path),
        "target": user.target,
        "rows_before": len(user.y),
        "rows_after": len(result.y),
        "features": [str(name) for name in user.X.columns],
        "kept": list(user.kept),
        **summarise_classes(real, after, getattr(sampler, "yield_", {})),
        **origins,
        **summarise_relations(getattr(sampler, "relations_", ())),
        "constraints": tell_constraints(getattr(sampler, "constraints", None)),
        "most_changed": most_changed,
        "examples": examples,
        "findings": [{"topic": item.topic, "text": item.text} for item in user.findings],
        "seed": result.seed,
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
            {"relation": one.text, "description": one.description, "kept": round(one.kept, 4)}
            for one in found
        ]
    }


def summarise_new_rows(
    counts: Mapping[Any, Mapping[str, int]],
    rows: Mapping[Any, int],
    ratio: Sequence[str],
    *,
    most: int = 0,
    only_shares: bool = False,
    within: bool = False,
) -> dict[str, Any]:
    """Return the origins of the new rows and the warnings about them, as plain values.

    ``counts`` holds the new rows of each class by origin, ``rows`` its real ones, ``ratio`` the
    option as it was given, ``most`` the most inversions of one row (0 if unknown). With
    ``only_shares``, ``--ratio`` cannot name a class. With ``within``, the sampler makes all rows
    within their class.
    """
    from counterbalance.rows import origins

    total = origins.add_counts(list(counts.values()))
    limit = origins.MOST_PER_ROW_AT_ALL if within else origins.MOST_PER_ROW
    inflated = origins.all_inflated(counts, rows, limit)
    remedy = _share_for(inflated, rows) if only_shares else _ratios_for(inflated, counts, ratio)
    if origins.all_gives_fewer(inflated):
        remedy += ", or --ratio all for counterfactuals alone"
    return {
        "origins": {origin: n for origin, n in total.items() if n},
        "origins_by_class": [
            {"class": label, "rows": rows[label], **made}
            for label, made in counts.items()
            if sum(made.values())
        ],
        "origins_in_words": origins.tell_origins(total, most=most),
        "warnings": [origins.tell_inflated(inflated, remedy)] if inflated else [],
    }


def show_summary(summary: Mapping[str, Any]) -> None:
    """Show the class counts, then what the new rows are, then the files that were written."""
    from counterbalance.rows.origins import percent

    say(f"{headline(summary['classes'])}")
    for sentence in (*summary["origins_in_words"], *_yield_in_words(summary["yield"])):
        say(sentence)
    if summary.get("constraints"):
        say(summary["constraints"])
    say("")
    show_tables(_tables(summary))
    if summary.get("most_changed"):
        most = summary["most_changed"][:MOST_CHANGED]
        say("Changed most: " + ", ".join(f"{m['column']} ({percent(m['share'])})" for m in most))
    for sentence in summary.get("examples", ()):
        say(sentence)
    if summary["relations"] and summary.get("examples"):
        say("")
    _say_relations(summary["relations"])
    written, files = summary["written"], summary.get("files")
    what = {
        "out": f"{summary['rows_after']:,} rows" + (f" in {files} files" if files else ""),
        "provenance": "where the new ones come from",
        "report": "the report",
    }
    if written and (summary.get("examples") or summary["relations"]):
        say("")
    for name, path in written.items():
        say(f"wrote {what[name]} to {path}")


def headline(classes: Sequence[Mapping[str, Any]]) -> str:
    """Say how many rows were added, and how many each class now has.

    >>> headline([{"class": "no", "before": 753, "after": 753},
    ...           {"class": "yes", "before": 247, "after": 753}])
    '506 rows added; both classes now have 753.'
    """
    changes = [one["after"] - one["before"] for one in classes]
    counts = {
        "added": sum(n for n in changes if n > 0),
        "left out": -sum(n for n in changes if n < 0),
    }
    did = [f"{n:,} {'row' if n == 1 else 'rows'} {verb}" for verb, n in counts.items() if n]
    after = {str(one["class"]): one["after"] for one in classes}
    least, most = min(after.values()), max(after.values())
    if least == most:
        who = "both classes" if len(after) == BOTH else f"all {len(after)} classes"
        now = f"{who} now have {most:,}"
    elif len(after) <= MOST_CLASSES:
        each = [f"{n:,} of class {label}" for label, n in after.items()]
        now = f"now {', '.join(each[:-1])} and {each[-1]}"
    else:
        now = f"the {len(after)} classes now have {least:,} to {most:,}"
    return f"{' and '.join(did) or 'No row added'}; {now}."


def _made_by(result: Balanced) -> list[str]:
    """Say how many rows a method of the literature made and left out."""
    left_out, new = len(result.user.y) - len(result.y) + len(result.new), len(result.new)
    sentences = []
    if new:
        were = "row was" if new == 1 else "rows were"
        sentences.append(f"{new:,} new {were} made by {result.method}, which records no origin.")
    if left_out:
        were = "row of the table was" if left_out == 1 else "rows of the table were"
        sentences.append(f"{left_out:,} {were} left out by {result.method}.")
    return sentences


def _yield_in_words(yields: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how many rows of a larger class the search could change into a smaller one."""
    if len(yields) > MOST_PAIRS:
        return []
    return [
        f"{got['inversions']:,} of {got['factuals']:,} rows of class {got['from']} can be changed "
        f"into {got['to']}."
        for got in yields
    ]


def _tables(summary: Mapping[str, Any]) -> list[ResultTable]:
    """Return the class counts; the new rows are split by origin if there are several origins."""
    from counterbalance.rows.origins import HEADS

    made = {one["class"]: one for one in summary["origins_by_class"]}
    shown = [origin for origin in HEADS if any(one[origin] for one in made.values())]
    if min(len(made), len(shown)) < BOTH:
        shown = []
    rows = [
        (
            str(one["class"]),
            f"{one['before']:,}",
            f"{one['after']:,}",
            f"{max(0, one['after'] - one['before']):,}",
            *(f"{made.get(one['class'], {}).get(origin, 0):,}" for origin in shown),
        )
        for one in summary["classes"]
    ]
    columns = ("class", "before", "after", "new", *(HEADS[origin] for origin in shown))
    return [ResultTable("classes", "", columns, rows)]


def _say_relations(found: Sequence[Mapping[str, Any]]) -> None:
    """Say which relations were found in the table, and how to ignore one."""
    from counterbalance.rows.origins import percent

    if not found:
        return
    say("New rows keep what nearly all rows of the table keep:")
    for one in found[:MOST_RELATIONS]:
        say(f"  {one['relation']}  ({percent(one['kept'])} of the rows: {one['description']})")
    if len(found) > MOST_RELATIONS:
        say(f"  and {len(found) - MOST_RELATIONS} more (--json lists all)")
    say(f"--ignore-relation {shlex.quote(found[0]['relation'])} ignores one")


def _most_changed(result: Balanced) -> list[dict[str, Any]]:
    """Return the share of the counterfactuals in which each feature changed, largest first."""
    provenance = result.sampler.provenance_
    counterfactual = provenance["origin"].astype(str) == "inversion"
    if not counterfactual.any():
        return []
    share = provenance[counterfactual].changed_mask().mean(axis=0)
    return [
        {"column": str(result.user.X.columns[m]), "share": float(share[m])}
        for m in (-share).argsort(kind="stable").tolist()
        if share[m] > 0
    ]


def _examples(result: Balanced) -> list[str]:
    """Return the nearest counterfactual of each pair of classes, then the nearest of the rest."""
    import numpy as np

    provenance = result.sampler.provenance_
    larger, smaller = provenance["from_class"], provenance["to_class"]
    places = np.flatnonzero(provenance["origin"].astype(str) == "inversion")
    places = places[np.argsort(provenance["distance"][places], kind="stable")]
    first: dict[tuple[Any, Any], int] = {}
    for place in places.tolist():
        first.setdefault((larger[place], smaller[place]), place)
    rest = places[~np.isin(places, list(first.values()))].tolist()
    chosen = provenance[[*first.values(), *rest[:EXAMPLES]][:EXAMPLES]]
    return list(chosen.sentences(result.X))


def _ratios_for(
    inflated: Sequence[Any], counts: Mapping[Any, Mapping[str, int]], ratio: Sequence[str]
) -> str:
    """Return options that request fewer rows of these classes and leave the others as they are."""
    named = {str(one.label) for one in inflated}
    kept = [text for text in ratio if text.rpartition("=")[0].strip() not in named]
    grown = [label for label, made in counts.items() if sum(made.values())]
    if not ratio and len(grown) > len(inflated):
        kept = ["1"]
    elif len(grown) == len(inflated):
        kept = []
    values = [*kept, *(f"{one.label}={one.sensible}" for one in inflated[:MOST_CLASSES])]
    text = " ".join(f"--ratio {shlex.quote(word)}" for word in values)
    return text if len(inflated) <= MOST_CLASSES else f"{text} ..."


def _share_for(inflated: Sequence[Any], rows: Mapping[Any, int]) -> str:
    """Return the share of the largest class at which no class is inflated."""
    if not inflated:
        return ""
    share = min(one.sensible for one in inflated) / max(rows.values())
    # Rounded down: with a little more, a class would be inflated again.
    scale = 10 ** (DIGITS - 1 - math.floor(math.log10(share)))
    return f"--ratio {math.floor(share * scale) / scale:.{DIGITS}g}"
