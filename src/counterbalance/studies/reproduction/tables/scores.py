"""Table III and the F-measure of Figure 5: each figure beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.methods import METHODS, RESAMPLING
from counterbalance.studies.reproduction.tables.groups import (
    Group,
    Spread,
    failures,
    gather,
    has_failed,
    spread,
)
from counterbalance.studies.reproduction.trials.scores import EXPERIMENT
from counterbalance.trials.classifiers import CLASSIFIERS
from counterbalance.trials.metrics import g_mean

if TYPE_CHECKING:
    from counterbalance.trials.store import CellRecord

Members = Sequence["CellRecord"]


@dataclass(frozen=True)
class Measure:
    """How the records of a cell of the table become one figure, and the paper's for it."""

    name: str
    title: str
    values: Callable[[Members], list[float]]
    published: Callable[[str, str, str], tuple[float, float] | None]


@dataclass(frozen=True)
class Scores:
    """All figures of one measure: what the tables and Figure 5 show."""

    measure: Measure
    groups: Mapping[Group, Members]

    def __getitem__(self, key: tuple[str, str, str]) -> Spread | None:
        """Return the figure of (data, method, classifier), None where it is missing or failed."""
        members = self.groups.get(key, ())
        if not members or has_failed(members):
            return None
        return spread(self.measure.values(members))

    def text(self, key: tuple[str, str, str]) -> str:
        """Return the same as text."""
        figure = self[key]
        if figure is not None:
            return str(figure)
        return FAILED if self.groups.get(key) else ABSENT

    def ranking(self, data: str, classifier: str) -> tuple[str, ...]:
        """Return the four resampling methods from best to worst; empty if one is missing."""
        figures = {method: self[data, method, classifier] for method in RESAMPLING}
        means = {method: figure.mean for method, figure in figures.items() if figure is not None}
        return order(means) if len(means) == len(RESAMPLING) else ()

    def published_ranking(self, data: str, classifier: str) -> tuple[str, ...]:
        """Return the same ranking in the paper; empty where it prints no figures."""
        printed = {m: self.measure.published(data, m, classifier) for m in RESAMPLING}
        means = {method: pair[0] for method, pair in printed.items() if pair is not None}
        return order(means) if means else ()


def order(means: Mapping[str, float]) -> tuple[str, ...]:
    """Return the methods from best to worst; ties in the order in which they stand.

    Examples
    --------
    >>> order({"SOMO": 0.8, "k-SMOTE": 0.9, "ours": 0.9})
    ('k-SMOTE', 'ours', 'SOMO')
    """
    return tuple(sorted(means, key=lambda method: -means[method]))


def _each_fold(figure: str) -> Callable[[Members], list[float]]:
    return lambda members: [record.figures[figure] for record in members]


def _pooled(members: Members) -> list[float]:
    """Return one G-mean for each run, from the predictions of its folds together."""
    runs = gather(members, ["run"]).values()
    return [g_mean(np.sum([record.payload for record in run], axis=0)) for run in runs]


def _not_printed(data: str, method: str, classifier: str) -> None:  # noqa: ARG001
    return None


MEASURES = (
    Measure(
        "g_mean", "G-mean (Table III), mean of the folds", _each_fold("g_mean"), published.g_mean
    ),
    Measure("g_mean_pooled", "G-mean of a run's folds together", _pooled, published.g_mean),
    Measure("f_measure", "F-measure (Figure 5)", _each_fold("f_measure"), _not_printed),
)


def scores(records: Members) -> list[Scores]:
    """Return the figures of every measure."""
    ours = [record for record in records if record.cell["experiment"] == EXPERIMENT]
    groups = gather(ours, ["data", "method", "classifier"])
    return [Scores(measure, groups) for measure in MEASURES]


def score_table(figures: Scores, data: str) -> ResultTable:
    """Return the table of one data set: for each method ours, the paper's, the difference."""
    rows: list[Sequence[str]] = []
    for method in METHODS:
        rows.append((method, *(figures.text((data, method, c)) for c in CLASSIFIERS)))
        if any(figures.measure.published(data, method, c) for c in CLASSIFIERS):
            rows += _paper_rows(figures, data, method)
    here = [figures.ranking(data, c) for c in CLASSIFIERS]
    there = [figures.published_ranking(data, c) for c in CLASSIFIERS]
    rows.append(("first of the four", *(ranking[0] if ranking else ABSENT for ranking in here)))
    if any(there):
        rows.append(("  paper", *(ranking[0] for ranking in there)))
        agree = zip(here, there, strict=True)
        rows.append(("ranking agrees", *(_agreement(mine, theirs) for mine, theirs in agree)))
    concerned = {group: m for group, m in figures.groups.items() if group[0] == data}
    return ResultTable(
        f"{figures.measure.name}_{data}",
        f"{data}: {figures.measure.title}",
        ("method", *CLASSIFIERS),
        rows,
        failures(concerned),
        [_record(figures, data, m, c) for m in METHODS for c in CLASSIFIERS],
    )


def summary_table(every: Sequence[Scores], datasets: Sequence[str]) -> ResultTable:
    """Count the cells (data set and classifier) that ours wins and loses."""
    rows: list[Sequence[str]] = []
    for figures in every:
        for data in datasets:
            here = [figures.ranking(data, c) for c in CLASSIFIERS]
            there = [figures.published_ranking(data, c) for c in CLASSIFIERS]
            ranked = [ranking for ranking in here if ranking]
            won = sum(ranking[0] == "ours" for ranking in ranked)
            agreed = sum(bool(mine) and mine == p for mine, p in zip(here, there, strict=True))
            best = sum(_beats_none(figures, data, c) for c in CLASSIFIERS)
            rows.append(
                (
                    f"{data} {figures.measure.name}",
                    str(won),
                    str(len(ranked) - won),
                    str(sum(r[0] == "ours" for r in there)) if any(there) else ABSENT,
                    str(agreed) if any(there) else ABSENT,
                    str(best),
                )
            )
        rows.append(_total(figures, rows[-len(datasets) :]))
    return ResultTable(
        "summary",
        "Cells won and lost by ours (one cell for each classifier)",
        ("data set and measure", "won", "lost", "won in the paper", "rankings agree", "above none"),
        rows,
        ("A cell is won if ours is first of the four resampling methods; a tie is lost.",),
    )


def _total(figures: Scores, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Add up the rows of one measure."""
    columns = list(zip(*rows, strict=True))[1:]
    known = [[int(cell) for cell in column if cell != ABSENT] for column in columns]
    return (f"all {figures.measure.name}", *(str(sum(c)) if c else ABSENT for c in known))


def _beats_none(figures: Scores, data: str, classifier: str) -> bool:
    ours, none = figures[data, "ours", classifier], figures[data, "none", classifier]
    return ours is not None and none is not None and ours.mean > none.mean


def _paper_rows(figures: Scores, data: str, method: str) -> list[tuple[str, ...]]:
    printed, differences = [], []
    for classifier in CLASSIFIERS:
        pair = figures.measure.published(data, method, classifier)
        figure = figures[data, method, classifier]
        printed.append(ABSENT if pair is None else str(Spread(*pair)))
        if pair is None or figure is None:
            differences.append(ABSENT)
        else:
            differences.append(f"{figure.mean - pair[0]:+.3f}")
    return [("  paper", *printed), ("  difference", *differences)]


def _agreement(here: tuple[str, ...], there: tuple[str, ...]) -> str:
    if not here or not there:
        return ABSENT
    return "yes" if here == there else "no"


def _record(figures: Scores, data: str, method: str, classifier: str) -> dict[str, Value]:
    figure = figures[data, method, classifier]
    printed = figures.measure.published(data, method, classifier)
    return {
        "data": data,
        "measure": figures.measure.name,
        "method": method,
        "classifier": classifier,
        "mean": None if figure is None else figure.mean,
        "deviation": None if figure is None else figure.deviation,
        "paper_mean": None if printed is None else printed[0],
        "paper_deviation": None if printed is None else printed[1],
        "difference": None if figure is None or printed is None else figure.mean - printed[0],
        "rank": _place(method, figures.ranking(data, classifier)),
        "paper_rank": _place(method, figures.published_ranking(data, classifier)),
        "state": figures.text((data, method, classifier)) if figure is None else "done",
    }


def _place(method: str, ranking: tuple[str, ...]) -> int | None:
    return ranking.index(method) + 1 if method in ranking else None
