"""Draw: the rows of ``InteriorOverSampler``, drawn where their candidates are.

    few       a class of at most MOST_FELLOWS rows (see ``rows.fellows``): its rows are gathered
              and sent to the workers, which make the candidates of a run of lots each
    many      a class of more rows, which need not fit into any worker: each partition makes the
              candidates of its own rows, and only the fellows of the class are sent around
    keys      one number for each candidate; those with the smallest are drawn
    cutoff    the largest key that is drawn, found by counting digits (see ``passes``)

Keys belong to lots, so neither partitions nor runs show in the result. What a task computed stays
on its worker, or on disk if a folder is given: 8 bytes for each candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Integers, Words
from counterbalance.classifier.judge import Classifier
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import DAMAGE
from counterbalance.distributed.inputs import Partition, Place
from counterbalance.distributed.passes import Cutoff, find_cutoff
from counterbalance.distributed.prepare import PartitionedTable, PreparedTable, SearchPlan
from counterbalance.distributed.resume import OWNER_ONLY
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
from counterbalance.errors import EngineError
from counterbalance.io.atomic import written_whole
from counterbalance.rows.fellows import Fellows, fellow_ranks
from counterbalance.rows.interior import Interior, Lots
from counterbalance.rows.shortfall import SEARCHED, Tally
from counterbalance.samplers.interior import POOL, WeightedDraw, report
from counterbalance.table.labels import Labels

# Cells of the candidates that are made, and that f is asked about, at a time.
CELLS_AT_ONCE = 2**19
NONE = np.zeros(0, dtype=np.intp)
ARRAYS = ("start", "keys", "ids", "partners", "copyable")


@dataclass(frozen=True)
class Keys:
    """The candidates of a class that one task made: those of a run of lots."""

    start: Integers  # the first lot, (1,)
    keys: Floats  # infinite where a candidate must not be drawn
    ids: Integers  # of the rows of the class in the partition; none if they are gathered
    partners: Integers
    copyable: Integers  # ids of the rows that keep the rules

    @property
    def sound(self) -> int:
        """How many candidates may be drawn."""
        return int(np.count_nonzero(self.keys < np.inf))

    def words(self) -> tuple[Words, Integers]:
        """Return the keys of those that may be drawn as words that sort alike, and their lots."""
        places = np.flatnonzero(self.keys < np.inf)
        # Floats that are not negative sort as their bits do.
        return self.keys[places].view(np.uint64), self.start[0] + places

    def drawn(self, cutoff: Cutoff | None) -> Integers:
        """Return the lots up to the cutoff; without one, all that may be drawn."""
        words, lots = self.words()
        return lots if cutoff is None else lots[cutoff.takes(words, lots)]

    @classmethod
    def join(cls, parts: list[Keys]) -> Keys:
        """Concatenate the blocks of a partition, in their order."""
        some = [part for part in parts if len(part.ids)]
        start = next((part.start for part in some if len(part.keys)), np.zeros(1, dtype=np.intp))
        if not some:
            return cls(start, np.zeros(0), NONE, NONE, NONE)
        rest = (np.concatenate([getattr(part, name) for part in some]) for name in ARRAYS[1:])
        return cls(start, *rest)


@dataclass(frozen=True)
class SavedKeys:
    """The keys of some classes, in a file."""

    path: str
    n: int


def make_keys(interior: Interior, lots: Integers, how: WeightedDraw, f: Classifier) -> Floats:
    """Make candidates and return their keys."""
    keys = np.empty(len(lots))
    size = max(1, CELLS_AT_ONCE // interior.x.shape[1])
    for start in range(0, len(lots), size):
        some = slice(start, start + size)
        made = interior.at(lots[some])
        scores = f.scores(made[0], interior.rows[made[1]])
        assert scores is not None  # noqa: S101  (f has probabilities)
        least = how.least_keys(interior, lots[some])
        keys[some] = how.keys(interior, least, made, scores[:, interior.lots.target])
    return keys


def keys_of_partition(
    partition: Partition,
    place: Place,
    plan: SearchPlan,
    f: Any,
    fellows: dict[int, Fellows],
    ranks: dict[int, int],
    folder: str | None,
) -> list[Keys] | SavedKeys:
    """Make the candidates of a partition's rows, of the classes that ``fellows`` are given of.

    ``ranks`` are those of its first rows.
    """
    path = None if folder is None else Path(folder) / f"keys-{place.number:05d}.npz"
    if path is not None and _is_sound(path, len(fellows)):
        return SavedKeys(str(path), len(fellows))
    how, first = plan.draw, dict(ranks)
    assert how is not None  # noqa: S101  (of the interior sampler)
    made: dict[int, list[Keys]] = {target: [] for target in fellows}
    for _, problem in plan.blocks(partition, place):
        classifier, shift = plan.classifier(f, problem), problem.space.first_row
        for target, others in fellows.items():
            part = Interior.of(problem, target, others, first[target])
            part = how.prepare(part, plan.asked[target])
            lots, ids = part.own_lots, part.rows + shift
            keys = make_keys(part, lots, how, classifier)
            copyable = ids[part.space.perturbation.rules.allow(part.x)]
            made[target].append(Keys(lots[:1], keys, ids, part.partners, copyable))
            first[target] += len(ids)
    return _kept([Keys.join(parts) for parts in made.values()], path)


def keys_of_run(
    gathered: GatheredClass, plan: SearchPlan, f: Any, run: range, folder: str | None
) -> list[Keys] | SavedKeys:
    """Make the candidates of a run of lots, counted from the first of the class."""
    interior, how = gathered.interior, plan.draw
    assert how is not None  # noqa: S101  (of the interior sampler)
    name = f"keys-{interior.lots.target}-{run.start:012d}.npz"
    path = None if folder is None else Path(folder) / name
    if path is not None and _is_sound(path, 1):
        return SavedKeys(str(path), 1)
    lots = interior.lots.first + np.arange(run.start, run.stop)
    classifier = plan.classifier(f, plan.problem(gathered.members.rows, 0))
    keys = make_keys(interior, lots, how, classifier)
    return _kept([Keys(lots[:1], keys, NONE, NONE, NONE)], path)


def _kept(made: list[Keys], path: Path | None) -> list[Keys] | SavedKeys:
    """Return keys, or write them, completely or not at all."""
    if path is None:
        return made
    arrays = {
        f"{name}_{place}": getattr(keys, name) for place, keys in enumerate(made) for name in ARRAYS
    }
    with written_whole(path, durable=False) as unfinished:  # a damaged one is made anew
        unfinished.chmod(OWNER_ONLY)
        with unfinished.open("wb") as file:
            np.savez(file, **arrays)
    return SavedKeys(str(path), len(made))


def _read(path: Path, n: int) -> list[Keys]:
    """Read arrays of numbers, never objects; zipfile verifies the checksum of each."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        found = [Keys(*(arrays[f"{name}_{place}"] for name in ARRAYS)) for place in range(n)]
    for keys in found:
        whole = (keys.start, keys.ids, keys.partners, keys.copyable)
        if keys.keys.dtype != np.float64 or any(array.dtype.kind != "i" for array in whole):
            raise ValueError(f"{path} holds columns of other types")
        if keys.start.shape != (1,) or len(keys.ids) != len(keys.partners):
            raise ValueError(f"{path} holds columns of other lengths")
        if not (keys.keys >= 0).all():
            raise ValueError(f"{path} holds keys below zero")
    return found


def _is_sound(path: Path, n: int) -> bool:
    """Say whether an earlier run wrote these keys; a damaged file is made anew."""
    try:
        _read(path, n)
    except DAMAGE:
        return False
    return True


def load(made: list[Keys] | SavedKeys, place: int) -> Keys:
    """Return the keys of one class, wherever they are."""
    if isinstance(made, list):
        return made[place]
    try:
        return _read(Path(made.path), made.n)[place]
    except DAMAGE as error:
        raise EngineError(
            f"{made.path} was damaged after it was written; run the same again: it is made anew"
        ) from error


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


def _sound(keys: Keys) -> tuple[int, int]:
    return keys.sound, len(keys.copyable)


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

    def few(self, target: int, gathered: Any) -> list[Any]:
        """Return the keys of a gathered class, run by run, as tasks."""
        plan, engine = self.prepared.plan, self.engine
        total, n = POOL * plan.asked[target], max(1, CELLS_PER_PIECE // len(plan.layout.names))
        runs = [range(start, min(total, start + n)) for start in range(0, total, n)]
        made = [
            engine.task(keys_of_run, gathered, self.plan, self.f, run, self.folder) for run in runs
        ]
        return [engine.task(load, part, 0) for part in engine.keep(made, "draw")]

    def many(self, targets: list[int], fellows: Any) -> list[list[Any]]:
        """Return the keys of classes of many rows, by class and partition, as tasks."""
        engine, first = self.engine, self.first
        made = [
            engine.task(
                keys_of_partition,
                part,
                place,
                self.plan,
                self.f,
                fellows,
                {target: int(first[place.number, target]) for target in targets},
                self.folder,
            )
            for part, place in self.places
        ]
        made = engine.keep(made, "draw") if targets else []
        return [[engine.task(load, part, k) for part in made] for k in range(len(targets))]

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

    def pieces(
        self, target: int, keys: list[Any], gathered: Any, fellows: Any
    ) -> Iterator[tuple[Piece, Any]]:
        """Yield what a class gets, each piece with its material: rows that are drawn, copies."""
        engine, plan = self.engine, self.prepared.plan
        asked, n = plan.asked[target], int(plan.layout.counts[target])
        counted = engine.compute([engine.task(_sound, part) for part in keys], "draw")
        sound, copyable = map(list, zip(*counted, strict=True))
        what = f"select class {target}"
        words = [engine.task(Keys.words, part) for part in keys]
        cutoff = find_cutoff(engine, words, sum(sound), asked, what)
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
