"""Counterfactuals by others: CFA from values of real rows, Counterfactual SMOTE by bisection.

Glossary of CFA
    pair                a majority row and a minority row that differ in few features
    difference feature  a feature in which the two rows of a pair differ
    tolerance           difference, in standard deviations, up to which two values count as equal
    base                a majority row that adopts the difference features of a pair
    combination         a base and a pair
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from counterbalance.arrays import Floats, Integers, Mask, Rng
from counterbalance.arrays import Unsigned as Keys
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval

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


def row_keys(minority: Floats, majority: Floats, rng: Rng) -> tuple[Keys, Keys]:
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
    differs: Mask  # the difference features of each pair
    tolerance: float
    keys: tuple[Keys, Keys]

    def nearest_first(self, bases: Integers, n_samples: int, rng: Rng) -> tuple[Integers, Integers]:
        """Find up to ``n_samples`` bases and pairs, the nearest pair of each base first."""
        if not len(bases) or not len(self.factual):
            return bases[:0], bases[:0]
        bases = rng.permutation(bases)
        k = max(4, 2 * -(-n_samples // len(bases)))
        while True:
            _, near = nb.nearest(self.theirs[bases], self.theirs[self.factual], k)
            size = max(1, _BLOCK // (near.shape[1] * self.theirs.shape[1]))
            parts = gen_batches(len(bases), size)
            is_new = np.vstack([self._is_new(bases[part], near[part]) for part in parts])
            if is_new.sum() >= n_samples or k >= len(self.factual):
                break
            k *= 4
        place, column = np.nonzero(is_new)
        turn = (np.cumsum(is_new, axis=1) - 1)[place, column]
        first = np.argsort(turn, kind="stable")[:n_samples]
        return bases[place[first]], near[place[first], column[first]]

    def _is_new(self, bases: Integers, near: Integers) -> Mask:
        """Return whether each base with each of its pairs gives a row that is not in the table."""
        differs, donors = self.differs[near], self.counterfactual[near]
        gaps = np.abs(self.theirs[bases][:, None] - self.ours[donors])
        changed = (differs & (gaps > self.tolerance)).any(axis=2)
        ours, theirs = self.keys
        key = np.where(differs, ours[donors], theirs[bases][:, None]).sum(axis=2)
        return changed & ~np.isin(key, np.concatenate([ours.sum(axis=1), theirs.sum(axis=1)]))


@shared_doc
class CFA(OneVsRestOverSampler):
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

    Parameters
    ----------
    {common_parameters}
    max_differences : int, default=2
        Largest number of difference features of a pair.
    tolerance : float, default=0.2
        Difference, in standard deviations, up to which two values count as equal.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints = OVER_CONSTRAINTS | {
        "max_differences": [Interval(Integral, 1, None, closed="left")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        max_differences: int = 2,
        tolerance: float = 0.2,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.max_differences = max_differences
        self.tolerance = tolerance

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        ours, theirs = nb.standardised(minority, majority)
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
        donors = partner[factual]
        differs = np.abs(theirs[factual] - ours[donors]) > self.tolerance
        keys = row_keys(minority, majority, rng)
        search = Combinations(ours, theirs, factual, donors, differs, self.tolerance, keys)
        rows = np.arange(len(majority))
        base, pair = search.nearest_first(np.setdiff1d(rows, factual), n_samples, rng)
        if not len(base):  # majority rows with a partner serve if the others give nothing
            base, pair = search.nearest_first(rows, n_samples, rng)
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
        return np.where(differs[pair], minority[donors[pair]], majority[base])


@shared_doc
class CounterfactualSMOTE(OneVsRestOverSampler):
    """Counterfactual SMOTE.

    G. Almeida, F. Bacao, "Counterfactual synthetic minority oversampling technique: solving
    healthcare's imbalanced learning challenge", Data Science and Management 2025.

    A majority row and one of its nearest safe minority rows span a segment. Bisection along it,
    by a nearest-neighbour classifier, finds where the prediction turns to minority; the
    new row is the point nearest to that boundary that is still predicted minority, so it is
    informative and not noise.

    Departures: written from the paper's summary (SMOTE joined with a counterfactual search,
    near the boundary and inside a safe region); the bisection, its steps and the vote are our
    reading of it. A minority row is safe if the classifier predicts it as minority; if none is,
    all are used, with a warning. Slow: every step needs the neighbours of every candidate.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Nearest minority rows for the segment, and voters of the classifier.
    n_steps : int, default=5
        Steps of the bisection: the boundary is found to within ``2 ** -n_steps`` of a segment.
    threshold : float, default=0.5
        Share of minority rows among the voters from which a point is predicted minority.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints = OVER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        n_neighbors: int = 5,
        n_steps: int = 5,
        threshold: float = 0.5,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.threshold = threshold

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        # A minority row is safe if the classifier predicts it as minority.
        safe = nb.minority_share(minority, minority, majority, self.n_neighbors) >= self.threshold
        if not safe.any():
            self._warn(
                "the nearest-neighbour classifier puts every minority row into the majority",
                "segments end at all of them, and many new rows are copies; a smaller threshold "
                "avoids this",
            )
        ends = minority[safe] if safe.any() else minority
        _, indices = nb.nearest(majority, ends, self.n_neighbors)
        factuals = rng.integers(len(majority), size=n_samples)
        start, end = majority[factuals], ends[nb.drawn_neighbours(factuals, indices, rng)]
        low, high = np.zeros(n_samples), np.ones(n_samples)
        for _ in range(self.n_steps):
            middle = (low + high) / 2
            points = nb.between(start, end, middle)
            share = nb.minority_share(points, minority, majority, self.n_neighbors)
            inverted = share >= self.threshold
            high = np.where(inverted, middle, high)
            low = np.where(inverted, low, middle)
        return nb.between(start, end, high)
