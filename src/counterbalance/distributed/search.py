"""Search: one pass of draws over one partition, and what it found.

    pass       T draws of every factual (see ``search.problem``); the first one is the paper's
    found      the inversions of a partition, 32 bytes for each
    taken      what earlier passes found and was selected
    seen       what earlier passes found and must not come again

The search is the expensive step. What it found stays on the worker, or on disk if a folder is
given, so that neither the death of a worker nor an interrupted run loses it.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Mask, Small
from counterbalance.classifier.judge import Classifier, check_not_constant
from counterbalance.distributed.inputs import Partition, Place
from counterbalance.distributed.prepare import SearchPlan
from counterbalance.distributed.resume import OWNER_ONLY
from counterbalance.distributed.scan import NO_CLASS
from counterbalance.errors import ClassifierError, EngineError
from counterbalance.io.atomic import written_whole
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Judged, Problem

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

    def pairs(self) -> Integers:
        """Return how many inversions each pair (larger class, smaller class) gave."""
        n_classes = len(self.right)
        pair = self.source.astype(np.intp) * n_classes + self.inversions.target
        return np.bincount(pair, minlength=n_classes**2).reshape(n_classes, n_classes)

    def take(self, positions: Any) -> Found:
        """Return some of the inversions."""
        return Found(
            self.inversions.take(positions), self.source[positions], self.right, self.answers
        )

    def between(self, first: int, stop: int, target: int | None = None) -> Inversions:
        """Return the inversions of the factuals in a range, to one class if given."""
        chosen = (self.inversions.factual >= first) & (self.inversions.factual < stop)
        if target is not None:
            chosen &= self.inversions.target == target
        return self.inversions.take(chosen)

    @classmethod
    def join(cls, parts: list[Found], n_classes: int) -> Found:
        """Concatenate the blocks of a partition."""
        none = np.zeros(0, dtype=np.intp)
        return cls(
            Inversions.join([part.inversions for part in parts]),
            np.concatenate([none.astype(np.int32), *(part.source for part in parts)]),
            np.sum([np.zeros(n_classes, dtype=np.intp), *(part.right for part in parts)], axis=0),
            np.unique(np.concatenate([none, *(part.answers for part in parts)])),
        )


@dataclass(frozen=True)
class SavedFound:
    """What was found, in a file."""

    path: str


def save(found: Found, path: Path) -> SavedFound:
    """Write what was found, completely or not at all."""
    arrays = {field.name: getattr(found.inversions, field.name) for field in fields(Inversions)}
    others = {name: getattr(found, name) for name in ("source", "right", "answers")}
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


def saved(path: Path, place: Place, n_classes: int) -> SavedFound | None:
    """Return what an earlier run wrote here; None if there is nothing or it is damaged."""
    try:
        found = _read(path)
    except DAMAGE:
        return None
    inversions, classes = found.inversions, np.arange(n_classes)
    sound = (
        _all_within(inversions.factual, np.array([place.first, place.first + place.n_rows - 1]))
        and _all_within(inversions.target, classes)
        and _all_within(found.source, classes)
        and _all_within(found.answers, classes)
        and len(found.right) == n_classes
    )
    return SavedFound(str(path)) if sound else None


def _read(path: Path) -> Found:
    """Read arrays of numbers, never objects; zipfile verifies the checksum of each."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        inversions = Inversions(*(arrays[field.name] for field in fields(Inversions)))
        found = Found(inversions, *(arrays[name] for name in ("source", "right", "answers")))
    columns = [*vars(inversions).values(), found.source]
    if any(column.shape != inversions.factual.shape or column.ndim != 1 for column in columns):
        raise ValueError(f"{path} holds columns of different lengths")
    whole = [*columns[:4], *columns[5:], found.right, found.answers]
    if any(column.dtype.kind != "i" for column in whole) or inversions.distance.dtype.kind != "f":
        raise ValueError(f"{path} holds columns of other types")
    return found


def _all_within(numbers: NDArray[Any], allowed: NDArray[Any]) -> bool:
    return not numbers.size or (numbers.min() >= allowed[0] and numbers.max() <= allowed[-1])


@dataclass(frozen=True)
class Pass:
    """What one pass looks for."""

    number: int
    targets: tuple[int, ...]
    origin: Literal["inversion", "redraw", "threshold"] = "inversion"
    likely: bool = False  # search only the factuals that were taken

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
    folder: str | None,
) -> Found | SavedFound:
    """Make a pass over a partition; with a folder, the result is saved there, or read from it."""
    path = None if folder is None else Path(folder) / f"{a_pass.name}-{place.number:05d}.npz"
    if path is not None:
        kept = saved(path, place, len(plan.layout.classes))
        if kept is not None:
            return kept
    selected, known = [load(found) for found in taken], [load(found) for found in seen]
    parts = [
        _search_block(problem, first, plan, f, a_pass, selected, known)
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
    found = problem.find(judged, a_pass.number, targets, among)
    found = moved_by(found, shift)
    if a_pass.origin == "redraw":
        found = _fresh(found, problem, shift, [part.between(first, stop) for part in seen])
    elif a_pass.origin == "threshold":
        used = [part.between(first, stop, t) for part in taken for t in targets]
        found = found.take(~_is_among(found, used))
    source, n_classes = codes[found.factual - shift].astype(np.int32), len(plan.layout.classes)
    if a_pass.origin != "inversion":  # the first pass has told what f says of the table
        return Found(found, source, np.zeros(n_classes, np.intp), np.zeros(0, np.intp))
    right = problem.right(judged)
    return Found(
        found,
        source,
        np.bincount(codes[right], minlength=n_classes),
        np.unique(judged.answers[len(plan.layout.sketch) :]),
    )


def moved_by(inversions: Inversions, shift: int) -> Inversions:
    """Return the inversions with other numbers for their factuals."""
    return replace(inversions, factual=inversions.factual + shift)


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
        words = problem.fingerprints(moved_by(found.take(here), -shift))
        keep[here] = ~np.isin(words, problem.fingerprints(moved_by(before, -shift)))
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
