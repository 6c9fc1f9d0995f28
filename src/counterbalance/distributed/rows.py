"""Rows: which new rows there are to build, and how a task builds them.

    piece       new rows of one class that one task builds
    material    what a piece is made from, mostly as a task: inversions of a partition's rows, lots
                of its rows, or lots of a class whose rows are gathered

The pieces follow each other in the order in which the in-memory sampler appends its rows: class by
class, pass by pass, by factual. Rows are built by the in-memory builder; only their numbers change,
from positions in a block to positions in the whole table.

A class that is short of inversions is small: its rows are gathered on one worker, if they fit, and
interpolated there by the in-memory code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from counterbalance.arrays import Bits, Integers
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
from counterbalance.rows.fellows import Fellows
from counterbalance.rows.interior import Interior, Lots
from counterbalance.rows.provenance import COLUMNS
from counterbalance.rows.shortfall import NewRows, Tally, before_the_end, report
from counterbalance.samplers.interior import WeightedDraw
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


@dataclass(frozen=True)
class MemberLots:
    """Lots of the rows that a class has in a partition, and which of these rows are copied."""

    numbering: Lots
    fellows: Fellows
    ids: Integers  # of the rows of the class in the partition
    first: int  # rank of the first of them
    partners: Integers
    lots: Integers
    copies: Integers  # ids

    def __len__(self) -> int:
        return len(self.lots) + len(self.copies)

    def between(self, first: int, stop: int, target: int) -> MemberLots:
        """Return those of the rows in a range of ids; all of them are of the class ``target``."""
        del target
        low, high = np.searchsorted(self.ids, (first, stop)).tolist()
        base = self.numbering.base(self.lots) - self.first
        return replace(
            self,
            ids=self.ids[low:high],
            first=self.first + low,
            partners=self.partners[low:high],
            lots=self.lots[(base >= low) & (base < high)],
            copies=self.copies[(self.copies >= first) & (self.copies < stop)],
        )

    def in_block(self, problem: Problem, draw: WeightedDraw, asked: int) -> NewRows:
        """Return what a block of the table gets that has just these rows of the class."""
        target = self.numbering.target
        interior = Interior.of(problem, target, self.fellows, self.first, self.partners)
        rows = NewRows(target, len(self), interior=draw.prepare(interior, asked), lots=self.lots)
        rows.copies = self.copies - problem.space.first_row
        return rows


def build_block(
    problem: Problem,
    f: Any,
    plan: SearchPlan,
    chosen: Inversions | MemberLots,
    target: int,
    origin: str,
) -> BuiltRows:
    """Build new rows of one class from the rows of a block."""
    shift = problem.space.first_row
    if isinstance(chosen, Inversions):
        rows = NewRows(target, len(chosen), parts=[(origin, chosen.moved_by(-shift))])
    else:
        assert plan.draw is not None  # noqa: S101  (the lots were drawn)
        rows = chosen.in_block(problem, plan.draw, plan.asked[target])
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
    names = [str(name) for name in builder.problem.table.names]
    # Many rows share a few patterns of changed features, and all of a part their origin.
    which, first = _alike(builder.changed)
    mask = np.unpackbits(builder.changed[first], axis=1, count=len(names)).tolist()
    texts = [";".join(compress(names, row)) for row in mask]
    columns: dict[str, Any] = {**builder.columns(), "factual": ids[builder.factual]}
    columns["changed"] = pd.Series(texts, dtype="str").array.take(which)
    origin, names_of_origins = pd.factorize(columns["origin"])
    columns["origin"] = pd.Series(names_of_origins, dtype="str").array.take(origin)
    return pd.DataFrame({name: columns[name] for name in COLUMNS})


def _alike(patterns: Bits) -> tuple[Integers, Integers]:
    """Return the number of each row's pattern, and where each pattern comes first."""
    n, width = patterns.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = patterns
    which = np.zeros(n, dtype=np.intp)
    for word in padded.view(np.uint64).T:
        code, different = pd.factorize(word)
        which = pd.factorize(which * max(1, len(different)) + code)[0]
    first = np.empty(int(which.max(initial=-1)) + 1, dtype=np.intp)
    first[which[::-1]] = np.arange(n)[::-1]
    return which, first


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
class GatheredClass:
    """All rows of one class, ready to be interpolated."""

    members: ClassRows
    interior: Interior

    @classmethod
    def of(cls, parts: list[ClassRows], plan: SearchPlan, target: int) -> GatheredClass:
        """Join the rows of the partitions and find their partners."""
        members = ClassRows.join(parts)
        interior = Interior.of(_problem(members, plan), target)
        if plan.draw is not None:
            interior = plan.draw.prepare(interior, plan.asked[target])
        return cls(members, interior)


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


def gather_class(
    engine: DaskEngine, places: list[tuple[Any, Place]], plan: Any, target: int
) -> Any:
    """Gather the rows of a class on a worker; return the gathered class as a task."""
    parts = [engine.task(class_rows, part, place, plan, target) for part, place in places]
    return engine.keep([engine.task(GatheredClass.of, parts, plan, target)], "gather class")[0]


def choose_interiors(gathered: GatheredClass, n: int) -> Interiors:
    """Return ``n`` interior samples, or as many as the rules allow, and copies for the rest."""
    lots = gathered.interior.accept(n)
    return Interiors(lots, gathered.interior.copies(n - len(lots)))


def build_interiors(
    gathered: GatheredClass, plan: SearchPlan, f: Any, target: int, chosen: Interiors
) -> BuiltRows:
    """Build interior samples and copies."""
    problem, members = _problem(gathered.members, plan), gathered.members
    rows = NewRows(target, len(chosen), interior=gathered.interior, lots=chosen.lots)
    rows.copies = chosen.copies
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
    n_rows: int
    partition: int | None  # whose rows they are made from; None for a class that is gathered
    start: int = 0  # among all new rows


@dataclass(frozen=True)
class Balance:
    """What is to be built, and from what."""

    source: PartitionedTable
    prepared: PreparedTable
    plan: Any  # the plan of ``prepared`` as a task; so is f
    f: Any
    pieces: list[Piece]  # all new rows, in the order of the in-memory result
    material: list[Any]  # of each piece
    gathered: dict[int, Any]  # classes, as tasks
    tallies: list[Tally]
    yields: dict[tuple[Any, Any], Yield]


def in_place(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with their places among all new rows."""
    starts = np.cumsum([0, *(piece.n_rows for piece in pieces)]).tolist()
    return [replace(piece, start=start) for piece, start in zip(pieces, starts, strict=False)]


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
    gathered: dict[int, Any] = {}
    interiors: dict[int, Interiors] = {}
    if "interior" in before_the_end(prepared.policies):
        for target in selections.short:
            _check_fits(engine, prepared, target)
            gathered[target] = gather_class(engine, places, plan, target)
            task = engine.task(choose_interiors, gathered[target], selections.missing(target))
            interiors[target] = engine.compute([task], "interpolate")[0]
    tallies = [
        selections.tally(target, *_counts(interiors.get(target))) for target in selections.asked
    ]
    layout = prepared.plan.layout
    labels = Labels(None, layout.classes, layout.classes, layout.counts, layout.counts)
    report(tallies, labels, prepared.policies, as_constraints(constraints))
    pieces, material = [], []
    for target in selections.asked:
        for piece, made_from in _pieces(
            selections, target, interiors.get(target), len(layout.names)
        ):
            pieces.append(piece)
            material.append(made_from)
    yields = selections.yields_by_origin(layout.classes)
    pieces = in_place(pieces)
    return Balance(source, prepared, plan, f, pieces, material, gathered, tallies, yields)


def _counts(interiors: Interiors | None) -> tuple[int, int]:
    return (0, 0) if interiors is None else (len(interiors.lots), len(interiors.copies))


def _pieces(
    selections: Selections, target: int, interiors: Interiors | None, n_columns: int
) -> Iterator[tuple[Piece, Any]]:
    """Yield what a class gets, pass by pass, each with its material."""
    for selected in selections.passes:
        for partition, n in enumerate(selected.counts[:, target].tolist()):
            if n:
                yield Piece(target, selected.origin, n, partition), selected.parts[partition]
    most = max(1, CELLS_PER_PIECE // n_columns)
    for first in range(0, sum(_counts(interiors)), most):
        assert interiors is not None  # noqa: S101  (there are some)
        part = interiors.part(first, first + most)
        yield Piece(target, "interior", len(part), None), part


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
