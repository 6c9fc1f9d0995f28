"""The methods of Experiment II, each with the preparation that it needs.

    none, SOMO, k-SMOTE, CUSBoost    prepare -> resample -> classify
    ours                             resample -> prepare -> classify

``prepare`` imputes (median, or the most frequent category), encodes categories one-hot
and scales to unit variance; it is fitted to the training fold only. The peers work on
numbers without gaps, so they come after it. Ours takes missing cells and categories as
they are, so it sees the table itself.

CUSBoost is a boosting classifier with undersampling inside. The paper's table has it under
each of the six classifiers, which can only mean its sampling step: the majority is
clustered by k-means and half of the rows are drawn, each cluster giving its part. That
step is what is used. It halves the largest class as in the CUSBoost paper, and no class is
made smaller than the smallest one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE, KMeansSMOTE
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import ShortfallWarning
from counterbalance.peers import SOMO, ClusterRandomUnderSampler, PeerFallbackWarning

METHODS = ("none", "SOMO", "k-SMOTE", "CUSBoost", "ours")
RESAMPLING = METHODS[1:]
DESCRIPTIONS = {
    "none": "no resampling",
    "SOMO": "counterbalance.peers.SOMO, defaults",
    "k-SMOTE": "imbalanced-learn's KMeansSMOTE, defaults; where no cluster has enough minority "
    "rows, with a lower balance threshold, and after that SMOTE",
    "CUSBoost": "the sampling step of CUSBoost (counterbalance.peers.ClusterRandomUnderSampler), "
    "half of the largest class, before each of the six classifiers",
    "ours": "CounterfactualOverSampler with the loss that the paper states as f (squared error "
    "with an L2 penalty, on prepared features, class-weighted), T = 20; what the search does "
    "not find is interpolated between rows of the class; the paper gives neither T nor weights",
}
# imbalanced-learn refuses where no cluster holds enough minority rows; each threshold asks
# for a smaller share of them than the one before
BALANCE_THRESHOLDS = ("auto", 0.05, 0.0)


def prepare() -> Any:
    """Return the imputer, encoder and scaler, unfitted."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    nominal = make_column_selector(dtype_include=["category", "object"])
    plain = make_column_selector(dtype_exclude=["category", "object"])
    return make_column_transformer((numbers, plain), (categories, nominal))


def resampled(name: str, X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Resample a training fold with a method.

    Returns
    -------
    X_resampled, y_resampled, preparation
        What a classifier is fitted to, and the fitted preparation for the test fold.
    """
    preparation = prepare()
    with expected_warnings():
        if name == "ours":
            return _ours(X, y, seed)
        rows = preparation.fit_transform(X)
        if name == "none":
            return rows, y, preparation
        if name == "k-SMOTE":
            return *_k_means_smote(rows, y, seed), preparation
        sampler = (
            SOMO(random_state=seed)
            if name == "SOMO"
            else ClusterRandomUnderSampler(random_state=seed, sampling_strategy=halved)
        )
        return *sampler.fit_resample(rows, y), preparation


def halved(y: Any) -> dict[Any, int]:
    """Return what CUSBoost's sampling step leaves of the largest class: half of it.

    Examples
    --------
    >>> halved(["a"] * 9 + ["b"] * 2), halved(["a"] * 4 + ["b"] * 3)
    ({'a': 4}, {'a': 3})
    """
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    largest = int(np.argmax(counts))
    return {labels[largest].item(): max(int(counts[largest]) // 2, int(counts.min()))}


def _ours(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Resample the table itself; f prepares what it sees, and the classifiers after it."""
    complete = all(kind.kind in "iuf" for kind in X.dtypes) and not X.isna().to_numpy().any()
    # the search asks f about a plain matrix far faster than about frames of 784 columns
    f = "ridge" if complete else make_pipeline(prepare(), RidgeClassifier(class_weight="balanced"))
    table = X.to_numpy() if complete else X
    sampler = CounterfactualOverSampler(estimator=f, on_shortfall="interior", random_state=seed)
    rows, labels = sampler.fit_resample(table, y)
    if complete:
        rows = type(X)(rows, columns=X.columns)
    preparation = prepare()
    return preparation.fit_transform(rows), labels, preparation


def _k_means_smote(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    for threshold in BALANCE_THRESHOLDS:
        sampler = KMeansSMOTE(random_state=seed, cluster_balance_threshold=threshold)
        try:
            return sampler.fit_resample(X, y)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):  # no cluster, or one with too few minority rows
            continue
    fewest = int(np.unique(y, return_counts=True)[1].min())
    neighbours = max(1, min(5, fewest - 1))
    return SMOTE(random_state=seed, k_neighbors=neighbours).fit_resample(X, y)  # type: ignore[no-any-return]


@contextmanager
def expected_warnings() -> Iterator[None]:
    """Keep quiet what the page says in words: fall-backs, and iterations that end early."""
    with warnings.catch_warnings():
        for kind in (ShortfallWarning, PeerFallbackWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        yield
