"""Resampling in an experiment, where the plain call of a sampler is not enough.

SMOTE            takes fewer neighbours where a class has no six rows, and is SMOTENC or SMOTEN
                 where a table has categories
k-means SMOTE    refuses where no cluster has enough minority rows: tried again, asking for less
CUSBoost         a boosting classifier; its sampling step leaves half of the largest class
"""

from __future__ import annotations

from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTEN, SMOTENC

from counterbalance.methods import all_samplers
from counterbalance.table.encoder import TablePreparation

# imbalanced-learn refuses where no cluster holds enough minority rows; each threshold asks
# for a smaller share of them than the one before
BALANCE_THRESHOLDS = ("auto", 0.05, 0.0)
MOST_NEIGHBOURS = 5


def halved(y: Any) -> dict[Any, int]:
    """Return what CUSBoost's sampling step leaves of the largest class: half of it.

    >>> halved(["a"] * 9 + ["b"] * 2), halved(["a"] * 4 + ["b"] * 3)
    ({'a': 4}, {'a': 3})
    """
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    largest = int(np.argmax(counts))
    return {labels[largest].item(): max(int(counts[largest]) // 2, int(counts.min()))}


def neighbours_in(y: Any) -> int:
    """Return five neighbours, or as many as a row of the smallest class has."""
    return max(1, min(MOST_NEIGHBOURS, int(np.unique(y, return_counts=True)[1].min()) - 1))


def k_means_smote(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample with k-means SMOTE, with a lower balance threshold or SMOTE where it refuses."""
    make = all_samplers()["k-means SMOTE"].factory
    for threshold in BALANCE_THRESHOLDS:
        try:
            sampler = make(random_state=seed, cluster_balance_threshold=threshold)
            return sampler.fit_resample(X, y)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):  # no cluster, or one with too few minority rows
            continue
    return smote(X, y, seed)


def smote(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample numbers with SMOTE."""
    make = all_samplers()["SMOTE"].factory
    return make(random_state=seed, k_neighbors=neighbours_in(y)).fit_resample(X, y)  # type: ignore[no-any-return]


def smote_of_levels(preparation: TablePreparation, X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample a table that has unordered columns with SMOTENC, or SMOTEN where it has no other."""
    settings = {"k_neighbors": neighbours_in(y), "random_state": seed}
    if len(preparation.nominal_places) < preparation.plain(X).shape[1]:
        return resample_levels(preparation, X, y, SMOTENC([], **settings))
    rows, labels = SMOTEN(**settings).fit_resample(preparation.plain(X), y)
    return preparation.encoded(np.asarray(rows, dtype=np.float64)), labels


def resample_levels(preparation: TablePreparation, X: Any, y: Any, sampler: Any) -> tuple[Any, Any]:
    """Resample a table by a sampler with the parameter ``categorical_features``."""
    sampler.set_params(categorical_features=preparation.nominal_places)
    rows, labels = sampler.fit_resample(preparation.plain(X), y)
    return preparation.encoded(np.asarray(rows, dtype=np.float64)), labels
