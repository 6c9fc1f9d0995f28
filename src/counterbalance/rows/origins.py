"""Origins: count the new rows of each class by origin, and describe the counts.

    inversion   a counterfactual: a changed copy of its factual that f puts into the class
    interior    made from rows of the class alone: not a counterfactual
    copy        a copy of a row of the class

A class is *inflated* if it got more than ``MOST_PER_ROW`` new rows for each real one and fewer than
one in ``1 / FEW`` of them is an inversion: all new rows are then made from a few real ones. It is
also inflated if it got more than ``MOST_PER_ROW_AT_ALL`` of any origin: even f learned the class
from these few rows. The sampler, the command line and the report use the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from counterbalance.constraints import Constraint
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.rows.provenance import Provenance
from counterbalance.table.labels import Labels, plain
from counterbalance.user_warnings import warn_user

ORIGINS = ("inversion", "interior", "copy")
# Column headings of a table of counts.
HEADS = {"inversion": "counterfactuals", "interior": "within the class", "copy": "copies"}
MOST_PER_ROW = 10
FEW = 0.25
# Of any origin. A sampler that makes all rows within the class has no inversions to count.
MOST_PER_ROW_AT_ALL = 100
# The number of classes named in a sentence, and listed in a remedy.
MOST_NAMED = 3
MOST_LISTED = 12

Policy = Literal["fill", "accept", "raise"]
POLICIES: tuple[Policy, ...] = ("fill", "accept", "raise")

Counts = Mapping[str, int]


def count_origins(provenance: Provenance) -> dict[Any, dict[str, int]]:
    """Return for each class with new rows the number of them by origin."""
    labels, origins = provenance["to_class"], provenance["origin"]
    found: dict[Any, dict[str, int]] = {}
    for label, origin in zip(labels.tolist(), origins.tolist(), strict=True):
        counts = found.setdefault(plain(label), dict.fromkeys(ORIGINS, 0))
        counts[origin] += 1
    return found


def add_counts(counts: Sequence[Counts]) -> dict[str, int]:
    """Return the counts of several classes together."""
    return {origin: sum(one.get(origin, 0) for one in counts) for origin in ORIGINS}


def most_from_one(provenance: Provenance) -> int:
    """Return the most inversions that a single factual gave to a single class."""
    rows = provenance[provenance["origin"].astype(str) == "inversion"]
    if not len(rows):
        return 0
    _, classes = np.unique(rows["to_class"].astype(str), return_inverse=True)
    pairs = np.column_stack([rows["factual"], classes])
    return int(np.unique(pairs, axis=0, return_counts=True)[1].max())


def tell_origins(counts: Counts, *, most: int = 0) -> list[str]:
    """Describe the origins of the new rows in sentences, counterfactuals first.

    ``most`` is the largest number of inversions that one factual gave, if it is known.

    >>> for sentence in tell_origins({"inversion": 20, "interior": 80}):
    ...     print(sentence)
    20 of 100 new rows (20%) are counterfactuals of real rows.
    80 were made within their class and are not counterfactuals.
    Too few rows of larger classes can be inverted for the requested number.
    """
    total, found = sum(counts.values()), counts.get("inversion", 0)
    if not total:
        return []
    sentences = []
    if found:
        up_to = f", up to {most:,} from one real row" if most > 1 else " of real rows"
        are = "is a counterfactual" if found == 1 else "are counterfactuals"
        sentences.append(
            f"{found:,} of {total:,} new rows ({percent(found / total)}) {are}{up_to}."
        )
    sentences += [
        _sentence(origin, counts[origin]) for origin in ("interior", "copy") if counts.get(origin)
    ]
    if 0 < found < total / 2:
        sentences.append("Too few rows of larger classes can be inverted for the requested number.")
    return sentences


def _sentence(origin: str, count: int) -> str:
    be, was = ("is", "was") if count == 1 else ("are", "were")
    if origin == "interior":
        what = "a counterfactual" if count == 1 else "counterfactuals"
        return f"{count:,} {was} made within their class and {be} not {what}."
    return f"{count:,} {be} {'a copy' if count == 1 else 'copies'} of real rows."


def percent(share: float) -> str:
    """Write a share; never round a nonzero one to 0 %, or an incomplete one to 100 %.

    >>> percent(0.004), percent(0.999), percent(0.25)
    ('<1%', '>99%', '25%')
    """
    least = 0.005
    if 0 < share < least:
        return "<1%"
    return ">99%" if 1 - least < share < 1 else f"{share:.0%}"


@dataclass(frozen=True)
class Inflated:
    """A class that got too many new rows for its real ones."""

    label: Any
    rows: int
    new: int
    inversions: int
    most: int
    """The largest total number of rows before the class counts as inflated."""

    @property
    def sensible(self) -> int:
        """The total number of rows to request: ten new ones for each real row."""
        return min(self.most, self.rows * (1 + MOST_PER_ROW))

    def __str__(self) -> str:
        found = f"{self.inversions:,}" if self.inversions else "none"
        return (
            f"class {self.label!r} has {self.rows:,} {'row' if self.rows == 1 else 'rows'} and got "
            f"{self.new:,} new ones ({self.new / self.rows:,.0f} for each real row; "
            f"{found} {'is a counterfactual' if self.inversions == 1 else 'are counterfactuals'})"
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
    """Return the description of a class if it is inflated."""
    new, inversions = sum(made.values()), made.get("inversion", 0)
    most = min(max(most_per_row * rows, int(inversions / FEW)), MOST_PER_ROW_AT_ALL * rows)
    if rows < 1 or new <= most:
        return None
    return Inflated(label, rows, new, inversions, rows + most)


def ask_for_fewer(
    classes: Sequence[Inflated], counts: Mapping[Any, Counts], rows: Mapping[Any, int]
) -> str:
    """Return the Python parameter to use instead, for all classes.

    ``counts`` are the origins of the new rows of each class, ``rows`` its real ones.
    """
    inflated = {one.label: one.sensible for one in classes}
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
    return f"{remedy}, or sampling_strategy='all' for counterfactuals alone"


def all_gives_fewer(classes: Sequence[Inflated]) -> bool:
    """Whether taking every counterfactual, and nothing else, leaves no class inflated."""
    found = [one.inversions for one in classes]
    return any(found) and all(one.rows + one.inversions <= one.most for one in classes)


def tell_inflated(classes: Sequence[Inflated], remedy: str) -> str:
    """Return a message about inflated classes; ``remedy`` is what to request instead."""
    named = [str(one) for one in classes[:MOST_NAMED]]
    if len(classes) > MOST_NAMED:
        more = len(classes) - MOST_NAMED
        named.append(f"{more:,} more {'class' if more == 1 else 'classes'} likewise")
    return (
        f"{'; '.join(named)}. So few real rows do not show what so many new ones should look like. "
        f"Ask for fewer: {remedy}"
    )


def report_shortfall(
    requested: Mapping[int, int],
    made: Mapping[int, Counts],
    labels: Labels,
    policy: Policy,
    constraints: list[Constraint],
) -> None:
    """Warn of every class that did not get inversions only, or raise an error.

    ``requested`` is the number of new rows for each class code, ``made`` the numbers it got by
    origin.
    """
    for target, n in requested.items():
        counts = made[target]
        found, missing = counts["inversion"], n - sum(counts.values())
        if found == n:
            continue
        label = plain(labels.classes[target])
        head = f"class {label!r}: {n} new samples requested, {found} inversions found"
        if not (labels.counts > labels.counts[target]).any():
            head += " (no class is larger)"
        if constraints:
            head += f" under the constraints {', '.join(map(str, constraints))}"
        done = [
            f"{counts[origin]} more by {how}"
            for origin, how in (
                ("interior", "interpolating between rows of the class"),
                ("copy", "copying rows of the class"),
            )
            if counts[origin]
        ]
        if missing and policy != "accept":
            raise ShortfallError(
                f"{', '.join([head, *done])}, {missing} missing; ask for fewer with "
                "sampling_strategy, raise n_draws or epsilon, pass an estimator that predicts the "
                "class more often (class_weight='balanced'), let on_shortfall='fill' fill the "
                "class, or 'accept' fewer"
            )
        if missing:
            done.append(f"{missing} missing, as on_shortfall='accept' allows")
        warn_user(ShortfallWarning(f"{head}; {', '.join(done)}"), f"class {label!r}")
    warn_inflated(made, labels)


def warn_inflated(
    made: Mapping[int, Counts], labels: Labels, *, most_per_row: int = MOST_PER_ROW
) -> None:
    """Warn, once for all classes, of those that got too many new rows for their real ones."""
    counts = {plain(labels.classes[target]): new for target, new in made.items()}
    own = {plain(labels.classes[target]): int(labels.counts[target]) for target in made}
    found = all_inflated(counts, own, most_per_row)
    if found:
        text = tell_inflated(found, ask_for_fewer(found, counts, own))
        warn_user(InflatedClassWarning(text, tuple(found)), "inflated")
