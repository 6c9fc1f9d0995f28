"""Agreement: a second opinion on new rows, of which f knows nothing.

f calls every inversion the class: that is how it was found. Whether the row belongs there is asked
of two judges that are unlike f and weigh no class more than another:

    boosting      a few rounds on all features (see ``boosting``)
    neighbours    how many of the 10 nearest rows are of the class
    score         the mean of the two probabilities

Both are fitted to a sample of a large table, drawn by the seed of the search. A row's score is its
own: it does not depend on those that are asked about with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask, Small, blocks
from counterbalance.classifier.boosting import Boosting, draw_rows
from counterbalance.classifier.cells import Cells, lay_out, read_cells

try:
    from counterbalance.classifier import committee_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

# Rows that the judges are fitted to. Neighbours are looked for among fewer, and in a wide table
# among fewer still: about so many, of so many cells together, but never less than the last.
MOST_ROWS = 10_000
MOST_REFERENCES = 2_000
MOST_REFERENCE_CELLS = 100_000
LEAST_REFERENCES = 200
N_NEIGHBOURS = 10
# References that the kernel looks at side by side.
SIDE = 8
# Distances that are held at a time where there is no kernel.
CELLS_AT_ONCE = 2**20


def sampled(codes: Integers, seed: int) -> tuple[Integers, Floats]:
    """Return the rows that the judges are fitted to, and how many rows each stands for.

    A row whose class code is negative has no class and is never drawn.
    """
    rows = np.flatnonzero(codes >= 0)
    if len(rows) <= MOST_ROWS:
        return rows, np.ones(len(rows))
    _, dense = np.unique(codes[rows], return_inverse=True)
    drawn, more = draw_rows(dense, MOST_ROWS, np.random.RandomState(seed % 2**32))
    return rows[drawn], more


@dataclass(frozen=True, eq=False)
class Agreement:
    """The two judges."""

    boosting: Boosting
    cells: list[Cells]
    references: Floats  # rows of the table, laid out
    code: Small  # the class of each
    weight: Floats  # what its vote counts
    n_classes: int

    @classmethod
    def fit(
        cls, x: Floats, codes: Integers, weight: Floats, nominal: Mask, n_classes: int, seed: int
    ) -> Self:
        """Fit the judges to encoded rows, see ``sampled``, and to the codes of their classes."""
        boosting = Boosting(max_rows=len(x)).fit(x, codes, weight)
        cells = read_cells(x, nominal)
        rows, more = np.arange(len(x)), np.ones(len(x))
        width = sum(own.width for own in cells)
        most = min(MOST_REFERENCES, max(LEAST_REFERENCES, MOST_REFERENCE_CELLS // width))
        if len(x) > most:
            present, dense = np.unique(codes, return_inverse=True)
            random = np.random.RandomState(seed % 2**32)
            rows, more = draw_rows(dense, most, random, most // (2 * len(present)))
        references = np.ascontiguousarray(lay_out(cells, x[rows]))
        code = codes[rows].astype(np.int32)
        return cls(boosting, cells, references, code, weight[rows] * more, n_classes)

    def scores(self, x: Floats, target: Integers | Small) -> Floats:
        """Return how far the judges agree that each encoded row is of its class ``target``."""
        if not len(x):
            return np.zeros(0)
        every = np.arange(len(x))
        probability = np.zeros((len(x), self.n_classes))
        probability[:, self.boosting.classes_] = self.boosting.predict_proba(x)
        votes = self.votes(lay_out(self.cells, x))
        total = votes.sum(axis=1)
        share = votes[every, target] / np.where(total > 0, total, 1.0)
        return np.asarray((probability[every, target] + share) / 2)

    def votes(self, rows: Floats) -> Floats:
        """Return the weights of the nearest references of each row by class, (n, C)."""
        n_neighbours = min(N_NEIGHBOURS, len(self.references))
        votes = np.zeros((len(rows), self.n_classes))
        if kernel is None:
            _vote(rows, self.references, self.code, self.weight, n_neighbours, votes)
        else:
            blocks = self._side_by_side
            kernel.vote(rows, blocks, self.code, self.weight, n_neighbours, votes)
        return votes

    @cached_property
    def _side_by_side(self) -> Floats:
        """The references as the kernel reads them, (blocks, D, SIDE); what is missing is far."""
        n_blocks = -(-len(self.references) // SIDE)
        padded = np.full((n_blocks * SIDE, self.references.shape[1]), np.inf)
        padded[: len(self.references)] = self.references
        return np.ascontiguousarray(padded.reshape(n_blocks, SIDE, -1).transpose(0, 2, 1))


def _vote(
    x: Floats,
    references: Floats,
    code: Small,
    weight: Floats,
    n_neighbours: int,
    votes: Floats,
) -> None:
    """Do as the kernel does: of equally near references the first count."""
    for block in blocks(len(x), len(references), CELLS_AT_ONCE):
        far = np.zeros((len(x[block]), len(references)))
        for column, other in zip(x[block].T, references.T, strict=True):
            far += (column[:, None] - other) ** 2
        near = np.argsort(far, axis=1, kind="stable")[:, :n_neighbours]
        for place in near.T:
            votes[np.arange(len(x))[block], code[place]] += weight[place]
