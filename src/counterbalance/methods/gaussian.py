"""MGS-GRF: numbers from a normal distribution around minority rows, categories from a forest.

Glossary
    K              number of neighbours of a central row
    rows           (n, K + 1)  the central row and its neighbours, for each new row
    share          (n, K + 1)  weights that sum to one: a new row is the weighted sum of its rows
    leaves         (n, trees)  the leaf of each tree that a row falls into
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from counterbalance.arrays import Floats, Integers, Mask, Rng
from counterbalance.errors import TableError
from counterbalance.methods import neighbours as nb
from counterbalance.methods.base import OVER_CONSTRAINTS, OneVsRestOverSampler, shared_doc
from counterbalance.sklearn_private import Interval


def normal_rows(rows: Floats, n_samples: int, k: int, rng: Rng) -> Floats:
    """Draw rows from the normal distributions of drawn rows and their ``k`` neighbours.

    With g standard normal, the sum of ``(1 / (k + 1) + (g - mean(g)) / sqrt(k + 1)) * row`` over
    the k + 1 rows has their mean and their empirical covariance, of whatever rank that is.
    """
    _, indices = nb.nearest_others(rows, k)
    group = np.column_stack([np.arange(len(rows)), indices])[
        rng.integers(len(rows), size=n_samples)
    ]
    size = group.shape[1]
    share = rng.normal(size=group.shape)
    share = 1 / size + (share - share.mean(axis=1, keepdims=True)) / np.sqrt(size)
    made = np.zeros((n_samples, rows.shape[1]))
    for weight, row in zip(share.T, group.T, strict=True):
        made += weight[:, None] * rows[row]
    return made


def drawn_by_forest(forest: Any, rows: Floats, new: Floats, rng: Rng) -> Integers:
    """Draw for each new row one of ``rows`` that shares a leaf with it, in a drawn tree.

    A row's probability is the mean over the trees of 1 / (rows in the leaf) where they share it:
    the weights of a generalised random forest.
    """
    leaves, leaves_new = forest.apply(rows), forest.apply(new)
    trees = rng.integers(leaves.shape[1], size=len(new))
    drawn = np.empty(len(new), dtype=np.intp)
    for tree in np.unique(trees):
        ours = np.flatnonzero(trees == tree)
        order = np.argsort(leaves[:, tree], kind="stable")
        ordered, wanted = leaves[order, tree], leaves_new[ours, tree]
        start = np.searchsorted(ordered, wanted, "left")
        drawn[ours] = order[rng.integers(start, np.searchsorted(ordered, wanted, "right"))]
    return drawn


@shared_doc
class MGSGRF(OneVsRestOverSampler):
    """Multivariate Gaussian SMOTE with a generalised random forest for categories.

    A. Sakho, E. Malherbe, C.-E. Gauthier, E. Scornet, "Harnessing Mixed Features for Imbalance
    Data Oversampling: Application to Bank Customers Scoring", ECML-PKDD 2025. Without categories
    it is MGS of A. Sakho, E. Malherbe, E. Scornet, "Do we need rebalancing strategies?", 2024.

    The numbers of a new row are drawn from the normal distribution that has the mean and the
    covariance of a drawn minority row and its nearest minority rows, nearest by the numbers. A
    forest that predicts the categories of the minority from its numbers gives each minority row
    a weight: how often it shares a leaf with the new row. The categories of the new row are
    those of one minority row, drawn by these weights, so their combination occurs in the class.

    Departures: a row is drawn from a leaf of a drawn tree, which has the same distribution
    without the weights of all rows. Nothing is added to the diagonal of a singular covariance.

    Parameters
    ----------
    {common_parameters}
    categorical_features : array-like of int or bool, default=None
        Positions, or a mask, of the columns that hold codes of categories. None: all are numbers.
    n_neighbors : int or None, default=None
        Neighbours of the drawn row. None: as many as there are columns of numbers, or as a class
        has.
    n_estimators : int, default=100
        Trees of the forest.
    """

    _parameter_constraints = OVER_CONSTRAINTS | {
        "categorical_features": ["array-like", None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        categorical_features: Any = None,
        n_neighbors: int | None = None,
        n_estimators: int = 100,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy, random_state=random_state)
        self.categorical_features = categorical_features
        self.n_neighbors = n_neighbors
        self.n_estimators = n_estimators

    def _categorical(self, n_features: int) -> Mask:
        """Return which columns hold categories."""
        given = np.asarray([] if self.categorical_features is None else self.categorical_features)
        if given.dtype == bool and given.shape == (n_features,):
            mask = given
        elif not given.size or given.dtype.kind in "iu":
            if given.size and not ((given >= -n_features) & (given < n_features)).all():
                raise TableError(
                    f"categorical_features must be positions below {n_features}, the number of "
                    f"columns, got {given.tolist()}"
                )
            mask = np.zeros(n_features, dtype=bool)
            mask[given.astype(np.intp)] = True
        else:
            raise TableError(
                "categorical_features must be positions of columns or a mask of "
                f"{n_features} columns, got {self.categorical_features!r}"
            )
        if mask.all():
            raise TableError(
                "MGSGRF needs a column of numbers: categorical_features names all "
                f"{n_features}; use imblearn.over_sampling.SMOTEN"
            )
        return mask

    def _make_samples(self, minority: Floats, _: Floats, n_samples: int, rng: Rng) -> Floats:
        categorical = self._categorical(minority.shape[1])
        numbers = np.ascontiguousarray(minority[:, ~categorical])
        if self.n_neighbors is None:
            k = min(numbers.shape[1], len(minority) - 1)
        else:
            k = self._capped(self.n_neighbors, len(minority) - 1)
        new = np.empty((n_samples, minority.shape[1]))
        new[:, ~categorical] = drawn = normal_rows(numbers, n_samples, k, rng)
        if categorical.any():
            levels = minority[:, categorical]
            codes = np.column_stack([np.unique(c, return_inverse=True)[1] for c in levels.T])
            forest = RandomForestClassifier(self.n_estimators, random_state=nb.seed_from(rng))
            forest.fit(numbers, codes[:, 0] if codes.shape[1] == 1 else codes)
            new[:, categorical] = levels[drawn_by_forest(forest, numbers, drawn, rng)]
        return new
