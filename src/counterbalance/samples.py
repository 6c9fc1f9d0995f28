"""Samples: the new rows, built from what was found, and their provenance.

A search keeps of an inversion only (factual, draw, round): the row itself is
built once more when it is known to be taken, a block at a time, so that memory
never holds more than the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.classifier import Classifier
from counterbalance.factuals import Factuals
from counterbalance.profile import Floats, distance
from counterbalance.provenance import Provenance
from counterbalance.search import Inversions, rebuild
from counterbalance.shortfall import Filled

Integers = NDArray[np.intp]


class Builder:
    """Builds the result and writes its provenance on the way."""

    def __init__(self, factuals: Factuals, f: Classifier, filled: list[Filled]) -> None:
        n_new = sum(part.asked - part.missing for part in filled)
        n_features = len(factuals.table.names)
        self.factuals, self.f, self.filled, self.n_new = factuals, f, filled, n_new
        self.factual, self.target, self.round = np.zeros((3, n_new), dtype=np.intp)
        self.distance = np.zeros(n_new)
        self.score = np.full((2, n_new), np.nan)
        self.origin = np.empty(n_new, dtype=object)
        self.changed = np.zeros((n_new, -(-n_features // 8)), dtype=np.uint8)

    def build(self) -> tuple[Any, Any, Provenance]:
        """Return the resampled table, its labels and the provenance."""
        table, labels = self.factuals.table, self.factuals.labels
        X = table.append(self.n_new, self._blocks())
        columns = {
            "sample": np.arange(self.n_new) + len(labels.codes),
            "factual": self.factual,
            "from_class": labels.classes[labels.codes[self.factual]],
            "to_class": labels.classes[self.target],
            "origin": self.origin,
            "distance": self.distance,
            "round": self.round,
            "score_before": self.score[0],
            "score_after": self.score[1],
        }
        return X, labels.append(self.target), Provenance(columns, self.changed, table.names)

    def _blocks(self) -> Iterator[tuple[Floats, Integers]]:
        stop = 0
        for part in self.filled:
            for origin, found in part.parts:
                for block in self._cut(len(found)):
                    some = found.take(block)
                    start, stop = stop, stop + len(some)
                    at = slice(start, stop)
                    self.round[at], self.distance[at] = some.round, some.distance
                    yield self._note(at, part.target, origin, self._rebuild(some), some.factual)
            if part.interior.size:
                new, base = self.factuals.interior(part.target, part.interior)
                start, stop = stop, stop + len(new)
                at = slice(start, stop)
                self.distance[at] = distance(
                    self.factuals.task.perturbation.profile,
                    self.factuals.task.order,
                    self.factuals.table.rows(base),
                    new,
                )
                yield self._note(at, part.target, "interior", new, base)

    def _note(
        self, at: slice, target: int, origin: str, new: Floats, factual: Integers
    ) -> tuple[Floats, Integers]:
        old = self.factuals.table.rows(factual)
        self.factual[at], self.target[at], self.origin[at] = factual, target, origin
        differs = (new != old) & ~(np.isnan(new) & np.isnan(old))
        self.changed[at] = np.packbits(differs, axis=1)
        for moment, rows in enumerate((old, new)):
            scores = self.f.scores(rows)
            if scores is not None:
                self.score[moment, at] = scores[:, target]
        return new, factual

    def _rebuild(self, found: Inversions) -> Floats:
        x = self.factuals.table.rows(found.factual)
        return rebuild(self.factuals.task, x, found.factual, found.draw, found.round)

    def _cut(self, n: int) -> Iterator[slice]:
        # A row that is built takes its twin, its draws and what lies in between.
        return self.factuals.task.blocks(n, 8 * len(self.factuals.table.names))
