"""NRSBoundary-SMOTE: oversample the rough set's boundary, spare the majority's core.

Glossary
    delta           (n,)  radius of a row's neighbourhood
    boundary        minority rows with both classes in their neighbourhood
    lower region    majority rows with only majority rows in their neighbourhood
"""

import numpy as np
from sklearn.metrics import pairwise_distances_chunked

from counterbalance.arrays import Floats, Mask
from counterbalance.methods.base import NeighbourOverSampler, RejectionOverSampler
from counterbalance.methods.neighbours import balls_holding, nearest_others
from counterbalance.methods.parameters import SHARE, parameter
from counterbalance.methods.synthesis import towards_neighbours


def neighbourhoods(table: Floats, n_minority: int, w: float) -> tuple[Floats, Mask, Mask]:
    """Return each row's radius and whether its neighbourhood holds minority and majority rows.

    The radius is the distance to the nearest other row plus ``w`` times the difference to the
    farthest one. A row is in its own neighbourhood. The minority comes first in the table.
    """

    def reduced(block: Floats, start: int) -> Floats:
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        near = block.min(axis=1)
        block[rows, start + rows] = 0.0
        delta = near + w * (block.max(axis=1) - near)
        inside = block <= delta[:, None]
        return np.column_stack(
            [delta, inside[:, :n_minority].any(axis=1), inside[:, n_minority:].any(axis=1)]
        )

    found = np.vstack(list(pairwise_distances_chunked(table, reduce_func=reduced)))
    return found[:, 0], found[:, 1] > 0, found[:, 2] > 0


class NRSBoundarySMOTE(RejectionOverSampler, NeighbourOverSampler):
    """Boundary oversampling by neighbourhood rough sets.

    F. Hu, H. Li, "A Novel Boundary Oversampling Algorithm Based on Neighborhood Rough Set
    Model: NRSBoundary-SMOTE", Mathematical Problems in Engineering 2013.

    Each row has a neighbourhood whose radius depends on its distances to all others. Minority
    rows with majority rows in it form the boundary, and only they are seeds of SMOTE. A new row
    is rejected if it falls into the neighbourhood of a majority row that holds majority rows
    only, so that the majority's lower approximation is not damaged.

    Departures: if the boundary is empty all minority rows are seeds, with a warning; after
    ``max_rounds`` rounds the least faulty of the rejected rows are taken, with a warning.

    Cost: the distances between all pairs of rows, by definition more than 20 times the work of
    SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows from which the other end of the segment is drawn.
    w : float, default=0.005
        Size of the neighbourhoods: 0 reaches the nearest row, 1 the farthest.
    max_rounds : int, default=20
        Rounds of drawing before the least faulty rows are taken.
    """

    w: float = parameter(default=0.005, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        ours = np.arange(len(table)) < len(minority)
        delta, has_minority, has_majority = neighbourhoods(table, len(minority), self.w)
        boundary = np.flatnonzero(ours & has_majority)
        lower = ~ours & ~has_minority
        if not len(boundary):
            self._warn(
                "no minority row has a majority row in its neighbourhood",
                "all minority rows are seeds; a larger w avoids this",
            )
            boundary = np.flatnonzero(ours)
        _, indices = nearest_others(minority, self._neighbours_within(len(minority)))

        def draw(n: int) -> Floats:
            seeds = boundary[rng.integers(len(boundary), size=n)]
            return towards_neighbours(minority, seeds, indices, rng)

        def damaged(rows: Floats) -> Floats:
            """Count the neighbourhoods of the majority's lower region that each row falls into."""
            if not lower.any():
                return np.zeros(len(rows))
            return balls_holding(rows, table[lower], delta[lower]).astype(np.float64)

        return self._drawn_until_accepted(n_samples, draw, damaged)
