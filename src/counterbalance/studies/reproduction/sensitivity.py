"""Sensitivity, which the paper lacks: what T, epsilon and f do to the samples.

For each setting, on the training half of the synthetic table: the yield (share of the
majority rows with an inversion), the mean distance of the inversions, and the G-mean of a
support vector machine on the other half after training with them. One setting moves at a
time, from the T of Experiment I, no epsilon and an unweighted logistic regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from counterbalance import CounterfactualOverSampler
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.search.selection import EVERY
from counterbalance.studies.canvas import NEW, new_figure
from counterbalance.studies.reproduction.areas import (
    DRAWS,
    SHAPE,
    area_counts,
    synthetic_arrays,
)
from counterbalance.studies.reproduction.groups import (
    Spread,
    failures,
    gather,
    has_failed,
    spread,
)
from counterbalance.trials.classifiers import as_call
from counterbalance.trials.metrics import g_mean
from counterbalance.trials.trial import TrialResult

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial, TrialRecord

EXPERIMENT = "sensitivity"
NO_LIMIT = "none"
BASE_F = "LR"
TEST_SHARE = 0.5
STEPS = {
    "T": ("1", "2", "5", "10", "20", "50", "100", "200"),
    "epsilon": ("0.5", "1", "2", "3", "4", "6", "8", NO_LIMIT),
    "f": ("LR", "LR weighted", "RF", "RF weighted", "SVM", "NN"),
}

FIGURES = ("yield", "distance", "boundary share", "g_mean")
# Those that do not exist where nothing was inverted.
OF_INVERSIONS = ("distance", "boundary share")

SHOWN = {"yield": "yield", "distance": "distance", "g_mean": "G-mean of SVM"}
Figures = Mapping[tuple[str, str], Mapping[str, Spread | None]]


# --- the trial ------------------------------------------------------------------------


def trials(settings: ReproductionSettings) -> list[Trial]:
    """Return a trial for each setting that moves, each of its values and each table."""
    return [
        {"experiment": EXPERIMENT, "setting": setting, "value": value, "seed": seed}
        for setting, values in STEPS.items()
        for value in values
        for seed in range(settings.seeds)
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:  # noqa: ARG001 - every experiment takes both
    """Resample the training half with one setting moved and judge what comes out."""
    seed, setting, value = int(trial["seed"]), str(trial["setting"]), str(trial["value"])
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
    return TrialResult(figures)


def make_sampler(setting: str, value: str, seed: int) -> CounterfactualOverSampler:
    """Return ours with one setting moved."""
    return CounterfactualOverSampler(
        estimator=make_f(value if setting == "f" else BASE_F, seed),
        n_draws=int(value) if setting == "T" else DRAWS,
        epsilon=float(value) if setting == "epsilon" and value != NO_LIMIT else None,
        sampling_strategy=EVERY,
        minimal=False,  # Algorithm 1 as it is printed
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


# --- the table ------------------------------------------------------------------------


def sensitivity_figures(
    records: Sequence[TrialRecord],
) -> dict[tuple[str, str], dict[str, Spread | None]]:
    """Return the figures of each (setting, value) that has no failed trial."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    figures = {}
    for group, members in gather(ours, ["setting", "value"]).items():
        if not has_failed(members):
            setting, value = map(str, group)
            figures[setting, value] = {name: _spread(members, name) for name in FIGURES}
    return figures


def sensitivity_table(records: Sequence[TrialRecord]) -> ResultTable:
    """Return one row for each value of each setting."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    groups = gather(ours, ["setting", "value"])
    figures = sensitivity_figures(records)
    rows = []
    for setting, values in STEPS.items():
        for value in values:
            known = figures.get((setting, value))
            if known is None:
                texts = [FAILED if (setting, value) in groups else ABSENT] * len(FIGURES)
            else:
                texts = [ABSENT if known[name] is None else str(known[name]) for name in FIGURES]
            rows.append((f"{setting} = {value}", *texts))
    seeds = len({record.trial["seed"] for record in ours})
    base = make_sampler("f", BASE_F, 0)
    epsilon = "no epsilon" if base.epsilon is None else f"epsilon = {base.epsilon}"
    return ResultTable(
        "sensitivity",
        "Sensitivity of ours to T, epsilon and f, synthetic data",
        ("setting", *FIGURES),
        rows,
        (
            (
                f"Mean and standard deviation over {seeds} synthetic tables of the shape {SHAPE}, "
                f"{1 - TEST_SHARE:.0%} of each for training; the G-mean is that of a support "
                "vector machine on the rest. One setting moves at a time, from "
                f"T = {base.n_draws}, "
                f"{epsilon} and f = {BASE_F}: `{as_call(base)}`."
            ),
            *failures(groups),
        ),
        [_record(record) for record in ours if record.state == "done"],
    )


def _spread(members: Sequence[TrialRecord], name: str) -> Spread | None:
    values = [record.figures[name] for record in members if name in record.figures]
    return spread(values) if values else None


def _record(record: TrialRecord) -> dict[str, Value]:
    trial = {name: record.trial[name] for name in ("setting", "value", "seed")}
    return {**trial, **{name: record.figures.get(name) for name in FIGURES}}


# --- the figure -----------------------------------------------------------------------


def draw_sensitivity(figures: Figures) -> Any:
    """Draw one row for each figure and one column for each setting."""
    figure, panels = new_figure(len(STEPS), len(SHOWN), width=3.5, height=2.2)
    places = [(name, setting) for name in SHOWN for setting in STEPS]
    for axes, (name, setting) in zip(panels, places, strict=True):
        values = STEPS[setting]
        known = [(k, figures.get((setting, v), {}).get(name)) for k, v in enumerate(values)]
        points = [(k, spread) for k, spread in known if spread is not None]
        style = "o" if setting == "f" else "o-"
        axes.errorbar(
            [k for k, _ in points],
            [spread.mean for _, spread in points],
            [spread.deviation or 0.0 for _, spread in points],
            fmt=style,
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
            axes.set_ylabel(SHOWN[name])
        if name == list(SHOWN)[-1]:
            axes.set_xlabel(setting)
    return figure
