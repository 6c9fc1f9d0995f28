"""Run a comparison: cells into the store, verdict, tables and summary out of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.compare import score_trials as scores
from counterbalance.compare import trust_trials as trust
from counterbalance.compare.caveats import scope
from counterbalance.compare.classifiers import (
    DEFAULT_CLASSIFIERS,
    new_classifier,
    own_modules,
)
from counterbalance.compare.data import read_compared
from counterbalance.compare.plan import Plan
from counterbalance.compare.results import Results
from counterbalance.compare.settings import Settings
from counterbalance.compare.strategies import BASELINE
from counterbalance.compare.summary import PACKAGES, summarise
from counterbalance.compare.tables import csv_tables, score_tables
from counterbalance.compare.trials import all_cells, compute
from counterbalance.compare.verdict import Verdict, judge
from counterbalance.io.atomic import written_whole
from counterbalance.result_table import ResultTable, as_csv
from counterbalance.trials.fingerprint import SAMPLER_MODULES, Fingerprint, take_fingerprint
from counterbalance.trials.runner import RunSummary, run_experiment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterbalance.trials.progress import Progress
    from counterbalance.trials.trial import Trial

HERE = "counterbalance.compare"
# What a figure depends on. Verdict, tables and the command may change without a cell being
# computed again.
CELL_MODULES = (
    "counterbalance.methods",
    "counterbalance.trials.classifiers",
    "counterbalance.trials.metrics",
    "counterbalance.trials.resamplers",
    "counterbalance.trials.trial",
    *(
        f"{HERE}.{name}"
        for name in (
            "classifiers",
            "cut",
            "data",
            "folds",
            "metrics",
            "preparation",
            "score_trials",
            "strategies",
            "thresholds",
            "trials",
            "trust_trials",
        )
    ),
)
# Settings that the figures of a cell depend on; the cell itself names the others.
CELL_SETTINGS = ("folds", "inner_folds", "seed")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out.

    Parameters
    ----------
    verdict : Verdict
        The answer in words.
    results : Results
        The figures of every strategy.
    tables : tuple of ResultTable
        To read.
    summary : dict
        All of it as plain values.
    run : RunSummary
        How the run went.
    """

    verdict: Verdict
    results: Results
    tables: tuple[ResultTable, ...]
    summary: dict[str, Any]
    run: RunSummary

    @property
    def has_verdict(self) -> bool:
        """Whether at least one classifier could be judged."""
        return any(
            pair.strategy == BASELINE and pair.failed is None
            for pair in self.results.pairs.values()
        )


def compare(
    X: Any,
    y: Any,
    *,
    store: Path | str,
    settings: Settings | None = None,
    groups: Any = None,
    time: Any = None,
    jobs: int = 1,
    progress: Progress | bool | None = None,
    retry_failed: bool = False,
    file: str = "the table",
    target: str = "y",
    reproduce: str = "",
    announce: Callable[[str], None] | None = None,
) -> Comparison:
    """Say whether resampling helps on a table, and with what.

    Parameters
    ----------
    X : pandas.DataFrame or array-like
        Features: numbers, categories, texts, missing cells.
    y : array-like
        The class of each row.
    store : path
        File of the finished trials; made if it is not there. Run the same again to go on
        after a kill.
    settings : Settings, optional
        What is tried and how it is judged.
    groups, time : array-like, optional
        Rows of one group stay together; training never sees the time of the test or later.
    jobs : int, default=1
        Number of processes; -1 is one per core. It never changes a figure.
    progress : Progress or bool, optional
        See `counterbalance.trials.run`.
    retry_failed : bool, default=False
        Whether trials that failed before are computed again.
    file, target, reproduce : str
        Names for the summary, and the command that gives it again.
    announce : callable, optional
        Gets, before the run, sentences that say on which rows, and how much is to be computed.
    """
    settings = settings or Settings()
    table = read_compared(X, y, groups=groups, times=time, rows=settings.rows)
    for name in settings.classifiers:
        new_classifier(name, settings.seed)  # what cannot be imported is said before the run
    plan = Plan(table, settings)
    cells = all_cells(plan)
    ran = run_experiment(
        cells,
        partial(compute, plan),
        store=store,
        fingerprint=fingerprint(plan),
        jobs=jobs,
        progress=progress,
        retry_failed=retry_failed,
        before=None if announce is None else partial(_announce, plan, cells, announce),
    )
    results = Results(plan, ran.records)
    verdict = judge(results)
    return Comparison(
        verdict,
        results,
        tuple(score_tables(results)),
        summarise(results, verdict, file=file, target=target, reproduce=reproduce),
        ran.summary,
    )


def fits_of(plan: Plan, cells: Sequence[Trial]) -> int:
    """Return how many times a classifier is fitted for these cells."""
    inner = plan.settings.inner_folds if plan.table.is_binary else 0
    scored = sum(cell["experiment"] == scores.EXPERIMENT for cell in cells)
    draws = {cell["draw"] for cell in cells if cell["experiment"] == trust.EXPERIMENT}
    return scored * (1 + inner) + len(draws) * len(DEFAULT_CLASSIFIERS)


def _announce(
    plan: Plan, cells: list[Trial], announce: Callable[[str], None], todo: list[Trial]
) -> None:
    for sentence in _before_the_run(plan, cells, todo):
        announce(sentence)


def _before_the_run(plan: Plan, cells: list[Trial], todo: list[Trial]) -> Iterator[str]:
    if said := scope(plan.table):
        yield said
    if todo:
        yield (
            f"{len(todo):,} of {len(cells):,} trials are to be computed, with about "
            f"{fits_of(plan, todo):,} fits of a classifier; after a minute there is an estimate "
            "of the time. Stop it with Ctrl-C and run the same again to go on"
        )


def write_files(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the tables as csv and the summary as JSON; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{table.name}.csv": as_csv(table) for table in csv_tables(comparison.results)}
    texts["summary.json"] = json.dumps(comparison.summary, indent=2) + "\n"
    written = []
    for name, text in texts.items():
        written.append(folder / name)
        with written_whole(written[-1]) as part:
            part.write_text(text, encoding="utf-8")
    return written


def fingerprint(plan: Plan) -> Fingerprint:
    """Return what makes the figures: the table, some settings, code and versions."""
    chosen = {name: getattr(plan.settings, name) for name in CELL_SETTINGS}
    modules = [*SAMPLER_MODULES, *CELL_MODULES, *own_modules(plan.settings.classifiers)]
    return take_fingerprint(
        {"table": plan.table.digest, **chosen}, modules=modules, packages=PACKAGES
    )
