"""Counterfactual SMOTE: the minority side of the boundary, found by bisection."""

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.base import NeighbourOverSampler
from counterbalance.methods.neighbours import minority_share, nearest
from counterbalance.methods.parameters import POSITIVE_INTEGER, SHARE, parameter
from counterbalance.methods.synthesis import between, drawn_neighbours


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
