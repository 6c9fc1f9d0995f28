"""Fellows: the rows of a class that a new row may be moved by, and the nearest of them.

    x          encoded rows of one class, (n, M): all, or those of one part of the table
    rank       the place of a row among the rows of its class
    fellows    all rows of the class, or MOST_FELLOWS of them: one of each of so many equal
               stretches of the class, so that a class can be worked on in parts
    partner    one of the fellows nearest to a row

Few features are searched by a tree, many by comparing every row with every fellow: in the kernel,
or in numpy to the same bits. Of fellows that are equally far the first ones are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from counterbalance.arrays import Floats, Integers, blocks
from counterbalance.profile import Profile, middle
from counterbalance.search.draws import stream, uniform

try:
    from counterbalance.plausible import nearest_kernel as kernel
except ImportError:  # not built
    kernel = None  # type: ignore[assignment]

N_NEIGHBOURS = 5
# With more features than these a tree of rows is slower than to compare all with all.
MOST_IN_TREE = 15
# Distances that are held at a time where all rows are compared with all.
CELLS_COMPARED = 2**20
# To find the partners of n rows among all n takes time that grows with n squared, and every
# worker of a cluster would need all of them.
MOST_FELLOWS = 10_000
# Numbers for the interior samples of one class, far more than are ever used.
LOTS_PER_CLASS = 2**40
# Draws 0 to 3 of a lot belong to its new row; this one to the choice of the fellows.
FELLOWS_DRAW = 4
NOWHERE, MISSING = -1, -1.0


@dataclass(frozen=True)
class Fellows:
    """The rows of a class by which a new row may be moved away from its base."""

    x: Floats
    rank: Integers  # ascending
    n: int  # the rows of the class in all

    @classmethod
    def among(cls, x: Floats, seed: int, target: int) -> Self:
        """Choose them among all rows of a class."""
        rank = fellow_ranks(len(x), seed, target)
        return cls(x if len(rank) == len(x) else x[rank], rank, len(x))

    @property
    def are_all(self) -> bool:
        """Whether no row of the class is left out."""
        return len(self.rank) == self.n

    def nearest(self, x: Floats, first: int, profile: Profile) -> Integers:
        """Return the nearest fellows of each row by the method's distance, without itself.

        They are places among the fellows; ``first`` is the rank of the first row.
        """
        k = min(N_NEIGHBOURS, len(self.x) - 1)
        if not len(x) or not k:
            return np.zeros((len(x), max(0, k)), dtype=np.intp)
        layout = _one_hot(self.x, self.x, profile)
        if layout.shape[1] <= MOST_IN_TREE:
            return self._in_tree(layout, _one_hot(x, self.x, profile), first, k)
        if self.are_all:
            no_codes = np.zeros((len(x), 0))
            return _compared(layout, no_codes, layout, no_codes, np.arange(len(x)), k)
        ranks = first + np.arange(len(x))
        place = np.minimum(np.searchsorted(self.rank, ranks), len(self.rank) - 1)
        own = np.where(self.rank[place] == ranks, place, NOWHERE)
        fellows = _numbers_and_codes(self.x, self.x, profile)
        return _compared(*_numbers_and_codes(x, self.x, profile), *fellows, own, k)

    def _in_tree(self, layout: Floats, rows: Floats, first: int, k: int) -> Integers:
        # A tree answers for every row on its own, so it does not matter how a class is cut.
        how = "auto" if self.are_all else "ball_tree"
        search = NearestNeighbors(n_neighbors=k + 1, metric="manhattan", algorithm=how)
        near = search.fit(layout).kneighbors(rows, return_distance=False)
        # Among duplicates a row need not come first in its own list: drop it where it
        # is, or the farthest where it is not there at all.
        own = self.rank[near] == (first + np.arange(len(rows)))[:, None]
        own[~own.any(axis=1), -1] = True
        return np.asarray(near[~own].reshape(len(rows), k))


def fellow_ranks(n: int, seed: int, target: int) -> Integers:
    """Return the ranks of the fellows in a class of ``n`` rows, ascending."""
    if n <= MOST_FELLOWS:
        return np.arange(n)
    numbers = np.arange(MOST_FELLOWS)
    state = stream(seed, target * LOTS_PER_CLASS + numbers, FELLOWS_DRAW)
    return in_stretches(numbers, MOST_FELLOWS, n, uniform(state, 0))


def in_stretches(numbers: Integers, n_stretches: int, n: int, u: Floats) -> Integers:
    """Return a place in the stretch of each number, where ``n`` places are cut into stretches.

    They never fall as the numbers grow. A stretch of less than a place is the one it lies in.
    """
    start, stop = numbers * n // n_stretches, (numbers + 1) * n // n_stretches
    return np.asarray(start + (u * np.maximum(1, stop - start)).astype(np.intp))


def _compared(
    x: Floats, codes: Floats, of_x: Floats, of_codes: Floats, own: Integers, k: int
) -> Integers:
    """Compare every row with every fellow but its own place: numbers and codes."""
    near = np.zeros((len(x), k), dtype=np.intp)
    if kernel is not None:
        flat = np.ascontiguousarray
        kernel.nearest(flat(x), flat(codes), flat(of_x), flat(of_codes), own, near)
        return near
    for block in blocks(len(x), len(of_x), CELLS_COMPARED):
        far = cdist(x[block], of_x, "cityblock") if x.shape[1] else 0.0
        far = far + _differing(codes[block], of_codes)
        here = np.flatnonzero(own[block] != NOWHERE)
        far[here, own[block][here]] = np.inf
        row, column = np.nonzero(far <= np.partition(far, k - 1, axis=1)[:, k - 1 : k])
        order = np.lexsort((column, far[row, column], row))
        start = np.searchsorted(row, np.arange(len(far)))
        near[block] = column[order][start[:, None] + np.arange(k)]
    return near


def _differing(codes: Floats, of_codes: Floats) -> Floats:
    """Count the codes that differ; one that is missing on one side only counts half."""
    total = np.zeros((len(codes), len(of_codes)))
    for here, there in zip(codes.T, of_codes.T, strict=True):
        known = 0.5 * ((here != MISSING)[:, None] + 1.0 * (there != MISSING))
        total += np.where(here[:, None] != there, known, 0.0)
    return total


def _one_hot(x: Floats, fellows: Floats, profile: Profile) -> Floats:
    """Lay rows out so that the Manhattan distance to their fellows is the method's distance.

    A level that no fellow has is as far from all of them, so it needs no column.
    """
    columns: list[Floats] = []
    for m, is_nominal in enumerate(profile.nominal):
        column, known = x[:, m], _known(fellows[:, m])
        if is_nominal:
            columns.extend((column == level) * 0.5 for level in np.unique(known))
        elif known.size:
            columns.append(_scaled(column, known, profile.scale[m]))
    return np.column_stack(columns) if columns else np.zeros((len(x), 1))


def _numbers_and_codes(x: Floats, fellows: Floats, profile: Profile) -> tuple[Floats, Floats]:
    """Split rows into scaled numbers and codes of categories; the distance is as by one-hot."""
    known = [_known(column) for column in fellows.T]
    numbers = [
        _scaled(x[:, m], known[m], profile.scale[m])
        for m in np.flatnonzero(~profile.nominal)
        if known[m].size
    ]
    codes = x[:, profile.nominal]
    return (
        np.column_stack(numbers) if numbers else np.zeros((len(x), 0)),
        np.where(np.isnan(codes), MISSING, codes),
    )


def _known(column: Floats) -> Floats:
    return np.asarray(column[~np.isnan(column)])


def _scaled(column: Floats, known: Floats, scale: float) -> Floats:
    missing = np.isnan(column)
    return (np.where(missing, middle(known), column) if missing.any() else column) / scale
