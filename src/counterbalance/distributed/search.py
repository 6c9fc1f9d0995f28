"""Search: one pass over one partition, and what it found.

    pass       T draws of every factual (see ``search.problem``); the first one is the paper's
    found      the inversions of a partition: 32 bytes for each, and the changed cells of those
               that were solved for
    taken      what earlier passes found and was selected
    seen       what earlier passes found and must not come again
    starts     rows of the whole table that f puts into each class (see ``search.references``),
               where a search that solves may start

The search is the expensive step. What it found stays on the worker, or on disk if a folder is
given, so that neither the death of a worker nor an interrupted run loses it.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask, Small
from counterbalance.classifier.judge import Classifier, check_not_constant
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.inputs import Partition, Place
from counterbalance.distributed.prepare import SearchPlan
from counterbalance.distributed.resume import OWNER_ONLY
from counterbalance.distributed.scan import NO_CLASS
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.io.atomic import written_whole
from counterbalance.search.inversions import COLUMNS, NOT_DRAWN, Changes, Inversions
from counterbalance.search.problem import Judged, Problem
from counterbalance.search.references import References

# The arrays of what was found, beside those of its inversions.
OTHERS = ("source", "right", "answers")
# What reading a damaged archive of arrays can raise.
DAMAGE = (
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Found:
    """The inversions of a partition; factuals are positions in the whole table."""

    inversions: Inversions
    source: Small  # the class of each factual
    right: Integers  # rows of each class that f gets right
    answers: Integers  # the classes that f predicts for some row
    references: References = field(default_factory=References.none)  # of this partition alone

    def pairs(self) -> Integers:
        """Return how many inversions each pair (larger class, smaller class) gave."""
        n_classes = len(self.right)
        pair = self.source.astype(np.intp) * n_classes + self.inversions.target
        return np.bincount(pair, minlength=n_classes**2).reshape(n_classes, n_classes)

    def take(self, positions: Any) -> Found:
        """Return some of the inversions."""
        inversions, source = self.inversions.take(positions), self.source[positions]
        return replace(self, inversions=inversions.trimmed(), source=source)

    def between(self, first: int, stop: int, target: int | None = None) -> Inversions:
        """Return the inversions of the factuals in a range, to one class if given."""
        some = self.inversions.between(first, stop)
        return some if target is None else some.take(some.target == target)

    @classmethod
    def join(cls, parts: list[Found], n_classes: int) -> Found:
        """Concatenate the blocks of a partition."""
        none = np.zeros(0, dtype=np.intp)
        return cls(
            Inversions.join([part.inversions for part in parts]),
            np.concatenate([none.astype(np.int32), *(part.source for part in parts)]),
            np.sum([np.zeros(n_classes, dtype=np.intp), *(part.right for part in parts)], axis=0),
            np.unique(np.concatenate([none, *(part.answers for part in parts)])),
            References.join([part.references for part in parts]),
        )


@dataclass(frozen=True)
class SavedFound:
    """What was found, in a file."""

    path: str


def save(found: Found, path: Path) -> SavedFound:
    """Write what was found, completely or not at all."""
    arrays = {name: getattr(found.inversions, name) for name in COLUMNS}
    others = {name: getattr(found, name) for name in OTHERS}
    for group in (found.references, found.inversions.changes):
        if group is not None:
            others |= {_key(type(group), name): array for name, array in vars(group).items()}
    with written_whole(path) as unfinished:
        unfinished.chmod(OWNER_ONLY)
        with unfinished.open("wb") as file:
            np.savez(file, **arrays, **others)
    return SavedFound(str(path))


def load(found: Found | SavedFound) -> Found:
    """Return what was found, wherever it is."""
    if isinstance(found, Found):
        return found
    try:
        return _read(Path(found.path))
    except DAMAGE as error:
        raise EngineError(
            f"{found.path} was damaged after it was written; run the same again: it is made anew"
        ) from error


def _key(group: type, name: str) -> str:
    """Return the name of an array in the file."""
    return f"{group.__name__.lower()}_{name}"


def saved(path: Path, place: Place, n_classes: int) -> SavedFound | None:
    """Return what an earlier run wrote here; None if there is nothing or it is damaged."""
    try:
        found = _read(path)
    except DAMAGE:
        return None
    inversions, classes = found.inversions, np.arange(n_classes)
    rows = np.array([place.first, place.first + place.n_rows - 1])
    sound = (
        _all_within(inversions.factual, rows)
        and _all_within(found.references.row, rows)
        and _all_within(found.references.target, classes)
        and _all_within(inversions.target, classes)
        and _all_within(found.source, classes)
        and _all_within(found.answers, classes)
        and len(found.right) == n_classes
    )
    return SavedFound(str(path)) if sound else None


def _read(path: Path) -> Found:
    """Read arrays of numbers, never objects; zipfile verifies the checksum of each."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        inversions = Inversions(**{name: arrays[name] for name in COLUMNS})
        others = {name: arrays[name] for name in OTHERS}
        references = References(*(arrays[_key(References, f.name)] for f in fields(References)))
        if _key(Changes, "factual") in arrays:
            changes = Changes(*(arrays[_key(Changes, f.name)] for f in fields(Changes)))
            inversions = replace(inversions, changes=changes)
    found = Found(inversions, **others, references=references)
    _check_arrays(found, path)
    return found


def _check_arrays(found: Found, path: Path) -> None:
    """Check that the arrays of a file go together."""
    inversions, references = found.inversions, found.references
    solved = inversions.take(inversions.draw == NOT_DRAWN)
    changes = inversions.changes or Changes.none()
    floats = [inversions.distance, changes.value]
    whole = [getattr(inversions, name) for name in COLUMNS if name != "distance"]
    whole += [array for name, array in vars(changes).items() if name != "value"]
    whole += [found.source, found.right, found.answers, references.row, references.target]
    if any(array.dtype.kind != "i" for array in whole) or any(a.dtype.kind != "f" for a in floats):
        raise ValueError(f"{path} holds columns of other types")
    n = len(inversions)
    if (
        any(array.ndim != 1 for array in (*whole, *floats))
        or any(len(column) != n for column in (*whole[:4], inversions.distance, found.source))
        or len(references.row) != len(references.target)
        or len(changes.count) != len(changes.factual)
        or not len(changes.feature) == len(changes.value) == changes.count.sum()
    ):
        raise ValueError(f"{path} holds columns of different lengths")
    if (
        not np.array_equal(changes.factual, solved.factual)
        or not np.array_equal(changes.target, solved.target)
        or changes.count.min(initial=0) < 0
        or changes.feature.min(initial=0) < 0
    ):
        raise ValueError(f"{path} holds other changes than those of its inversions")


def _all_within(numbers: NDArray[Any], allowed: NDArray[Any]) -> bool:
    return not numbers.size or (numbers.min() >= allowed[0] and numbers.max() <= allowed[-1])


@dataclass(frozen=True)
class Pass:
    """What one pass looks for."""

    number: int
    targets: tuple[int, ...]
    # "judge" finds nothing: it asks f what it says of the table.
    origin: Literal["judge", "inversion", "minimum", "redraw", "threshold"] = "inversion"
    likely: bool = False  # search only the factuals that were taken
    solves: bool = False  # by the structure of f, not by draws

    @property
    def name(self) -> str:
        """A name that no other pass of a run has."""
        return f"{self.origin}-{self.number}"


def search_partition(
    partition: Partition,
    place: Place,
    plan: SearchPlan,
    f: Any,
    a_pass: Pass,
    taken: list[Found | SavedFound],
    seen: list[Found | SavedFound],
    starts: list[Floats] | None,
    folder: str | None,
) -> Found | SavedFound:
    """Make a pass over a partition; with a folder, the result is saved there, or read from it.

    ``starts`` are for a pass that solves.
    """
    path = None if folder is None else Path(folder) / f"{a_pass.name}-{place.number:05d}.npz"
    if path is not None:
        kept = saved(path, place, len(plan.layout.classes))
        if kept is not None:
            return kept
    selected, known = [load(found) for found in taken], [load(found) for found in seen]
    parts = [
        _search_block(problem, first, plan, f, a_pass, selected, known, starts)
        for first, problem in plan.blocks(partition, place)
    ]
    found = Found.join(parts, len(plan.layout.classes))
    return found if path is None else save(found, path)


def _search_block(
    problem: Problem,
    first: int,
    plan: SearchPlan,
    f: Any,
    a_pass: Pass,
    taken: list[Found],
    seen: list[Found],
    starts: list[Floats] | None,
) -> Found:
    classifier = plan.classifier(f, problem)
    if a_pass.origin == "threshold":
        moved = classifier.at_prior(problem.prior)
        assert moved is not None  # noqa: S101  (an f without a threshold has no such pass)
        classifier = moved
    codes, shift = problem.labels.codes, first - len(plan.layout.sketch)
    stop = shift + len(codes)
    among = None
    if a_pass.likely:
        among = _likely(taken, first, stop, codes, plan)
        # What was taken has been judged before: f is not asked about these rows again.
        judged = Judged(classifier, np.where(among.any(axis=1), codes, NO_CLASS))
    else:
        judged = problem.judged(classifier)
    targets = list(a_pass.targets)
    if a_pass.origin == "judge":
        found = Inversions.join([])
    elif a_pass.solves:
        without = ~_likely(taken, first, stop, codes, plan)
        found = problem.solve(judged, targets, without, starts)
    else:
        found = problem.find(judged, a_pass.number, targets, among)
    found = found.moved_by(shift)
    if a_pass.origin == "redraw":
        found = _fresh(found, problem, shift, [part.between(first, stop) for part in seen])
    elif a_pass.origin == "threshold":
        used = [part.between(first, stop, t) for part in taken for t in targets]
        found = found.take(~_is_among(found, used))
    source, n_classes = codes[found.factual - shift].astype(np.int32), len(plan.layout.classes)
    if a_pass.origin not in {"judge", "inversion"}:  # it was told before what f says of the table
        return Found(found, source, np.zeros(n_classes, np.intp), np.zeros(0, np.intp))
    right = problem.right(judged)
    return Found(
        found,
        source,
        np.bincount(codes[right], minlength=n_classes),
        np.unique(judged.answers[len(plan.layout.sketch) :]),
        problem.references(judged, targets),
    )


@dataclass(frozen=True)
class PartitionTasks:
    """Makes the tasks of a pass, one for each partition."""

    engine: DaskEngine
    places: list[tuple[Any, Place]]  # of the partitions
    plan: Any  # as a task; so is f
    f: Any
    folder: str | None  # where the results are saved

    def search(
        self, a_pass: Pass, taken: list[list[Any]], seen: list[list[Any]], starts: Any = None
    ) -> list[Any]:
        """Search the partitions; of each, only what was found in it before is known."""
        return [
            self.engine.task(
                search_partition,
                part,
                place,
                self.plan,
                self.f,
                a_pass,
                [found[place.number] for found in taken],
                [found[place.number] for found in seen],
                starts,
                self.folder,
            )
            for part, place in self.places
        ]

    def starts(self, found: list[Any], what: str) -> Any:
        """Return the starts for a search that solves, as a task.

        ``found`` is of a pass that asked f about every row; f is not asked again.
        """
        candidates = [self.engine.task(references_of, part) for part in found]
        chosen = self.engine.constant(self.engine.joined(candidates, References.join, what))
        parts = [
            self.engine.task(find_starts, part, place, self.plan, chosen)
            for part, place in self.places
        ]
        return self.engine.held(self.engine.joined(parts, join_starts, what), what)


def references_of(found: Found | SavedFound) -> References:
    """Return the rows of a partition that may be starts."""
    return load(found).references


def find_starts(
    partition: Partition, place: Place, plan: SearchPlan, references: References
) -> list[Floats]:
    """Return the rows of a partition that are references, for each class."""
    parts = [problem.starts(references) for _, problem in plan.blocks(partition, place)]
    none = [np.zeros((0, len(plan.layout.features)))] * len(plan.layout.classes)
    return join_starts([none, *parts])


def join_starts(parts: list[list[Floats]]) -> list[Floats]:
    """Concatenate the starts of parts of the table, in their order."""
    return [np.concatenate(rows) for rows in zip(*parts, strict=True)]


def _likely(taken: list[Found], first: int, stop: int, codes: Integers, plan: SearchPlan) -> Mask:
    """Say for each row and class whether an inversion of it was taken."""
    likely = np.zeros((len(codes), len(plan.layout.classes)), dtype=bool)
    for part in taken:
        some = part.between(first, stop)
        likely[some.factual - first + len(plan.layout.sketch), some.target] = True
    return likely


def _is_among(found: Inversions, earlier: list[Inversions]) -> Mask:
    """Say which inversions share factual and class with an earlier one."""
    known = Inversions.join(earlier)
    among = np.zeros(len(found), dtype=bool)
    for target in np.unique(found.target):
        here = found.target == target
        among[here] = np.isin(found.factual[here], known.factual[known.target == target])
    return among


def _fresh(
    found: Inversions, problem: Problem, shift: int, earlier: list[Inversions]
) -> Inversions:
    """Leave out the rows that were made from the same factual before."""
    known = Inversions.join(earlier)
    keep = np.zeros(len(found), dtype=bool)
    for target in np.unique(found.target):
        here, before = found.target == target, known.take(known.target == target)
        words = problem.fingerprints(found.take(here).moved_by(-shift))
        keep[here] = ~np.isin(words, problem.fingerprints(before.moved_by(-shift)))
    return found.take(keep)


def check_tells_apart(
    partition: Partition, place: Place, plan: SearchPlan, f: Any, answers: Integers
) -> str:
    """Return why an f that predicts a single class is unusable; an empty text if it is not."""
    for _, problem in plan.blocks(partition, place):
        classifier: Classifier = plan.classifier(f, problem)
        try:
            check_not_constant(classifier, answers, problem.table.rows(slice(None, 1000)))
        except ClassifierError as error:
            return str(error)
        break
    return ""
