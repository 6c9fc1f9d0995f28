"""The study of baselines: a trial fits one to a training fold and measures it on the test fold.

The protocol is CLIMB's (Liu et al. 2025): stratified folds, average precision, macro-F1 and
balanced accuracy, and beside them the Brier score, because users need probabilities, too.
``seconds`` is the processor time of the whole fit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from paper.classifiers import as_call, expected_warnings
from paper.study import fold_of, measure
from paper.study.baselines import BASELINES
from paper.study.methods import NONE
from paper.study.page import Protocol
from paper.study.scores import Kind, Scores, mean_ranks, oriented, record, standing
from paper.study.tables import against_table, failure_tables, mean_table, rank_table
from paper.tables import Table, bold
from paper.trials import Trial, seed_of

METRICS = {
    "average_precision": "average precision",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "brier": "Brier score",
}
BESIDE = {"g_mean": "G-mean", "f_measure": "F-measure"}  # the paper's, of the ensembles
TOGETHER = (
    ("average_precision", "macro_f1", "balanced_accuracy"),
    ("average_precision", "f_measure", "g_mean"),
)
MODEL = "model"  # a baseline is one classifier, where a method of the study stands before six
RANK_NOTE = (
    ". `ms` is the median processor time of one fit, everything included, `failed` the number of "
    "folds on which the baseline failed and counts as none. Ours are bold, and so is the best of a "
    "column."
)


def compute(trial: Trial) -> dict[str, float]:
    """Fit a baseline to a training fold and measure it on the test fold."""
    fold = fold_of(trial)
    baseline = BASELINES[str(trial["method"])].make(seed_of(*fold.place))
    with expected_warnings():
        start = time.process_time()
        baseline.fit(fold.X, fold.y)
        seconds = time.process_time() - start
        found = measure(baseline, fold.X_test, fold.y_test, fold.n_classes)
    return {"seconds": seconds, **{f"{MODEL} {name}": value for name, value in found.items()}}


def tables(scores: Scores) -> list[Table]:
    """Return every table of a suite."""
    return [
        rank_table(scores, RANK_NOTE, with_brier=True),
        *ensemble_tables(scores),
        leaders_table(scores),
        mean_table(scores),
        *(against_table(scores, method) for method in scores.ours),
        *failure_tables(scores),
    ]


def ensemble_tables(scores: Scores) -> list[Table]:
    """Return the mean ranks of the ensembles among themselves, if ours ran beside another.

    A user who wants one model for everything looks at several metrics together: CLIMB's, or those
    of the paper and average precision.
    """
    names = [name for name in scores.methods if BASELINES[name].ensemble]
    own = [name for name in names if name in scores.ours]
    others = [name for name in names if name not in own]
    if not own or not others:
        return []
    among, labels = scores.among(names), METRICS | BESIDE
    ranks = pd.DataFrame({metric: mean_ranks(among, metric) for metric in labels})
    joined = {
        ", ".join(labels[metric] for metric in together): ranks[list(together)].mean(axis=1)
        for together in TOGETHER
    }
    ranks = ranks.rename(columns=labels).assign(**joined)
    ranks = ranks.sort_values(list(joined)[-1], kind="stable")
    rows = [
        (
            bold(str(name), when=name in own),
            *(bold(f"{value:.2f}", when=value == ranks[c].min()) for c, value in values.items()),
        )
        for name, values in ranks.iterrows()
    ]
    note = f"Mean ranks of {len(names)}; the last {len(TOGETHER)} columns are means of others."
    return [
        Table(
            "ensembles",
            f"The {len(names)} ensembles among themselves",
            ("method", *ranks),
            rows,
            (note, *(_brier_wins(among, name, others) for name in own)),
            ranks.rename_axis("method").reset_index(),
        )
    ]


def _brier_wins(scores: Scores, name: str, others: Sequence[str]) -> str:
    won = (f"{other} {record(scores, 'brier', name, other).wins}" for other in others)
    return (
        f"Of {len(scores.datasets)} data sets {name} has a better Brier score than the other on: "
        f"{', '.join(won)}."
    )


def leaders_table(scores: Scores) -> Table:
    """Return who is first on each data set, and what none and the best of ours reach."""
    rows, own = [], list(scores.ours)
    for metric, label in METRICS.items():
        values = scores.by_dataset(metric)
        first = oriented(values, metric).idxmax(axis=1)
        ours = oriented(values[own], metric).idxmax(axis=1) if own else {}
        for data, line in values.iterrows():
            best = f"{line[first[data]]:.3f} ({first[data]})"
            mine = [f"{line[ours[data]]:.3f} ({ours[data]})"] if own else []
            rows.append((str(data), label, best, f"{line[NONE]:.3f}", *mine))
    columns = ("data set", "metric", "first", "none", *(["best of ours"] if own else []))
    note = "Who is first is known after the fact, so part of its lead is chance."
    figures = pd.concat({m: scores.by_dataset(m).stack() for m in METRICS}, names=["metric"])
    return Table(
        "by_data_set",
        "First on each table",
        columns,
        rows,
        (note,),
        figures.rename("value").reset_index(),
    )


def page_fields(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Return what the page says of who leads, and of the baselines that ran."""
    lines = []
    for name, of_suite in scores.items():
        lines += [f"On **{name}**, {len(of_suite.datasets)} data sets:", ""]
        lines += [*(leader(of_suite, metric) for metric in METRICS), ""]
    ran = {method for of_suite in scores.values() for method in of_suite.methods}
    described = (
        f"- **{name}**: {one.about}. `{as_call(one.make(0))}`"
        for name, one in BASELINES.items()
        if name in ran
    )
    return {"leaders": "\n".join(lines).rstrip(), "baselines": "\n".join(described)}


def leader(scores: Scores, metric: str) -> str:
    """Say who has the best mean rank, and where none and the best of ours stand."""
    ranks = mean_ranks(scores, metric)
    first = [name for name in scores.methods if ranks[name] == ranks.min()]
    text = f"- **{METRICS[metric]}**: {' and '.join(first)} (mean rank {ranks.min():.2f})"
    text += " lead" if len(first) > 1 else " leads"
    if NONE not in first:
        text += f"; none has {ranks[NONE]:.2f}"
    others = [name for name in scores.methods if name not in scores.ours]
    if not scores.ours or not others:
        return f"{text}."
    own = min(scores.ours, key=ranks.__getitem__)
    found = standing(scores, metric, own, others)
    return (
        f"{text}. The best of ours is {own} ({found.rank:.2f}); the probability that it is better "
        f"than {found.best} on a further table is {found.probability:.2f}."
    )


OURS = frozenset(name for name, baseline in BASELINES.items() if baseline.ours)
PROTOCOL = Protocol(
    "baselines",
    "baselines",
    tuple(BASELINES),
    Kind(METRICS, (MODEL,), OURS, BESIDE),
    compute,
    tables,
    page_fields,
    lambda _: [],
)
