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
from counterbalance.extras import require
from counterbalance.methods import all_samplers
from counterbalance.trials.classifiers import CLASSIFIERS, as_call, f_of, prepare
from counterbalance.trials.resamplers import (
    BALANCE_THRESHOLDS,
    expected_warnings,
    halved,
    k_means_smote,
    make_k_means_smote,
)

METHODS = ("none", "SOMO", "k-SMOTE", "CUSBoost", "ours")
RESAMPLING = METHODS[1:]
# Deep systems that the paper names and does not compare with: rows on request.
DEEP = ("GAMO", "DOS")


def descriptions(*, deep: bool = False) -> dict[str, str]:
    """Return what each method is, its settings read from the objects that run."""
    complete, mixed = (make_ours(0, complete=known) for known in (True, False))
    first, *lower = BALANCE_THRESHOLDS
    known = {
        "none": "no resampling",
        "SOMO": f"`{as_call(make_peer('SOMO', 0))}` of counterbalance.methods",
        "k-SMOTE": f"`{as_call(make_k_means_smote(0, first))}` of "
        "imbalanced-learn; where no cluster has enough minority rows, with the balance threshold "
        f"{', then '.join(map(repr, lower))}, and after that SMOTE",
        "CUSBoost": "the sampling step of CUSBoost, which leaves half of the largest class: "
        f"`{as_call(make_peer('CUSBoost', 0))}` of counterbalance.methods, before each of the "
        f"{len(CLASSIFIERS)} classifiers",
        "ours": f"`{as_call(complete)}`: T = {complete.n_draws}, epsilon = "
        f"{'none' if complete.epsilon is None else complete.epsilon}, f = "
        f"`{as_call(f_of(complete))}`, which is the loss that the paper states (squared error "
        "with an L2 penalty), class-weighted. With missing cells or categories the "
        f"same f comes after the preparation: `{as_call(mixed.estimator[-1])}`. The paper gives "
        "neither T nor epsilon nor weights",
    }
    return known | (_deep_descriptions() if deep else {})


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
        if name == "ours":
            return _ours(X, y, seed)
        rows = preparation.fit_transform(X)
        if name == "none":
            return rows, y, preparation
        if name == "k-SMOTE":
            return *k_means_smote(rows, y, seed), preparation
        if name == "DOS":
            features = make_deep(name, seed).fit(rows, y)
            return features.transform(rows), y, make_pipeline(preparation, features)
        if name in DEEP:
            return *make_deep(name, seed).fit_resample(rows, y), preparation
        return *make_peer(name, seed).fit_resample(rows, y), preparation


def make_peer(name: str, seed: int) -> Any:
    """Return the sampler of SOMO or of CUSBoost."""
    if name == "SOMO":
        return all_samplers()["SOMO"].factory(random_state=seed)
    sampling_step = all_samplers()["CUSBoost sampling"]
    return sampling_step.factory(random_state=seed, sampling_strategy=halved)


def make_deep(name: str, seed: int) -> Any:
    """Return a deep system with its defaults; it needs the extra ``deep``."""
    require("autograd", f"the row of {name}", "deep")
    return all_samplers()[name].factory(random_state=seed)


def make_ours(seed: int, *, complete: bool) -> CounterfactualOverSampler:
    """Return our sampler for a table of numbers without gaps, or for any other one."""
    # the search asks f about a plain matrix far faster than about frames of 784 columns
    f = "ridge" if complete else make_pipeline(prepare(), RidgeClassifier(class_weight="balanced"))
    return CounterfactualOverSampler(
        estimator=f,
        minimal=False,  # Algorithm 1 as it is printed
        on_shortfall="interior",
        random_state=seed,
    )


def _ours(X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Resample the table itself; f prepares what it sees, and the classifiers after it."""
    complete = all(kind.kind in "iuf" for kind in X.dtypes) and not X.isna().to_numpy().any()
    table = X.to_numpy() if complete else X
    rows, labels = make_ours(seed, complete=complete).fit_resample(table, y)
    if complete:
        rows = type(X)(rows, columns=X.columns)
    preparation = prepare()
    return preparation.fit_transform(rows), labels, preparation
