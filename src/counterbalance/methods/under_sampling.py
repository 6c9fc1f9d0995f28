"""Undersamplers: cluster centres in place of the majority, and sensitivity-based (USS)."""

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import (
    PeerUnderSampler,
    RoundsIntegerColumns,
    dense,
    generator,
    in_form_of,
    stacked,
    warn_fallback,
)
from counterbalance.methods.neighbours import k_means, nearest, nearest_in_table
from counterbalance.methods.parameters import POSITIVE_INTEGER, parameter


def nearest_to_centres(rows: Floats, centres: Floats) -> Integers:
    """Return the row nearest to each centre, no row twice.

    A row that is nearest to two centres goes to the nearer one; the other centre takes its
    next nearest.
    """
    k = min(8, len(rows))
    while True:
        distances, indices = nearest(centres, rows, k)
        chosen = np.full(len(centres), -1, dtype=np.intp)
        taken = np.zeros(len(rows), dtype=bool)
        for place in np.argsort(distances, axis=None, kind="stable"):
            centre, rank = divmod(int(place), k)
            row = indices[centre, rank]
            if chosen[centre] < 0 and not taken[row]:
                chosen[centre], taken[row] = row, True
        if (chosen >= 0).all():
            return np.sort(chosen)
        k = min(2 * k, len(rows))


class ClusteringUnderSampler(RoundsIntegerColumns, PeerUnderSampler):
    """Clustering-based undersampling.

    W.-C. Lin, C.-F. Tsai, Y.-H. Hu, J.-S. Jhang, "Clustering-based undersampling in
    class-imbalanced data", Information Sciences 2017.

    k-means divides the majority into as many clusters as rows are wanted. The first strategy
    (``"centres"``) replaces the majority by the cluster centres, the second (``"nearest"``) by
    the real row nearest to each centre.

    Departures: if a class has fewer distinct rows than wanted, some of its centres are repeated,
    with a warning. ``sample_indices_`` exists with ``"nearest"`` only, since centres are not
    rows of the table; they come after the rows of the classes that were left alone.

    Cost: k-means with as many clusters as minority rows, by definition more than 20 times the
    work of SMOTE.

    Parameters
    ----------
    strategy : {"nearest", "centres"}, default="nearest"
        Whether real rows or cluster centres stand for a class.
    n_init : int, default=1
        Starts of k-means, of which the best is taken.
    """

    strategy: str = parameter(default="nearest", rule=[StrOptions({"nearest", "centres"})])
    n_init: int = parameter(default=1, rule=POSITIVE_INTEGER)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self.strategy == "nearest":
            return super()._fit_resample(X, y)
        rng = generator(self.random_state)
        table = dense(X)
        kept = np.ones(len(y), dtype=bool)
        rows, labels = [table[:0]], [y[:0]]
        for label, n_samples in self.sampling_strategy_.items():
            ours = y == label
            if n_samples < ours.sum():
                kept[ours] = False
                rows.append(self._centres(table[ours], n_samples, rng))
                labels.append(np.full(n_samples, label, dtype=y.dtype))
        made = in_form_of(X, np.vstack(rows))
        return stacked(X[np.flatnonzero(kept)], made), np.concatenate([y[kept], *labels])

    def _pick_from(self, rows: Floats, n_samples: int, rng: np.random.Generator) -> Integers:
        return nearest_to_centres(rows, self._centres(rows, n_samples, rng))

    def _centres(self, rows: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        centres, _ = k_means(rows, n_samples, rng, n_init=self.n_init)
        short = n_samples - len(centres)
        if short:
            warn_fallback(
                "ClusteringUnderSampler",
                f"the class holds {len(centres)} different rows and {n_samples} are wanted",
                "some of them occur more than once",
            )
            centres = np.vstack([centres, centres[rng.integers(len(centres), size=short)]])
        return centres

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = self.strategy == "nearest"
        return tags


def imbalance_sensitivity(n_minority_near: Integers, k: int, ratio: float) -> Floats:
    """Return how much a row's posterior of the minority moves when the classes are balanced.

    With ``m`` minority rows among ``k`` neighbours the posterior is ``p = (m + s) / (k + 1)``,
    where ``s = 1 / (1 + ratio)``, the minority's prior, keeps it away from zero and one.
    Balanced priors turn it into ``q = ratio * p / (ratio * p + 1 - p)``; the sensitivity is
    ``q - p``.
    """
    p = (n_minority_near + 1 / (1 + ratio)) / (k + 1)
    q = ratio * p / (ratio * p + 1 - p)
    sensitivity: Floats = np.abs(q - p)
    return sensitivity


class SensitivityUnderSampler(PeerUnderSampler):
    """Undersampling using sensitivity (USS).

    J. Zhang, T. Wang, W. W. Y. Ng, S. Zhang, C. D. Nugent, "Undersampling Near Decision
    Boundary for Imbalance Problems", ICMLC 2019, the undersampler that the paper cites; W. W.
    Y. Ng, J. Hu, D. S. Yeung, S. Yin, F. Roli, "Diversified Sensitivity-Based Undersampling for
    Imbalance Classification Problems", IEEE Transactions on Cybernetics 2015, is its forerunner.

    A majority row is sensitive if the answer there depends on the balance of the classes:
    borderline rows are, safe rows and noise are not. The rows to keep are drawn, sensitive ones
    with a higher probability.

    Departures: written from the paper's abstract, which does not give the formula of the
    sensitivity. Here it is the change of the nearest-neighbour posterior when the class priors
    are made equal, in closed form: it has the properties the abstract asks for (low for safe
    rows and noise, high at the border). In a table of several classes the smaller ones together
    are the minority of the class that is reduced.

    Cost: the neighbours of every majority row in the table, by definition more than 20 times
    the work of SMOTE.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours from which the posterior is estimated.
    """

    n_neighbors: int = parameter(default=5, rule=POSITIVE_INTEGER)

    def _pick(
        self, table: Floats, y: Any, ours: Integers, n_samples: int, rng: np.random.Generator
    ) -> Integers:
        classes, counts = np.unique(y, return_counts=True)
        smaller = np.isin(y, classes[counts < len(ours)])
        rivals = table[smaller]
        k = min(self.n_neighbors, len(ours) + len(rivals) - 1)
        _, indices = nearest_in_table(table[ours], rivals, k)
        near = (indices >= len(ours)).sum(axis=1)
        sensitivity = imbalance_sensitivity(near, k, len(ours) / max(len(rivals), 1))
        weights = np.maximum(sensitivity, 1e-12)
        return rng.choice(len(ours), size=n_samples, replace=False, p=weights / weights.sum())
