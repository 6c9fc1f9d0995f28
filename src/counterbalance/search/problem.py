"""Factuals: the rows of the larger classes that f gets right, searched chunk by chunk.

    source j    a class to take factuals from
    target i    a class to make counterfactuals for, smaller than j
    pass        T draws of every factual; pass 0 is the paper's, later ones draw again

One pass over class j serves every smaller class: the class that f puts a
candidate into says whose inversion it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers, Mask, Words
from counterbalance.classifier.judge import Classifier
from counterbalance.errors import ClassifierError
from counterbalance.rows.interior import Interior
from counterbalance.search.draws import fingerprint
from counterbalance.search.nearest import Inversions, Task, rebuild, search, widths
from counterbalance.table.labels import Labels
from counterbalance.table.table import Table

# A job gets at least so many rows: fewer would not pay for its start.
FEWEST_ROWS = 256
# Numbers for the interior samples of one class, far more than are ever used.
LOTS_PER_CLASS = 2**40


class Yield(NamedTuple):
    """What a pair of classes gave."""

    rows: int
    factuals: int
    inversions: int
    used: int

    @property
    def share(self) -> float:
        """The share of the factuals for which an inversion was found."""
        return self.inversions / self.factuals if self.factuals else 0.0


@dataclass
class Factuals:
    """The factual table with everything a search of it needs, except f."""

    table: Table
    labels: Labels
    task: Task
    n_jobs: int | None
    _answers: dict[Classifier, Integers] = field(default_factory=dict, repr=False)
    _interiors: dict[int, Interior] = field(default_factory=dict, repr=False)

    @property
    def prior(self) -> Floats:
        """P_c, the share of each class in the table."""
        return np.asarray(self.labels.counts / self.labels.counts.sum())

    def answers(self, f: Classifier) -> Integers:
        """Return the class code that f gives every row."""
        if f not in self._answers:
            rows = np.arange(len(self.labels.codes))
            blocks = self.task.blocks(len(rows), len(self.table.names))
            answers = np.concatenate([f(self.table.rows(block), rows[block]) for block in blocks])
            if (answers < 0).all():
                raise ClassifierError(
                    f"estimator {type(f.f).__name__} predicts none of the classes "
                    f"{self.labels.classes.tolist()} for any row; pass a classifier of these labels"
                )
            self._answers[f] = answers
        return self._answers[f]

    def right(self, f: Classifier) -> Mask:
        """Return which rows f gets right: only those are factuals."""
        return np.asarray(self.answers(f) == self.labels.codes)

    def find(
        self, f: Classifier, number: int, targets: list[int], among: Mask | None = None
    ) -> Inversions:
        """Search the factuals for inversions to ``targets``, in the given pass of draws.

        ``among`` narrows the search: for each row (and class) whether it is worth it.
        """
        wanted = self.pairs(targets)[self.labels.codes]
        if among is not None:
            wanted &= among
        rows = np.flatnonzero(self.right(f) & wanted.any(axis=1))
        n_draws = len(self.task.draws)
        draws = range(number * n_draws, (number + 1) * n_draws)
        task = replace(self.task, draws=draws, screen=f.screen)
        size = self._chunk(len(rows))
        chunks = (rows[start : start + size] for start in range(0, len(rows), size))
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(search)(task, f.on_candidates, self.table.rows(chunk), chunk, wanted[chunk])
            for chunk in chunks
        )
        return Inversions.join([found for found, _ in parts])

    def interior(self, target: int) -> Interior:
        """Return a class, ready to be interpolated."""
        if target not in self._interiors:
            rows = np.flatnonzero(self.labels.codes == target)
            first_lot = target * LOTS_PER_CLASS
            self._interiors[target] = Interior.of(rows, self.table.rows(rows), self.task, first_lot)
        return self._interiors[target]

    def around(self, target: int, spread: float, between: float) -> Interior:
        """Return a class, ready to be spread around its rows."""
        rows = np.flatnonzero(self.labels.codes == target)
        first_lot = target * LOTS_PER_CLASS
        x = self.table.rows(rows)
        interior = Interior.around(rows, x, self.task, first_lot, spread, between)
        self._interiors[target] = interior
        return interior

    def rebuild(self, found: Inversions) -> Floats:
        """Return the rows of some inversions."""
        x = self.table.rows(found.factual)
        return rebuild(self.task, x, found.factual, found.draw, found.round)

    def fingerprints(self, found: Inversions) -> Words:
        """Return a word for each inversion, equal where factual and row are equal."""
        blocks = list(self.build_blocks(len(found)))
        parts = [found.take(block) for block in blocks]
        words = [fingerprint(self.rebuild(part), part.factual) for part in parts]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *words])

    def build_blocks(self, n: int) -> Iterator[slice]:
        """Cut rows to be built: each takes its twin, its draws and what lies in between."""
        return self.task.blocks(n, 8 * len(self.table.names))

    def pairs(self, targets: list[int]) -> Mask:
        """Return for which classes j (rows) which classes i (columns) are wanted: N_i < N_j."""
        counts = self.labels.counts
        wanted = counts[:, None] > counts
        wanted &= np.isin(np.arange(len(counts)), targets)
        return np.asarray(wanted)

    def _chunk(self, n_rows: int) -> int:
        """Return how many rows a job gets: what its memory holds, or an even share."""
        width = max(1, widths(len(self.task.order))[0])
        most = self.task.cells_at_once // self.task.window_cells(width)
        n_jobs: int = effective_n_jobs(self.n_jobs)
        share = -(-n_rows // (4 * n_jobs))
        return max(1, min(most, max(FEWEST_ROWS, share)))
