"""Table III, Figure 5 and their kin: figures of Experiment II beside the paper's.

    Table III    G-mean of each method and classifier, beside the paper's
    Figure 5     F-measure of each method and classifier, as a table and as bars

Only whole runs of the cross-validation count: those of which a table has every fold of every
method. So all rows of a table rest on the same folds, also on the page of a run that was stopped;
the last column says on how many. Methods are compared by the differences of their figures, fold by
fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.compare.results import posterior
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value
from counterbalance.studies.canvas import new_figure
from counterbalance.studies.reproduction import published
from counterbalance.studies.reproduction.groups import (
    Spread,
    failures,
    gather,
    has_failed,
    in_all,
    spread,
)
from counterbalance.studies.reproduction.methods import CONTROL, DEEP, METHODS, OURS, RESAMPLING
from counterbalance.studies.reproduction.scores import EXPERIMENT
from counterbalance.trials.classifiers import CLASSIFIERS
from counterbalance.trials.metrics import BINARY, f_measure, g_mean

if TYPE_CHECKING:
    from counterbalance.trials.trial import TrialRecord

Key = tuple[str, str, str]  # data, method, classifier
Members = Sequence["TrialRecord"]
LEVEL = 0.05
FEWEST = 2  # differences that a test needs
COLOURS = ("#b8b8b8", "#d98880", "#e0a030", "#6aa84f", "#8e6bbf", "#1f4fd8", "#7fa8f0", "#17a2a2")
LOWEST = 0.05


@dataclass(frozen=True)
class Measure:
    """How the confusion matrices of a run's folds become figures, and what the paper prints."""

    name: str
    title: str
    values: Callable[[Sequence[Any]], list[float]]
    published: Callable[[str, str, str], tuple[float, float] | None]


def _each_fold(folds: Sequence[Any]) -> list[float]:
    return [g_mean(counts) for counts in folds]


def _pooled(folds: Sequence[Any]) -> list[float]:
    return [g_mean(np.sum(folds, axis=0))]


def _f_measures(folds: Sequence[Any]) -> list[float]:
    return [f_measure(counts, 1 if len(counts) == BINARY else None) for counts in folds]


def _not_printed(data: str, method: str, classifier: str) -> None:  # noqa: ARG001
    return None


MEASURES = (
    Measure("g_mean", "G-mean (Table III), mean of the folds", _each_fold, published.g_mean),
    Measure("g_mean_pooled", "G-mean of a run's folds together", _pooled, published.g_mean),
    Measure("f_measure", "F-measure (Figure 5)", _f_measures, _not_printed),
)


@dataclass(frozen=True)
class Difference:
    """Mean difference of two methods over the runs that both have, and its two-sided p."""

    mean: float
    p: float | None

    @property
    def verdict(self) -> str:
        """Return "ahead" or "behind" where it is beyond chance, else "open"."""
        if self.p is None or self.p >= LEVEL:
            return "open"
        return "ahead" if self.mean > 0 else "behind"


def paired(differences: Floats, ratio: float) -> Difference:
    """Test a mean difference; `ratio` is that of a test part to its training part.

    Examples
    --------
    >>> paired(np.array([0.02, 0.04, 0.03, 0.05]), ratio=1 / 3).verdict
    'ahead'
    """
    if len(differences) < FEWEST:
        return Difference(float(differences.mean()), None)
    believed = posterior(differences, ratio)
    tail = min(believed.above(0.0), 1 - believed.above(0.0))
    return Difference(believed.mean, 1.0 if believed.mean == 0 else min(1.0, 2 * tail))


@dataclass(frozen=True)
class MeasureScores:
    """All figures of one measure: what the tables, the claims and Figure 5 show.

    Parameters
    ----------
    measure : Measure
        The measure.
    runs : mapping
        For each (data, method, classifier) the figures of every whole run, by its number.
    trials : mapping
        The records of each (data, method).
    """

    measure: Measure
    runs: Mapping[Key, Mapping[int, list[float]]]
    trials: Mapping[tuple[str | int, ...], Members]

    def __getitem__(self, key: Key) -> Spread | None:
        """Return the figure of (data, method, classifier), None where it is missing or failed."""
        figures = [value for values in self.runs.get(key, {}).values() for value in values]
        return spread(figures) if figures else None

    def text(self, key: Key) -> str:
        """Return the same as text."""
        figure = self[key]
        if figure is not None:
            return str(figure)
        return FAILED if has_failed(self.trials.get(key[:2], ())) else ABSENT

    def count(self, data: str, method: str) -> int:
        """Return how many whole runs a row rests on."""
        return len(self.runs.get((data, method, CLASSIFIERS[0]), {}))

    def difference(
        self, data: str, method: str, other: str, classifier: str, margin: float = 0.0
    ) -> Difference | None:
        """Compare two methods, less a margin, figure by figure over the runs that both have."""
        mine, theirs = (self.runs.get((data, name, classifier), {}) for name in (method, other))
        shared = sorted(set(mine) & set(theirs))
        pairs = [pair for run in shared for pair in zip(mine[run], theirs[run], strict=True)]
        if not pairs:
            return None
        folds = len(pairs) // len(shared)
        d: Floats = np.array([one - two - margin for one, two in pairs])
        return paired(d, 1 / (folds - 1) if folds > 1 else 0.0)

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

    def best_other(self, data: str, classifier: str) -> str | None:
        """Return the best of the four that is not ours, None if one is missing."""
        ranking = [method for method in self.ranking(data, classifier) if method != OURS]
        return ranking[0] if ranking else None


def order(means: Mapping[str, float]) -> tuple[str, ...]:
    """Return the methods from best to worst; ties in the order in which they stand.

    Examples
    --------
    >>> order({"SOMO": 0.8, "k-SMOTE": 0.9, "ours": 0.9})
    ('k-SMOTE', 'ours', 'SOMO')
    """
    return tuple(sorted(means, key=lambda method: -means[method]))


def scores(records: Members) -> list[MeasureScores]:
    """Return the figures of every measure."""
    ours = [record for record in records if record.trial["experiment"] == EXPERIMENT]
    trials = gather(ours, ["data", "method"])
    complete = {key: _complete_runs(members) for key, members in trials.items()}
    folds: dict[Key, dict[int, Members]] = {}
    for (data, method), runs in complete.items():
        # the deep systems are rows on request: they do not take runs away from the others
        whole = in_all(of for (name, m), of in complete.items() if name == data and m in METHODS)
        found = {run: of_run for run, of_run in runs.items() if run in whole}
        if found:
            folds |= {(str(data), str(method), c): found for c in CLASSIFIERS}
    return [
        MeasureScores(
            measure,
            {
                key: {run: measure.values(_counts(of, key[-1])) for run, of in runs.items()}
                for key, runs in folds.items()
            },
            trials,
        )
        for measure in MEASURES
    ]


def _complete_runs(members: Members) -> dict[int, Members]:
    """Return the folds of every run that has all of them, none where a trial failed."""
    if has_failed(members):
        return {}
    runs = {int(run): of_run for (run,), of_run in gather(members, ["run"]).items()}
    return {run: of for run, of in runs.items() if len(of) == int(of[0].trial["folds"])}


def _counts(of_run: Members, classifier: str) -> list[Any]:
    """Return the confusion matrices of a classifier, fold by fold."""
    ordered = sorted(of_run, key=lambda record: int(record.trial["fold"]))
    return [record.payload[classifier] for record in ordered]


# --- tables ---------------------------------------------------------------------------


def score_table(figures: MeasureScores, data: str) -> ResultTable:
    """Return the table of one data set: for each method ours, the paper's, the difference."""
    rows: list[Sequence[str]] = []
    ran = {method for _, method in figures.trials}
    shown = (*METHODS, *(method for method in DEEP if method in ran))
    for method in shown:
        cells = [figures.text((data, method, c)) for c in CLASSIFIERS]
        rows.append((method, *cells, str(figures.count(data, method))))
        if any(figures.measure.published(data, method, c) for c in CLASSIFIERS):
            rows += _paper_rows(figures, data, method)
    here = [figures.ranking(data, c) for c in CLASSIFIERS]
    there = [figures.published_ranking(data, c) for c in CLASSIFIERS]
    first = [ranking[0] if ranking else ABSENT for ranking in here]
    rows.append(("first of the four", *first, ""))
    if any(there):
        rows.append(("  paper", *(ranking[0] for ranking in there), ""))
        agree = [_agreement(mine, paper) for mine, paper in zip(here, there, strict=True)]
        rows.append(("ranking agrees", *agree, ""))
    others = [figures.best_other(data, c) for c in CLASSIFIERS]
    rows += _paired_rows("ours - best other of the four", figures, data, others)
    rows += _paired_rows(f"ours - {CONTROL}", figures, data, [CONTROL] * len(CLASSIFIERS))
    concerned = {group: m for group, m in figures.trials.items() if group[0] == data}
    return ResultTable(
        f"{figures.measure.name}_{data}",
        f"{data}: {figures.measure.title}",
        ("method", *CLASSIFIERS, "runs"),
        rows,
        failures(concerned),
        [_record(figures, data, m, c) for m in shown for c in CLASSIFIERS],
    )


def _paired_rows(
    title: str, figures: MeasureScores, data: str, others: Sequence[str | None]
) -> list[tuple[str, ...]]:
    pairs = zip(CLASSIFIERS, others, strict=True)
    found = [other and figures.difference(data, OURS, other, c) for c, other in pairs]
    means = [f"{d.mean:+.3f}" if isinstance(d, Difference) else ABSENT for d in found]
    chances = [
        f"{d.p:.3f}" if isinstance(d, Difference) and d.p is not None else ABSENT for d in found
    ]
    return [(title, *means, ""), ("  p, paired", *chances, "")]


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
    return [("  paper", *printed, "100"), ("  difference", *differences, "")]


def _agreement(here: tuple[str, ...], there: tuple[str, ...]) -> str:
    if not here or not there:
        return ABSENT
    return "yes" if here == there else "no"


def _record(figures: MeasureScores, data: str, method: str, classifier: str) -> dict[str, Value]:
    figure = figures[data, method, classifier]
    printed = figures.measure.published(data, method, classifier)
    paired = None if method == OURS else figures.difference(data, OURS, method, classifier)
    return {
        "data": data,
        "measure": figures.measure.name,
        "method": method,
        "classifier": classifier,
        "runs": figures.count(data, method),
        "mean": None if figure is None else figure.mean,
        "deviation": None if figure is None else figure.deviation,
        "paper_mean": None if printed is None else printed[0],
        "paper_deviation": None if printed is None else printed[1],
        "difference": None if figure is None or printed is None else figure.mean - printed[0],
        "rank": _place(method, figures.ranking(data, classifier)),
        "paper_rank": _place(method, figures.published_ranking(data, classifier)),
        "ours_ahead_by": None if paired is None else paired.mean,
        "p": None if paired is None else paired.p,
        "state": figures.text((data, method, classifier)) if figure is None else "done",
    }


def _place(method: str, ranking: tuple[str, ...]) -> int | None:
    return ranking.index(method) + 1 if method in ranking else None


def summary_table(every: Sequence[MeasureScores], datasets: Sequence[str]) -> ResultTable:
    """Count the cells (data set and classifier) that ours wins and loses."""
    rows: list[Sequence[str]] = []
    for figures in every:
        for data in datasets:
            here = [figures.ranking(data, c) for c in CLASSIFIERS]
            there = [figures.published_ranking(data, c) for c in CLASSIFIERS]
            ranked = [ranking for ranking in here if ranking]
            won = sum(ranking[0] == OURS for ranking in ranked)
            agreed = sum(bool(mine) and mine == p for mine, p in zip(here, there, strict=True))
            rows.append(
                (
                    f"{data} {figures.measure.name}",
                    *((str(won), str(len(ranked) - won)) if ranked else (ABSENT, ABSENT)),
                    str(sum(r[0] == OURS for r in there)) if any(there) else ABSENT,
                    str(agreed) if ranked and any(there) else ABSENT,
                    *(_above(figures, data, other) for other in ("none", CONTROL)),
                )
            )
        rows.append(_total(figures, rows[-len(datasets) :]))
    return ResultTable(
        "summary",
        "Cells won and lost by ours (one cell for each classifier)",
        (
            *("data set and measure", "won", "lost", "won in the paper", "rankings agree"),
            *("above none", f"above {CONTROL}"),
        ),
        rows,
        ("A cell is won if ours is first of the four resampling methods; a tie is lost.",),
    )


def _total(figures: MeasureScores, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Add up the rows of one measure."""
    columns = list(zip(*rows, strict=True))[1:]
    known = [[int(cell) for cell in column if cell != ABSENT] for column in columns]
    return (f"all {figures.measure.name}", *(str(sum(c)) if c else ABSENT for c in known))


def _above(figures: MeasureScores, data: str, other: str) -> str:
    found = [figures.difference(data, OURS, other, c) for c in CLASSIFIERS]
    known = [d for d in found if d is not None]
    return str(sum(d.mean > 0 for d in known)) if known else ABSENT


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
    for place, (method, colour) in enumerate(zip(METHODS, COLOURS, strict=True)):
        known = [figures[data, method, c] or Spread(0.0, None) for c in CLASSIFIERS]
        heights = [figure.mean for figure in known]
        whiskers = [figure.deviation or 0.0 for figure in known]
        middle = (len(METHODS) - 1) / 2
        across = [number + (place - middle) * width for number in range(len(CLASSIFIERS))]
        axes.bar(across, heights, width, label=method, color=colour)
        axes.errorbar(across, heights, whiskers, fmt="none", ecolor="#444444", elinewidth=0.6)
        tops += [height for height in heights if height > 0]
    lowest = max(0.0, min(tops, default=0.0) - LOWEST)
    axes.set(ylim=(lowest, 1.0), ylabel="F-measure")
    axes.set_xticks(range(len(CLASSIFIERS)), CLASSIFIERS)
