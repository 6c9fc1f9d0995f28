"""Filling: the shortfall policies of the sampler, made of passes over all partitions.

What each policy does is said in ``shortfall``; here a pass runs on the workers, what it
found stays there, and only counts and cuts come to the client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterbalance.arrays import Integers
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.found import Found, Kept, load
from counterbalance.distributed.plan import Plan
from counterbalance.distributed.searching import Pass
from counterbalance.distributed.threshold import cut_found, find_cuts
from counterbalance.rows.shortfall import ENDS, MOST_REDRAWS, Policy, Tally
from counterbalance.search.problem import Yield
from counterbalance.table.labels import plain

# Makes a pass: (pass, what was taken, what was seen) -> what each partition found.
MakePass = Callable[[Pass, list[list[Any]], list[list[Any]]], list[Any]]


@dataclass(frozen=True)
class Counted:
    """What is told to the client of what one partition found."""

    right: Integers
    answers: Integers
    pairs: Integers  # inversions by (larger class, smaller class)

    @classmethod
    def of(cls, found: Found | Kept) -> Counted:
        """Count what was found."""
        found = load(found)
        return cls(found.right, found.answers, found.pairs())


@dataclass(frozen=True)
class Chosen:
    """What was selected of one pass, partition by partition."""

    origin: str
    parts: list[Any]  # of Found, on the workers
    counts: Integers  # (partitions, classes)


@dataclass
class Filling:
    """What the classes have so far."""

    asked: dict[int, int]
    chosen: list[Chosen] = field(default_factory=list)
    yields: dict[tuple[Any, Any], Yield] = field(default_factory=dict)
    answers: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def count(self, target: int, origin: str) -> int:
        """Return how many samples of a class have an origin."""
        return sum(
            int(chosen.counts[:, target].sum()) for chosen in self.chosen if chosen.origin == origin
        )

    def missing(self, target: int) -> int:
        """Return how many samples a class still lacks."""
        return self.asked[target] - sum(int(c.counts[:, target].sum()) for c in self.chosen)

    @property
    def short(self) -> tuple[int, ...]:
        """The classes that lack samples."""
        return tuple(target for target in self.asked if self.missing(target))

    def tally(self, target: int, interior: int, copies: int) -> Tally:
        """Return how many samples of a class have which origin."""
        origins = ("inversion", "minimum", "redraw", "threshold")
        made = {origin: self.count(target, origin) for origin in origins}
        return Tally(target, self.asked[target], made | {"interior": interior, "copy": copies})


def fill(
    engine: Engine,
    plan: Plan,
    make_pass: MakePass,
    policies: tuple[Policy, ...],
    *,
    has_threshold: bool,
) -> Filling:
    """Search, and search again as the policies say; interior samples are not made here."""
    filling = Filling({target: n for target, n in plan.asked.items() if n})
    filler = _Filler(engine, plan, make_pass, filling)
    filler.first()
    for policy in policies:
        if not filling.short or policy in {*ENDS, "interior"}:
            break
        if policy == "redraw":
            filler.redraw()
        elif has_threshold:
            filler.move_threshold()
    return filling


@dataclass(frozen=True)
class _Filler:
    engine: Engine
    plan: Plan
    make_pass: MakePass
    filling: Filling

    def first(self) -> None:
        """Make the paper's pass, and note what it yields."""
        targets = tuple(self.filling.asked)
        found, counted = self._search(Pass(0, targets), [])
        used = self._choose("inversion", found, counted, targets)
        self.filling.answers = np.unique(np.concatenate([one.answers for one in counted]))
        layout = self.plan.layout
        right = np.sum([one.right for one in counted], axis=0)
        pairs = np.sum([one.pairs for one in counted], axis=0)
        for target in targets:
            for source in np.flatnonzero(layout.counts > layout.counts[target]):
                names = tuple(plain(layout.classes[code]) for code in (source, target))
                self.filling.yields[names] = Yield(
                    int(layout.counts[source]),
                    int(right[source]),
                    int(pairs[source, target]),
                    int(used[source, target]),
                )

    def redraw(self) -> None:
        """Draw again, first for the factuals that inverted, then for all."""
        seen = [chosen.parts for chosen in self.filling.chosen]
        taken, passes = list(seen), range(1, MOST_REDRAWS + 1)
        for likely, more in ((True, 0), (False, MOST_REDRAWS)):
            going = self.filling.short
            for number in passes:
                if not going:
                    break
                a_pass = Pass(number + more, going, "redraw", likely)
                found, counted = self._search(a_pass, taken if likely else [], seen)
                self._choose("redraw", found, counted, going)
                seen.append(found)
                fresh = np.sum([one.pairs for one in counted], axis=(0, 1))
                going = tuple(t for t in going if fresh[t] and self.filling.missing(t))

    def move_threshold(self) -> None:
        """Search with the threshold of f at the class prior, among what gave nothing yet."""
        short, taken = self.filling.short, [chosen.parts for chosen in self.filling.chosen]
        found, counted = self._search(Pass(0, short, "threshold"), taken)
        self._choose("threshold", found, counted, short)

    def _search(
        self, a_pass: Pass, taken: list[list[Any]], seen: list[list[Any]] | None = None
    ) -> tuple[list[Any], list[Counted]]:
        what = "search" if a_pass.origin == "inversion" else f"search again ({a_pass.name})"
        found = self.engine.keep(self.make_pass(a_pass, taken, seen or []), what)
        tasks = [self.engine.task(Counted.of, part) for part in found]
        return found, self.engine.compute(tasks, what)

    def _choose(
        self, origin: str, found: list[Any], counted: list[Counted], targets: tuple[int, ...]
    ) -> Integers:
        """Select as many as are missing; return how many each pair of classes gave."""
        plan, filling = self.plan, self.filling
        how, seed = plan.selection, plan.space.seed
        counts = np.sum([one.pairs for one in counted], axis=(0, 1))
        wanted = {target: filling.missing(target) for target in targets}
        cuts = find_cuts(self.engine, found, counts, wanted, how, seed)
        # Cheap to make again from what was found, so it takes nobody's memory.
        parts = [self.engine.task(cut_found, part, cuts, how, seed) for part in found]
        pairs = self.engine.compute(
            [self.engine.task(Found.pairs, part) for part in parts], "select"
        )
        filling.chosen.append(Chosen(origin, parts, np.array([one.sum(axis=0) for one in pairs])))
        return np.asarray(np.sum(pairs, axis=0))
