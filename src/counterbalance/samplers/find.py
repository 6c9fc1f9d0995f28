"""Find: the factual table, searched chunk by chunk for what f can be made to say.

    factual     a row of a larger class that f gets right
    source j    a class to take factuals from
    target i    a class to make counterfactuals for, smaller than j

    minimum     the draws of Algorithm 1 say which factuals invert; each of them gives its nearest
                inversion, by the structure of f
    perturb     Algorithm 1: the nearest inversion of every draw

One pass over class j serves every smaller class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.prepare import Prepared
from counterbalance.rows.shortfall import NewRows
from counterbalance.search.algorithm_1 import nearest_of_each_draw, which_invert
from counterbalance.search.draws import sample_number, sample_of_classes
from counterbalance.search.inversions import Inversions
from counterbalance.search.minimum import (
    MOST_CANDIDATES,
    MOST_REFERENCES,
    Minimum,
    choose_references,
)
from counterbalance.search.structure import read_structure
from counterbalance.table.labels import Labels, plain

Search = Literal["minimum", "perturb"]
# A job gets at least so many rows: fewer would not pay for its start.
FEWEST_ROWS = 256


def find_inversions(
    prepared: Prepared,
    answers: Integers,
    targets: list[int],
    search: Search,
    references: list[Floats] | None = None,
) -> Inversions:
    """Search the factuals for inversions to the classes ``targets``.

    ``answers`` holds the class code that f gives each row. ``references`` are rows that f puts
    into each class, if they are not to be taken from this table.
    """
    labels, space = prepared.labels, prepared.space
    wanted = wanted_classes(labels.counts, targets)[labels.codes]
    rows = np.flatnonzero((answers == labels.codes) & wanted.any(axis=1))
    structure = read_structure(space, prepared.f, prepared.table)
    if references is None:
        references = find_references(prepared, answers, targets)
    minimum = Minimum(space, structure, references)

    def find(chunk: Integers) -> Inversions:
        x = prepared.table.rows(chunk)
        if search == "perturb":
            return nearest_of_each_draw(space, structure, x, chunk, wanted[chunk])
        inverting = which_invert(space, structure, x, chunk, wanted[chunk])
        return minimum.find(x, chunk, inverting)

    # Where f is only asked, the candidates of all draws are held at a time.
    rows_each = 2 if structure.is_known else space.n_draws
    return _on_chunks(find, rows, prepared, rows_each)


def wanted_classes(counts: Integers, targets: list[int]) -> Mask:
    """Return for which classes j (rows) which classes i (columns) are wanted: N_i < N_j."""
    wanted = counts[:, None] > counts
    wanted &= np.isin(np.arange(len(counts)), targets)
    return np.asarray(wanted)


def find_references(
    prepared: Prepared, answers: Integers, targets: list[int], ids: Integers | None = None
) -> list[Floats]:
    """Return rows that f puts into each class, where a search may start; none for other classes.

    They are taken by the numbers of a sample, so ``ids`` are given if the table is one.
    """
    codes = prepared.labels.codes
    ids = np.arange(len(codes)) if ids is None else ids
    known = sample_of_classes(sample_number(ids), codes, MOST_CANDIDATES, MOST_REFERENCES)
    references = []
    for code in range(len(prepared.labels.classes)):
        rows = np.flatnonzero(known & (answers == code) & (code in targets))
        references.append(prepared.table.rows(rows[choose_references(ids[rows])]))
    return references


def _on_chunks(
    find: Callable[[Integers], Inversions], rows: Integers, prepared: Prepared, rows_each: int
) -> Inversions:
    """Let the jobs search all rows: each gets what its memory holds, or an even share."""
    n_jobs: int = effective_n_jobs(prepared.n_jobs)
    fits = prepared.blocks(len(rows), rows_each)
    size = max(1, min(fits[0].stop, max(FEWEST_ROWS, -(-len(rows) // (4 * n_jobs))))) if fits else 1
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    with Parallel(n_jobs=prepared.n_jobs, prefer="threads") as jobs:
        return Inversions.join(jobs(delayed(find)(chunk) for chunk in chunks))


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
