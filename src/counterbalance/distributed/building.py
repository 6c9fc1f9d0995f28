"""Building: the new rows of a block and their provenance, as frames.

The rows are built by the sampler's own builder; only the numbers of the rows change from
positions in the block to positions in the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterbalance.arrays import Integers
from counterbalance.classifier.judge import Classifier
from counterbalance.distributed.layout import Layout
from counterbalance.distributed.plan import Plan
from counterbalance.distributed.searching import moved_by
from counterbalance.rows.build import Builder
from counterbalance.rows.provenance import COLUMNS
from counterbalance.rows.shortfall import NewRows
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Problem


@dataclass(frozen=True)
class New:
    """Some new rows, target included, and where they come from."""

    rows: pd.DataFrame
    provenance: pd.DataFrame


@dataclass(frozen=True)
class Numbering:
    """The index labels of new rows, which collide with no old one (see ``containers``)."""

    first: int | None  # after the last label of an integer index
    prefix: str = "new-"

    def labels(self, start: int, n: int) -> pd.Index[Any]:
        """Return the labels of ``n`` new rows from the ``start``-th on."""
        if self.first is not None:
            return pd.RangeIndex(self.first + start, self.first + start + n)
        return pd.Index([f"{self.prefix}{start + k}" for k in range(n)])


def build_block(
    problem: Problem, f: Any, plan: Plan, chosen: Inversions, target: int, origin: str
) -> New:
    """Build the new rows of one class from some inversions of a block's factuals."""
    shift = problem.space.first_row
    rows = NewRows(target, len(chosen), [(origin, moved_by(chosen, -shift))])
    ids = np.arange(len(problem.labels.codes)) + shift
    return build(problem, plan.classifier(f, problem), plan.layout, rows, ids)


def build(
    problem: Problem, classifier: Classifier, layout: Layout, new: NewRows, ids: Integers
) -> New:
    """Build the rows of one class; ``ids`` are the numbers of the block's rows in the whole."""
    builder = Builder(problem, classifier, [new])
    codes, origin = (np.concatenate(parts) for parts in zip(*builder.rows(), strict=True))
    x = problem.table.decode(codes, origin)
    rows = layout.whole(x, builder.target, pd.RangeIndex(len(x)))
    return New(rows, _provenance(builder, ids))


def _provenance(builder: Builder, ids: Integers) -> pd.DataFrame:
    names = builder.problem.table.names
    # A few patterns of changed features serve many rows.
    patterns, which = np.unique(builder.changed, axis=0, return_inverse=True)
    mask = np.unpackbits(patterns, axis=1, count=len(names)).astype(bool)
    texts = [";".join(str(names[m]) for m in np.flatnonzero(row)) for row in mask]
    changed = pd.Series(texts, dtype="str").iloc[which.ravel()].array
    columns = {**builder.columns(), "factual": ids[builder.factual], "changed": changed}
    frame = pd.DataFrame({name: columns[name] for name in COLUMNS})
    return frame.astype({"origin": "str"})


def no_provenance(layout: Layout) -> pd.DataFrame:
    """Return the provenance of no row."""
    types: dict[str, Any] = dict.fromkeys(COLUMNS, np.float64)
    types |= dict.fromkeys(("sample", "factual", "round"), np.int64)
    types |= dict.fromkeys(("origin", "changed"), "str")
    types |= dict.fromkeys(("from_class", "to_class"), pd.Series(layout.classes).dtype)
    return pd.DataFrame({name: pd.Series(dtype=types[name]) for name in COLUMNS})


def numbered(new: New, n_old: int, start: int, numbering: Numbering | None) -> New:
    """Return new rows with their numbers, from ``start`` on, behind the ``n_old`` old ones."""
    n = len(new.rows)
    provenance = new.provenance.assign(sample=n_old + start + np.arange(n))
    if numbering is None:
        return New(new.rows, provenance)
    return New(new.rows.set_axis(numbering.labels(start, n)), provenance)
