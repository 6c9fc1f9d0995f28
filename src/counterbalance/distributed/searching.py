"""Searching: one pass of draws over one partition.

pass       T draws of every factual (see ``problem``); the first one is the paper's
taken      what earlier passes gave and was selected
seen       what earlier passes gave and must not come again
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from counterbalance.arrays import Integers, Mask
from counterbalance.classifier.judge import Classifier, check_not_constant
from counterbalance.distributed.found import Found, Kept, load, save, saved
from counterbalance.distributed.layout import NO_CLASS
from counterbalance.distributed.partitions import Partition, Place
from counterbalance.distributed.plan import Plan
from counterbalance.errors import ClassifierError
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Judged, Problem


@dataclass(frozen=True)
class Pass:
    """What one pass looks for."""

    number: int
    targets: tuple[int, ...]
    origin: Literal["inversion", "redraw", "threshold"] = "inversion"
    likely: bool = False  # only the factuals that were taken

    @property
    def name(self) -> str:
        """A name that no other pass of a run has."""
        return f"{self.origin}-{self.number}"


def search_partition(
    partition: Partition,
    place: Place,
    plan: Plan,
    f: Any,
    a_pass: Pass,
    taken: list[Found | Kept],
    seen: list[Found | Kept],
    folder: str | None,
) -> Found | Kept:
    """Make a pass over a partition; with a folder the result is kept there, or found there."""
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
    plan: Plan,
    f: Any,
    a_pass: Pass,
    taken: list[Found],
    seen: list[Found],
) -> Found:
    classifier = plan.classifier(f, problem)
    if a_pass.origin == "threshold":
        moved = classifier.at_prior(problem.prior)
        assert moved is not None  # noqa: S101  (the policy is left out for an f without threshold)
        classifier = moved
    codes, shift = problem.labels.codes, first - len(plan.layout.sketch)
    stop = shift + len(codes)
    among = None
    if a_pass.likely:
        among = _likely(taken, first, stop, codes, plan)
        # What was taken has been judged already: f is not asked about every row once more.
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
    if a_pass.origin != "inversion":  # what f says of the table is known from the first pass
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


def _likely(taken: list[Found], first: int, stop: int, codes: Integers, plan: Plan) -> Mask:
    """Say for each row and class whether an inversion of it was taken."""
    likely = np.zeros((len(codes), len(plan.layout.classes)), dtype=bool)
    for part in taken:
        some = part.between(first, stop)
        likely[some.factual - first + len(plan.layout.sketch), some.target] = True
    return likely


def _is_among(found: Inversions, earlier: list[Inversions]) -> Mask:
    """Say which inversions have a factual and a class that an earlier one has."""
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
    partition: Partition, place: Place, plan: Plan, f: Any, answers: Integers
) -> str:
    """Return why an f that says one class only cannot be used, nothing where it can."""
    for _, problem in plan.blocks(partition, place):
        classifier: Classifier = plan.classifier(f, problem)
        try:
            check_not_constant(classifier, answers, problem.table.rows(slice(None, 1000)))
        except ClassifierError as error:
            return str(error)
        break
    return ""
