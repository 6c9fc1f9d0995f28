"""Sensitivity, which the paper lacks: what T, epsilon and f do to the samples.

For each setting, on the training half of the synthetic table: the yield (share of the
majority rows with an inversion), the mean distance of the inversions, and the G-mean of a
support vector machine on the other half after training with them. One setting moves at a
time, from the T of Experiment I, no epsilon and an unweighted logistic regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from paper.classifiers import as_call, g_mean
from paper.datasets.synthetic import LONG
from paper.reproduction import Settings, failures, spread, with_columns
from paper.reproduction.areas import DRAWS, NEW, area_counts, make_ours, synthetic_arrays
from paper.tables import ABSENT, FAILED, Table, new_figure
from paper.trials import ERROR, Frame, Trial

EXPERIMENT = "sensitivity"
NO_LIMIT = "none"
BASE_F = "LR"
TEST_SHARE = 0.5
STEPS = {
    "T": ("1", "2", "5", "10", "20", "50", "100", "200"),
    "epsilon": ("0.5", "1", "2", "3", "4", "6", "8", NO_LIMIT),
    "f": ("LR", "LR weighted", "RF", "RF weighted", "SVM", "NN"),
}
# Distance and boundary share do not exist where nothing was inverted.
FIGURES = ["yield", "distance", "boundary share", "g_mean"]
DRAWN = {"yield": "yield", "distance": "distance", "g_mean": "G-mean of SVM"}


def trials(settings: Settings) -> list[Trial]:
    """Return a trial for each setting that moves, each of its values and each table."""
    return [
        {"experiment": EXPERIMENT, "setting": setting, "value": value, "seed": seed}
        for setting, values in STEPS.items()
        for value in values
        for seed in range(settings.seeds)
    ]


def compute(trial: Trial) -> dict[str, float]:
    """Resample the training half with one setting changed and measure the result."""
    seed, setting, value = int(trial["seed"]), str(trial["setting"]), str(trial["value"])
    X, y = synthetic_arrays(seed)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    sampler = make_sampler(setting, value, seed)
    X_resampled, y_resampled = sampler.fit_resample(X, y)
    distances = np.asarray(sampler.provenance_["distance"])
    (found,) = sampler.yield_.values()
    predicted = SVC().fit(X_resampled, y_resampled).predict(X_test)
    figures = {
        "yield": found.inversions / found.rows,
        "g_mean": g_mean(confusion_matrix(y_test, predicted, labels=["majority", "minority"])),
    }
    if len(distances):
        figures["distance"] = float(distances.mean())
        areas = area_counts(X_resampled[len(X) :])
        figures["boundary share"] = areas["boundary"] / len(distances)
    return figures


def make_sampler(setting: str, value: str, seed: int) -> Any:
    """Return ours with one setting moved."""
    f = make_f(value if setting == "f" else BASE_F, seed)
    epsilon = float(value) if setting == "epsilon" and value != NO_LIMIT else None
    return make_ours(f, seed, int(value) if setting == "T" else DRAWS, epsilon)


def make_f(name: str, seed: int) -> Any:
    """Return a classifier to take as f."""
    weight = "balanced" if "weighted" in name else None
    if name.startswith("LR"):
        return LogisticRegression(class_weight=weight)
    if name.startswith("RF"):
        return RandomForestClassifier(min_samples_leaf=3, class_weight=weight, random_state=seed)
    return SVC() if name == "SVM" else MLPClassifier(max_iter=500, random_state=seed)


def means_of(ran: Frame) -> Frame:
    """Return mean and deviation of each figure by setting and value, without those that failed."""
    groups = with_columns(ran, ["setting", "value", *FIGURES]).groupby(["setting", "value"])
    return groups[FIGURES].agg(["mean", "std"])[groups[ERROR].count() == 0]


def sensitivity_table(ran: Frame) -> Table:
    """Return one row for each value of each setting."""
    ours = with_columns(ran, ["setting", "value", "seed", *FIGURES])
    means, tried = means_of(ran), set(zip(ours["setting"], ours["value"], strict=True))
    rows = []
    for step in ((setting, value) for setting, values in STEPS.items() for value in values):
        if step in means.index:
            known = [means.loc[step, name] for name in FIGURES]
            texts = [ABSENT if pd.isna(each["mean"]) else spread(*each) for each in known]
        else:
            texts = [FAILED if step in tried else ABSENT] * len(FIGURES)
        rows.append((" = ".join(step), *texts))
    base = make_sampler("f", BASE_F, 0)
    return Table(
        "sensitivity",
        "Sensitivity of ours to T, epsilon and f, synthetic data",
        ("setting", *FIGURES),
        rows,
        (
            (
                f"Mean and standard deviation over {ours['seed'].nunique()} synthetic tables of "
                f"the shape {LONG}, {1 - TEST_SHARE:.0%} of each for training; the G-mean is that "
                "of a support vector machine on the rest. One setting moves at a time, from "
                f"`{as_call(base)}`."
            ),
            *failures(ours, ["setting", "value"]),
        ),
        ours[ours[ERROR].isna()].drop(columns=ERROR),
    )


def draw_sensitivity(ran: Frame) -> Any:
    """Draw one row for each figure and one column for each setting."""
    means = means_of(ran)
    figure, panels = new_figure(len(STEPS), len(DRAWN), width=3.5, height=2.2)
    places = [(name, setting) for name in DRAWN for setting in STEPS]
    for axes, (name, setting) in zip(panels, places, strict=True):
        values = STEPS[setting]
        steps = pd.MultiIndex.from_product([[setting], values])
        shown = means[name].reindex(steps).reset_index(drop=True).dropna(subset="mean").fillna(0.0)
        axes.errorbar(
            shown.index,
            shown["mean"],
            shown["std"],
            fmt="o" if setting == "f" else "o-",
            color=NEW,
            markersize=4,
            capsize=2,
            elinewidth=0.8,
        )
        axes.set_xticks(
            range(len(values)), values, fontsize=7, rotation=30 if setting == "f" else 0
        )
        axes.set(xlim=(-0.5, len(values) - 0.5))
        if setting == "T":
            axes.set_ylabel(DRAWN[name])
        if name == list(DRAWN)[-1]:
            axes.set_xlabel(setting)
    return figure
