"""New rows on the command line: what they are, and which classes got too many of them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from counterbalance.cli.terminal import note, say
from counterbalance.result_table import Table

# A share of the largest class is written with so many digits.
DIGITS = 3


def summarise_new_rows(
    counts: Mapping[Any, Mapping[str, int]],
    rows: Mapping[Any, int],
    ratio: Sequence[str],
    *,
    most: int = 0,
    only_shares: bool = False,
) -> dict[str, Any]:
    """Return what is to be said of the origins of the new rows, as plain values.

    ``counts`` are the new rows of each class by origin, ``rows`` its real ones, ``ratio`` the
    option as it was given, ``most`` the most inversions of one row (0 if unknown), and
    ``only_shares`` says that ``--ratio`` cannot name a class.
    """
    from counterbalance.rows.origins import (
        add_counts,
        all_inflated,
        count_nearest,
        tell_inflated,
        tell_origins,
    )

    total = add_counts(list(counts.values()))
    inflated = all_inflated(counts, rows)
    remedy = _share_for(inflated, rows) if only_shares else _ratios_for(inflated, counts, ratio)
    if count_nearest(total):
        remedy += ", or --ratio all for minimum inversions alone"
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


def origins_table(summary: Mapping[str, Any]) -> list[Table]:
    """Return the origins of the new rows by class, unless one sentence has said it all."""
    from counterbalance.rows.origins import HEADS

    classes = summary["origins_by_class"]
    shown = [origin for origin in HEADS if any(one[origin] for one in classes)]
    if not classes or (len(classes) == 1 and shown == ["inversion"]):
        return []
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
    return [Table("origins", "What the new rows are", columns, cells)]


def say_origins(summary: Mapping[str, Any]) -> None:
    """Say in plain words what the new rows are."""
    for sentence in summary["origins_in_words"]:
        say(sentence)
    if summary["origins_in_words"]:
        say("")


def say_warnings(summary: Mapping[str, Any]) -> None:
    """Say last, and loudly, what a reader must not overlook."""
    for text in summary["warnings"]:
        note(f"WARNING: {text}")


def _ratios_for(
    inflated: Sequence[Any], counts: Mapping[Any, Mapping[str, int]], ratio: Sequence[str]
) -> str:
    """Return the options that ask for fewer rows of these classes, and for the others as before."""
    named = {str(one.label) for one in inflated}
    kept = [text for text in ratio if text.rpartition("=")[0].strip() not in named]
    grown = [label for label, made in counts.items() if sum(made.values())]
    if not ratio and len(grown) > len(inflated):
        kept = ["1"]
    elif len(grown) == len(inflated):
        kept = []
    # With a few classes only: a line of a hundred options is no remedy.
    most = 5
    words = [*kept, *(f"{one.label}={one.most}" for one in inflated[:most])]
    text = " ".join(f"--ratio {shlex.quote(word)}" for word in words)
    return text if len(inflated) <= most else f"{text} ..."


def _share_for(inflated: Sequence[Any], rows: Mapping[Any, int]) -> str:
    """Return the share of the largest class at which no class is inflated."""
    if not inflated:
        return ""
    share = min(one.most for one in inflated) / max(rows.values())
    # Rounded down: a little more would be inflated again.
    scale = 10 ** (DIGITS - 1 - math.floor(math.log10(share)))
    return f"--ratio {math.floor(share * scale) / scale:.{DIGITS}g}"
