"""The methods of Experiment II, each with the preparation that it needs.

    none, SMOTE, SOMO, k-SMOTE, CUSBoost, ours as printed    prepare -> resample -> classify
    ours, InteriorOverSampler                                resample -> prepare -> classify

``prepare`` imputes (median, or the most frequent category), encodes categories one-hot
and scales to unit variance; it is fitted to the training fold only. The peers work on
numbers without gaps, and so does Algorithm 1 as it is printed: they come after it. Our samplers
as users get them take missing cells and categories as they are, so they see the table itself.

CUSBoost is a boosting classifier with undersampling inside. The paper's table has it under
each of the six classifiers, which can only mean its sampling step: the majority is
clustered by k-means and half of the rows are drawn, each cluster giving its part. That
step is what is used. It halves the largest class as in the CUSBoost paper, and no class is
made smaller than the smallest one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from counterbalance import CounterfactualOverSampler, InteriorOverSampler, paper_classifier
from counterbalance.extras import require
from counterbalance.methods import all_samplers
from counterbalance.search.selection import EVERY
from counterbalance.trials.classifiers import CLASSIFIERS, as_call, f_of, prepare
from counterbalance.trials.resamplers import (
    BALANCE_THRESHOLDS,
    expected_warnings,
    halved,
    k_means_smote,
    make_k_means_smote,
    smote,
)

OURS, PRINTED, INTERIOR = "ours", "ours, as printed", "InteriorOverSampler"
CONTROL = "SMOTE"
METHODS = ("none", CONTROL, "SOMO", "k-SMOTE", "CUSBoost", OURS, PRINTED, INTERIOR)
# The four of the paper's tables: "first of the four" is counted among these.
RESAMPLING = ("SOMO", "k-SMOTE", "CUSBoost", OURS)
# Deep systems that the paper names and does not compare with: rows on request.
DEEP = ("GAMO", "DOS")
# Of more features than these the classifiers get single precision: half the memory and time.
WIDE = 100


def descriptions(*, deep: bool = False) -> dict[str, str]:
    """Return what each method is, its settings read from the objects that run."""
    ours, printed, interior = (make_sampler(name, 0) for name in (OURS, PRINTED, INTERIOR))
    first, *lower = BALANCE_THRESHOLDS
    known = {
        "none": "no resampling",
        CONTROL: f"`{as_call(make_sampler(CONTROL, 0))}` of imbalanced-learn, the control: the "
        "paper compares with descendants of it, never with itself",
        "SOMO": f"`{as_call(make_sampler('SOMO', 0))}` of counterbalance.methods",
        "k-SMOTE": f"`{as_call(make_k_means_smote(0, first))}` of "
        "imbalanced-learn; where no cluster has enough minority rows, with the balance threshold "
        f"{', then '.join(map(repr, lower))}, and after that SMOTE",
        "CUSBoost": "the sampling step of CUSBoost, which leaves half of the largest class: "
        f"`{as_call(make_sampler('CUSBoost', 0))}` of counterbalance.methods, before each of the "
        f"{len(CLASSIFIERS)} classifiers",
        OURS: f"`{as_call(ours)}`, all defaults, the object that users get: {_draws(ours)}, f = "
        f"`{as_call(f_of(ours))}`",
        PRINTED: f"`{as_call(printed)}`, Algorithm 1 as it is printed: {_draws(printed)}, f of the "
        "loss that the paper states (squared error with an L2 penalty) without class weights, of "
        "which it has none; every factual that inverts gives one counterfactual, the number is "
        "not capped and nothing is filled up. The paper gives neither T nor epsilon",
        INTERIOR: f"`{as_call(interior)}`, all defaults; not the paper's method",
    }
    return known | (_deep_descriptions() if deep else {})


def _draws(sampler: CounterfactualOverSampler) -> str:
    epsilon = "none" if sampler.epsilon is None else sampler.epsilon
    return f"T = {sampler.n_draws}, epsilon = {epsilon}"


def _deep_descriptions() -> dict[str, str]:
    gamo, dos = (make_deep(name, 0) for name in DEEP)
    return {
        "GAMO": f"`{as_call(gamo)}` of counterbalance.methods",
        "DOS": f"`{as_call(dos)}` of counterbalance.methods: the classifiers are fitted to its "
        "deep features, of training and test rows alike",
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
        if name in (OURS, INTERIOR):
            rows, labels = make_sampler(name, seed).fit_resample(X, y)
            return preparation.fit_transform(rows), labels, preparation
        rows = preparation.fit_transform(X)
        if name == "none":
            return rows, y, preparation
        if name == "k-SMOTE":
            return *k_means_smote(rows, y, seed), preparation
        if name == CONTROL:
            return *smote(rows, y, seed), preparation
        if name == "DOS":
            features = make_deep(name, seed).fit(rows, y)
            return features.transform(rows), y, make_pipeline(preparation, features)
        make = make_deep if name in DEEP else make_sampler
        return *make(name, seed).fit_resample(rows, y), preparation


def as_classified(rows: Any) -> Any:
    """Return prepared rows in the precision that the classifiers get."""
    return rows.astype(np.float32) if rows.shape[1] > WIDE else rows


def make_sampler(name: str, seed: int) -> Any:
    """Return the sampler of a row of the tables; k-SMOTE has a function of its own."""
    if name == OURS:
        return CounterfactualOverSampler(random_state=seed)
    if name == INTERIOR:
        return InteriorOverSampler(random_state=seed)
    if name == PRINTED:
        return CounterfactualOverSampler(
            estimator=paper_classifier(class_weight=None),
            sampling_strategy=EVERY,
            minimal=False,
            on_shortfall="accept",
            random_state=seed,
        )
    if name == "CUSBoost":
        sampling_step = all_samplers()["CUSBoost sampling"]
        return sampling_step.factory(random_state=seed, sampling_strategy=halved)
    return all_samplers()[name].factory(random_state=seed)


def make_deep(name: str, seed: int) -> Any:
    """Return a deep system with its defaults; it needs the extra ``deep``."""
    require("autograd", f"the row of {name}", "deep")
    return all_samplers()[name].factory(random_state=seed)
