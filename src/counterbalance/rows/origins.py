"""Origins: what the new rows of a class are, counted and said in plain words.

    inversion   a minimum inversion: the nearest row found for its factual that f calls the class
    minimum     the same, solved for by the structure of f where no draw inverted the factual
    redraw      an inversion of a factual that was drawn again, to choose from more or to fill the
                class; f calls it the class, too
    threshold   f does not call it the class: it was taken at a threshold moved to the class's share
    interior    made from rows of the class alone: no counterfactual
    copy        a row of the class once more

A class is *inflated* if it got more than ``MOST_PER_ROW`` new rows for each real one and fewer
than one in ``1 / FEW`` of them is a minimum inversion: then a handful of real rows is all that
the new ones are made of. It is, too, if it got more than ``MOST_PER_ROW_AT_ALL``: inversions they
may be, but all that f knows of the class it learned from that handful. The sampler, the command
line and the report ask the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterbalance.rows.provenance import Provenance
from counterbalance.table.labels import plain

ORIGINS = ("inversion", "minimum", "redraw", "threshold", "interior", "copy")
# One row for each factual, the nearest one found; and all that f calls the class.
NEAREST = ("inversion", "minimum")
CALLED = (*NEAREST, "redraw")
# What the columns of a table of counts are called.
HEADS = {
    "inversion": "minimum inversions",
    "minimum": "minimum inversions, solved",
    "redraw": "drawn again",
    "threshold": "moved threshold",
    "interior": "within the class",
    "copy": "copies",
}
# What most rows are, where most are no minimum inversions.
MOST_ARE = {
    "redraw": "most were found by drawing again from the same real rows",
    "threshold": "most pass only a moved threshold: f itself does not call them the class",
    "interior": "most were made within the class and are no counterfactuals",
    "copy": "most are copies of real rows",
}
MOST_PER_ROW = 10
FEW = 0.25
# Whatever they are. A sampler that makes all rows within the class has no inversions to count.
MOST_PER_ROW_AT_ALL = 100
# Classes that a sentence names, and that a remedy lists.
MOST_NAMED = 3
MOST_LISTED = 12

Counts = Mapping[str, int]


def count_origins(provenance: Provenance) -> dict[Any, dict[str, int]]:
    """Return for each class that got new rows how many of them have which origin."""
    labels, origins = provenance["to_class"], provenance["origin"]
    found: dict[Any, dict[str, int]] = {}
    for label, origin in zip(labels.tolist(), origins.tolist(), strict=True):
        counts = found.setdefault(plain(label), dict.fromkeys(ORIGINS, 0))
        counts[origin] += 1
    return found


def add_counts(counts: Sequence[Counts]) -> dict[str, int]:
    """Return the counts of several classes together."""
    return {origin: sum(one.get(origin, 0) for one in counts) for origin in ORIGINS}


def count_nearest(counts: Counts) -> int:
    """Return how many rows are minimum inversions: the nearest one found for each factual."""
    return sum(counts.get(origin, 0) for origin in NEAREST)


def most_from_one(provenance: Provenance) -> int:
    """Return the most inversions that a single factual gave to a single class."""
    by_f = np.isin(provenance["origin"].astype(str), CALLED)
    rows = provenance[by_f]
    if not len(rows):
        return 0
    _, classes = np.unique(rows["to_class"].astype(str), return_inverse=True)
    pairs = np.column_stack([rows["factual"], classes])
    return int(np.unique(pairs, axis=0, return_counts=True)[1].max())


def tell_origins(counts: Counts, *, most: int = 0) -> list[str]:
    """Say what the new rows are, minimum inversions first, and plainly if most are not.

    ``most`` is the largest number of inversions that one factual gave, if it is known.

    >>> for sentence in tell_origins({"inversion": 20, "redraw": 70, "interior": 10}, most=9):
    ...     print(sentence)  # doctest: +ELLIPSIS
    20 of 100 new rows (20%) are minimum inversions, each the nearest one found for its real row.
    70 are inversions found by drawing again, up to 9 from one real row.
    10 were made within their class and are no counterfactuals.
    Most new rows are not minimum inversions: rows were drawn again, to choose from more or to...
    """
    total = sum(counts.values())
    if not total:
        return []
    found = count_nearest(counts)
    if not found and counts.get("interior", 0) + counts.get("copy", 0) == total:
        return _within(counts)
    first = (
        f"{found:,} of {total:,} new rows ({percent(found / total)}) are minimum inversions, each "
        "the nearest one found for its real row."
    )
    sentences = [
        first,
        *(_sentence(origin, counts[origin], most) for origin in ORIGINS[2:] if counts.get(origin)),
    ]
    if found < total / 2:
        if found + counts.get("redraw", 0) < total / 2:
            sentences.append(
                "Most new rows are not counterfactuals: too few rows of a larger class can be "
                "turned for the number asked for."
            )
        else:
            sentences.append(
                "Most new rows are not minimum inversions: rows were drawn again, to choose from "
                "more or to fill the class."
            )
    return sentences


def _sentence(origin: str, count: int, most: int) -> str:
    be, have = ("is", "an inversion") if count == 1 else ("are", "inversions")
    was = "was" if count == 1 else "were"
    up_to = f", up to {most:,} from one real row" if most > 1 else ""
    return {
        "redraw": f"{count:,} {be} {have} found by drawing again{up_to}.",
        "threshold": f"{count:,} {was} accepted at a threshold moved to the class's share: "
        "f itself does not call them the class.",
        "interior": f"{count:,} {was} made within their class and {be} no "
        f"counterfactual{'' if count == 1 else 's'}.",
        "copy": f"{count:,} {be} {'a copy' if count == 1 else 'copies'} of real rows.",
    }[origin]


def tell_most(counts: Counts) -> str:
    """Say in a few words what most rows are, where most are no minimum inversions.

    >>> tell_most({"inversion": 20, "interior": 80}), tell_most({"inversion": 60, "copy": 40})
    ('most were made within the class and are no counterfactuals', '')
    """
    total, found = sum(counts.values()), count_nearest(counts)
    others = {origin: counts.get(origin, 0) for origin in MOST_ARE}
    if not total or found * 2 >= total:
        return ""
    origin = max(others, key=others.__getitem__)
    return MOST_ARE[origin] if others[origin] * 2 > total else "most are something else"


def _within(counts: Counts) -> list[str]:
    return [
        _sentence(origin, counts[origin], 0)
        for origin in ("interior", "copy")
        if counts.get(origin)
    ]


def percent(share: float) -> str:
    """Write a share; what is not nothing is not shown as nothing, nor as all what is not all.

    >>> percent(0.004), percent(0.999), percent(0.25)
    ('<1%', '>99%', '25%')
    """
    least = 0.005
    if 0 < share < least:
        return "<1%"
    return ">99%" if 1 - least < share < 1 else f"{share:.0%}"


@dataclass(frozen=True)
class Inflated:
    """A class that got far more new rows than its real ones bear out."""

    label: Any
    rows: int
    new: int
    inversions: int
    most: int
    """How many rows it may be asked to have in all before it counts as inflated."""

    def __str__(self) -> str:
        found = f"{self.inversions:,}" if self.inversions else "none"
        return (
            f"class {self.label!r} has {self.rows:,} {'row' if self.rows == 1 else 'rows'} and got "
            f"{self.new:,} new ones ({self.new / self.rows:,.0f} for each real row; "
            f"{found} {'is a' if self.inversions == 1 else 'are'} minimum "
            f"inversion{'' if self.inversions == 1 else 's'})"
        )


def all_inflated(
    counts: Mapping[Any, Counts], rows: Mapping[Any, int], most_per_row: int = MOST_PER_ROW
) -> list[Inflated]:
    """Return the classes that are inflated, the worst first.

    ``counts`` are the new rows of each class by origin, ``rows`` its real ones.
    """
    found = (
        find_inflated(label, rows[label], made, most_per_row) for label, made in counts.items()
    )
    return sorted((one for one in found if one is not None), key=lambda one: -one.new / one.rows)


def find_inflated(
    label: Any, rows: int, made: Counts, most_per_row: int = MOST_PER_ROW
) -> Inflated | None:
    """Return what is to be said of a class if it is inflated."""
    new, inversions = sum(made.values()), count_nearest(made)
    most = min(max(most_per_row * rows, int(inversions / FEW)), MOST_PER_ROW_AT_ALL * rows)
    if rows < 1 or new <= most:
        return None
    return Inflated(label, rows, new, inversions, rows + most)


def ask_for_fewer(
    classes: Sequence[Inflated], counts: Mapping[Any, Counts], rows: Mapping[Any, int]
) -> str:
    """Return what to ask a sampler for instead, of all classes, in Python.

    ``counts`` are the origins of the new rows of each class, ``rows`` its real ones.
    """
    inflated = {one.label: one.most for one in classes}
    wanted = {
        label: inflated.get(label, rows[label] + sum(made.values()))
        for label, made in counts.items()
        if sum(made.values())
    }
    if len(wanted) <= MOST_LISTED:
        remedy = f"sampling_strategy={wanted!r}"
    else:
        some = ", ".join(f"{label!r}: {n}" for label, n in list(inflated.items())[:MOST_LISTED])
        remedy = f"sampling_strategy={{{some}, ...}}"
    if not all_gives_fewer(classes):
        return remedy
    return f"{remedy}, or sampling_strategy='all' for minimum inversions alone"


def all_gives_fewer(classes: Sequence[Inflated]) -> bool:
    """Whether to take every minimum inversion, and nothing else, leaves no class inflated."""
    found = [one.inversions for one in classes]
    return any(found) and all(one.rows + one.inversions <= one.most for one in classes)


def tell_inflated(classes: Sequence[Inflated], remedy: str) -> str:
    """Say that classes are inflated; ``remedy`` is what to ask for instead."""
    named = [str(one) for one in classes[:MOST_NAMED]]
    if len(classes) > MOST_NAMED:
        more = len(classes) - MOST_NAMED
        named.append(f"{more:,} more {'class' if more == 1 else 'classes'} likewise")
    return (
        f"{'; '.join(named)}. So few real rows cannot say what so many new ones should look like. "
        f"Ask for fewer: {remedy}"
    )
