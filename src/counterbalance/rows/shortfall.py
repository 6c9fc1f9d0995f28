"""Shortfall: what to do for a class that got fewer inversions than asked for.

    minimum     solve for the nearest inversion of every factual that the draws did not invert
    redraw      draw again: more perturbations of the factuals, judged by the same f
    threshold   move f's decision threshold to the class prior and search once more; f itself
                does not call such rows the class
    interior    interpolate between the rows that the class has, or copy them if they are alike
    accept      return fewer
    raise       refuse

Policies are tried in the order given until nothing is short. Nothing is ever
padded in silence: whatever fills a class is named in the warning, and in the column ``origin``
of the provenance what each row is.

Where inversions are selected by agreement, those policies that search are tried first, whether or
not a class is short, to have a *pool* to choose from:

    first pass -> redraw -> minimum       up to POOL times the number asked for
               -> settle                  the smallest keys of the pool (see ``selection``)
               -> the other policies      a class whose whole pool is too small
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

import numpy as np

from counterbalance.arrays import Floats, Integers, Words
from counterbalance.classifier.judge import Classifier
from counterbalance.constraints import Constraint
from counterbalance.errors import InflatedClassWarning, ShortfallError, ShortfallWarning
from counterbalance.rows.interior import Interior
from counterbalance.rows.origins import (
    MOST_PER_ROW,
    all_inflated,
    ask_for_fewer,
    count_nearest,
    tell_inflated,
)
from counterbalance.search.inversions import Inversions
from counterbalance.search.problem import Judged, Problem
from counterbalance.search.selection import rank, select
from counterbalance.table.labels import Labels, plain
from counterbalance.user_warnings import warn_user

Policy = Literal["minimum", "redraw", "threshold", "interior", "accept", "raise", "no number"]
POLICIES: tuple[Policy, ...] = ("minimum", "redraw", "threshold", "interior", "accept", "raise")
# Not "threshold": f does not call its rows the class that they are given.
DEFAULT: tuple[Policy, ...] = ("minimum", "redraw", "interior")

# Policies that end a chain. The last is not for users: with it every inversion is kept, no number
# was asked for, and nothing can be short.
ENDS = frozenset({"accept", "raise", "no number"})
NO_NUMBER: tuple[Policy, ...] = ("no number",)
# Passes of T draws each; a pass that finds nothing new ends the policy at once.
MOST_REDRAWS = 10
# Drawing again makes at most so many times the draws of one pass over all factuals. It is bounded
# by work and not by the clock, so that the rows are the same on any machine.
MOST_DRAWN_AGAIN = 2

# How the first pass finds its inversions: by Algorithm 1, or as ``minimum`` does.
Search = Literal["perturb", "minimum"]
# Origins of what a search found.
SEARCHED = ("inversion", "minimum", "redraw", "threshold")
# Where inversions are selected by agreement, so many times those asked for are looked for, by those
# of these policies that the user allows.
POOL = 3
POOLING: tuple[Policy, ...] = ("redraw", "minimum")


@dataclass(frozen=True)
class Tally:
    """How many samples one class got, by their origin."""

    target: int
    asked: int
    made: dict[str, int]
    pooled: bool = False  # whether what was drawn again is there to choose from, not to fill

    @property
    def missing(self) -> int:
        """How many were not found."""
        return self.asked - sum(self.made.values())


@dataclass
class NewRows:
    """What one class gets: inversions by origin, lots of interior samples, copies."""

    target: int
    asked: int
    pool: int = 1  # how many times those asked for are looked for; 1 once they are chosen
    pooled: bool = False  # see ``Tally``
    parts: list[tuple[str, Inversions]] = field(default_factory=list)
    interior: Interior | None = None  # what the lots are drawn from
    lots: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    scores: Floats | None = None  # f's score of the class for each lot, where it is known
    copies: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # rows

    def add(self, origin: str, found: Inversions) -> None:
        """Note some more inversions."""
        if len(found):
            self.parts.append((origin, found))

    @property
    def missing(self) -> int:
        """How many samples are still to be found."""
        found = sum(len(found) for _, found in self.parts)
        return self.pool * self.asked - found - len(self.lots) - len(self.copies)

    def count(self, origin: str) -> int:
        """Return how many samples have this origin."""
        return sum(len(found) for name, found in self.parts if name == origin)

    @property
    def tally(self) -> Tally:
        """How many samples have which origin."""
        made = {origin: self.count(origin) for origin in SEARCHED}
        made |= {"interior": len(self.lots), "copy": len(self.copies)}
        return Tally(self.target, self.asked, made, self.pooled)

    @property
    def factuals(self) -> Integers:
        """The factuals that an inversion was taken from."""
        return np.concatenate([np.zeros(0, np.intp), *(found.factual for _, found in self.parts)])


def choose(
    found: Inversions, asked: dict[int, int], pooling: tuple[Policy, ...] = ()
) -> list[NewRows]:
    """Choose for each class as many inversions as are asked for, or for a pool POOL times that."""
    pool = POOL if pooling else 1
    classes = [NewRows(target, n, pool, bool(pooling)) for target, n in asked.items()]
    for rows in classes:
        rows.add("inversion", select(_of(found, rows.target), rows.missing))
    return classes


def fill_pool(
    classes: list[NewRows], problem: Problem, judged: Judged, pooling: tuple[Policy, ...]
) -> None:
    """Fill the pool of each class, if there is one, and keep of it as many as are asked for."""
    if pooling:
        fill(classes, problem, judged, pooling)
        settle(classes)


def settle(classes: list[NewRows]) -> None:
    """Keep of the pool of each class as many as are asked for."""
    for rows in classes:
        rows.pool = 1
        found = Inversions.join([part for _, part in rows.parts])
        kept = np.zeros(len(found), dtype=bool)
        kept[rank(found)[: rows.asked]] = True
        ends = np.cumsum([len(part) for _, part in rows.parts], dtype=np.intp)
        parts = zip(rows.parts, np.split(kept, ends)[:-1], strict=True)  # the last is empty
        rows.parts = [(origin, part.take(here)) for (origin, part), here in parts if here.any()]


def fill(
    classes: list[NewRows],
    problem: Problem,
    judged: Judged,
    policies: tuple[Policy, ...],
) -> None:
    """Fill up the classes that are short, policy by policy."""
    for policy in policies:
        short = [rows for rows in classes if rows.missing]
        if not short or policy in ENDS:
            break
        if policy == "minimum":
            _solve(short, problem, judged)
        elif policy == "redraw":
            first = [rows.target for rows in classes]
            _redraw(short, problem, judged, first)
        elif policy == "threshold":
            _move_threshold(short, problem, judged.f)
        else:
            for rows in short:
                rows.interior = Interior.of(problem, rows.target)
                rows.lots = rows.interior.accept(rows.missing)
                rows.copies = rows.interior.copies(rows.missing)


def report(
    tallies: list[Tally],
    labels: Labels,
    policies: tuple[Policy, ...],
    constraints: list[Constraint],
) -> None:
    """Warn of every class that did not get plain inversions only, or refuse."""
    if policies == NO_NUMBER:
        return
    for tally in tallies:
        found = count_nearest(tally.made) + (tally.made["redraw"] if tally.pooled else 0)
        if found == tally.asked:
            continue
        label = plain(labels.classes[tally.target])
        head = f"class {label!r}: {tally.asked} new samples asked for, {found} inversions found"
        if not (labels.counts > labels.counts[tally.target]).any():
            head += " (no class is larger)"
        if constraints:
            head += f" under the constraints {', '.join(map(str, constraints))}"
        done = [
            f"{tally.made[origin]} more by {how}"
            for origin, how in (
                ("redraw", "drawing again"),
                ("threshold", "moving the threshold of f to the class prior"),
                ("interior", "interpolating between rows of the class"),
                ("copy", "copying rows of the class"),
            )
            if tally.made[origin] and not (tally.pooled and origin == "redraw")
        ]
        if tally.missing and _last_word(policies) != "accept":
            raise ShortfallError(
                f"{', '.join([head, *done])}, {tally.missing} missing; ask for fewer with "
                "sampling_strategy, raise n_draws or epsilon, pass an estimator that predicts the "
                "class more often (class_weight='balanced'), let on_shortfall='interior' fill the "
                "class, or 'accept' fewer"
            )
        if tally.missing:
            done.append(f"{tally.missing} missing, as on_shortfall='accept' allows")
        warn_user(ShortfallWarning(f"{head}; {', '.join(done)}"), f"class {label!r}")
    warn_inflated(tallies, labels)


def warn_inflated(
    tallies: list[Tally], labels: Labels, *, most_per_row: int = MOST_PER_ROW
) -> None:
    """Warn, once for all classes, of those that got far more rows than their own bear out."""
    codes = {plain(labels.classes[tally.target]): tally for tally in tallies}
    counts = {label: tally.made for label, tally in codes.items()}
    rows = {label: int(labels.counts[tally.target]) for label, tally in codes.items()}
    found = all_inflated(counts, rows, most_per_row)
    if found:
        text = tell_inflated(found, ask_for_fewer(found, counts, rows))
        warn_user(InflatedClassWarning(text, tuple(found)), "inflated")


def check_policies(chosen: Any) -> tuple[Policy, ...]:
    """Read a policy or a chain of them."""
    policies = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    for policy in policies:
        if policy not in POLICIES:
            raise ValueError(
                f"on_shortfall must name policies out of {', '.join(POLICIES)}, got {policy!r}"
            )
        if policies.count(policy) > 1:
            raise ValueError(f"on_shortfall names {policy!r} more than once; name it once")
    return policies


def before_the_end(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    """Return the policies that come before one that ends the chain."""
    return tuple(takewhile(lambda policy: policy not in ENDS, policies))


def _last_word(policies: tuple[Policy, ...]) -> Policy:
    """Return what to do in the end: the first of accept and raise, or raise."""
    return next((policy for policy in policies if policy in {"accept", "raise"}), "raise")


def _solve(short: list[NewRows], problem: Problem, judged: Judged) -> None:
    """Solve for the nearest inversion of the factuals that gave none."""
    without = np.ones((len(problem.labels.codes), len(problem.labels.classes)), dtype=bool)
    for rows in short:
        without[rows.factuals, rows.target] = False
    found = problem.solve(judged, [rows.target for rows in short], without)
    for rows in short:
        rows.add("minimum", select(_of(found, rows.target), rows.missing))


def _redraw(short: list[NewRows], problem: Problem, judged: Judged, first: list[int]) -> None:
    """Search with further draws, first of the factuals that inverted, then of all.

    A factual that inverted before is likely to do so again, and soon; one that did not costs
    the most and gives the least. A pass that the allowance does not pay for ends its turn;
    ``first`` are the targets of the first pass.
    """
    likely = np.zeros((len(problem.labels.codes), len(problem.labels.classes)), dtype=bool)
    for rows in short:
        likely[rows.factuals, rows.target] = True
    seen = {rows.target: _fingerprints(rows, problem) for rows in short}
    n_likely = {rows.target: len(rows.factuals) for rows in short}
    right = np.bincount(
        problem.labels.codes[problem.right(judged)], minlength=len(problem.labels.classes)
    )
    allowance = Allowance(right, problem.labels.counts, first)
    passes = range(1, MOST_REDRAWS + 1)
    for among, numbers in ((likely, passes), (None, (n + MOST_REDRAWS for n in passes))):
        going = [rows for rows in short if rows.missing]
        for number in numbers:
            targets = [rows.target for rows in going]
            if not going or not allowance.pays(targets, n_likely if among is not None else None):
                break
            found = problem.find(judged, number, targets, among)
            for rows in list(going):
                more, words = _fresh(_of(found, rows.target), seen[rows.target], problem)
                rows.add("redraw", select(more, rows.missing))
                seen[rows.target] = np.append(seen[rows.target], words)
                if not len(more) or not rows.missing:
                    going.remove(rows)


class Allowance:
    """How many factuals may still be drawn again, T draws each.

    ``right`` counts the factuals of each class, ``counts`` its rows; ``first`` are the targets of
    the first pass.
    """

    def __init__(self, right: Integers, counts: Integers, first: Iterable[int]) -> None:
        self._right, self._counts = right, counts
        self.left = MOST_DRAWN_AGAIN * self._searched(first)

    def pays(self, targets: Iterable[int], likely: Mapping[int, int] | None) -> bool:
        """Say whether a pass is within what is left, and take it off.

        A pass searches all factuals of larger classes, or as many as are ``likely`` for each
        target; one that is likely for two of them is counted twice.
        """
        n = self._searched(targets) if likely is None else sum(likely[t] for t in targets)
        if n > self.left:
            return False
        self.left -= n
        return True

    def _searched(self, targets: Iterable[int]) -> int:
        """Return how many factuals a pass over all of them searches."""
        larger = self._counts > self._counts[list(targets)].min()
        return int(self._right[larger].sum())


def _move_threshold(short: list[NewRows], problem: Problem, f: Classifier) -> None:
    """Search with the moved f among the factuals that gave nothing yet."""
    moved = f.at_prior(problem.prior)
    if moved is None:
        return
    found = problem.find(problem.judged(moved), 0, [rows.target for rows in short])
    for rows in short:
        more = _of(found, rows.target)
        unused = ~np.isin(more.factual, rows.factuals)
        rows.add("threshold", select(more.take(unused), rows.missing))


def _fingerprints(rows: NewRows, problem: Problem) -> Words:
    parts = [problem.fingerprints(found) for _, found in rows.parts]
    return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])


def _fresh(found: Inversions, seen: Words, problem: Problem) -> tuple[Inversions, Words]:
    """Leave out rows that were made from the same factual before; return fingerprints, too."""
    words = problem.fingerprints(found)
    fresh = ~np.isin(words, seen)
    return found.take(fresh), words[fresh]


def _of(found: Inversions, target: int) -> Inversions:
    return found.take(found.target == target)
