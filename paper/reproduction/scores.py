"""Experiment II: what six classifiers make of a fold after each method, beside the paper's.

    Table III    G-mean of each method and classifier
    Figure 5     F-measure of each method and classifier, as a table and as bars

A trial is one fold of one run and one method: the fold is cut first, only its training part is
resampled, once, and the six classifiers are fitted to it. Its result is their confusion matrices;
every measure comes from these.

Only whole runs of the cross-validation count: those of which a table has every fold of every
method. So all rows of a table rest on the same folds, also on the page of a run that was stopped;
the last column says on how many. Methods are compared by the differences of their figures, fold by
fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from counterbalance.arrays import Floats
from paper.classifiers import CLASSIFIERS, f_measure, g_mean, make_classifier
from paper.reproduction import Settings, failures, published, spread, with_columns
from paper.reproduction.methods import (
    CONTROL,
    METHODS,
    OURS,
    RESAMPLING,
    as_classified,
    load_labelled,
    resampled,
)
from paper.tables import ABSENT, FAILED, Table, new_figure
from paper.trials import ERROR, Frame, Trial, seed_of

EXPERIMENT = "scores"
# Names of the measures, and what they are called.
MEASURES = {
    "g_mean": "G-mean (Table III), mean of the folds",
    "g_mean_pooled": "G-mean of a run's folds together",
    "f_measure": "F-measure (Figure 5)",
}
LEVEL = 0.05
FEWEST = 2  # differences that a test needs
COLOURS = ("#b8b8b8", "#d98880", "#e0a030", "#6aa84f", "#8e6bbf", "#1f4fd8", "#7fa8f0", "#17a2a2")
LOWEST = 0.05


def trials(settings: Settings) -> list[Trial]:
    """Return a trial for each run, data set, fold and method, in this order.

    So a run of the cross-validation is complete on every data set before the next one begins.
    """
    most = max((settings.runs_of(data) for data in settings.datasets), default=0)
    return [
        {
            "experiment": EXPERIMENT,
            "data": data,
            "rows": settings.rows_of(data),
            "method": method,
            "run": run,
            "folds": settings.folds,
            "fold": fold,
        }
        for run in range(most)
        for data in settings.datasets
        if run < settings.runs_of(data)
        for fold in range(settings.folds)
        for method in settings.methods
    ]


def compute(trial: Trial) -> dict[str, Any]:
    """Resample a training part once; return the confusion matrix of each classifier.

    A classifier's seed belongs to the fold and not to the method: all methods get the same one.
    """
    data, method = str(trial["data"]), str(trial["method"])
    rows, run, folds, fold = (int(trial[name]) for name in ("rows", "run", "folds", "fold"))
    place = (data, rows, run, folds, fold)
    table = load_labelled(data, rows)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    train, test = list(splitter.split(np.zeros(len(table.y)), table.y))[fold]
    X, y, preparation = resampled(
        method, table.X.iloc[train], table.y[train], seed_of(*place, method)
    )
    X, X_test = as_classified(X), as_classified(preparation.transform(table.X.iloc[test]))
    counts = {}
    for name in CLASSIFIERS:
        predicted = make_classifier(name, seed_of(*place, name)).fit(X, y).predict(X_test)
        matrix = confusion_matrix(table.y[test], predicted, labels=list(table.classes))
        counts[name] = matrix.tolist()
    return {"resampled rows": len(y), **counts}


class Difference(NamedTuple):
    """Mean difference of two methods over the runs that both have, and its two-sided p."""

    mean: float
    p: float | None

    @property
    def verdict(self) -> str:
        """Return "ahead" or "behind" where it is beyond chance, else "open"."""
        if self.p is None or self.p >= LEVEL:
            return "open"
        return "ahead" if self.mean > 0 else "behind"


def paired(d: Floats, ratio: float) -> Difference:
    """Test a mean difference by the t test corrected for training parts that overlap.

    d      (n,) differences
    ratio  of a test part to its training part (Nadeau and Bengio)

    >>> paired(np.array([0.02, 0.04, 0.03, 0.05]), ratio=1 / 3).verdict
    'ahead'
    """
    mean, n = float(d.mean()), len(d)
    if n < FEWEST:
        return Difference(mean, None)
    scale = float(np.sqrt(np.var(d, ddof=1) * (1 / n + ratio)))
    if mean == 0 or scale == 0:
        return Difference(mean, float(mean == 0))
    return Difference(mean, min(1.0, 2 * float(student.sf(abs(mean) / scale, n - 1))))


@dataclass(frozen=True, eq=False)
class Scores:
    """All figures of one measure: what the tables, the claims and Figure 5 show."""

    measure: str
    # Figures by data set, classifier, run and fold, a column for each method; of whole runs only.
    values: Frame
    ran: Frame  # the trials

    def figures(self, data: str, method: str, classifier: str) -> Frame:
        """Return the figures of a cell by run and fold; none where it has not run or failed."""
        if method not in self.values or (data, classifier) not in self.values.index:
            return pd.Series(
                index=pd.MultiIndex.from_tuples([], names=["run", "fold"]), dtype=float
            )
        return self.values.loc[(data, classifier), method].dropna()

    def mean(self, data: str, method: str, classifier: str) -> float:
        """Return the mean of a cell, nan where there is none."""
        return float(self.figures(data, method, classifier).mean())

    def text(self, data: str, method: str, classifier: str) -> str:
        """Return a cell as text: mean and standard deviation."""
        figures = self.figures(data, method, classifier)
        if len(figures):
            return spread(figures.mean(), figures.std())
        mine = (self.ran["data"] == data) & (self.ran["method"] == method)
        return FAILED if self.ran.loc[mine, ERROR].notna().any() else ABSENT

    def count(self, data: str, method: str) -> int:
        """Return how many whole runs a row rests on."""
        return len(self.figures(data, method, CLASSIFIERS[0]).index.unique("run"))

    def difference(
        self, data: str, method: str, other: str, classifier: str, margin: float = 0.0
    ) -> Difference | None:
        """Compare two methods, less a margin, figure by figure over the runs that both have."""
        mine, theirs = (self.figures(data, name, classifier) for name in (method, other))
        d = (mine - theirs).dropna() - margin
        if not len(d):
            return None
        folds = len(d) // len(d.index.unique("run"))
        return paired(d.to_numpy(), 1 / (folds - 1) if folds > 1 else 0.0)

    def ranking(self, data: str, classifier: str) -> tuple[str, ...]:
        """Return the four resampling methods from best to worst; empty if one is missing."""
        return order({m: self.mean(data, m, classifier) for m in RESAMPLING})

    def published(self, data: str, method: str, classifier: str) -> tuple[float, float]:
        """Return mean and deviation that the paper prints of a cell, nan where it prints none."""
        printed = published.g_mean(data, method, classifier) if "g_mean" in self.measure else None
        return printed or (np.nan, np.nan)

    def published_ranking(self, data: str, classifier: str) -> tuple[str, ...]:
        """Return the same ranking in the paper; empty where it prints no figures."""
        return order({m: self.published(data, m, classifier)[0] for m in RESAMPLING})

    def best_other(self, data: str, classifier: str) -> str | None:
        """Return the best of the four that is not ours, None if one is missing."""
        return next((m for m in self.ranking(data, classifier) if m != OURS), None)


def order(means: dict[str, float]) -> tuple[str, ...]:
    """Return methods from best to worst, ties in the order in which they stand; () if one is nan.

    >>> order({"SOMO": 0.8, "k-SMOTE": 0.9, "ours": 0.9})
    ('k-SMOTE', 'ours', 'SOMO')
    """
    if np.isnan(list(means.values())).any():
        return ()
    return tuple(sorted(means, key=lambda method: -means[method]))


def scores(ran: Frame) -> list[Scores]:
    """Return the figures of every measure."""
    ran = with_columns(ran, ["data", "method", "run", "folds", "fold", *CLASSIFIERS])
    done = _whole_runs(ran[ran.groupby(["data", "method"])[ERROR].transform("count") == 0])
    names = ["data", "classifier", "run", "fold", "method"]
    long = done.melt(["data", "method", "run", "fold"], list(CLASSIFIERS), "classifier", "counts")
    counts = long.set_index(names)["counts"]
    pooled = counts.groupby(["data", "classifier", "run", "method"], sort=False)
    pooled = pd.concat({0: pooled.agg(lambda folds: np.sum([*folds], axis=0))}, names=["fold"])
    figures = {
        "g_mean": counts.map(g_mean),
        "g_mean_pooled": pooled.map(g_mean).reorder_levels(names),
        "f_measure": counts.map(f_measure),
    }
    return [Scores(name, values.unstack("method"), ran) for name, values in figures.items()]


def _whole_runs(done: Frame) -> Frame:
    """Return the runs that are complete and that every method of a data set has."""
    folds = done.groupby(["data", "method", "run"])["fold"].transform("size")
    complete = done[folds == done["folds"]]
    known = complete.groupby("data")["method"].transform("nunique")
    return complete[complete.groupby(["data", "run"])["method"].transform("nunique") == known]


# --- tables ---------------------------------------------------------------------------


def score_table(scores: Scores, data: str) -> Table:
    """Return the table of one data set: for each method ours, the paper's, the difference."""
    rows: list[tuple[str, ...]] = []
    for method in METHODS:
        cells = [scores.text(data, method, c) for c in CLASSIFIERS]
        rows.append((method, *cells, str(scores.count(data, method))))
        printed = [scores.published(data, method, c) for c in CLASSIFIERS]
        if not np.isnan(printed).any():
            gaps = [
                scores.mean(data, method, c) - p[0]
                for c, p in zip(CLASSIFIERS, printed, strict=True)
            ]
            rows.append(("  paper", *(spread(*pair) for pair in printed), "100"))
            shown = (ABSENT if np.isnan(gap) else f"{gap:+.3f}" for gap in gaps)
            rows.append(("  difference", *shown, ""))
    here = [scores.ranking(data, c) for c in CLASSIFIERS]
    there = [scores.published_ranking(data, c) for c in CLASSIFIERS]
    first = (ranking[0] if ranking else ABSENT for ranking in here)
    rows.append(("first of the four", *first, ""))
    if any(there):
        rows.append(("  paper", *(ranking[0] for ranking in there), ""))
        pairs = zip(here, there, strict=True)
        agree = [("yes" if mine == paper else "no") if mine else ABSENT for mine, paper in pairs]
        rows.append(("ranking agrees", *agree, ""))
    others = [scores.best_other(data, c) for c in CLASSIFIERS]
    rows += _paired_rows("ours - best other of the four", scores, data, others)
    rows += _paired_rows(f"ours - {CONTROL}", scores, data, [CONTROL] * len(CLASSIFIERS))
    figures = pd.DataFrame([_record(scores, data, m, c) for m in METHODS for c in CLASSIFIERS])
    return Table(
        f"{scores.measure}_{data}",
        f"{data}: {MEASURES[scores.measure]}",
        ("method", *CLASSIFIERS, "runs"),
        rows,
        failures(scores.ran[scores.ran["data"] == data], ["data", "method"]),
        figures.astype({"rank": "Int64", "paper_rank": "Int64"}),
    )


def _paired_rows(
    title: str, scores: Scores, data: str, others: Sequence[str | None]
) -> list[tuple[str, ...]]:
    pairs = zip(CLASSIFIERS, others, strict=True)
    found = [scores.difference(data, OURS, other, c) if other else None for c, other in pairs]
    means = [f"{d.mean:+.3f}" if d else ABSENT for d in found]
    chances = [f"{d.p:.3f}" if d and d.p is not None else ABSENT for d in found]
    return [(title, *means, ""), ("  p, paired", *chances, "")]


def _record(scores: Scores, data: str, method: str, classifier: str) -> dict[str, Any]:
    """Return the figures of a cell in full precision."""
    figures = scores.figures(data, method, classifier)
    printed = scores.published(data, method, classifier)
    ahead = None if method == OURS else scores.difference(data, OURS, method, classifier)
    rankings = (of(data, classifier) for of in (scores.ranking, scores.published_ranking))
    rank, paper_rank = (r.index(method) + 1 if method in r else None for r in rankings)
    return {
        "data": data,
        "measure": scores.measure,
        "method": method,
        "classifier": classifier,
        "runs": scores.count(data, method),
        "mean": figures.mean(),
        "deviation": figures.std(),
        "paper_mean": printed[0],
        "paper_deviation": printed[1],
        "difference": figures.mean() - printed[0],
        "rank": rank,
        "paper_rank": paper_rank,
        "ours_ahead_by": None if ahead is None else ahead.mean,
        "p": None if ahead is None else ahead.p,
        "state": "done" if len(figures) else scores.text(data, method, classifier),
    }


def summary_table(every: Sequence[Scores], datasets: Sequence[str]) -> Table:
    """Count the cells (data set and classifier) that ours wins and loses."""
    rows: list[tuple[str, ...]] = []
    for scores in every:
        counted = pd.DataFrame([_summary(scores, data) for data in datasets], dtype="Int64")
        total = counted.sum(min_count=1).to_frame().T
        names = [*(f"{data} {scores.measure}" for data in datasets), f"all {scores.measure}"]
        cells = pd.concat([counted, total]).astype("string").fillna(ABSENT)
        lines = zip(names, cells.itertuples(index=False), strict=True)
        rows += [(name, *line) for name, line in lines]
    return Table(
        "summary",
        "Cells won and lost by ours (one cell for each classifier)",
        (
            *("data set and measure", "won", "lost", "won in the paper", "rankings agree"),
            *("above none", f"above {CONTROL}"),
        ),
        rows,
        ("A cell is won if ours is first of the four resampling methods; a tie is lost.",),
    )


def _summary(scores: Scores, data: str) -> list[int | None]:
    """Return how many cells of a data set are won, lost, won in the paper and so on."""
    here = [scores.ranking(data, c) for c in CLASSIFIERS]
    there = [scores.published_ranking(data, c) for c in CLASSIFIERS]
    ranked = [ranking for ranking in here if ranking]
    won = sum(ranking[0] == OURS for ranking in ranked)
    agreed = sum(bool(mine) and mine == paper for mine, paper in zip(here, there, strict=True))
    above = []
    for other in ("none", CONTROL):
        found = [d for c in CLASSIFIERS if (d := scores.difference(data, OURS, other, c))]
        above.append(sum(d.mean > 0 for d in found) if found else None)
    return [
        won if ranked else None,
        len(ranked) - won if ranked else None,
        sum(ranking[0] == OURS for ranking in there) if any(there) else None,
        agreed if ranked and any(there) else None,
        *above,
    ]


# --- Figure 5 -------------------------------------------------------------------------


def draw_f_measure(scores: Scores, datasets: Sequence[str]) -> Any:
    """Draw grouped bars with the standard deviation as whiskers."""
    rows = (len(datasets) + 1) // 2
    figure, panels = new_figure(2 if len(datasets) > 1 else 1, rows, width=5.2, height=2.7)
    for axes in panels[len(datasets) :]:
        axes.set_axis_off()
    for axes, data in zip(panels, datasets, strict=False):
        _bars(axes, scores, data)
        axes.set_title(f"{data}{' (simulated)' if data == 'ILC' else ''}", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), fontsize=8)
    return figure


def _bars(axes: Any, scores: Scores, data: str) -> None:
    width = 0.8 / len(METHODS)
    lowest = 1.0
    for place, (method, colour) in enumerate(zip(METHODS, COLOURS, strict=True)):
        figures = [scores.figures(data, method, c) for c in CLASSIFIERS]
        heights, whiskers = np.nan_to_num([(each.mean(), each.std()) for each in figures]).T
        across = np.arange(len(CLASSIFIERS)) + (place - (len(METHODS) - 1) / 2) * width
        axes.bar(across, heights, width, label=method, color=colour)
        axes.errorbar(across, heights, whiskers, fmt="none", ecolor="#444444", elinewidth=0.6)
        lowest = min([lowest, *heights[heights > 0]])
    axes.set(ylim=(max(0.0, lowest - LOWEST), 1.0), ylabel="F-measure")
    axes.set_xticks(range(len(CLASSIFIERS)), CLASSIFIERS)
