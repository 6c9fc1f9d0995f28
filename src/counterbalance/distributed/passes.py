"""Passes: search all partitions, select, and search again as the shortfall policies say.

    key       a whole number that sorts as the key of an inversion (see ``search.selection``)
    cutoff    (key, number): everything up to it is taken

A pass runs on the workers and what it found stays there; only counts and cutoffs come to the
client. What each policy does is said in ``rows.shortfall``.

The n-th smallest key is found digit by digit: each round counts the next 16 bits of the keys that
share the digits known so far, until few enough are left to be sorted. The result is exact, and
ties go to the earlier factual, as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Words
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import Found, SavedFound, load
from counterbalance.distributed.prepare import SearchPlan
from counterbalance.distributed.search import PartitionTasks, Pass
from counterbalance.rows import shortfall
from counterbalance.rows.shortfall import Allowance, Policy, Tally
from counterbalance.search.problem import Yield
from counterbalance.table.labels import plain

DIGIT = 16  # bits
# At most so many keys come to the client to be sorted.
FEW = 50_000


class Cutoff(NamedTuple):
    """The last inversion of a class that is taken, or the last lot."""

    key: int
    number: int  # of the factual or the lot: it decides between equal keys

    def takes(self, keys: Words, numbers: Integers) -> NDArray[np.bool_]:
        """Say which are taken."""
        key = np.uint64(max(0, self.key))
        return np.asarray((keys < key) | ((keys == key) & (numbers <= self.number)))

    def as_float(self) -> float:
        """Return the key as the number whose bits it has."""
        return float(np.uint64(max(0, self.key)).view(np.float64))


TAKE_NONE = Cutoff(-1, -1)
Cutoffs = dict[int, Cutoff | None]  # by class; None takes everything


@dataclass(frozen=True)
class Digits:
    """The digits of a wanted key that are known: its highest ``n_bits`` bits."""

    prefix: int
    n_bits: int

    def share(self, keys: Words) -> NDArray[np.bool_]:
        """Say which keys have these digits."""
        if not self.n_bits:
            return np.ones(len(keys), dtype=bool)
        return np.asarray(keys >> np.uint64(64 - self.n_bits) == np.uint64(self.prefix))

    def next(self, keys: Words) -> Integers:
        """Return the next digit of each key."""
        shifted = keys >> np.uint64(64 - self.n_bits - DIGIT)
        return np.asarray(shifted & np.uint64(2**DIGIT - 1)).astype(np.intp)


def keys_of(found: Found, target: int) -> tuple[Words, Integers]:
    """Return the keys of the inversions to a class, and their factuals."""
    some = found.inversions.take(found.inversions.target == target)
    # Floats that are not negative sort as their bits do.
    return np.ascontiguousarray(some.key).view(np.uint64), some.factual


def take_up_to(found: Found | SavedFound, cutoffs: Cutoffs) -> Found:
    """Return the inversions up to the cutoff of each class; a class without one gets none."""
    found = load(found)
    taken = np.zeros(len(found.inversions), dtype=bool)
    for target, cutoff in cutoffs.items():
        here = np.flatnonzero(found.inversions.target == target)
        if cutoff is None:
            taken[here] = True
        else:
            taken[here] = cutoff.takes(*keys_of(found, target))
    return found.take(taken)


def find_cutoffs(
    engine: DaskEngine, found: list[Any], counts: Integers, wanted: dict[int, int]
) -> Cutoffs:
    """Return the cutoffs that give each class as many as wanted, or all that there are.

    ``counts`` says how many inversions to each class were found.
    """
    return {
        target: find_cutoff(
            engine,
            [engine.task(_load_keys, part, target) for part in found],
            int(counts[target]),
            n,
            f"select class {target}",
        )
        for target, n in wanted.items()
    }


def find_cutoff(
    engine: DaskEngine, keyed: list[Any], total: int, n: int, what: str
) -> Cutoff | None:
    """Return the cutoff that takes ``n`` of ``total`` keys; None if it takes them all.

    ``keyed`` are tasks: each returns some keys, and the number of each that decides between
    equal ones.
    """
    if n >= total:
        return None
    if n == 0:
        return TAKE_NONE
    digits, left = Digits(0, 0), total
    while left > FEW and digits.n_bits < 64:  # noqa: PLR2004
        tasks = [engine.task(_count, part, digits) for part in keyed]
        count = engine.joined(tasks, _add, what)
        ends = np.cumsum(count)
        digit = int(np.searchsorted(ends, n))
        n -= int(ends[digit] - count[digit])
        left = int(count[digit])
        digits = Digits((digits.prefix << DIGIT) | digit, digits.n_bits + DIGIT)
    tasks = [engine.task(_smallest, part, digits, n) for part in keyed]
    keys, number = engine.joined(tasks, _Smallest(n), what)
    return Cutoff(int(keys[n - 1]), int(number[n - 1]))


def _load_keys(found: Found | SavedFound, target: int) -> tuple[Words, Integers]:
    return keys_of(load(found), target)


def _count(keyed: tuple[Words, Integers], digits: Digits) -> Integers:
    keys, _ = keyed
    return np.bincount(digits.next(keys[digits.share(keys)]), minlength=2**DIGIT)


def _add(parts: list[Integers]) -> Integers:
    return np.asarray(np.sum(parts, axis=0))


def _smallest(keyed: tuple[Words, Integers], digits: Digits, n: int) -> tuple[Words, Integers]:
    keys, number = keyed
    here = digits.share(keys)
    return _Smallest(n)([(keys[here], number[here])])


@dataclass(frozen=True)
class _Smallest:
    """Keeps the n smallest (key, number) of some parts."""

    n: int

    def __call__(self, parts: list[tuple[Words, Integers]]) -> tuple[Words, Integers]:
        keys, number = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((number, keys))[: self.n]
        return keys[order], number[order]


@dataclass(frozen=True)
class FoundCounts:
    """What the client is told about the inversions of one partition."""

    right: Integers
    answers: Integers
    pairs: Integers  # inversions by (larger class, smaller class)

    @classmethod
    def of(cls, found: Found | SavedFound) -> FoundCounts:
        """Count what was found."""
        found = load(found)
        return cls(found.right, found.answers, found.pairs())


@dataclass(frozen=True)
class PassSelection:
    """What was selected of one pass, partition by partition."""

    origin: str
    parts: list[Any]  # of Found, on the workers
    counts: Integers  # (partitions, classes)
    pairs: Integers  # by (larger class, smaller class)


@dataclass
class Selections:
    """What was selected for the classes so far."""

    asked: dict[int, int]
    pool: int = 1  # see ``rows.shortfall.NewRows``
    pooled: bool = False  # see ``rows.shortfall.Tally``
    passes: list[PassSelection] = field(default_factory=list)
    yields: dict[tuple[Any, Any], Yield] = field(default_factory=dict)
    answers: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def count(self, target: int, origin: str) -> int:
        """Return how many samples of a class have an origin."""
        return sum(
            int(selected.counts[:, target].sum())
            for selected in self.passes
            if selected.origin == origin
        )

    def missing(self, target: int) -> int:
        """Return how many samples a class still lacks."""
        found = sum(int(c.counts[:, target].sum()) for c in self.passes)
        return self.pool * self.asked[target] - found

    @property
    def short(self) -> tuple[int, ...]:
        """The classes that lack samples."""
        return tuple(target for target in self.asked if self.missing(target))

    def yields_by_origin(self, classes: NDArray[Any]) -> dict[tuple[Any, Any], Yield]:
        """Return the yields, with the new rows of each pair by origin."""
        codes = {plain(label): code for code, label in enumerate(classes)}

        def count(pair: tuple[Any, Any]) -> dict[str, int]:
            made = dict.fromkeys(shortfall.SEARCHED, 0)
            for selected in self.passes:
                made[selected.origin] += int(selected.pairs[codes[pair[0]], codes[pair[1]]])
            return made

        origins = {pair: count(pair) for pair in self.yields}
        return {
            pair: got._replace(used=origins[pair]["inversion"], origins=origins[pair])
            for pair, got in self.yields.items()
        }

    def tally(self, target: int, interior: int, copies: int) -> Tally:
        """Return how many samples of a class have which origin."""
        made = {origin: self.count(target, origin) for origin in shortfall.SEARCHED}
        made |= {"interior": interior, "copy": copies}
        return Tally(target, self.asked[target], made, self.pooled)


def fill(
    engine: DaskEngine,
    plan: SearchPlan,
    tasks: PartitionTasks,
    policies: tuple[Policy, ...],
    *,
    has_threshold: bool,
) -> Selections:
    """Search, and search again as the policies say; interior samples are made elsewhere."""
    asked = {target: n for target, n in plan.asked.items() if n}
    pools = bool(plan.pooling)
    selections = Selections(asked, shortfall.POOL if pools else 1, pools)
    passes = _Passes(engine, plan, tasks, selections)
    passes.first()
    if pools:
        _follow(passes, plan.pooling, has_threshold=has_threshold)
        passes.settle()
    _follow(passes, policies, has_threshold=has_threshold)
    return selections


def _follow(passes: _Passes, policies: tuple[Policy, ...], *, has_threshold: bool) -> None:
    for policy in policies:
        if not passes.selections.short or policy in {*shortfall.ENDS, "interior"}:
            break
        if policy == "minimum":
            passes.solve()
        elif policy == "redraw":
            passes.redraw()
        elif has_threshold:
            passes.move_threshold()


@dataclass
class _Passes:
    """Makes passes and adds what they give to the selections."""

    engine: DaskEngine
    plan: SearchPlan
    tasks: PartitionTasks
    selections: Selections
    judged: list[Any] = field(default_factory=list)  # what the pass that asked about all rows found
    right: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # by class

    def first(self) -> None:
        """Make the first pass and count what it yields."""
        targets = tuple(self.selections.asked)
        solves = self.plan.search == "minimum"
        if solves:
            self.judged, _ = self._search(Pass(0, targets, "judge"), [])
        found, counted = self._search(Pass(0, targets, solves=solves), [])
        self.judged = self.judged or found
        self._choose("inversion", found, counted, targets)
        self.selections.answers = np.unique(np.concatenate([one.answers for one in counted]))
        layout = self.plan.layout
        self.right = right = np.sum([one.right for one in counted], axis=0)
        pairs = np.sum([one.pairs for one in counted], axis=0)
        for target in targets:
            for source in np.flatnonzero(layout.counts > layout.counts[target]):
                names = tuple(plain(layout.classes[code]) for code in (source, target))
                counts = (layout.counts[source], right[source], pairs[source, target], 0)
                self.selections.yields[names] = Yield._make([*map(int, counts), {}])

    def settle(self) -> None:
        """Keep of the pool of each class as many as are asked for."""
        selections = self.selections
        selections.pool = 1
        parts = [part for selected in selections.passes for part in selected.parts]
        counts = np.sum([one.counts.sum(axis=0) for one in selections.passes], axis=0)
        cutoffs = find_cutoffs(self.engine, parts, counts, selections.asked)
        selections.passes = [
            self._taken(selected.origin, selected.parts, cutoffs) for selected in selections.passes
        ]

    def solve(self) -> None:
        """Solve for the nearest inversion of the factuals that gave none."""
        short = self.selections.short
        taken = [selected.parts for selected in self.selections.passes]
        found, counted = self._search(Pass(0, short, "minimum", solves=True), taken)
        self._choose("minimum", found, counted, short)

    def redraw(self) -> None:
        """Draw again, first for the factuals that inverted, then for all."""
        seen = [selected.parts for selected in self.selections.passes]
        taken, passes = list(seen), range(1, shortfall.MOST_REDRAWS + 1)
        n_likely = {
            target: sum(self.selections.count(target, origin) for origin in shortfall.SEARCHED)
            for target in self.selections.short
        }
        allowance = Allowance(self.right, self.plan.layout.counts, self.selections.asked)
        for likely, more in ((True, 0), (False, shortfall.MOST_REDRAWS)):
            going = self.selections.short
            for number in passes:
                if not going or not allowance.pays(going, n_likely if likely else None):
                    break
                a_pass = Pass(number + more, going, "redraw", likely)
                found, counted = self._search(a_pass, taken if likely else [], seen)
                self._choose("redraw", found, counted, going)
                seen.append(found)
                fresh = np.sum([one.pairs for one in counted], axis=(0, 1))
                going = tuple(t for t in going if fresh[t] and self.selections.missing(t))

    def move_threshold(self) -> None:
        """Search with f's threshold at the class prior, among factuals that gave nothing yet."""
        short = self.selections.short
        taken = [selected.parts for selected in self.selections.passes]
        found, counted = self._search(Pass(0, short, "threshold"), taken)
        self._choose("threshold", found, counted, short)

    def _search(
        self, a_pass: Pass, taken: list[list[Any]], seen: list[list[Any]] | None = None
    ) -> tuple[list[Any], list[FoundCounts]]:
        first = a_pass.origin in {"judge", "inversion"}
        what = "search" if first else f"search again ({a_pass.name})"
        starts = self.tasks.starts(self.judged, what) if a_pass.solves else None
        found = self.engine.keep(self.tasks.search(a_pass, taken, seen or [], starts), what)
        tasks = [self.engine.task(FoundCounts.of, part) for part in found]
        return found, self.engine.compute(tasks, what)

    def _choose(
        self, origin: str, found: list[Any], counted: list[FoundCounts], targets: tuple[int, ...]
    ) -> None:
        """Select as many as are missing."""
        counts = np.sum([one.pairs for one in counted], axis=(0, 1))
        wanted = {target: self.selections.missing(target) for target in targets}
        cutoffs = find_cutoffs(self.engine, found, counts, wanted)
        self.selections.passes.append(self._taken(origin, found, cutoffs))

    def _taken(self, origin: str, found: list[Any], cutoffs: Cutoffs) -> PassSelection:
        # Not kept on the workers: it is cheap to compute again from what was found.
        task = self.engine.task
        parts = [task(take_up_to, part, cutoffs) for part in found]
        pairs = self.engine.compute([task(Found.pairs, part) for part in parts], "select")
        counts = np.array([one.sum(axis=0) for one in pairs])
        return PassSelection(origin, parts, counts, np.sum(pairs, axis=0))
