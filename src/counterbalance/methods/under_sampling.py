"""Undersamplers: by cluster centres, by sensitivity (USS), inside clusters; and CUSBoost."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import AdaBoostClassifier

from counterbalance.arrays import Floats, Integers, Rng
from counterbalance.methods.base import (
    UNDER_CONSTRAINTS,
    PerClassUnderSampler,
    RoundsIntegerColumns,
    check_labels,
    dense,
    generator,
    shared_doc,
    warn_fallback,
)
from counterbalance.methods.neighbours import allocate, k_means, nearest, nearest_in_table
from counterbalance.sklearn_private import Interval, StrOptions


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


@shared_doc
class ClusteringUnderSampler(RoundsIntegerColumns, PerClassUnderSampler):
    """Clustering-based undersampling.

    W.-C. Lin, C.-F. Tsai, Y.-H. Hu, J.-S. Jhang, "Clustering-based undersampling in
    class-imbalanced data", Information Sciences 2017.

    k-means divides the majority into as many clusters as rows are wanted. The first strategy
    (``"centres"``) replaces the majority by the cluster centres, the second (``"nearest"``) by
    the real row nearest to each centre.

    Departures: if a class has fewer distinct rows than wanted, some of its centres are repeated,
    with a warning. ``sample_indices_`` exists with ``"nearest"`` only, since centres are not
    rows of the table; they come after the rows of the classes that were left alone. Slow: k-means
    with as many clusters as minority rows.

    Parameters
    ----------
    {common_parameters}
    strategy : {{"nearest", "centres"}}, default="nearest"
        Whether real rows or cluster centres replace a class.
    n_init : int, default=1
        Starts of k-means, of which the best is taken.
    """

    _parameter_constraints = UNDER_CONSTRAINTS | {
        "strategy": [StrOptions({"nearest", "centres"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        strategy: str = "nearest",
        n_init: int = 1,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.strategy = strategy
        self.n_init = n_init

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self.strategy == "nearest":
            return super()._fit_resample(X, y)
        rng, table = generator(self.random_state), dense(X)
        for label, n_samples in self.sampling_strategy_.items():
            ours = y == label
            if n_samples < ours.sum():
                centres = self._centres(table[ours], n_samples, rng)
                table = np.vstack([table[~ours], centres])
                y = np.concatenate([y[~ours], np.full(n_samples, label, dtype=y.dtype)])
        return self._in_form_of(X, table), y

    def _select(self, rows: Floats, _: Floats, n_samples: int, rng: Rng) -> Integers:
        return nearest_to_centres(rows, self._centres(rows, n_samples, rng))

    def _centres(self, rows: Floats, n_samples: int, rng: Rng) -> Floats:
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
    return np.abs(q - p)


@shared_doc
class SensitivityUnderSampler(PerClassUnderSampler):
    """Undersampling using sensitivity (USS).

    J. Zhang, T. Wang, W. W. Y. Ng, S. Zhang, C. D. Nugent, "Undersampling Near Decision
    Boundary for Imbalance Problems", ICMLC 2019; after W. W. Y. Ng, J. Hu, D. S. Yeung, S. Yin,
    F. Roli, "Diversified Sensitivity-Based Undersampling for Imbalance Classification Problems",
    IEEE Transactions on Cybernetics 2015.

    A majority row is sensitive if its prediction depends on the balance of the classes:
    borderline rows are, safe rows and noise are not. The rows to keep are drawn, sensitive ones
    with a higher probability.

    Departures: written from the paper's abstract, which does not give the formula of the
    sensitivity. Here it is the change of the nearest-neighbour posterior when the class priors
    are made equal: low for safe rows and noise, high at the border, as the abstract asks for. In
    a table of several classes the smaller ones together are the minority of the class that is
    reduced.

    Parameters
    ----------
    {common_parameters}
    n_neighbors : int, default=5
        Neighbours from which the posterior is estimated.
    """

    _parameter_constraints = UNDER_CONSTRAINTS | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, n_neighbors: int = 5
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_neighbors = n_neighbors

    def _select(self, rows: Floats, smaller: Floats, n_samples: int, rng: Rng) -> Integers:
        k = min(self.n_neighbors, len(rows) + len(smaller) - 1)
        near = (nearest_in_table(rows, smaller, k) >= len(rows)).sum(axis=1)
        sensitivity = imbalance_sensitivity(near, k, len(rows) / max(len(smaller), 1))
        weights = np.maximum(sensitivity, 1e-12)
        return rng.choice(len(rows), size=n_samples, replace=False, p=weights / weights.sum())


_TRIES = 10  # draws of a round that is worse than chance, before boosting ends


def drawn_from_clusters(labels: Integers, n_samples: int, rng: Rng) -> Integers:
    """Draw rows at random from each cluster, in proportion to its size."""
    counts = allocate(np.bincount(labels).astype(float), n_samples)
    drawn = [
        rng.choice(np.flatnonzero(labels == cluster), size=n, replace=False)
        for cluster, n in enumerate(counts)
        if n
    ]
    return np.sort(np.concatenate(drawn))


@shared_doc
class ClusterRandomUnderSampler(PerClassUnderSampler):
    """The sampling step of CUSBoost: random undersampling inside clusters.

    F. Rayhan, S. Ahmed, A. Mahbub, R. Jani, S. Shatabda, D. M. Farid, "CUSBoost: Cluster-based
    Under-sampling with Boosting for Imbalanced Classification", CSITSS 2017.

    k-means divides each class that is to shrink into clusters, and rows are drawn from each of
    them in proportion to its size, so that the sample keeps the shape of the class.

    Parameters
    ----------
    {common_parameters}
    n_clusters : int, default=20
        Clusters of each class.
    """

    _parameter_constraints = UNDER_CONSTRAINTS | {
        "n_clusters": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(
        self, *, sampling_strategy: Any = "auto", random_state: Any = None, n_clusters: int = 20
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.n_clusters = n_clusters

    def _select(self, rows: Floats, _: Floats, n_samples: int, rng: Rng) -> Integers:
        _, labels = k_means(rows, self.n_clusters, rng)
        return drawn_from_clusters(labels, n_samples, rng)


class CUSBoostClassifier(AdaBoostClassifier):
    """Cluster-based undersampling with boosting.

    F. Rayhan, S. Ahmed, A. Mahbub, R. Jani, S. Shatabda, D. M. Farid, "CUSBoost: Cluster-based
    Under-sampling with Boosting for Imbalanced Classification", CSITSS 2017.

    k-means divides the majority into clusters once. Every round of AdaBoost draws a part of
    each cluster, joins it with the whole minority, trains a weak learner on these rows with
    their weights, and updates the weights of all rows by its errors. No minority row is ever
    left out.

    Departures: the weights follow SAMME, which is the paper's AdaBoost for two classes and
    works for any number. In a table of several classes all but the smallest are clustered and
    drawn from. A round worse than chance is drawn again, as in the paper, at most ten times.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Weak learner; ``None`` is a decision tree of depth 1.
    n_estimators : int, default=50
        Rounds of boosting.
    learning_rate : float, default=1.0
        Factor on the weight of every learner.
    n_clusters : int, default=20
        Clusters of each class that is drawn from.
    share : float, default=0.5
        Part of each cluster that a round sees.
    random_state : int, RandomState or None, default=None
        Seed of all draws.

    Attributes
    ----------
    cluster_labels_ : ndarray of shape (n_samples,)
        Cluster of each training row inside its class; -1 in the smallest class.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AdaBoostClassifier._parameter_constraints,  # noqa: SLF001  (scikit-learn's way to inherit)
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "share": [Interval(Real, 0, 1, closed="right")],
    }
    _parameter_constraints.pop("algorithm", None)  # gone with scikit-learn 1.8

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        n_clusters: int = 20,
        share: float = 0.5,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            random_state=random_state,
        )
        self.n_clusters = n_clusters
        self.share = share

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Boost on the table; the parameters are those of ``AdaBoostClassifier.fit``."""
        check_labels(y)
        return super().fit(X, y, sample_weight)

    def _boost(
        self, iboost: int, X: Any, y: Any, sample_weight: Floats, random_state: Any
    ) -> tuple[Any, Any, Any]:
        """Do one round: draw a part, train on it, weight the learner, reweight the rows."""
        rng = generator(random_state)
        if iboost == 0:
            self.classes_, counts = np.unique(y, return_counts=True)
            self.n_classes_ = len(self.classes_)
            self.cluster_labels_ = np.full(len(y), -1, dtype=np.intp)
            for label in np.delete(self.classes_, np.argmin(counts)):
                ours = y == label
                _, self.cluster_labels_[ours] = k_means(dense(X[ours]), self.n_clusters, rng)
        for _ in range(_TRIES):
            part = self._part(y, rng)
            learner = self._make_estimator(random_state=random_state)
            learner.fit(X[part], y[part], sample_weight=sample_weight[part])
            wrong = learner.predict(X) != y
            error = float(np.average(wrong, weights=sample_weight))
            if error < 1 - 1 / self.n_classes_:
                break
            self.estimators_.pop()
        else:  # boosting ends; a first learner worse than chance is kept, being the only one
            if self.estimators_:
                return None, None, None
            self.estimators_.append(learner)
            return sample_weight, 1.0, 0.0
        if error <= 0:
            return sample_weight, 1.0, 0.0
        weight = self.learning_rate * (np.log((1 - error) / error) + np.log(self.n_classes_ - 1))
        # A row of weight zero stays at zero.
        return sample_weight * np.exp(weight * wrong), weight, error

    def _part(self, y: Any, rng: Rng) -> Integers:
        """Return the rows of one round: the smallest class, and part of every other cluster."""
        parts = [np.flatnonzero(self.cluster_labels_ < 0)]
        for label in self.classes_:
            ours = np.flatnonzero((y == label) & (self.cluster_labels_ >= 0))
            if len(ours):
                n_samples = int(np.ceil(self.share * len(ours)))
                parts.append(ours[drawn_from_clusters(self.cluster_labels_[ours], n_samples, rng)])
        return np.sort(np.concatenate(parts))
