"""Search: one pass over one partition, and what it found.

    pass       T draws of every factual (see ``search.problem``); the first one is the paper's
    found      the inversions of a partition (see ``found``)
    taken      what earlier passes found and was selected
    seen       what earlier passes found and must not come again
    starts     rows of the whole table that f puts into each class (see ``search.references``),
               where a search that solves may start

The search is the expensive step. What it found stays on the worker, or on disk if a folder is
given, so that neither the death of a worker nor an interrupted run loses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.judge import Classifier, check_not_constant
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import Found, SavedFound, load, save, saved
from counterbalance.distributed.inputs import Partition, Place
from counterbalance.distributed.prepare import SearchPlan
from counterbalance.distributed.scan import NO_CLASS
from counterbalance.errors import ClassifierError
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Judged, Problem
from counterbalance.search.references import References


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
