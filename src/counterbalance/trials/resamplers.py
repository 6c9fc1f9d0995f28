"""Resampling in an experiment, where the plain call of a sampler is not enough.

    k-means SMOTE    refuses where no cluster has enough minority rows: tried again, asking for less
    CUSBoost         a boosting classifier; its sampling step leaves half of the largest class

Warnings that every experiment expects are silenced here: its page says the same in words.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTEN, SMOTENC
from sklearn.exceptions import ConvergenceWarning

from counterbalance.errors import IdentifierWarning, ShortfallWarning
from counterbalance.methods import PeerFallbackWarning, all_samplers
from counterbalance.table.encoder import TablePreparation

# imbalanced-learn refuses where no cluster holds enough minority rows; each threshold asks
# for a smaller share of them than the one before
BALANCE_THRESHOLDS = ("auto", 0.05, 0.0)


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Silence what a page says in words: fall-backs, and iterations that end early."""
    with warnings.catch_warnings():
        for kind in (
            IdentifierWarning,
            ShortfallWarning,
            PeerFallbackWarning,
            ConvergenceWarning,
        ):
            warnings.simplefilter("ignore", kind)
        yield


def halved(y: Any) -> dict[Any, int]:
    """Return what CUSBoost's sampling step leaves of the largest class: half of it.

    >>> halved(["a"] * 9 + ["b"] * 2), halved(["a"] * 4 + ["b"] * 3)
    ({'a': 4}, {'a': 3})
    """
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    largest = int(np.argmax(counts))
    return {labels[largest].item(): max(int(counts[largest]) // 2, int(counts.min()))}


def make_k_means_smote(seed: int, threshold: str | float) -> Any:
    """Return k-means SMOTE that asks a cluster for this share of minority rows."""
    k_means_smote = all_samplers()["k-means SMOTE"]
    return k_means_smote.factory(random_state=seed, cluster_balance_threshold=threshold)


def k_means_smote(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample with k-means SMOTE, with a lower balance threshold or SMOTE where it refuses."""
    for threshold in BALANCE_THRESHOLDS:
        try:
            return make_k_means_smote(seed, threshold).fit_resample(X, y)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):  # no cluster, or one with too few minority rows
            continue
    return smote(X, y, seed)


def smote(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample with SMOTE, with fewer neighbours where a class has no six rows."""
    fewest = int(np.unique(y, return_counts=True)[1].min())
    neighbours = max(1, min(5, fewest - 1))
    sampler = all_samplers()["SMOTE"].factory(random_state=seed, k_neighbors=neighbours)
    return sampler.fit_resample(X, y)  # type: ignore[no-any-return]


def smote_of_levels(preparation: TablePreparation, X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Resample a table that has unordered columns with SMOTENC, or SMOTEN where it has no other."""
    plain, places = preparation.plain(X), preparation.nominal_places
    fewest = int(np.unique(y, return_counts=True)[1].min())
    settings = {"k_neighbors": max(1, min(5, fewest - 1)), "random_state": seed}
    if len(places) == plain.shape[1]:
        rows, labels = SMOTEN(**settings).fit_resample(plain, y)
    else:
        rows, labels = SMOTENC(categorical_features=places, **settings).fit_resample(plain, y)
    return preparation.encoded(np.asarray(rows, dtype=np.float64)), labels
