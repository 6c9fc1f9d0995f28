"""Sensitivity, which the paper lacks: what T, epsilon and f do to the samples.

For each setting, on the training half of the synthetic table: the yield (share of the
majority rows with an inversion), the mean distance of the inversions, and the G-mean of a
support vector machine on the other half after training with them. One setting moves at a
time, from the T of Experiment I, no epsilon and an unweighted logistic regression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler
from counterbalance.studies.reproduction.trials.areas import (
    DRAWS,
    EVERY_ROW,
    area_counts,
    synthetic_arrays,
)
from counterbalance.trials.metrics import g_mean
from counterbalance.trials.workers import CellResult

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.store import Cell

EXPERIMENT = "sensitivity"
NO_LIMIT = "none"
BASE_F = "LR"
TEST_SHARE = 0.5
STEPS = {
    "T": ("1", "2", "5", "10", "20", "50", "100", "200"),
    "epsilon": ("0.5", "1", "2", "3", "4", "6", "8", NO_LIMIT),
    "f": ("LR", "LR weighted", "RF", "RF weighted", "SVM", "NN"),
}


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each setting that moves, each of its values and each table."""
    return [
        {"experiment": EXPERIMENT, "setting": setting, "value": value, "seed": seed}
        for setting, values in STEPS.items()
        for value in values
        for seed in range(settings.seeds)
    ]


def compute(settings: Settings, cell: Cell) -> CellResult:  # noqa: ARG001 - every experiment takes both
    """Resample the training half with one setting moved and judge what comes out."""
    seed, setting, value = int(cell["seed"]), str(cell["setting"]), str(cell["value"])
    X, y = synthetic_arrays(seed)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    sampler = make_sampler(setting, value, seed)
    X_resampled, y_resampled = sampler.fit_resample(X, y)
    distances = np.asarray(sampler.provenance_["distance"])
    (found,) = sampler.yield_.values()
    areas = area_counts(X_resampled[len(X) :])
    predicted = SVC().fit(X_resampled, y_resampled).predict(X_test)
    figures = {
        "yield": found.inversions / found.rows,
        "g_mean": g_mean(confusion_matrix(y_test, predicted, labels=["majority", "minority"])),
    }
    if len(distances):
        figures["distance"] = distances.mean()
        figures["boundary share"] = areas["boundary"] / len(distances)
    return CellResult(figures)


def make_sampler(setting: str, value: str, seed: int) -> CounterfactualOverSampler:
    """Return ours with one setting moved."""
    return CounterfactualOverSampler(
        estimator=make_f(value if setting == "f" else BASE_F, seed),
        n_draws=int(value) if setting == "T" else DRAWS,
        epsilon=float(value) if setting == "epsilon" and value != NO_LIMIT else None,
        sampling_strategy=EVERY_ROW,
        on_shortfall="accept",
        random_state=seed,
    )


def make_f(name: str, seed: int) -> Any:
    """Return a classifier to take as f."""
    weight = "balanced" if "weighted" in name else None
    if name.startswith("LR"):
        return LogisticRegression(class_weight=weight)
    if name.startswith("RF"):
        return RandomForestClassifier(min_samples_leaf=3, class_weight=weight, random_state=seed)
    return SVC() if name == "SVM" else MLPClassifier(max_iter=500, random_state=seed)
