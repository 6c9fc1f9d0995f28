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

from typing import Any

from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from counterbalance import CounterfactualOverSampler
from counterbalance.experiments.expected import expected_warnings
from counterbalance.experiments.preparation import prepare
from counterbalance.experiments.resamplers import halved, k_means_smote
from counterbalance.peers import SOMO, ClusterRandomUnderSampler

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
            return *k_means_smote(rows, y, seed), preparation
        sampler = (
            SOMO(random_state=seed)
            if name == "SOMO"
            else ClusterRandomUnderSampler(random_state=seed, sampling_strategy=halved)
        )
        return *sampler.fit_resample(rows, y), preparation


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
