"""Counterfactuals by others: CFA from values of real rows, Counterfactual SMOTE by bisection.

Glossary of CFA
    pair                a majority row and a minority row that differ in few features
    difference feature  a feature in which the two rows of a pair differ
    tolerance           difference, in standard deviations, up to which two values count as equal
    base                a majority row that adopts the difference features of a pair
    combination         a base and a pair
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.arrays import Words as Keys
from counterbalance.methods.base import (
    NOT_NEGATIVE_REAL,
    POSITIVE_INTEGER,
    SHARE,
    NeighbourOverSampler,
    PeerOverSampler,
    parameter,
)
from counterbalance.methods.neighbours import (
    between,
    drawn_neighbours,
    minority_share,
    nearest,
    standardised,
)

_BLOCK = 4_000_000  # values of combinations held in memory at a time


def fewest_differences(ours: Floats, theirs: Floats, tolerance: float) -> tuple[Integers, Integers]:
    """Return for each majority row the minority row with the fewest differences, and how many.

    The nearer one, by the sum of absolute differences, wins a tie. A minority row without any
    difference is not a partner: there is nothing to adopt from it. If there is no other, the
    number is one more than the number of features.
    """
    partner = np.empty(len(theirs), dtype=np.intp)
    number = np.empty(len(theirs), dtype=np.intp)
    # Single precision halves the memory traffic; its rounding is far below the tolerance.
    columns = np.ascontiguousarray(ours.T, dtype=np.float32)
    for start in range(0, len(theirs), 256):
        block = theirs[start : start + 256].astype(np.float32)
        differences = np.zeros((len(block), len(ours)), dtype=np.float32)
        apart = np.zeros_like(differences)
        for feature, column in enumerate(columns):
            gap = np.abs(block[:, feature, None] - column)
            differences += gap > tolerance
            apart += gap
        differences[differences == 0] = ours.shape[1] + 1
        # The distance, squeezed below one, only breaks ties.
        best = np.argmin(differences + apart / (1 + apart), axis=1)
        partner[start : start + 256] = best
        number[start : start + 256] = differences[np.arange(len(block)), best]
    return partner, number


def row_keys(minority: Floats, majority: Floats, rng: np.random.Generator) -> tuple[Keys, Keys]:
    """Draw a 64-bit number for each value of each column, in the shape of the two tables.

    The sum over the columns, which wraps around, is the key of a row: equal rows have equal
    keys, and two different rows share one about once in 10**19 times.
    """
    table = np.vstack([minority, majority])
    keys = np.empty(table.shape, dtype=np.uint64)
    for column in range(table.shape[1]):
        values, place = np.unique(table[:, column], return_inverse=True)
        keys[:, column] = rng.integers(2**64, size=len(values), dtype=np.uint64)[place]
    return keys[: len(minority)], keys[len(minority) :]


@dataclass(frozen=True)
class Combinations:
    """The majority rows, the pairs, and how the two combine into a new row."""

    ours: Floats
    theirs: Floats
    # A pair: a majority row, and the minority row that differs from it in the fewest features.
    factual: Integers
    counterfactual: Integers
    tolerance: float
    keys: tuple[Keys, Keys]

    @cached_property
    def differs(self) -> Mask:
        """Return the difference features of each pair."""
        gaps = self.theirs[self.factual] - self.ours[self.counterfactual]
        return np.abs(gaps) > self.tolerance

    def nearest_first(self, n_samples: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Find up to ``n_samples`` bases and pairs, the nearest pair of each base first."""
        rows = np.arange(len(self.theirs))
        for bases in (np.setdiff1d(rows, self.factual), rows):
            if not len(bases) or not len(self.factual):
                continue
            found = self._of_bases(rng.permutation(bases), n_samples)
            if len(found[0]):
                return found
        return rows[:0], rows[:0]

    def _of_bases(self, bases: Integers, n_samples: int) -> tuple[Integers, Integers]:
        n_pairs = len(self.factual)
        k = max(4, 2 * -(-n_samples // len(bases)))
        while True:
            _, near = nearest(self.theirs[bases], self.theirs[self.factual], k)
            makes_new = self._makes_new(bases, near)
            if makes_new.sum() >= n_samples or k >= n_pairs:
                break
            k *= 4
        place, column = np.nonzero(makes_new)
        turn = (np.cumsum(makes_new, axis=1) - 1)[place, column]
        first = np.argsort(turn, kind="stable")[:n_samples]
        return bases[place[first]], near[place[first], column[first]]

    def _makes_new(self, bases: Integers, near: Integers) -> Mask:
        """Return whether each base with each of its pairs gives a row that is not in the table."""
        rows = max(1, _BLOCK // (near.shape[1] * self.theirs.shape[1]))
        blocks = [
            self._makes_new_block(bases[start : start + rows], near[start : start + rows])
            for start in range(0, len(bases), rows)
        ]
        return np.vstack(blocks)

    def _makes_new_block(self, bases: Integers, near: Integers) -> Mask:
        differs = self.differs[near]
        donors = self.counterfactual[near]
        gaps = np.abs(self.theirs[bases][:, None] - self.ours[donors])
        changed = (differs & (gaps > self.tolerance)).any(axis=2)
        ours, theirs = self.keys
        key = np.where(differs, ours[donors], theirs[bases][:, None]).sum(axis=2)
        known = np.concatenate([ours.sum(axis=1), theirs.sum(axis=1)])
        return changed & ~np.isin(key, known)


class CFA(PeerOverSampler):
    """Counterfactual augmentation.

    M. Temraz, M. T. Keane, "Solving the class imbalance problem using a counterfactual method
    for data augmentation", Machine Learning with Applications 2022.

    A native counterfactual is a pair of a majority and a minority row that differ in at most
    two features, values within a tolerance counting as equal. A majority row that has no such
    partner adopts the difference features of the nearest pair's minority row and keeps its own
    values elsewhere: a new minority row made of values that occur in the table.

    A pair has at least one difference feature, and a new row differs from the majority row it
    comes from by more than the tolerance and is not in the table: no majority row is merely
    relabelled.

    Departures: the default tolerance is our choice. If no pair exists, the smallest number of
    differences that gives one is used, with a warning, rather than making nothing. If more
    rows are needed than there are majority rows without a partner, each of them is also combined
    with the next nearest pairs; majority rows with a partner serve if the others give nothing.
    If no new row can be made in this way, as in a table that holds every combination of its
    values, the new rows are copies of minority rows, with a warning.

    Cost: every majority row is compared with every minority row in every feature, by
    definition more than 20 times the work of SMOTE.

    Parameters
    ----------
    max_differences : int, default=2
        Largest number of difference features of a pair.
    tolerance : float, default=0.2
        Difference, in standard deviations, up to which two values count as equal.
    """

    _least_minority = 1
    _needs_spread = False
    max_differences: int = parameter(default=2, rule=POSITIVE_INTEGER)
    tolerance: float = parameter(default=0.2, rule=NOT_NEGATIVE_REAL)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        ours, theirs = standardised(minority, majority)
        partner, number = fewest_differences(ours, theirs, self.tolerance)
        # More differences than asked for are admitted if there would be no pair.
        admitted = min(max(self.max_differences, int(number.min())), ours.shape[1])
        factual = np.flatnonzero(number <= admitted)
        if admitted > self.max_differences and len(factual):
            self._warn(
                f"no two rows of different classes differ in at most {self.max_differences} "
                "features",
                f"pairs with {admitted} differences were used; a larger tolerance avoids this",
            )
        keys = row_keys(minority, majority, rng)
        search = Combinations(ours, theirs, factual, partner[factual], self.tolerance, keys)
        base, pair = search.nearest_first(n_samples, rng)
        if not len(base):
            self._warn(
                "no majority row with the difference features of a pair is new to the table",
                "the new rows are copies of minority rows",
            )
            return minority[rng.integers(len(minority), size=n_samples)]
        if len(base) < n_samples:
            self._warn(
                f"majority rows and pairs give {len(base)} combinations, fewer than {n_samples}",
                "some new rows occur more than once",
            )
            base, pair = np.resize(base, n_samples), np.resize(pair, n_samples)
        adopted = minority[search.counterfactual[pair]]
        return np.where(search.differs[pair], adopted, majority[base])


class CounterfactualSMOTE(NeighbourOverSampler):
    """Counterfactual SMOTE.

    G. Almeida, F. Bacao, "Counterfactual synthetic minority oversampling technique: solving
    healthcare's imbalanced learning challenge", Data Science and Management 2025.

    A majority row and one of its nearest safe minority rows span a segment. Bisection along it,
    judged by a nearest-neighbour classifier, finds where the prediction turns to minority; the
    new row is the point nearest to that boundary that is still predicted minority, so it is
    informative and not noise.

    Departures: written from the paper's summary (SMOTE joined with a counterfactual search,
    near the boundary and inside a safe region); the bisection, its steps and the vote are our
    reading of it. A minority row is safe if the classifier predicts it as minority; if none is,
    all are used, with a warning.

    Cost: the neighbours of every candidate in the whole table, once for each step of the
    bisection: by definition more than 20 times the work of SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Nearest minority rows for the segment, and voters of the classifier.
    n_steps : int, default=5
        Steps of the bisection: the boundary is found to within ``2 ** -n_steps`` of a segment.
    threshold : float, default=0.5
        Share of minority rows among the voters from which a point is predicted minority.
    """

    _least_minority = 1
    _needs_spread = False
    n_steps: int = parameter(default=5, rule=POSITIVE_INTEGER)
    threshold: float = parameter(default=0.5, rule=SHARE)

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        ends = self._safe(minority, majority)
        _, indices = nearest(majority, ends, self.n_neighbors)
        factuals = rng.integers(len(majority), size=n_samples)
        start, end = majority[factuals], ends[drawn_neighbours(factuals, indices, rng)]
        low, high = np.zeros(n_samples), np.ones(n_samples)
        for _ in range(self.n_steps):
            middle = (low + high) / 2
            share = minority_share(
                between(start, end, middle), minority, majority, self.n_neighbors
            )
            inverted = share >= self.threshold
            high = np.where(inverted, middle, high)
            low = np.where(inverted, low, middle)
        return between(start, end, high)

    def _safe(self, minority: Floats, majority: Floats) -> Floats:
        """Return the minority rows that the classifier predicts as minority."""
        share = minority_share(minority, minority, majority, self.n_neighbors)
        safe = share >= self.threshold
        if safe.any():
            return minority[safe]
        self._warn(
            "the nearest-neighbour classifier puts every minority row into the majority",
            "segments end at all of them, and many new rows are copies; a smaller threshold "
            "avoids this",
        )
        return minority
