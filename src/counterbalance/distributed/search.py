"""Search: find the new rows, with the steps of the in-memory samplers on each part.

    found       the inversions of a part. They stay on the workers; their keys, 8 bytes each, come
                to the client, which takes the smallest
    class part  rows of one class to make others from: all of a small class, sent to every worker,
                or those that a part has of a large one (see ``rows.interior``)
    candidates  new rows that could be made from a class part, by their sample ids
    piece       new rows of one class that one task builds

The pieces follow each other in the order in which the in-memory sampler appends its rows: class by
class, inversions before interior rows before copies, by factual or sample id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Any

import dask
import numpy as np
import pandas as pd

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.constraints import as_constraints
from counterbalance.distributed.cluster import Engine
from counterbalance.distributed.plan import Plan, Rows, Source, read_codes
from counterbalance.prepare import Prepared
from counterbalance.rows.build import Builder, NewRows
from counterbalance.rows.interior import MOST_TRIES, Interior
from counterbalance.rows.origins import ORIGINS, report_shortfall
from counterbalance.rows.provenance import COLUMNS
from counterbalance.samplers import interior as interior_sampler
from counterbalance.samplers.counterfactual import Yield, all_keys, find_inversions
from counterbalance.samplers.interior import POOL, Pool, score_candidates
from counterbalance.search.inversions import Inversions, is_every, nearest_of_each
from counterbalance.table.labels import plain

# The size of one piece made from a small class, in cells.
CELLS_PER_PIECE = 5_000_000
# A task draws this multiple of its share of the candidates, because tasks differ.
MARGIN = 1.25

Built = tuple[pd.DataFrame, pd.DataFrame]  # new rows, target included, and their provenance
Make = Callable[[Any], Any]  # makes the task of a class part, given its partners if they are known
Run = (
    tuple[int, int] | None
)  # the first sample id of a task and the end; None for those of its rows
Yields = dict[tuple[Any, Any], Yield]


@dataclass(frozen=True)
class Piece:
    """New rows of one class that one task builds."""

    target: int
    origin: str
    n_rows: int
    built: Any  # the task


def balance(engine: Engine, source: Source, rows: Rows, plan: Plan) -> tuple[list[Piece], Yields]:
    """Find the new rows of every class, and the yields; warn of every shortfall."""
    tasks, sampler = Tasks(engine, source, rows, plan), plan.sampler
    pieces: list[Piece] = []
    if isinstance(sampler, InteriorOverSampler):
        for target in plan.requested:
            pieces += tasks.draw(target)
        interior_sampler.report(plan.requested, count_made(pieces, plan), rows.labels)
        return pieces, {}
    found, yields = tasks.search()
    every = is_every(sampler.sampling_strategy)
    for target, n in plan.requested.items():
        pieces += found[target]
        missing = n - sum(piece.n_rows for piece in found[target])
        if missing and not every and sampler.on_shortfall == "fill":
            pieces += tasks.fill(target, missing)
    if not every:
        made, constraints = count_made(pieces, plan), as_constraints(sampler.constraints)
        report_shortfall(plan.requested, made, rows.labels, sampler.on_shortfall, constraints)
    return pieces, yields


def count_made(pieces: Sequence[Piece], plan: Plan) -> dict[int, dict[str, int]]:
    """Return how many new rows each class code got, by origin."""
    made = {target: dict.fromkeys(ORIGINS, 0) for target in plan.requested}
    for piece in pieces:
        made[piece.target][piece.origin] += piece.n_rows
    return made


@dataclass(frozen=True)
class PartSummary:
    """The summary of the inversions of one part for the client."""

    target: Small
    key: Floats
    source: Small  # the class of each factual
    right: Integers  # rows of each class that f classifies correctly
    inverted: Integers  # factuals with an inversion, by (larger class, smaller class)


def search_part(frame: pd.DataFrame, first: int, plan: Plan) -> tuple[Inversions, PartSummary]:
    """Search a part for inversions, and return them with their selection keys.

    Their factuals are rows of the table that ``plan`` makes of the part.
    """
    sampler, n_classes = plan.sampler, len(plan.rows.classes)
    assert isinstance(sampler, CounterfactualOverSampler)  # noqa: S101  (the other does not search)
    found, key, codes, right = Inversions.join([]), np.zeros(0), np.arange(0), np.arange(0) > 0
    if len(frame):
        prepared = plan.of_part(frame, first)
        codes, answers = prepared.labels.codes, prepared.answers()
        targets, right = list(plan.requested), answers == codes
        found = find_inversions(prepared, answers, targets, sampler.search, plan.references)
        if is_every(sampler.sampling_strategy):  # keep the nearest of several draws of a factual
            found = nearest_of_each(found)
        key = np.zeros(len(found))
        if plan.opinion is not None:
            key = all_keys(prepared, found, plan.opinion)
    pairs = np.unique(found.factual * n_classes + found.target)
    pairs = codes[pairs // n_classes] * n_classes + pairs % n_classes
    return found, PartSummary(
        found.target,
        key,
        codes[found.factual].astype(np.int32),
        np.bincount(codes[right], minlength=n_classes),
        np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes),
    )


def smallest_keys(parts: Sequence[Floats], n: int) -> tuple[list[Mask], float]:
    """Return which ``n`` keys are the smallest, the first ones in a tie, and the last of them.

    If there are fewer, all are taken, and the last one is infinite.
    """
    keys, ends = np.concatenate(parts), np.cumsum([len(part) for part in parts])[:-1]
    if len(keys) < n:
        return np.split(np.ones(len(keys), dtype=bool), ends), np.inf
    last = np.partition(keys, n - 1)[n - 1]
    taken = keys < last
    taken[np.flatnonzero(keys == last)[: n - np.count_nonzero(taken)]] = True
    return np.split(taken, ends), float(last)


def build_found(
    frame: pd.DataFrame, first: int, plan: Plan, found: Inversions, taken: Mask
) -> dict[int, Built]:
    """Build the selected inversions of a part, by class."""
    prepared, found = plan.of_part(frame, first), found.take(taken)
    ids = np.arange(len(prepared.labels.codes)) + prepared.space.first_row
    by_class = {int(t): found.take(found.target == t) for t in np.unique(found.target)}
    return {
        target: build(prepared, NewRows(target, len(own), own), ids, plan)
        for target, own in by_class.items()
    }


def build(prepared: Prepared, new: NewRows, ids: Integers, plan: Plan) -> Built:
    """Build the rows of one class; ``ids`` are those of the rows that they are made from."""
    builder, names = Builder(prepared, [new]), [str(name) for name in plan.features]
    codes, origin = (np.concatenate(parts) for parts in zip(*builder.rows(), strict=True))
    rows = plan.whole(prepared.table.decode(codes, origin), builder.target)
    # Many rows share a few patterns of changed features.
    patterns = builder.changed.view(f"S{builder.changed.shape[1]}").ravel().astype(object)
    which, _ = pd.factorize(patterns)
    first = np.unique(which, return_index=True)[1]
    mask = np.unpackbits(builder.changed[first], axis=1, count=len(names)).tolist()
    texts = pd.Series([";".join(compress(names, row)) for row in mask], dtype="str")
    columns: dict[str, Any] = {**builder.columns(), "factual": ids[builder.factual]}
    columns["changed"] = texts.array.take(which)
    columns["origin"] = pd.Series(columns["origin"], dtype="str").array
    return rows, pd.DataFrame({name: columns[name] for name in COLUMNS})


@dataclass(frozen=True)
class ClassPart:
    """Rows of one class to make others from."""

    target: int
    prepared: Prepared
    interior: Interior
    ids: Integers  # of the rows of its table

    def sample_ids(self, run: Run, number: int = 0) -> Integers:
        """Return the ids of a run, counted from the first of a try, or those of these rows."""
        if run is None:
            return self.interior.own_ids(number)
        return self.interior.first_id(number) + np.arange(*run)

    def copyable(self) -> Integers:
        """Return the rows of the table that may be copied: those that keep the rules."""
        return self.interior.copies(len(self.interior.x))


def read_class_part(
    plan: Plan, target: int, n: int, part: Any = None, partners: Integers | None = None
) -> ClassPart:
    """Read the rows of a small class, or those in a part, to make ``n`` new ones from.

    A part is a frame, the id of its first row, and the rank of its first row of the class.
    """
    rank = 0
    if part is None:
        frame, ids = plan.members[target]
    else:
        frame, first, rank = part
        here = np.flatnonzero(read_codes(frame[plan.target], plan.rows.classes) == target)
        frame, ids = frame.iloc[here], first + here
    prepared, sampler = plan.of_part(frame), plan.sampler
    interior = Interior.from_class(prepared, target, plan.class_samples[target], rank, partners)
    draws = isinstance(sampler, InteriorOverSampler)
    interior = sampler.with_candidates(interior, n) if draws else interior.with_ids(n)
    ids = np.append(np.zeros(len(plan.sketch), dtype=np.intp), ids)
    return ClassPart(target, prepared, interior, ids)


@dataclass(frozen=True)
class Candidates:
    """New rows that could be made from a class part."""

    sample_ids: Integers
    keys: Floats  # the smallest are drawn
    scores: Floats | None  # f's score of the class
    known: float  # keys up to this one are known
    partners: Integers  # of the rows of the part, which are not looked for again

    def summary(self) -> tuple[int, Floats, float]:
        """Return the summary for the client."""
        return len(self.sample_ids), self.keys, self.known


def accept_part(part: ClassPart, run: Run, number: int) -> Candidates:
    """Return the sample ids of a try whose rows are valid."""
    sample_ids = part.interior.sound_ones(part.sample_ids(run, number))
    return Candidates(sample_ids, np.zeros(0), None, np.inf, part.interior.partners)


def draw_part(part: ClassPart, run: Run, plan: Plan, up_to: float) -> Candidates:
    """Return ids with the smallest keys: more than the part's share, and all keys ``up_to``."""
    sample_ids = part.sample_ids(run)
    n = min(len(sample_ids), int(MARGIN * len(sample_ids) / POOL) + 1)
    pool = Pool(part.interior, n, sample_ids, plan.sampler.agreement)
    while len(sample_ids) and (at := pool.next(up_to)).size:
        for block in part.prepared.blocks(len(at)):
            score_candidates([(pool, at[block])], part.prepared.f)
    may, known = pool.keys < np.inf, max(pool.last_key, up_to) if len(sample_ids) else np.inf
    found = sample_ids[may], pool.keys[may], pool.scores[may]
    return Candidates(*found, known, part.interior.partners)


def build_interior(part: ClassPart, plan: Plan, made: Candidates, taken: Mask | slice) -> Built:
    """Build interior rows."""
    sample_ids, scores = made.sample_ids[taken], None if made.scores is None else made.scores[taken]
    new = NewRows(
        part.target, len(sample_ids), interior=part.interior, sample_ids=sample_ids, scores=scores
    )
    return build(part.prepared, new, part.ids, plan)


def build_copies(part: ClassPart, plan: Plan, start: int, n: int) -> Built:
    """Build copies of the rows of a part, from the ``start``-th on and from the first again."""
    rows = part.copyable()
    new = NewRows(part.target, n, copies=rows[(start + np.arange(n)) % len(rows)])
    return build(part.prepared, new, part.ids, plan)


class Tasks:
    """Makes the tasks of a search, and runs those whose results it needs."""

    def __init__(self, engine: Engine, source: Source, rows: Rows, plan: Plan) -> None:
        self.engine, self.rows, self.known = engine, rows, plan
        self.plan = dask.delayed(plan, pure=False, traverse=False)  # sent once to each worker
        self.parts = list(zip(source.frames(source.columns), rows.first.tolist(), strict=True))
        self.size = max(1, CELLS_PER_PIECE // len(plan.names))

    def search(self) -> tuple[dict[int, list[Piece]], Yields]:
        """Search all parts; return the pieces of each class, and the yields."""
        tasks = [dask.delayed(search_part, nout=2)(*part, self.plan) for part in self.parts]
        found = self.engine.keep(tasks, "search")
        summaries = self.engine.compute([part[1] for part in found], "search")
        taken = [np.zeros(len(part.key), dtype=bool) for part in summaries]
        for target, n in self.known.requested.items():
            own, _ = smallest_keys([part.key[part.target == target] for part in summaries], n)
            for part, mask, some in zip(summaries, taken, own, strict=True):
                mask[part.target == target] = some
        pieces: dict[int, list[Piece]] = {target: [] for target in self.known.requested}
        for where, own, part, mask in zip(self.parts, found, summaries, taken, strict=True):
            built = dask.delayed(build_found)(*where, self.plan, own[0], mask)
            for target, n in zip(*np.unique(part.target[mask], return_counts=True), strict=True):
                pieces[int(target)].append(Piece(int(target), "inversion", int(n), built[target]))
        return pieces, self._yields(summaries, taken)

    def _yields(self, summaries: list[PartSummary], taken: list[Mask]) -> Yields:
        counts, labels = self.rows.counts, [plain(label) for label in self.rows.classes]
        right, inverted, used = (np.zeros_like(counts), *np.zeros((2, *2 * counts.shape), np.intp))
        for part, mask in zip(summaries, taken, strict=True):
            right, inverted = right + part.right, inverted + part.inverted
            np.add.at(used, (part.source[mask], part.target[mask]), 1)
        return {
            (labels[j], labels[i]): Yield._make(
                map(int, (counts[j], right[j], inverted[j, i], used[j, i]))
            )
            for i in self.known.requested
            for j in np.flatnonzero(counts > counts[i])
        }

    def fill(self, target: int, n: int) -> Iterator[Piece]:
        """Yield the pieces of ``n`` interior rows of a class, and copies for the missing ones."""
        parts, missing = self._class_parts(target, n, n), n
        partners = [None] * len(parts)
        for number in range(MOST_TRIES if missing else 0):
            tasks = [
                dask.delayed(accept_part)(make(known), run, number)
                for (make, run), known in zip(parts, partners, strict=True)
            ]
            found = self.engine.keep(tasks, "fill")
            summaries = self.engine.compute([part.summary() for part in found], "fill")
            partners = [part.partners for part in found]
            for (make, _), made, (count, *_) in zip(parts, found, summaries, strict=True):
                some = min(count, missing)
                missing -= some
                if some:
                    part = make(made.partners)
                    task = dask.delayed(build_interior)(part, self.plan, made, slice(some))
                    yield Piece(target, "interior", some, task)
            if not missing:
                return
        yield from self._copies(target, parts, partners, missing)

    def draw(self, target: int) -> Iterator[Piece]:
        """Yield the pieces of a class drawn by f's scores, and copies for the missing ones."""
        n = self.known.requested[target]
        parts = self._class_parts(target, n, POOL * n)
        partners: list[Any] = [None] * len(parts)
        found: list[Any] = [None] * len(parts)
        known, last = np.full(len(parts), -np.inf), 0.0
        while (known < last).any():  # a row that was not scored yet may be drawn
            for place in np.flatnonzero(known < last):
                make, run = parts[place]
                part = make(partners[place])
                found[place] = dask.delayed(draw_part)(part, run, self.plan, last)
            found = self.engine.keep(found, "draw")
            summaries = self.engine.compute([part.summary() for part in found], "draw")
            partners, known = [part.partners for part in found], np.array([t[2] for t in summaries])
            taken, last = smallest_keys([one[1] for one in summaries], n)
        for (make, _), made, own in zip(parts, found, taken, strict=True):
            n -= (count := int(own.sum()))
            if count:
                task = dask.delayed(build_interior)(make(made.partners), self.plan, made, own)
                yield Piece(target, "interior", count, task)
        yield from self._copies(target, parts, partners, n)

    def _copies(
        self, target: int, parts: list[tuple[Make, Run]], partners: Sequence[Any], missing: int
    ) -> Iterator[Piece]:
        """Yield the pieces of copies: all rows of the class in turn, repeatedly if needed."""
        if not missing:
            return
        tasks = [make(known) for (make, _), known in zip(parts, partners, strict=True)]
        counts = self.engine.compute([dask.delayed(len)(part.copyable()) for part in tasks], "copy")
        small, start = target in self.known.members, 0  # all rows of a small class are in each part
        while missing and any(counts):
            for part, count in zip(tasks, counts, strict=True):
                n = min(self.size if small else count, missing)
                if n:
                    task = dask.delayed(build_copies)(part, self.plan, start, n)
                    yield Piece(target, "copy", n, task)
                missing, start = missing - n, start + n if small else 0

    def _class_parts(self, target: int, n: int, n_ids: int) -> list[tuple[Make, Run]]:
        """Return tasks for the rows of a class, given their partners, each with its run of ids."""
        take = partial(dask.delayed(read_class_part), self.plan, target, n)
        if target in self.known.members:
            shared = self.engine.keep([take()], "class_samples")[0]
            starts = range(0, n_ids, self.size)
            return [(lambda _: shared, (k, min(n_ids, k + self.size))) for k in starts]
        counts = self.rows.by_part[:, target]
        ranks = np.cumsum(counts) - counts
        return [
            (partial(take, (*self.parts[part], int(ranks[part]))), None)
            for part in np.flatnonzero(counts).tolist()
        ]
