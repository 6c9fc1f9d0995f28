"""SOMO: SMOTE inside, and between neighbouring, cells of a self-organising map."""

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.allocation import allocate, repeated
from counterbalance.methods.base import PeerOverSampler
from counterbalance.methods.clusters import drawn_members
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.interpolation import drawn_between, smote
from counterbalance.methods.neighbours import capped
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.self_organising_map import adjacent_units, best_unit, trained_map


def mean_distance(rows: Floats) -> float:
    """Mean Euclidean distance over the pairs of rows; zero for a single row."""
    if len(rows) == 1:
        return 0.0
    squares = (rows**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    return float(apart[np.triu_indices(len(rows), k=1)].mean())


def sparsity(rows: Floats) -> float:
    """One over the density of a cluster: mean distance squared over the number of rows."""
    return mean_distance(rows) ** 2 / len(rows)


class SOMO(PeerOverSampler):
    """Self-organising map oversampling.

    G. Douzas, F. Bacao, "Self-Organizing Map Oversampling (SOMO) for imbalanced data set
    learning", Expert Systems with Applications 2017.

    A self-organising map of the whole table makes clusters; those with more minority than
    other rows are kept. Their density is the number of minority rows over the square of their
    mean distance. One part of the new rows is made by SMOTE inside the kept clusters, the
    other between minority rows of kept clusters that are neighbours on the map; both parts are
    spread in inverse proportion to density, so that sparse places get more.

    Departures: the map is a square of about the square root of the table's rows in units,
    trained in batches on standardised features. Where no cluster can be kept the paper makes
    nothing; here SMOTE is used on the whole minority, with a warning.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours for SMOTE inside a cluster; fewer where the cluster has fewer.
    side : int or None, default=None
        Side of the map; ``None`` takes the fourth root of the number of rows, at least 2.
    n_epochs : int, default=15
        Passes over the table in the training of the map.
    between_share : float, default=0.5
        Share of the new rows that is made between neighbouring clusters.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)
    side: int | None = parameter(default=None, rule=[*POSITIVE_INTEGER, None])
    n_epochs: int = parameter(default=15, rule=POSITIVE_INTEGER)
    between_share: float = parameter(default=0.5, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        table = np.vstack([minority, majority])
        side = self.side or max(2, round(len(table) ** 0.25))
        cells = self._cells(table, side, rng)
        ours, others = cells[: len(minority)], cells[len(minority) :]
        n_cells = side * side
        kept = np.bincount(ours, minlength=n_cells) > np.bincount(others, minlength=n_cells)
        sparse = np.array(
            [sparsity(minority[ours == cell]) if kept[cell] else 0.0 for cell in range(n_cells)]
        )
        pairs = adjacent_units(side)
        pairs = pairs[(sparse[pairs] > 0).all(axis=1)]
        if not sparse.any():
            warn_fallback(
                "SOMO",
                "no cell of the map holds two different minority rows and fewer others",
                "SMOTE was used on the whole minority",
            )
            return smote(
                minority, n_samples, capped(self.n_neighbors, len(minority) - 1, "SOMO"), rng
            )
        n_between = round(n_samples * self.between_share) if len(pairs) else 0
        return np.vstack(
            [
                self._inside(minority, ours, sparse, n_samples - n_between, rng),
                self._across(minority, ours, sparse, pairs=pairs, n_samples=n_between, rng=rng),
            ]
        )

    def _cells(self, table: Floats, side: int, rng: np.random.Generator) -> Integers:
        scale = table.std(axis=0)
        scaled = (table - table.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        return best_unit(scaled, trained_map(scaled, side, self.n_epochs, rng))

    def _inside(
        self,
        minority: Floats,
        ours: Integers,
        sparse: Floats,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        made = [minority[:0]]
        for cell, n_cell in enumerate(allocate(sparse, n_samples)):
            if n_cell:
                rows = minority[ours == cell]
                made.append(smote(rows, n_cell, min(self.n_neighbors, len(rows) - 1), rng))
        return np.vstack(made)

    def _across(
        self,
        minority: Floats,
        ours: Integers,
        sparse: Floats,
        *,
        pairs: Integers,
        n_samples: int,
        rng: np.random.Generator,
    ) -> Floats:
        if n_samples == 0:
            return minority[:0]
        # The density of a pair is the sum of both densities; its weight the inverse of that.
        weights = 1 / (1 / sparse[pairs]).sum(axis=1)
        chosen = pairs[repeated(allocate(weights, n_samples))]
        ends = [minority[drawn_members(chosen[:, end], ours, rng)] for end in (0, 1)]
        return drawn_between(ends[0], ends[1], rng)
