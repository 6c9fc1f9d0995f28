"""Clustering-based undersampling: the centres of clusters stand for the majority."""

from typing import Any

import numpy as np
from imblearn.under_sampling.base import BaseUnderSampler
from sklearn.utils._param_validation import StrOptions

from counterbalance.arrays import Floats, Integers
from counterbalance.methods.base import dense, generator, in_form_of, stacked
from counterbalance.methods.clusters import k_means
from counterbalance.methods.fallback import warn_fallback
from counterbalance.methods.neighbours import nearest
from counterbalance.methods.parameters import (
    POSITIVE_INTEGER,
    SEED,
    UNDER_STRATEGY,
    DeclaredParameters,
    parameter,
)
from counterbalance.methods.whole_numbers import RoundsWholeColumns


def nearest_to_centres(rows: Floats, centres: Floats) -> Integers:
    """Give the row nearest to each centre, no row twice.

    A row that is the nearest to two centres goes to the nearer one; the other centre takes its
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


class ClusteringUnderSampler(RoundsWholeColumns, DeclaredParameters, BaseUnderSampler):
    """Clustering-based undersampling.

    W.-C. Lin, C.-F. Tsai, Y.-H. Hu, J.-S. Jhang, "Clustering-based undersampling in
    class-imbalanced data", Information Sciences 2017.

    k-means divides the majority into as many clusters as rows are wanted. The first strategy
    (``"centres"``) replaces the majority by the cluster centres, the second (``"nearest"``) by
    the real row nearest to each centre.

    Departures: a class with fewer distinct rows than wanted gets copies beside its centres,
    with a warning. ``sample_indices_`` is there with ``"nearest"`` only, since centres are no
    rows of the table; they stand behind the rows of the classes that were left alone.

    Cost: k-means with as many clusters as minority rows, by definition more than 20 times the
    work of SMOTE.

    Parameters
    ----------
    strategy : {"nearest", "centres"}, default="nearest"
        Whether real rows or cluster centres stand for a class.
    n_init : int, default=1
        Starts of k-means, of which the best is taken.
    """

    sampling_strategy: Any = parameter(default="auto", rule=UNDER_STRATEGY)
    random_state: Any = parameter(default=None, rule=SEED)
    strategy: str = parameter(default="nearest", rule=[StrOptions({"nearest", "centres"})])
    n_init: int = parameter(default=1, rule=POSITIVE_INTEGER)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        table = dense(X)
        kept = np.ones(len(y), dtype=bool)
        rows, labels = [table[:0]], [y[:0]]
        for label, n_samples in self.sampling_strategy_.items():
            ours = np.flatnonzero(y == label)
            if n_samples >= len(ours):
                continue
            kept[ours] = False
            centres = self._centres(table[ours], n_samples, rng)
            if self.strategy == "nearest":
                kept[ours[nearest_to_centres(table[ours], centres)]] = True
            else:
                rows.append(centres)
                labels.append(np.full(n_samples, label, dtype=y.dtype))
        indices = np.flatnonzero(kept)
        if self.strategy == "nearest":
            self.sample_indices_ = indices
            return X[indices], y[indices]
        made = in_form_of(X, np.vstack(rows))
        return stacked(X[indices], made), np.concatenate([y[indices], *labels])

    def _centres(self, rows: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
        centres, _ = k_means(rows, n_samples, rng, n_init=self.n_init)
        short = n_samples - len(centres)
        if short:
            warn_fallback(
                "ClusteringUnderSampler",
                f"the class holds {len(centres)} different rows and {n_samples} are wanted",
                "some of them are there more than once",
            )
            centres = np.vstack([centres, centres[rng.integers(len(centres), size=short)]])
        return centres

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.sampler_tags.sample_indices = self.strategy == "nearest"
        return tags
