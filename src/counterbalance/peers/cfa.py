"""CFA: counterfactuals put together from values that real rows have.

Glossary
    pair                a majority row and a minority row that differ in few features
    difference feature  a feature in which the two rows of a pair differ
    tolerance           below it two values count as the same, in standard deviations
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from counterbalance.peers.allocation import Floats, Integers
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.fallback import warn_fallback
from counterbalance.peers.neighbours import nearest
from counterbalance.peers.propensity import standardised
from counterbalance.peers.rules import NOT_NEGATIVE_REAL, OVER_RULES, POSITIVE_INTEGER, Rules


@dataclass(frozen=True)
class NativePairs:
    """For some majority rows the minority row that differs from it in the fewest features."""

    factual: Integers
    counterfactual: Integers
    n_differences: int
    """The largest number of differences that was let in."""


def fewest_differences(ours: Floats, theirs: Floats, tolerance: float) -> tuple[Integers, Integers]:
    """For each majority row the minority row with the fewest differences, and their number.

    The nearer one, by the sum of absolute differences, wins a tie.
    """
    partner = np.empty(len(theirs), dtype=np.intp)
    number = np.empty(len(theirs), dtype=np.intp)
    # Single precision halves the traffic; the tolerance is far above its rounding.
    columns = np.ascontiguousarray(ours.T, dtype=np.float32)
    for start in range(0, len(theirs), 256):
        block = theirs[start : start + 256].astype(np.float32)
        differences = np.zeros((len(block), len(ours)), dtype=np.float32)
        apart = np.zeros_like(differences)
        for feature, column in enumerate(columns):
            gap = np.abs(block[:, feature, None] - column)
            differences += gap > tolerance
            apart += gap
        # The distance, pressed below one, decides only among equal numbers.
        best = np.argmin(differences + apart / (1 + apart), axis=1)
        partner[start : start + 256] = best
        number[start : start + 256] = differences[np.arange(len(block)), best]
    return partner, number


def native_pairs(partner: Integers, number: Integers, max_differences: int) -> NativePairs:
    """Pairs with at most ``max_differences``; with more where there would be none."""
    allowed = max(max_differences, int(number.min()))
    factual = np.flatnonzero(number <= allowed)
    return NativePairs(factual, partner[factual], allowed)


def transplanted(bases: Floats, counterfactuals: Floats, differs: npt.NDArray[np.bool_]) -> Floats:
    """Each base row with the difference features of its pair's counterfactual."""
    return np.where(differs, counterfactuals, bases)


class CFA(PeerOverSampler):
    """Counterfactual augmentation.

    M. Temraz, M. T. Keane, "Solving the class imbalance problem using a counterfactual method
    for data augmentation", Machine Learning with Applications 2022.

    A native counterfactual is a pair of a majority and a minority row that differ in at most
    two features, values within a tolerance counting as the same. A majority row that has no
    such partner takes over the difference features of the nearest pair's minority row and
    keeps its own values elsewhere: a new minority row made of values that occur in the table.

    Departures: where no pair exists the least number of differences that gives one is used,
    with a warning, in place of making nothing. Where more rows are needed than majority rows
    without a partner, each of them also serves with the next nearest pairs; and majority rows
    with a partner serve where all of them have one.

    Cost: every majority row is compared with every minority row in every feature, by
    definition about 20 times the work of SMOTE.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    max_differences : int, default=2
        Largest number of difference features of a pair.
    tolerance : float, default=0.2
        Difference below which two values count as the same, in standard deviations.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "max_differences": POSITIVE_INTEGER,
        "tolerance": NOT_NEGATIVE_REAL,
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

    def _synthesise(
        self, minority: Floats, majority: Floats, n_samples: int, rng: np.random.Generator
    ) -> Floats:
        ours, theirs = standardised(minority, majority)
        partner, number = fewest_differences(ours, theirs, self.tolerance)
        pairs = native_pairs(partner, number, self.max_differences)
        if pairs.n_differences > self.max_differences:
            warn_fallback(
                "CFA",
                f"no two rows of different classes differ in at most {self.max_differences} "
                "features",
                f"pairs with {pairs.n_differences} differences were used; a larger tolerance "
                "avoids this",
            )
        base, pair = self._adapted(theirs, pairs, n_samples, rng)
        gaps = theirs[pairs.factual] - ours[pairs.counterfactual]
        differs = np.abs(gaps) > self.tolerance
        return transplanted(majority[base], minority[pairs.counterfactual[pair]], differs[pair])

    @staticmethod
    def _adapted(
        theirs: Floats, pairs: NativePairs, n_samples: int, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Which majority row is adapted with which pair, nearest pairs first."""
        bases = np.setdiff1d(np.arange(len(theirs)), pairs.factual)
        if not len(bases):
            bases = np.arange(len(theirs))
        bases = rng.permutation(bases)
        n_turns = -(-n_samples // len(bases))
        _, near = nearest(theirs[bases], theirs[pairs.factual], n_turns)
        turns = np.arange(n_samples) // len(bases)
        if n_turns > near.shape[1]:
            warn_fallback(
                "CFA",
                f"{len(bases)} majority rows and {near.shape[1]} pairs give fewer than "
                f"{n_samples} combinations",
                "some new rows are there more than once",
            )
            turns %= near.shape[1]
        place = np.arange(n_samples) % len(bases)
        return bases[place], near[place, turns]
