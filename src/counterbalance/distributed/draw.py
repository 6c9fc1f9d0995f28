"""Draw: the rows of ``InteriorOverSampler``, drawn where their candidates are.

    few       a class of at most MOST_FELLOWS rows (see ``rows.fellows``): its rows are gathered
              and sent to the workers, which make the candidates of a run of lots each
    many      a class of more rows, which need not fit into any worker: each partition makes the
              candidates of its own rows, and only the fellows of the class are sent around
    keys      one number for each candidate; those with the smallest are drawn (see ``keys``)
    cutoff    the largest key that is drawn, found by counting digits (see ``passes``)

Keys belong to lots, so neither partitions nor runs show in the result. A task judges only the
candidates that are drawn if all tasks are alike, and says how far it went; where the cutoff lies
beyond, it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.inputs import Partition, Place
from counterbalance.distributed.keys import (
    NONE,
    Keys,
    SavedKeys,
    are_there,
    keep,
    load,
    make_keys,
    path_in,
)
from counterbalance.distributed.passes import Cutoff, find_cutoff
from counterbalance.distributed.prepare import PartitionedTable, PreparedTable, SearchPlan
from counterbalance.distributed.rows import (
    CELLS_PER_PIECE,
    Balance,
    GatheredClass,
    Interiors,
    MemberLots,
    Piece,
    gather_class,
    in_place,
)
from counterbalance.rows.fellows import Fellows, fellow_ranks
from counterbalance.rows.interior import Interior, Lots
from counterbalance.rows.shortfall import SEARCHED, Tally
from counterbalance.samplers.interior import POOL, report
from counterbalance.table.labels import Labels


def keys_of_partition(
    partition: Partition,
    place: Place,
    plan: SearchPlan,
    f: Any,
    fellows: dict[int, Fellows],
    ranks: dict[int, int],
    at_least: float,
    folder: str | None,
) -> dict[int, Keys | SavedKeys]:
    """Make the candidates of a partition's rows, of the classes that ``ranks`` are given of.

    ``ranks`` are those of its first rows; keys up to ``at_least`` are known afterwards.
    """
    paths = {target: path_in(folder, place.number, target) for target in ranks}
    how, first = plan.draw, dict(ranks)
    assert how is not None  # noqa: S101  (of the interior sampler)
    made: dict[int, list[Keys]] = {
        t: [] for t, path in paths.items() if not are_there(path, at_least)
    }
    for _, problem in plan.blocks(partition, place) if made else ():
        classifier, shift = plan.classifier(f, problem), problem.space.first_row
        for target, parts in made.items():
            part = Interior.of(problem, target, fellows[target], first[target])
            part = how.prepare(part, plan.asked[target])
            lots, ids = part.own_lots, part.rows + shift
            keys, known = make_keys(part, lots, how, classifier, at_least)
            copyable = ids[part.space.perturbation.rules.allow(part.x)]
            parts.append(Keys(lots[:1], known, keys, ids, part.partners, copyable))
            first[target] += len(ids)
    new = {target: keep(Keys.join(parts), paths[target]) for target, parts in made.items()}
    return {target: new.get(target, SavedKeys(str(path))) for target, path in paths.items()}


def more_of_partition(found: Keys | SavedKeys, target: int, *how: Any) -> Keys | SavedKeys:
    """Return the keys of a class as they are if enough of them are known, or make more."""
    *_, at_least, _ = how
    return found if load(found).known[0] >= at_least else keys_of_partition(*how)[target]


def keys_of_run(
    gathered: GatheredClass,
    plan: SearchPlan,
    f: Any,
    run: range,
    at_least: float,
    folder: str | None,
) -> Keys | SavedKeys:
    """Make the candidates of a run of lots, counted from the first of the class."""
    interior, how = gathered.interior, plan.draw
    assert how is not None  # noqa: S101  (of the interior sampler)
    path = path_in(folder, run.start, interior.lots.target)
    if are_there(path, at_least):
        return SavedKeys(str(path))
    lots = interior.lots.first + np.arange(run.start, run.stop)
    classifier = plan.classifier(f, plan.problem(gathered.members.rows, 0))
    keys, known = make_keys(interior, lots, how, classifier, at_least)
    return keep(Keys(lots[:1], known, keys, NONE, NONE, NONE), path)


def more_of_run(found: Keys | SavedKeys, *how: Any) -> Keys | SavedKeys:
    """Return the keys of a run as they are if enough of them are known, or make more."""
    *_, at_least, _ = how
    return found if load(found).known[0] >= at_least else keys_of_run(*how)


def find_fellows(
    partition: Partition, place: Place, plan: SearchPlan, wanted: dict[int, Integers]
) -> dict[int, Floats]:
    """Return the fellows in a partition, as codes; ``wanted`` are their places in each class."""
    found = {target: [np.zeros((0, len(plan.layout.features)))] for target in wanted}
    seen = dict.fromkeys(wanted, 0)
    if any(map(len, wanted.values())):
        for _, problem in plan.blocks(partition, place):
            for target, places in wanted.items():
                rows = np.flatnonzero(problem.labels.codes == target)
                here = places[(places >= seen[target]) & (places < seen[target] + len(rows))]
                found[target].append(problem.table.rows(rows[here - seen[target]]))
                seen[target] += len(rows)
    return {target: np.concatenate(parts) for target, parts in found.items()}


def join_fellows(parts: list[dict[int, Floats]]) -> dict[int, Floats]:
    """Concatenate the fellows of partitions, in their order."""
    return {target: np.concatenate([part[target] for part in parts]) for target in parts[0]}


def draw_members(
    keys: Keys, cutoff: Cutoff | None, fellows: dict[int, Fellows], numbering: Lots, first: int
) -> MemberLots:
    """Return what is drawn in a partition, of a class of many rows."""
    others, lots = fellows[numbering.target], keys.drawn(cutoff)
    return MemberLots(numbering, others, keys.ids, first, keys.partners, lots, NONE)


def copy_members(
    keys: Keys, n: int, fellows: dict[int, Fellows], numbering: Lots, first: int
) -> MemberLots:
    """Return copies of the first rows of a partition that keep the rules."""
    others, copies = fellows[numbering.target], keys.copyable[:n]
    return MemberLots(numbering, others, keys.ids, first, keys.partners, NONE, copies)


def draw_gathered(keys: Keys, cutoff: Cutoff | None) -> Interiors:
    """Return what is drawn in a run of lots, of a class that is gathered."""
    return Interiors(keys.drawn(cutoff), NONE)


def copy_gathered(gathered: GatheredClass, n: int) -> Interiors:
    """Return copies of rows of a gathered class."""
    return Interiors(NONE, gathered.interior.copies(n))


def _sound(keys: Keys) -> tuple[int, int, float]:
    return keys.sound, len(keys.copyable), float(keys.known[0])


def _n_drawn(keys: Keys, cutoff: Cutoff | None) -> int:
    return len(keys.drawn(cutoff))


@dataclass(frozen=True)
class _Draw:
    """The tasks of a draw."""

    engine: DaskEngine
    prepared: PreparedTable
    places: list[tuple[Any, Place]]
    plan: Any  # as a task; so is f
    f: Any
    folder: str | None

    def few(
        self, target: int, gathered: Any, found: list[Any] | None = None, at_least: float = 0.0
    ) -> list[Any]:
        """Return the keys of a gathered class, run by run, as tasks; more of those ``found``."""
        plan, engine = self.prepared.plan, self.engine
        total, n = POOL * plan.asked[target], max(1, CELLS_PER_PIECE // len(plan.layout.names))
        runs = [range(start, min(total, start + n)) for start in range(0, total, n)]
        how = [(gathered, self.plan, self.f, run, at_least, self.folder) for run in runs]
        if found is None:
            return engine.keep([engine.task(keys_of_run, *each) for each in how], "draw")
        more = [
            engine.task(more_of_run, keys, *each) for keys, each in zip(found, how, strict=True)
        ]
        return engine.keep(more, "draw")

    def many(self, targets: list[int], fellows: Any) -> list[list[Any]]:
        """Return the keys of classes of many rows, by class and partition, as tasks."""
        engine = self.engine
        made = [engine.task(keys_of_partition, *how) for how in self._how(targets, fellows, 0.0)]
        made = engine.keep(made, "draw") if targets else []
        return [[engine.task(itemgetter(target), part) for part in made] for target in targets]

    def more(self, target: int, fellows: Any, found: list[Any], at_least: float) -> list[Any]:
        """Return more keys of a class of many rows, where those that were found are too few."""
        how = self._how([target], fellows, at_least)
        tasks = [
            self.engine.task(more_of_partition, keys, target, *each)
            for keys, each in zip(found, how, strict=True)
        ]
        return self.engine.keep(tasks, "draw")

    def _how(self, targets: list[int], fellows: Any, at_least: float) -> list[tuple[Any, ...]]:
        """Return what ``keys_of_partition`` takes, partition by partition."""
        first = self.first
        return [
            (
                part,
                place,
                self.plan,
                self.f,
                fellows,
                {target: int(first[place.number, target]) for target in targets},
                at_least,
                self.folder,
            )
            for part, place in self.places
        ]

    @property
    def first(self) -> Integers:
        """The rank of the first row of each class in each partition."""
        counts = self.prepared.counts
        return np.asarray(np.cumsum(counts, axis=0) - counts)

    def fellows(self, targets: list[int]) -> Any:
        """Return the fellows of classes of many rows, as a task."""
        plan, engine = self.prepared.plan, self.engine
        totals, stops = plan.layout.counts, self.first + self.prepared.counts
        ranks = {t: fellow_ranks(int(totals[t]), plan.space.seed, t) for t in targets}
        tasks = []
        for part, place in self.places:
            low, high = self.first[place.number], stops[place.number]
            wanted = {
                t: rank[(rank >= low[t]) & (rank < high[t])] - low[t] for t, rank in ranks.items()
            }
            tasks.append(engine.task(find_fellows, part, place, self.plan, wanted))
        codes = engine.joined(tasks, join_fellows, "find fellows")
        found = {t: Fellows(codes[t], ranks[t], int(totals[t])) for t in targets}
        return engine.held(found, "find fellows")

    def _all_that_count(
        self, target: int, found: list[Any], gathered: Any, fellows: Any
    ) -> tuple[list[Any], Cutoff | None, list[int]]:
        """Return the keys, the cutoff, and how many rows can be copied, partition by partition.

        Where a candidate beyond those that were judged might be drawn, more are judged first.
        """
        engine, what = self.engine, f"select class {target}"
        while True:
            keys = [engine.task(load, part) for part in found]
            counted = engine.compute([engine.task(_sound, part) for part in keys], "draw")
            sound, copyable, known = map(list, zip(*counted, strict=True))
            words = [engine.task(Keys.words, part) for part in keys]
            asked = self.prepared.plan.asked[target]
            cutoff = find_cutoff(engine, words, sum(sound), asked, what)
            last = np.inf if cutoff is None else cutoff.as_float()
            if min(known) >= last:
                return keys, cutoff, copyable
            if gathered is None:
                found = self.more(target, fellows, found, last)
            else:
                found = self.few(target, gathered, found, last)

    def pieces(
        self, target: int, found: list[Any], gathered: Any, fellows: Any
    ) -> Iterator[tuple[Piece, Any]]:
        """Yield what a class gets, each piece with its material: rows that are drawn, copies."""
        engine, plan, what = self.engine, self.prepared.plan, f"select class {target}"
        asked, n = plan.asked[target], int(plan.layout.counts[target])
        keys, cutoff, copyable = self._all_that_count(target, found, gathered, fellows)
        drawn = engine.compute([engine.task(_n_drawn, part, cutoff) for part in keys], what)
        many = gathered is None
        numbering, first = Lots(plan.space.seed, target, n, many, POOL * asked), self.first
        for number, (part, n_rows) in enumerate(zip(keys, drawn, strict=True)):
            if n_rows and gathered is not None:
                material = engine.task(draw_gathered, part, cutoff)
                yield Piece(target, "interior", n_rows, None), material
            elif n_rows:
                known = (fellows, numbering, int(first[number, target]))
                material = engine.task(draw_members, part, cutoff, *known)
                yield Piece(target, "interior", n_rows, number), material
        missing = asked - sum(drawn)
        if missing and gathered is not None:
            material = engine.compute([engine.task(copy_gathered, gathered, missing)], what)[0]
            if len(material):
                yield Piece(target, "copy", len(material), None), material
        while missing and gathered is None and any(copyable):  # as often as it takes
            for number, (part, most) in enumerate(zip(keys, copyable, strict=True)):
                n_rows = min(most, missing)
                missing -= n_rows
                if n_rows:
                    known = (fellows, numbering, int(first[number, target]))
                    material = engine.task(copy_members, part, n_rows, *known)
                    yield Piece(target, "copy", n_rows, number), material


def draw(
    engine: DaskEngine,
    source: PartitionedTable,
    prepared: PreparedTable,
    constraints: Any,
    folder: str | None = None,
) -> Balance:
    """Draw the rows of every class; warn of copies, refuse where the rules leave too few rows."""
    del constraints  # they are in the plan
    plan, f = engine.held(prepared.plan, "draw"), engine.held(prepared.f, "draw")
    places, layout = list(zip(source.parts, prepared.places, strict=True)), prepared.plan.layout
    tasks = _Draw(engine, prepared, places, plan, f, folder)
    asked = {target: n for target, n in prepared.plan.asked.items() if n}
    seed, counts = prepared.plan.space.seed, layout.counts.tolist()
    many = [t for t in asked if len(fellow_ranks(counts[t], seed, t)) < counts[t]]
    gathered = {t: gather_class(engine, places, plan, t) for t in asked if t not in many}
    fellows = tasks.fellows(many) if many else None
    keys = dict(zip(many, tasks.many(many, fellows), strict=True))
    keys |= {target: tasks.few(target, task) for target, task in gathered.items()}
    made = [pair for t in asked for pair in tasks.pieces(t, keys[t], gathered.get(t), fellows)]
    pieces, material = [piece for piece, _ in made], [thing for _, thing in made]
    tallies = [Tally(target, n, _count(pieces, target)) for target, n in asked.items()]
    report(tallies, Labels(None, layout.classes, layout.classes, layout.counts, layout.counts))
    return Balance(source, prepared, plan, f, in_place(pieces), material, gathered, tallies, {})


def _count(pieces: list[Piece], target: int) -> dict[str, int]:
    """Return how many rows of a class have which origin."""
    counts = dict.fromkeys((*SEARCHED, "interior", "copy"), 0)
    for piece in pieces:
        counts[piece.origin] += piece.n_rows if piece.target == target else 0
    return counts
