"""Structure: what the searches know about f beyond its predictions.

    trees        forests, decision trees, boosting (``tree_readers``): a ``Landscape``
    linear       a score for each class that is a sum over the features: a ``Screen``
    nothing      any other f: predictions only

    bin          where a value lies among the cuts of its feature (see ``trees``)
    least, most  of each bin: the least and the largest value that the column can hold there
    cell         the bins of all features that share every leaf with some row: a box

Trees depend on a row only through its bins. A column can hold the values of its grid, the levels
that a rule allows, or its categories; a bin without any holds none, and then ``least`` is above
``most``. Both are nondecreasing from bin to bin.

A prediction computed from the structure has a margin larger than any rounding error. Without such a
margin f itself predicts, as it does for every row that a search returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from counterbalance.arrays import Floats, Integers, Small
from counterbalance.classifier import boosting
from counterbalance.classifier.predict import Classifier, Screen, linear_screen
from counterbalance.classifier.trees import MOST_SCORE, ONE, Trees
from counterbalance.search.draws import Space
from counterbalance.table.table import Table

try:
    from counterbalance.search import draw_kernel as kernel
except (ImportError, TypeError):  # not built, or built for another version of scipy
    kernel = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Landscape:
    """An ensemble, with what the columns can hold."""

    trees: Trees
    value: NDArray[np.int64]  # (nodes, scores); for two classes one, of the second minus the first
    first_bin: Small  # (M + 1,): where the bins of each feature begin
    least: Floats
    most: Floats
    next_up: Small  # the nearest bin, from this one on, that holds a value; -1 for none
    next_down: Small
    rate: Floats  # the distance of a change by one, 1 / MAD
    flat: NDArray[np.uint8]  # whether any change of a feature costs the same

    @classmethod
    def from_trees(cls, trees: Trees, space: Space) -> Landscape:
        """Join trees and columns."""
        score = trees.value / len(trees.roots)
        largest = np.abs(score).max(initial=0.0)
        if largest > MOST_SCORE:  # a boosting model with far too large steps
            score = score * (MOST_SCORE / largest)
        if score.shape[1] == 2:  # noqa: PLR2004 (two classes: one number is the lead)
            score = score[:, 1:] - score[:, :1]
        parts = [
            values_in_bins(trees.cuts_of(m), m, space, trees.cell) for m in range(trees.n_features)
        ]
        holds = [least <= most for least, most in parts]
        profile = space.profile
        return cls(
            trees,
            np.rint(score * ONE).astype(np.int64),
            np.cumsum([0, *map(len, holds)], dtype=np.int32),
            np.concatenate([least for least, _ in parts]),
            np.concatenate([most for _, most in parts]),
            np.concatenate([_next_up(held) for held in holds]),
            np.concatenate([_next_down(held) for held in holds]),
            1 / np.maximum(profile.scale, np.finfo(np.float64).tiny),
            profile.nominal.astype(np.uint8),
        )

    @cached_property
    def leaf_value(self) -> NDArray[np.int64]:
        """The scores of the leaves of small trees, (trees, WORD, scores)."""
        assert self.trees.leaf_sets is not None  # noqa: S101  (callers know that they are small)
        return np.asarray(self.value[self.trees.leaf_sets.leaf])

    def values(self, bins: Small, home: Small, origin: Floats) -> Floats:
        """Return the values in ``bins`` nearest to those of ``origin``, which lie in ``home``."""
        at = self.first_bin[:-1] + np.maximum(bins, 0)
        inside = np.minimum(np.maximum(origin, self.least[at]), self.most[at])
        return np.where(bins == home, origin, inside)

    def cells(self, bins: Small) -> tuple[Small, Small]:
        """Return the lowest and the highest bins that share every leaf with the given rows."""
        trees, nodes = self.trees, self.trees.nodes
        lowest = np.zeros(bins.shape, dtype=np.int32)
        highest = np.tile(np.diff(self.first_bin) - 1, (len(bins), 1)).astype(np.int32)
        for root in trees.roots:
            at = np.full(len(bins), root)
            going = np.flatnonzero(nodes[at, 0] >= 0)
            while going.size:
                feature, cut = nodes[at[going], 0], nodes[at[going], 1]
                place = bins[going, feature]
                right = np.where(place >= 0, place > cut, trees.missing_left[at[going]] == 0)
                row, m = going[right], feature[right]
                lowest[row, m] = np.maximum(lowest[row, m], cut[right] + 1)
                row, m = going[~right], feature[~right]
                highest[row, m] = np.minimum(highest[row, m], cut[~right])
                at[going] = np.where(right, nodes[at[going], 3], nodes[at[going], 2])
                going = going[nodes[at[going], 0] >= 0]
        return lowest, highest


def values_in_bins(
    cuts: Floats, m: int, space: Space, cell: type[np.floating[Any]] = np.float32
) -> tuple[Floats, Floats]:
    """Return the least and the largest value that column ``m`` can hold in each bin.

    ``cell`` is what a value becomes before it is compared with the cuts.
    """
    profile, grid = space.profile, space.grid
    levels = space.rules.levels.get(m)
    share = profile.frequency[m]
    if share is not None:
        used = np.flatnonzero(share).astype(np.float64)
        levels = used if levels is None else used[np.isin(used, levels)]
    if levels is not None:
        return _bins_of_levels(cuts, np.sort(levels), cell)
    above = np.nextafter(cuts.astype(cell), cell(np.inf)).astype(np.float64)
    resolution, narrow = grid.resolution[m], np.dtype(f"f{int(grid.width[m])}").type
    up = _on_grid(above, cuts, resolution, narrow, cell, sign=1)
    down = _on_grid(cuts, cuts, resolution, narrow, cell, sign=-1)
    return np.append(profile.lower[m], up), np.append(down, profile.upper[m])


def _bins_of_levels(
    cuts: Floats, levels: Floats, cell: type[np.floating[Any]]
) -> tuple[Floats, Floats]:
    place = np.searchsorted(cuts, levels.astype(cell))
    every = np.arange(len(cuts) + 1)
    padded = np.concatenate([[-np.inf], levels, [np.inf]])
    # The least level of a later bin, the largest of an earlier one.
    least = padded[np.searchsorted(place, every) + 1]
    most = padded[np.searchsorted(place, every, side="right")]
    return least, most


def _on_grid(
    values: Floats,
    cuts: Floats,
    resolution: float,
    narrow: type[np.floating[Any]],
    cell: type[np.floating[Any]],
    *,
    sign: int,
) -> Floats:
    """Return the grid point next to each cut: the least above (sign 1), the largest not above.

    ``narrow`` is what the column holds.
    """
    if resolution > 0:
        whole = np.rint(values * resolution)
        points = [((whole + step) / resolution + 0.0).astype(narrow) for step in (-1, 0, 1)]
    elif np.dtype(narrow).itemsize < np.dtype(cell).itemsize:
        nearest = values.astype(narrow)
        points = [np.nextafter(nearest, narrow(-np.inf)), nearest]
        points.append(np.nextafter(nearest, narrow(np.inf)))
    else:
        return values
    result = np.full(len(cuts), sign * np.inf)
    for point in points:
        exact = point.astype(np.float64)
        beyond = (exact.astype(cell) > cuts) == (sign > 0)
        nearer = exact < result if sign > 0 else exact > result
        result = np.where(beyond & nearer, exact, result)
    return result


def _next_up(holds: NDArray[np.bool_]) -> Small:
    places = np.append(np.flatnonzero(holds), -1).astype(np.int32)
    return places[np.searchsorted(places[:-1], np.arange(len(holds)))]


def _next_down(holds: NDArray[np.bool_]) -> Small:
    places = np.append(-1, np.flatnonzero(holds)).astype(np.int32)
    return places[np.searchsorted(places[1:], np.arange(len(holds)), side="right")]


def kernel_status() -> str:
    """Return whether the kernels are compiled; without them the same seed gives other rows."""
    there = kernel is not None and boosting.is_compiled()
    return "with the compiled kernels" if there else "without the compiled kernels (slower)"


@dataclass(frozen=True, eq=False)
class Structure:
    """A classifier, with its trees or its weights if they are known."""

    f: Classifier
    land: Landscape | None = None
    ensemble: Any = None  # the trees, as the kernel knows them
    screen: Screen | None = None

    @property
    def is_known(self) -> bool:
        """Whether the kernel can follow draws without asking f."""
        return self.ensemble is not None or (kernel is not None and self.screen is not None)

    @property
    def codes(self) -> Integers:
        """The class code of each class of f, -1 for one that the labels lack."""
        return self.f.codes_of_f()

    @property
    def places(self) -> Integers:
        """The place of each class code among the classes of f."""
        places = np.full(len(self.f.classes), -1, dtype=np.intp)
        places[self.codes[self.codes >= 0]] = np.flatnonzero(self.codes >= 0)
        return places

    def predict(self, x: Floats, ids: Integers) -> Integers:
        """Return the code of the class that f puts each row into, made from the factuals ``ids``.

        The rows are not checked again.
        """
        if self.ensemble is None:
            return self.f.predict_codes(x, ids)
        answer = np.empty(len(x), dtype=np.intp)
        kernel.predict(self.ensemble, np.ascontiguousarray(x), answer)
        close = np.flatnonzero(answer < 0)
        answer = self.codes[answer]
        if close.size:
            answer[close] = self.f.predict_codes(x[close], ids[close])
        return answer


def read_structure(space: Space, f: Classifier, table: Table) -> Structure:
    """Read the structure of f, if its input is the encoded table itself."""
    numbers = not f.moves_cells and not any(kind.has_levels for kind in table.kinds)
    trees = f.trees if f.takes_codes or numbers else None
    if trees is not None and np.isfinite(trees.value).all():  # other values cannot be ordered
        land = Landscape.from_trees(trees, space)
        return Structure(f, land, None if kernel is None else kernel.Ensemble(land))
    if trees is None and numbers:
        profile, widths = space.profile, space.grid.width
        # Use the ranges of the profile instead of the table: any container of the same numbers then
        # gives the same rows.
        width = widths.max() if widths.size else 8
        ends = np.array([profile.lower, profile.upper], dtype=f"f{width}")
        inner = f.f.estimator if isinstance(f.f, FrozenEstimator) else f.f
        return Structure(f, screen=linear_screen(inner, ends, f.classes))
    return Structure(f)
