"""Counterfactual SMOTE: the minority side of the boundary, found by bisection."""

from typing import Any, ClassVar

import numpy as np

from counterbalance.peers.allocation import Floats
from counterbalance.peers.base import PeerOverSampler
from counterbalance.peers.fallback import warn_fallback
from counterbalance.peers.interpolation import between, drawn_neighbours
from counterbalance.peers.neighbours import minority_share, nearest
from counterbalance.peers.rules import OVER_RULES, POSITIVE_INTEGER, SHARE, Rules


class CounterfactualSMOTE(PeerOverSampler):
    """Counterfactual SMOTE.

    G. Almeida, F. Bacao, "Counterfactual synthetic minority oversampling technique: solving
    healthcare's imbalanced learning challenge", Data Science and Management 2025.

    A majority row and one of its nearest safe minority rows make a segment. Bisection along it,
    with a nearest-neighbour classifier as judge, finds where the answer turns to minority; the
    new row is the point nearest to that boundary that is still judged minority, so it is
    informative and not noise.

    Departures: the number of steps and the threshold of the vote are parameters. A minority
    row is safe if the judge itself puts it into the minority; where none is, all serve, with a
    warning.

    Cost: the neighbours of every candidate in the whole table, once for each step of the
    bisection: by definition more than 20 times the work of SMOTE.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows each class gets, in imbalanced-learn's terms.
    random_state : int, RandomState or None, default=None
        Seed of all draws.
    n_neighbors : int, default=5
        Nearest minority rows for the segment, and voters of the judge.
    n_steps : int, default=5
        Steps of the bisection: the boundary is met to within ``2 ** -n_steps`` of a segment.
    threshold : float, default=0.5
        Share of minority rows among the voters from which a point is judged minority.
    """

    _least_minority = 1
    _needs_spread = False
    _parameter_constraints: ClassVar[Rules] = {
        **OVER_RULES,
        "n_neighbors": POSITIVE_INTEGER,
        "n_steps": POSITIVE_INTEGER,
        "threshold": SHARE,
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
        """Minority rows that the judge puts into the minority."""
        share = minority_share(minority, minority, majority, self.n_neighbors)
        safe = share >= self.threshold
        if safe.any():
            return minority[safe]
        warn_fallback(
            "CounterfactualSMOTE",
            "the judge puts every minority row into the majority",
            "segments end at all of them, and many new rows are copies; a smaller threshold "
            "avoids this",
        )
        return minority
