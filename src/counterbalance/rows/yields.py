"""Yields: what each pair of classes gave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.rows.shortfall import NewRows
from counterbalance.search.find import wanted_classes
from counterbalance.search.inversions import Inversions
from counterbalance.table.labels import Labels, plain


class Yield(NamedTuple):
    """What a pair of classes gave."""

    rows: int
    """Rows of the larger class."""
    factuals: int
    """Those that f gets right."""
    inversions: int
    """Factuals for which an inversion was found."""
    used: int
    """New rows that were made from them."""

    @property
    def share(self) -> float:
        """The share of the factuals for which an inversion was found."""
        return self.inversions / self.factuals if self.factuals else 0.0


def count_yields(
    classes: list[NewRows], found: Inversions, labels: Labels, answers: Integers
) -> dict[tuple[Any, Any], Yield]:
    """Count for each pair (larger class, smaller class) what was found and what was used."""
    right, table = answers == labels.codes, {}
    for part in classes:
        inverted = np.unique(found.factual[found.target == part.target])
        for source in np.flatnonzero(wanted_classes(labels.counts, [part.target])[:, part.target]):
            here = labels.codes == source
            pair = plain(labels.classes[source]), plain(labels.classes[part.target])
            table[pair] = Yield(
                rows=int(here.sum()),
                factuals=int((here & right).sum()),
                inversions=int(here[inverted].sum()),
                used=int(here[part.found.factual].sum()),
            )
    return table
