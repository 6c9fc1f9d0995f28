"""Shortfall: what to do for a class that got fewer inversions than asked for.

    fill      make the missing rows within the class: interpolate between its rows, or copy
              them if they are alike
    accept    return fewer
    raise     refuse

Nothing is padded in silence: whatever fills a class is named in the warning, and the column
``origin`` of the provenance says what each row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints import Constraint
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.prepare import Prepared
from counterbalance.rows.interior import Interior
from counterbalance.rows.origins import (
    MOST_PER_ROW,
    all_inflated,
    ask_for_fewer,
    tell_inflated,
)
from counterbalance.search.inversions import Inversions
from counterbalance.table.labels import Labels, plain
from counterbalance.user_warnings import warn_user

Policy = Literal["fill", "accept", "raise"]
POLICIES: tuple[Policy, ...] = ("fill", "accept", "raise")


@dataclass
class NewRows:
    """What one class gets: inversions, lots of interior samples, copies."""

    target: int
    asked: int
    found: Inversions = field(default_factory=lambda: Inversions.join([]))
    interior: Interior | None = None  # what the lots are drawn from
    lots: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    scores: Floats | None = None  # f's score of the class for each lot, where it is known
    copies: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # rows

    @property
    def missing(self) -> int:
        """How many samples are still to be found."""
        return self.asked - len(self.found) - len(self.lots) - len(self.copies)

    @property
    def made(self) -> dict[str, int]:
        """How many samples have which origin."""
        return {
            "inversion": len(self.found),
            "interior": len(self.lots),
            "copy": len(self.copies),
        }


class Counted(Protocol):
    """What a class was asked for, and how many of its new rows have which origin."""

    @property
    def target(self) -> int:
        """The code of the class."""

    @property
    def asked(self) -> int:
        """How many new rows it was to get."""

    @property
    def made(self) -> dict[str, int]:
        """How many it got, by origin."""

    @property
    def missing(self) -> int:
        """How many it lacks."""


def fill(classes: list[NewRows], prepared: Prepared) -> None:
    """Fill up the classes that are short with rows made within them."""
    for rows in classes:
        if rows.missing:
            rows.interior = Interior.of(prepared, rows.target).for_rows(rows.missing)
            rows.lots = rows.interior.accept()
            rows.copies = rows.interior.copies(rows.missing)


def report(
    classes: Sequence[Counted], labels: Labels, policy: Policy, constraints: list[Constraint]
) -> None:
    """Warn of every class that did not get inversions only, or refuse."""
    for rows in classes:
        found = rows.made["inversion"]
        if found == rows.asked:
            continue
        label = plain(labels.classes[rows.target])
        head = f"class {label!r}: {rows.asked} new samples asked for, {found} inversions"
        head += " found"
        if not (labels.counts > labels.counts[rows.target]).any():
            head += " (no class is larger)"
        if constraints:
            head += f" under the constraints {', '.join(map(str, constraints))}"
        done = [
            f"{rows.made[origin]} more by {how}"
            for origin, how in (
                ("interior", "interpolating between rows of the class"),
                ("copy", "copying rows of the class"),
            )
            if rows.made[origin]
        ]
        if rows.missing and policy != "accept":
            raise ShortfallError(
                f"{', '.join([head, *done])}, {rows.missing} missing; ask for fewer with "
                "sampling_strategy, raise n_draws or epsilon, pass an estimator that predicts the "
                "class more often (class_weight='balanced'), let on_shortfall='fill' fill the "
                "class, or 'accept' fewer"
            )
        if rows.missing:
            done.append(f"{rows.missing} missing, as on_shortfall='accept' allows")
        warn_user(ShortfallWarning(f"{head}; {', '.join(done)}"), f"class {label!r}")
    warn_inflated(classes, labels)


def warn_inflated(
    classes: Sequence[Counted], labels: Labels, *, most_per_row: int = MOST_PER_ROW
) -> None:
    """Warn, once for all classes, of those that got far more rows than their own bear out."""
    counts = {plain(labels.classes[rows.target]): rows.made for rows in classes}
    own = {plain(labels.classes[rows.target]): int(labels.counts[rows.target]) for rows in classes}
    found = all_inflated(counts, own, most_per_row)
    if found:
        text = tell_inflated(found, ask_for_fewer(found, counts, own))
        warn_user(InflatedClassWarning(text, tuple(found)), "inflated")
