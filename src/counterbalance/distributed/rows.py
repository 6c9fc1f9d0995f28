"""Rows: which new rows there are to build, and how a task builds them.

    piece    new rows of one class that one task builds: what one pass selected in one
             partition, or some interior samples

The pieces follow each other in the order in which the in-memory sampler appends its rows: class by
class, pass by pass, by factual. Rows are built by the in-memory builder; only their numbers change,
from positions in a block to positions in the whole table.

A class that is short of inversions is small: its rows are gathered on one worker, if they fit, and
interpolated there by the in-memory code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterbalance.arrays import Integers
from counterbalance.classifier.judge import Classifier
from counterbalance.constraints import as_constraints
from counterbalance.distributed.engine import BYTES_PER_CELL, DaskEngine
from counterbalance.distributed.inputs import Partition, Place, blocks
from counterbalance.distributed.passes import Selections, fill
from counterbalance.distributed.prepare import (
    IndexLabels,
    PartitionedTable,
    PreparedTable,
    SearchPlan,
)
from counterbalance.distributed.scan import TableLayout
from counterbalance.distributed.search import PartitionTasks, check_tells_apart
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.rows.build import Builder
from counterbalance.rows.interior import Interior
from counterbalance.rows.provenance import COLUMNS
from counterbalance.rows.shortfall import ENDS, NewRows, Tally, report
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Problem, Yield
from counterbalance.table.labels import Labels, plain

# The share of a worker's memory for the rows of a class that gets interior samples.
SHARE_FOR_CLASS_ROWS = 0.25
# The size of one piece of interior samples, in cells.
CELLS_PER_PIECE = 5_000_000


@dataclass(frozen=True)
class BuiltRows:
    """Some new rows, target included, and their provenance."""

    rows: pd.DataFrame
    provenance: pd.DataFrame


def build_block(
    problem: Problem, f: Any, plan: SearchPlan, chosen: Inversions, target: int, origin: str
) -> BuiltRows:
    """Build the new rows of one class from some inversions of a block's factuals."""
    shift = problem.space.first_row
    rows = NewRows(target, len(chosen), [(origin, chosen.moved_by(-shift))])
    ids = np.arange(len(problem.labels.codes)) + shift
    return build(problem, plan.classifier(f, problem), plan, rows, ids)


def build(
    problem: Problem, classifier: Classifier, plan: SearchPlan, new: NewRows, ids: Integers
) -> BuiltRows:
    """Build the rows of one class; ``ids`` are the positions of the block's rows in the table."""
    builder = Builder(problem, classifier, [new], plan.outliers)
    codes, origin = (np.concatenate(parts) for parts in zip(*builder.rows(), strict=True))
    x = problem.table.decode(codes, origin)
    rows = plan.layout.whole(x, builder.target, pd.RangeIndex(len(x)))
    return BuiltRows(rows, _provenance(builder, ids))


def _provenance(builder: Builder, ids: Integers) -> pd.DataFrame:
    names = builder.problem.table.names
    # Many rows share a few patterns of changed features.
    patterns, which = np.unique(builder.changed, axis=0, return_inverse=True)
    mask = np.unpackbits(patterns, axis=1, count=len(names)).astype(bool)
    texts = [";".join(str(names[m]) for m in np.flatnonzero(row)) for row in mask]
    changed = pd.Series(texts, dtype="str").iloc[which.ravel()].array
    columns = {**builder.columns(), "factual": ids[builder.factual], "changed": changed}
    frame = pd.DataFrame({name: columns[name] for name in COLUMNS})
    return frame.astype({"origin": "str"})


def no_provenance(layout: TableLayout) -> pd.DataFrame:
    """Return a provenance without rows."""
    types: dict[str, Any] = dict.fromkeys(COLUMNS, np.float64)
    types |= dict.fromkeys(("sample", "factual", "round"), np.int64)
    types |= dict.fromkeys(("origin", "changed"), "str")
    types |= dict.fromkeys(("from_class", "to_class"), pd.Series(layout.classes).dtype)
    return pd.DataFrame({name: pd.Series(dtype=types[name]) for name in COLUMNS})


def numbered(new: BuiltRows, n_old: int, start: int, labels: IndexLabels | None) -> BuiltRows:
    """Return new rows with their numbers, from ``start`` on, after the ``n_old`` old ones."""
    n = len(new.rows)
    provenance = new.provenance.assign(sample=n_old + start + np.arange(n))
    if labels is None:
        return BuiltRows(new.rows, provenance)
    return BuiltRows(new.rows.set_axis(labels.of(start, n)), provenance)


@dataclass(frozen=True)
class ClassRows:
    """The rows of one class, and their positions in the whole table."""

    rows: pd.DataFrame
    ids: Integers

    @classmethod
    def join(cls, parts: list[ClassRows]) -> ClassRows:
        """Concatenate the rows of partitions, in their order."""
        rows = [part.rows for part in parts if len(part.rows)] or [parts[0].rows]
        return cls(pd.concat(rows, ignore_index=True), np.concatenate([part.ids for part in parts]))


@dataclass(frozen=True)
class Interiors:
    """Which interior samples and copies a class gets."""

    lots: Integers
    copies: Integers  # positions among the members

    def __len__(self) -> int:
        return len(self.lots) + len(self.copies)

    def part(self, start: int, stop: int) -> Interiors:
        """Return some of them; the copies follow the lots."""
        n_lots = len(self.lots)
        return Interiors(
            self.lots[start:stop], self.copies[max(0, start - n_lots) : max(0, stop - n_lots)]
        )


def class_rows(partition: Partition, place: Place, plan: SearchPlan, target: int) -> ClassRows:
    """Return the rows of one class in a partition."""
    first = place.first
    found = [ClassRows(plan.layout.empty, np.zeros(0, dtype=np.intp))]
    for block in blocks(partition, plan.size):
        here = np.flatnonzero(plan.layout.class_codes(block) == target)
        found.append(ClassRows(block.iloc[here], here + first))
        first += len(block)
    return ClassRows.join(found)


def choose_interiors(members: ClassRows, plan: SearchPlan, target: int, n: int) -> Interiors:
    """Return ``n`` interior samples, or as many as the rules allow, and copies for the rest."""
    interior = Interior.of(_problem(members, plan), target)
    lots = interior.accept(n)
    copies = interior.copies(n - len(lots))
    return Interiors(lots, copies)


def build_interiors(
    members: ClassRows, plan: SearchPlan, f: Any, target: int, chosen: Interiors
) -> BuiltRows:
    """Build interior samples and copies."""
    problem = _problem(members, plan)
    interior = Interior.of(problem, target) if len(chosen.lots) else None
    rows = NewRows(target, len(chosen), interior=interior, lots=chosen.lots, copies=chosen.copies)
    shown = np.zeros(len(plan.layout.sketch), dtype=np.intp)
    ids = np.concatenate([shown, members.ids])
    return build(problem, plan.classifier(f, problem), plan, rows, ids)


def _problem(members: ClassRows, plan: SearchPlan) -> Problem:
    # Interior samples are drawn by lots, not by row ids: the members may start anywhere.
    return plan.problem(members.rows, 0)


@dataclass(frozen=True)
class Piece:
    """Some new rows that one task builds."""

    target: int
    origin: str
    selection: int | None  # the number of the pass; None for interior samples
    partition: int  # of a pass
    start: int  # among all new rows
    n_rows: int
    first: int = 0  # of interior samples: the first among those of the class

    @property
    def is_interior(self) -> bool:
        """Whether the rows are interior samples."""
        return self.selection is None

    def is_made_in(self, place: Place) -> bool:
        """Say whether the rows come from a search of this partition."""
        return not self.is_interior and self.partition == place.number


@dataclass(frozen=True)
class Balance:
    """What is to be built, and from what."""

    source: PartitionedTable
    prepared: PreparedTable
    plan: Any  # the plan of ``prepared`` as a task; so is f
    f: Any
    selections: Selections
    members: dict[int, Any]  # the rows of each class that gets interior samples, on a worker
    interiors: dict[int, Interiors]

    @property
    def pieces(self) -> list[Piece]:
        """All new rows, in the order of the in-memory result."""
        found, start = [], 0
        for piece in self._unplaced():
            found.append(Piece(**{**vars(piece), "start": start}))
            start += piece.n_rows
        return found

    def _unplaced(self) -> Iterator[Piece]:
        most = max(1, CELLS_PER_PIECE // len(self.source.columns))
        for target in self.selections.asked:
            for number, selected in enumerate(self.selections.passes):
                for partition, n in enumerate(selected.counts[:, target].tolist()):
                    if n:
                        yield Piece(target, selected.origin, number, partition, 0, n)
            n_inside = len(self.interiors.get(target, ()))
            for first in range(0, n_inside, most):
                n = min(most, n_inside - first)
                yield Piece(target, "interior", None, 0, 0, n, first)

    def found(self, piece: Piece) -> Any:
        """Return what a piece is built from: some of the inversions of a partition, as a task."""
        assert piece.selection is not None  # noqa: S101  (interior samples come from no search)
        return self.selections.passes[piece.selection].parts[piece.partition]

    def interior(self, piece: Piece) -> tuple[Any, Interiors]:
        """Return what a piece is built from: the rows of its class, as a task, and the samples."""
        chosen = self.interiors[piece.target].part(piece.first, piece.first + piece.n_rows)
        return self.members[piece.target], chosen

    @property
    def tallies(self) -> list[Tally]:
        """How many samples each class got, by their origin."""
        found = []
        for target in self.selections.asked:
            inside = self.interiors.get(target)
            n_lots, n_copies = (0, 0) if inside is None else (len(inside.lots), len(inside.copies))
            found.append(self.selections.tally(target, n_lots, n_copies))
        return found

    @property
    def yields(self) -> dict[tuple[Any, Any], Yield]:
        """What the first pass gave for each pair (larger class, smaller class)."""
        return self.selections.yields


def balance(
    engine: DaskEngine,
    source: PartitionedTable,
    prepared: PreparedTable,
    constraints: Any,
    folder: str | None = None,
) -> Balance:
    """Search all partitions and decide what to build; warn of every shortfall."""
    plan, f = engine.held(prepared.plan, "search"), engine.held(prepared.f, "search")
    places = list(zip(source.parts, prepared.places, strict=True))
    tasks = PartitionTasks(engine, places, plan, f, folder)
    has_threshold = hasattr(prepared.f, "predict_proba")
    selections = fill(engine, prepared.plan, tasks, prepared.policies, has_threshold=has_threshold)
    if len(selections.answers) == 1:
        part, place = next(pair for pair in places if pair[1].n_rows)
        task = engine.task(check_tells_apart, part, place, plan, f, selections.answers)
        fault = engine.compute([task], "check f")[0]
        if fault:
            raise ClassifierError(fault)
    members: dict[int, Any] = {}
    interiors: dict[int, Interiors] = {}
    if "interior" in _before_the_end(prepared.policies):
        for target in selections.short:
            _check_fits(engine, prepared, target)
            parts = [engine.task(class_rows, part, place, plan, target) for part, place in places]
            members[target] = engine.keep([engine.task(ClassRows.join, parts)], "gather class")[0]
            missing = selections.missing(target)
            task = engine.task(choose_interiors, members[target], plan, target, missing)
            interiors[target] = engine.compute([task], "interpolate")[0]
    result = Balance(source, prepared, plan, f, selections, members, interiors)
    layout = prepared.plan.layout
    labels = Labels(None, layout.classes, layout.classes, layout.counts, layout.counts)
    report(result.tallies, labels, prepared.policies, as_constraints(constraints))
    return result


def _before_the_end(policies: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the policies that come before one that ends the chain."""
    ends = [place for place, policy in enumerate(policies) if policy in ENDS]
    return policies[: ends[0]] if ends else policies


def _check_fits(engine: DaskEngine, prepared: PreparedTable, target: int) -> None:
    layout = prepared.plan.layout
    n_rows = int(layout.counts[target])
    needed = n_rows * len(layout.names) * BYTES_PER_CELL
    if needed > engine.memory * SHARE_FOR_CLASS_ROWS:
        label = plain(layout.classes[target])
        raise EngineError(
            f"on_shortfall='interior' needs the {n_rows} rows of class {label!r} on one worker, "
            f"some {needed / 1e9:.1f} GB, which may take {SHARE_FOR_CLASS_ROWS:.0%} of its memory; "
            "give the workers more memory, or use on_shortfall=('redraw', 'accept')"
        )
