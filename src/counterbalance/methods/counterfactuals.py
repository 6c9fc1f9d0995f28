"""Counterfactuals by others: CFA from values of real rows, Counterfactual SMOTE by bisection.

Glossary of CFA
    factual, partner    a majority row, and the minority row nearest to it
    differs             (pairs, d)  features in which the two differ by more than the tolerance
    pair                a factual and a partner that differ in one or two features
    base                a majority row that is in no pair and adopts the differences of one
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from counterbalance.arrays import Floats, Mask, Rng
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval


@shared_doc
class CFA(OneVsRestOverSampler):
    """Counterfactual augmentation.

    M. Temraz, M. T. Keane, "Solving the class imbalance problem using a counterfactual method
    for data augmentation", Machine Learning with Applications 2022.

    A native counterfactual is a pair of a majority row and the minority row nearest to it
    (Euclidean distance, features scaled to [0, 1]) that differ in at most two features; values
    less than a tolerance apart count as equal. A majority row in no such pair is combined with
    the pair whose majority row is nearest to it: it takes the values of the pair's minority row
    in the features that differ and keeps its own values elsewhere.

    Departures: a pair has at least one difference, and a new row differs from its majority row
    by more than the tolerance and is not in the table, so that no majority row is merely
    relabelled (the authors' published code admits pairs without a difference). Each majority
    row gives at most one new row, and the authors leave the class smaller where these are too
    few; here copies of minority rows make up the number, with a warning. If no pair exists, more
    differences are allowed, with a warning.

    Parameters
    ----------
    {common_parameters}
    max_differences : int, default=2
        Largest number of features in which a pair differs.
    tolerance : float, default=1.0
        Largest difference, in standard deviations, of two values that count as equal.
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
        tolerance: float = 1.0,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.max_differences = max_differences
        self.tolerance = tolerance

    def _make_samples(self, minority: Floats, majority: Floats, n_samples: int, rng: Rng) -> Floats:
        table = np.vstack([minority, majority])
        widths = np.ptp(table, axis=0)
        widths[widths == 0] = 1.0
        _, nearest = nb.nearest(majority / widths, minority / widths, 1)
        partner, limits = nearest[:, 0], self.tolerance * table.std(axis=0)
        differs = np.abs(majority - minority[partner]) > limits
        number = differs.sum(axis=1)
        # If there is no pair, those with the fewest differences are admitted.
        admitted = max(self.max_differences, int(number[number > 0].min(initial=len(widths))))
        factuals = np.flatnonzero((number > 0) & (number <= admitted))
        if admitted > self.max_differences and len(factuals):
            self._warn(
                f"no majority row differs from the nearest minority row in at most "
                f"{self.max_differences} features",
                f"pairs with {admitted} differences were used; a larger tolerance avoids this",
            )
        bases = rng.permutation(np.setdiff1d(np.arange(len(majority)), factuals))
        if not len(bases):  # every majority row is in a pair
            bases = rng.permutation(len(majority))
        rows = majority[:0]
        if len(factuals):
            _, near = nb.nearest(majority[bases] / widths, majority[factuals] / widths, 1)
            pairs = factuals[near[:, 0]]
            rows = np.where(differs[pairs], minority[partner[pairs]], majority[bases])
            changed = (np.abs(rows - majority[bases]) > limits).any(axis=1)
            rows = rows[changed & ~_occur_in(table, rows)][:n_samples]
        short = n_samples - len(rows)
        if short:
            self._warn(
                f"majority rows and their nearest pairs give {len(rows)} new rows, fewer than "
                f"{n_samples}",
                f"{short} copies of minority rows were added",
            )
        return np.vstack([rows, minority[rng.integers(len(minority), size=short)]])


def _occur_in(table: Floats, rows: Floats) -> Mask:
    """Return which rows occur in the table."""
    known = {row.tobytes() for row in table + 0.0}  # + 0.0 turns -0.0 into 0.0
    return np.array([row.tobytes() in known for row in rows + 0.0], dtype=bool)


@shared_doc
class CounterfactualSMOTE(OneVsRestOverSampler):
    """Counterfactual SMOTE.

    G. Almeida, F. Bacao, "Counterfactual synthetic minority oversampling technique: solving
    healthcare's imbalanced learning challenge", Data Science and Management 2025.

    A drawn majority row and a minority row span a segment. Bisection along it, by a
    nearest-neighbour classifier, finds where the prediction turns to minority; the new row is
    the point nearest to that boundary that is still predicted minority, so it is informative and
    not noise.

    Departures: the paper's text was not available, only its summary (SMOTE joined with a
    counterfactual search, near the boundary and inside a safe region) and a public
    implementation, whose three neighbours, ten steps, and ends of the segments we follow. A
    minority row is an end if it is safe: the classifier predicts it as minority. If none is, all
    are ends, with a warning. Slow: every step needs the neighbours of every candidate.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=3
        Voters of the nearest-neighbour classifier.
    n_steps : int, default=10
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
        n_neighbors: int = 3,
        n_steps: int = 10,
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
        ends = rng.permutation(minority[safe] if safe.any() else minority)
        start = majority[rng.integers(len(majority), size=n_samples)]
        end = np.resize(ends, (n_samples, ends.shape[1]))
        low, high = np.zeros(n_samples), np.ones(n_samples)
        for _ in range(self.n_steps):
            middle = (low + high) / 2
            points = nb.between(start, end, middle)
            share = nb.minority_share(points, minority, majority, self.n_neighbors)
            inverted = share >= self.threshold
            high = np.where(inverted, middle, high)
            low = np.where(inverted, low, middle)
        return nb.between(start, end, high)
