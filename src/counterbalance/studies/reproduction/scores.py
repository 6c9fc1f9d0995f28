"""Experiment II: F-measure and G-mean of the classifiers after each method.

    Table III    G-mean of each method and classifier, beside the paper's
    Figure 5     F-measure of each method and classifier

A fold is cut first, then only its training part is resampled. A worker keeps the last resampled
parts, because the six classifiers of a fold share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.canvas import new_figure
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.data import PaperTable, load_labelled
from counterbalance.studies.reproduction.groups import (
    Group,
    Spread,
    failures,
    gather,
    has_failed,
    spread,
)
from counterbalance.studies.reproduction.methods import DEEP, METHODS, RESAMPLING, resampled
from counterbalance.trials.classifiers import CLASSIFIERS, make_classifier
from counterbalance.trials.metrics import f_measure, g_mean
from counterbalance.trials.trial import TrialResult, seed_of

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial, TrialRecord

Members = Sequence["TrialRecord"]
EXPERIMENT = "scores"

COLOURS = {
    "none": "#b8b8b8",
    "SOMO": "#e0a030",
    "k-SMOTE": "#6aa84f",
    "CUSBoost": "#8e6bbf",
    "ours": "#1f4fd8",
}
LOWEST = 0.05


# --- the trial ------------------------------------------------------------------------


def trials(settings: ReproductionSettings) -> list[Trial]:
    """Return a trial for each data set, run, fold, method and classifier, in this order."""
    return [
        {
            "experiment": EXPERIMENT,
            "data": data,
            "rows": settings.rows_of(data),
            "method": method,
            "classifier": classifier,
            "run": run,
            "folds": settings.folds,
            "fold": fold,
        }
        for run in range(settings.runs)
        for data in settings.datasets
        for fold in range(settings.folds)
        for method in (*METHODS, *(DEEP if settings.deep else ()))
        for classifier in CLASSIFIERS
    ]


def compute(settings: ReproductionSettings, trial: Trial) -> TrialResult:
    """Fit a classifier to a resampled training part and judge it on the test part."""
    table = load_labelled(str(trial["data"]), int(trial["rows"]), settings)
    shared = tuple(
        (name, trial[name]) for name in ("data", "rows", "method", "run", "folds", "fold")
    )
    rows, labels, test_rows, test = _parts(settings, shared)
    f = make_classifier(str(trial["classifier"]), seed_of(*trial.values()))
    predicted = f.fit(rows, labels).predict(test_rows)
    counts = confusion_matrix(test, predicted, labels=list(table.classes))
    figures = {"f_measure": f_measure(counts, table.minority), "g_mean": g_mean(counts)}
    return TrialResult(figures, payload=counts.tolist())


@lru_cache(maxsize=1)
def _parts(
    settings: ReproductionSettings, shared: tuple[tuple[str, str | int], ...]
) -> tuple[Any, ...]:
    """Return the resampled training part and the prepared test part of a fold."""
    trial = dict(shared)
    table = load_labelled(str(trial["data"]), int(trial["rows"]), settings)
    train, test = _fold(table, int(trial["folds"]), int(trial["run"]), int(trial["fold"]))
    rows, labels, preparation = resampled(
        str(trial["method"]), table.X.iloc[train], table.y[train], seed_of(*trial.values())
    )
    return rows, labels, preparation.transform(table.X.iloc[test]), table.y[test]


def _fold(table: PaperTable, folds: int, run: int, fold: int) -> tuple[Any, Any]:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    train, test = list(splitter.split(np.zeros(len(table.y)), table.y))[fold]
    return train, test


# --- Table III ------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """How the records of one cell of the table become a figure, and what the paper prints there."""

    name: str
    title: str
    values: Callable[[Members], list[float]]
    published: Callable[[str, str, str], tuple[float, float] | None]


@dataclass(frozen=True)
class MeasureScores:
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
        "g_mean",
        "G-mean (Table III), mean of the folds",
        _each_fold("g_mean"),
        published.g_mean,
    ),
    Measure("g_mean_pooled", "G-mean of a run's folds together", _pooled, published.g_mean),
    Measure("f_measure", "F-measure (Figure 5)", _each_fold("f_measure"), _not_printed),
)


def scores(records: Members) -> list[MeasureScores]:
    """Return the figures of every measure."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    groups = gather(ours, ["data", "method", "classifier"])
    return [MeasureScores(measure, groups) for measure in MEASURES]


def score_table(figures: MeasureScores, data: str) -> ResultTable:
    """Return the table of one data set: for each method ours, the paper's, the difference."""
    rows: list[Sequence[str]] = []
    ran = {method for _, method, _ in figures.groups}
    shown = (*METHODS, *(method for method in DEEP if method in ran))
    for method in shown:
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
        [_record(figures, data, m, c) for m in shown for c in CLASSIFIERS],
    )


def summary_table(every: Sequence[MeasureScores], datasets: Sequence[str]) -> ResultTable:
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


def _total(figures: MeasureScores, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Add up the rows of one measure."""
    columns = list(zip(*rows, strict=True))[1:]
    known = [[int(cell) for cell in column if cell != ABSENT] for column in columns]
    return (f"all {figures.measure.name}", *(str(sum(c)) if c else ABSENT for c in known))


def _beats_none(figures: MeasureScores, data: str, classifier: str) -> bool:
    ours, none = figures[data, "ours", classifier], figures[data, "none", classifier]
    return ours is not None and none is not None and ours.mean > none.mean


def _paper_rows(figures: MeasureScores, data: str, method: str) -> list[tuple[str, ...]]:
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


def _record(figures: MeasureScores, data: str, method: str, classifier: str) -> dict[str, Value]:
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


# --- Figure 5 -------------------------------------------------------------------------


def draw_f_measure(figures: MeasureScores, datasets: Sequence[str]) -> Any:
    """Draw grouped bars with the standard deviation as whiskers."""
    rows = (len(datasets) + 1) // 2
    figure, panels = new_figure(2 if len(datasets) > 1 else 1, rows, width=5.2, height=2.7)
    for axes in panels[len(datasets) :]:
        axes.set_axis_off()
    for axes, data in zip(panels, datasets, strict=False):
        _bars(axes, figures, data)
        axes.set_title(f"{data}{' (simulated)' if data == 'ILC' else ''}", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), fontsize=8)
    return figure


def _bars(axes: Any, figures: MeasureScores, data: str) -> None:
    width = 0.8 / len(METHODS)
    tops = []
    for place, method in enumerate(METHODS):
        known = {c: figures[data, method, c] for c in CLASSIFIERS}
        heights = [0.0 if known[c] is None else known[c].mean for c in CLASSIFIERS]  # type: ignore[union-attr]
        whiskers = [getattr(known[c], "deviation", None) or 0.0 for c in CLASSIFIERS]
        across = [number + (place - 2) * width for number in range(len(CLASSIFIERS))]
        axes.bar(across, heights, width, label=method, color=COLOURS[method])
        axes.errorbar(across, heights, whiskers, fmt="none", ecolor="#444444", elinewidth=0.6)
        tops += [height for height in heights if height > 0]
    lowest = max(0.0, min(tops, default=0.0) - LOWEST)
    axes.set(ylim=(lowest, 1.0), ylabel="F-measure")
    axes.set_xticks(range(len(CLASSIFIERS)), CLASSIFIERS)
