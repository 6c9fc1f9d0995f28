"""Structure: what the searches know of f beyond its answers.

    trees     forests, decision trees, boosting (``tree_readers``): a ``Landscape``
    linear    a score for each class that is a sum over the features: a ``Screen``
    nothing   any other f is only asked

An answer that is read off the structure has a margin that rounding cannot undo. Where there is no
such margin f itself is asked, and so it is about every row that a search returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from counterbalance.arrays import Floats, Integers
from counterbalance.classifier import boosting
from counterbalance.classifier.judge import Classifier
from counterbalance.classifier.linear import Screen, linear_screen
from counterbalance.classifier.tree_readers import has_trees, is_boosting
from counterbalance.classifier.trees import read_trees
from counterbalance.search.landscape import Landscape
from counterbalance.search.space import Space
from counterbalance.table.table import Table

try:
    from counterbalance.search import draw_kernel as kernel
except (ImportError, TypeError):  # not built, or built for another version of scipy
    kernel = None  # type: ignore[assignment]


def kernel_status() -> str:
    """Say whether the compiled kernels are there; without them the same seed gives other rows."""
    there = kernel is not None and boosting.is_compiled()
    return "with the compiled kernels" if there else "without the compiled kernels (slower)"


@dataclass(frozen=True, eq=False)
class Structure:
    """A classifier, and its trees or its weights where they are known."""

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

        The rows are known to be sound.
        """
        if self.ensemble is None:
            return self.f.on_candidates(x, ids)
        answer = np.empty(len(x), dtype=np.intp)
        kernel.predict(self.ensemble, np.ascontiguousarray(x), answer)
        close = np.flatnonzero(answer < 0)
        answer = self.codes[answer]
        if close.size:
            answer[close] = self.f.on_candidates(x[close], ids[close])
        return answer


def read_structure(space: Space, f: Classifier, table: Table) -> Structure:
    """Look into f, as far as it sees the very numbers that the table is encoded as."""
    inner = f.f.estimator if isinstance(f.f, FrozenEstimator) else f.f
    numbers = not f.moves_cells and not any(kind.has_levels for kind in table.kinds)
    if _has_known_trees(inner) and (f.takes_codes or numbers):
        trees = f.trees if inner is f.f else read_trees(inner)
        if np.isfinite(trees.value).all():  # scores without a bound have no order to climb
            land = Landscape.of(trees, space.perturbation)
            return Structure(f, land, None if kernel is None else kernel.Ensemble(land))
    elif numbers:
        profile, widths = space.perturbation.profile, space.perturbation.grid.width
        # The ranges of the profile stand for the table: any container of the same numbers gives
        # the same rows.
        width = widths.max() if widths.size else 8
        ends = np.array([profile.lower, profile.upper], dtype=f"f{width}")
        return Structure(f, screen=linear_screen(inner, ends, f.classes))
    return Structure(f)


def _has_known_trees(f: Any) -> bool:
    return has_trees(f) or is_boosting(f)
