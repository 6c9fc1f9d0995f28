"""Shortfall: what to do for a class that got fewer inversions than asked for.

    fill      make the missing rows within the class: interpolate between its rows, or copy
              them if they are alike
    accept    return fewer
    raise     refuse

Nothing is padded in silence: whatever fills a class is named in the warning, and the column
``origin`` of the provenance says what each row is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.constraints import Constraint
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.prepare import Prepared
from counterbalance.rows.interior import Interior
from counterbalance.rows.origins import (
    MOST_PER_ROW,
    Counts,
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


def fill(classes: list[NewRows], prepared: Prepared) -> None:
    """Fill up the classes that are short with rows made within them."""
    for rows in classes:
        if rows.missing:
            rows.interior = Interior.of(prepared, rows.target).for_rows(rows.missing)
            rows.lots = rows.interior.accept()
            rows.copies = rows.interior.copies(rows.missing)


def report(
    asked: Mapping[int, int],
    made: Mapping[int, Counts],
    labels: Labels,
    policy: Policy,
    constraints: list[Constraint],
) -> None:
    """Warn of every class that did not get inversions only, or refuse.

    ``asked`` says how many new rows each class code was to get, ``made`` how many of which origin
    it got.
    """
    for target, n in asked.items():
        counts = made[target]
        found, missing = counts["inversion"], n - sum(counts.values())
        if found == n:
            continue
        label = plain(labels.classes[target])
        head = f"class {label!r}: {n} new samples asked for, {found} inversions found"
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
    """Warn, once for all classes, of those that got far more rows than their own bear out."""
    counts = {plain(labels.classes[target]): new for target, new in made.items()}
    own = {plain(labels.classes[target]): int(labels.counts[target]) for target in made}
    found = all_inflated(counts, own, most_per_row)
    if found:
        text = tell_inflated(found, ask_for_fewer(found, counts, own))
        warn_user(InflatedClassWarning(text, tuple(found)), "inflated")
