"""The methods of the study: how each makes of a training fold what a classifier is fitted to.

    none, class weights, tuned threshold    prepare -> classify
    a peer                                  prepare -> resample -> classify
    SMOTE, where there are categories       plain -> SMOTENC -> encode -> classify
    MGS-GRF, where there are categories     plain -> MGS-GRF -> encode -> classify
    ours                                    resample -> prepare -> classify

``prepare`` is that of `compare`, fitted inside the training fold: missing numbers get the median,
numbers are scaled to unit variance, categories become one column each, a missing one too. The
peers need numbers without gaps, and those that measure distances need them on one scale: all
of them come after it. Ours take the table as it is. Every method has one configuration for all data
sets: its defaults, our own samplers included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.class_weight import compute_sample_weight

from counterbalance.methods import all_samplers
from counterbalance.rows.origins import add_counts, count_origins
from counterbalance.table.encoder import TablePreparation
from counterbalance.table.table import read_table
from paper.resamplers import halved, k_means_smote, resample_levels, smote_of_levels

PERTURB = "counterfactuals (perturb)"
_OURS = {method.aliases[0]: method for method in all_samplers().values() if method.ours}
OURS: dict[str, Callable[..., Any]] = {name: method.factory for name, method in _OURS.items()}
OURS_DESCRIBED = {
    name: f"`{method.factory.__name__}()`: {method.details}" for name, method in _OURS.items()
}
OURS_DESCRIBED["counterfactuals"] += " What the new rows are is counted below."
OURS[PERTURB] = partial(OURS["counterfactuals"], search="perturb")
OURS_DESCRIBED[PERTURB] = (
    '`CounterfactualOverSampler(search="perturb")`: the first inversion along each draw.'
)
NONE, WEIGHTS, THRESHOLD = "none", "class weights", "tuned threshold"
PEERS = (
    *("Random oversampling", "SMOTE", "Borderline-SMOTE", "SVM-SMOTE", "ADASYN"),
    *("k-means SMOTE", "SOMO", "SSO", "CCR", "SWIM", "MDO", "ProWSyn", "polynom-fit-SMOTE"),
    *("SMOTE-IPF", "Lee", "CFA", "Counterfactual SMOTE", "CV-SMOTE", "MGS-GRF"),
    "CUSBoost sampling",
)
PAPER = ("SOMO", "k-means SMOTE", "CUSBoost sampling", "SSO", "ADASYN")
METHODS = (NONE, WEIGHTS, THRESHOLD, *PEERS, *OURS)
# Peers with nearest neighbours use five; a fold may hold fewer than six rows of a class.
NEIGHBOURS = ("k_neighbors", "n_neighbors")


class ResampledFold(NamedTuple):
    """What a classifier is fitted to."""

    rows: NDArray[np.float64]
    labels: NDArray[np.intp]
    preparation: TablePreparation  # fitted, for the test fold
    origins: dict[str, int]  # how many new rows of ours have which origin; empty for peers


def resampled(name: str, X: Any, y: NDArray[np.intp], seed: int) -> ResampledFold:
    """Resample a training fold."""
    kinds = read_table(X).kinds
    if name in OURS:
        sampler = OURS[name](random_state=seed)
        table, labels = sampler.fit_resample(X, y)
        origins = add_counts(list(count_origins(sampler.provenance_).values()))
        preparation = TablePreparation().fit_kinds(table, kinds)
        return ResampledFold(preparation.transform(table), labels, preparation, origins)
    preparation = TablePreparation().fit_kinds(X, kinds)
    rows, labels = preparation.transform(X), y
    if name == "SMOTE" and preparation.nominal_.size:
        rows, labels = smote_of_levels(preparation, X, y, seed)
    elif name == "MGS-GRF" and preparation.nominal_.size:
        sampler = make_peer(name, y, seed)
        rows, labels = resample_levels(preparation, X, y, sampler)
    elif name == "k-means SMOTE":
        rows, labels = k_means_smote(rows, y, seed)
    elif name in PEERS:
        rows, labels = make_peer(name, y, seed).fit_resample(rows, y)
    return ResampledFold(rows, labels, preparation, {})


def make_peer(name: str, y: NDArray[np.intp], seed: int) -> Any:
    """Return a peer with its defaults, but no more neighbours than the smallest class has."""
    sampler = all_samplers()[name].factory(random_state=seed)
    if name == "CUSBoost sampling":
        return sampler.set_params(sampling_strategy=halved)
    most = int(np.bincount(y).min()) - 1
    fewer = {
        parameter: max(1, most)
        for parameter in NEIGHBOURS
        if isinstance(value := sampler.get_params().get(parameter), int) and value > most
    }
    return sampler.set_params(**fewer)


def fitted(name: str, f: Any, X: NDArray[np.float64], y: NDArray[np.intp], seed: int) -> Any:
    """Fit a classifier to a resampled training fold, as the method does it."""
    if name == WEIGHTS and not isinstance(f, KNeighborsClassifier):  # which takes no weights
        return f.fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    if name == THRESHOLD:
        f = TunedThresholdClassifierCV(f, scoring="balanced_accuracy", random_state=seed)
    return f.fit(X, y)
