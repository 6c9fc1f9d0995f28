"""Threshold: which inversions are taken, decided without bringing them together.

    key    a whole number that sorts as the distance (or, for a random selection, the lot)
    cut    (key, factual): everything up to it is taken

The n-th smallest key is found digit by digit: each pass counts the next 16 bits of the
keys that share the digits known so far, until few enough are left to be sorted. It is
exact, ties go to the earlier factual as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Words
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.found import Found, Kept, load
from counterbalance.search.draws import stream, uniform
from counterbalance.search.selection import Selection

DIGIT = 16  # bits
# So many keys may come to the client to be sorted.
FEW = 50_000


class Cut(NamedTuple):
    """The last inversion that is taken."""

    key: int
    factual: int


NOTHING = Cut(-1, -1)
Cuts = dict[int, Cut | None]  # by class; None takes everything


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


def keys_of(found: Found, target: int, how: Selection, seed: int) -> tuple[Words, Integers]:
    """Return the keys of the inversions to a class, and their factuals."""
    some = found.inversions.take(found.inversions.target == target)
    if how == "nearest":
        value = some.distance
    else:
        value = uniform(stream(seed, some.factual, some.draw), some.target)
    # Floats that are not negative sort as their bits do.
    return np.ascontiguousarray(value).view(np.uint64), some.factual


def cut_found(found: Found | Kept, cuts: Cuts, how: Selection, seed: int) -> Found:
    """Return the inversions up to the cut of each class; a class without a cut gets none."""
    found = load(found)
    taken = np.zeros(len(found.inversions), dtype=bool)
    for target, cut in cuts.items():
        here = np.flatnonzero(found.inversions.target == target)
        if cut is None:
            taken[here] = True
        elif cut != NOTHING:
            keys, factual = keys_of(found, target, how, seed)
            key = np.uint64(cut.key)
            taken[here] = (keys < key) | ((keys == key) & (factual <= cut.factual))
    return found.take(taken)


def find_cuts(
    engine: Engine,
    found: list[Any],
    counts: Integers,
    wanted: dict[int, int],
    how: Selection,
    seed: int,
) -> Cuts:
    """Return where to cut so that each class gets as many as wanted, or all that there are.

    ``counts`` says how many inversions to each class were found.
    """
    cuts: Cuts = {}
    for target, n in wanted.items():
        if n >= counts[target]:
            cuts[target] = None
        elif n == 0:
            cuts[target] = NOTHING
        else:
            cuts[target] = _nth(engine, found, target, n, int(counts[target]), how, seed)
    return cuts


def _nth(
    engine: Engine, found: list[Any], target: int, n: int, total: int, how: Selection, seed: int
) -> Cut:
    digits, left = Digits(0, 0), total
    while left > FEW and digits.n_bits < 64:  # noqa: PLR2004
        tasks = [engine.task(_count, part, target, digits, how, seed) for part in found]
        count = engine.joined(tasks, _add, f"select class {target}")
        ends = np.cumsum(count)
        digit = int(np.searchsorted(ends, n))
        n -= int(ends[digit] - count[digit])
        left = int(count[digit])
        digits = Digits((digits.prefix << DIGIT) | digit, digits.n_bits + DIGIT)
    tasks = [engine.task(_smallest, part, target, digits, n, how, seed) for part in found]
    keys, factual = engine.joined(tasks, _Smallest(n), f"select class {target}")
    return Cut(int(keys[n - 1]), int(factual[n - 1]))


def _count(found: Found | Kept, target: int, digits: Digits, how: Selection, seed: int) -> Integers:
    keys, _ = keys_of(load(found), target, how, seed)
    return np.bincount(digits.next(keys[digits.share(keys)]), minlength=2**DIGIT)


def _add(parts: list[Integers]) -> Integers:
    return np.asarray(np.sum(parts, axis=0))


def _smallest(
    found: Found | Kept, target: int, digits: Digits, n: int, how: Selection, seed: int
) -> tuple[Words, Integers]:
    keys, factual = keys_of(load(found), target, how, seed)
    here = digits.share(keys)
    return _Smallest(n)([(keys[here], factual[here])])


@dataclass(frozen=True)
class _Smallest:
    """Keeps the n smallest (key, factual) of some parts."""

    n: int

    def __call__(self, parts: list[tuple[Words, Integers]]) -> tuple[Words, Integers]:
        keys, factual = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((factual, keys))[: self.n]
        return keys[order], factual[order]
