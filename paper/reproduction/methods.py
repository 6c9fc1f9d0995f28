"""The methods of Experiment II, each with the preparation that it needs, and its tables.

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

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterbalance import CounterfactualOverSampler, InteriorOverSampler, paper_classifier
from counterbalance.methods import all_samplers
from paper.classifiers import expected_warnings, prepare
from paper.datasets import PAPER
from paper.datasets.field import share_of_rows
from paper.resamplers import halved, k_means_smote, smote

OURS, PRINTED, INTERIOR = "ours", "ours, as printed", "InteriorOverSampler"
CONTROL = "SMOTE"
METHODS = ("none", CONTROL, "SOMO", "k-SMOTE", "CUSBoost", OURS, PRINTED, INTERIOR)
# The four of the paper's tables: "first of the four" is counted among these.
RESAMPLING = ("SOMO", "k-SMOTE", "CUSBoost", OURS)
# Those that `make_sampler` makes; with no resampling and k-SMOTE it is another function.
SAMPLERS = tuple(name for name in METHODS if name not in {"none", "k-SMOTE"})
# Of more features than these the classifiers get single precision: half the memory and time.
WIDE = 100
PAGE_BLOCKS = {
    "1": "text",
    "2": "horizontal line",
    "3": "picture",
    "4": "vertical line",
    "5": "graphic",
}


class PaperTable(NamedTuple):
    """A table with its labels as text, the classes from the largest to the smallest."""

    X: Any
    y: NDArray[np.str_]
    classes: tuple[str, ...]

    def __str__(self) -> str:
        counts = " : ".join(f"{np.count_nonzero(self.y == label):,}" for label in self.classes)
        missing = int(self.X.isna().to_numpy().sum())
        return (
            f"{len(self.y):,} rows ({counts}), {self.X.shape[1]} features, {missing:,} missing "
            "cells"
        )


@lru_cache(maxsize=2)
def load_labelled(name: str, rows: int) -> PaperTable:
    """Load a data set of the paper by its short name, cut to a number of rows; 0 takes all."""
    dataset = PAPER[name]()
    names = PAGE_BLOCKS if name == "PBC" else {}
    classes = tuple(names.get(str(label), str(label)) for label in dataset.class_counts)
    y = np.array([names.get(label, label) for label in dataset.y.to_numpy().astype(str)])
    kept = share_of_rows(y, rows)
    return PaperTable(dataset.X.iloc[kept].reset_index(drop=True), y[kept], classes)


def resampled(name: str, X: Any, y: Any, seed: int) -> tuple[Any, Any, Any]:
    """Return the rows and labels that a classifier is fitted to, and the fitted preparation."""
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
        return *make_sampler(name, seed).fit_resample(rows, y), preparation


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
            search="perturb",
            sampling_strategy="all",
            random_state=seed,
        )
    if name == "CUSBoost":
        make = all_samplers()["CUSBoost sampling"].factory
        return make(random_state=seed, sampling_strategy=halved)
    return all_samplers()[name].factory(random_state=seed)
