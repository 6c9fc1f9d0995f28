"""The page of the rivals, ``docs/rivals.md``: who leads, said first, then the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterbalance.result_table import ResultTable, Value, as_markdown
from counterbalance.studies.rivals.registry import RIVALS
from counterbalance.studies.study.methods import NONE
from counterbalance.studies.study.page import Part, sizes
from counterbalance.studies.study.scores import StudyScores, mean_ranks, standing
from counterbalance.studies.study.tables import (
    CAPTION,
    against_table,
    failure_tables,
    mean_table,
    rank_table,
)
from counterbalance.studies.study.trials import LOWER_IS_BETTER
from counterbalance.trials.classifiers import as_call

METRICS = {
    "average_precision": "average precision",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "brier": "Brier score",
}
MODEL = "model"  # a rival is one classifier, where a method of the study stands before six
RANK_NOTE = (
    ". `ms` is the median processor time of one fit, everything included, `failed` the number of "
    "folds on which the rival failed and counts as none. Ours are bold, and so is the best of a "
    "column."
)
INTRODUCTION = """\
# What would a demanding user take instead?

Not a resampler before six classifiers, as in [the study](results.md), but one strong classifier
and whatever helps it: a threshold, class weights, an ensemble of balanced parts, a sampler.
Computed and written by `counterbalance study --rivals`."""
PROTOCOL = """\
## How it is measured

After CLIMB (Liu et al. 2025, *Class-imbalanced Learning Benchmark on Tabular Data*): stratified
folds, average precision, macro-F1 (the mean of the F-measures of all classes) and balanced accuracy
(the mean of the recalls); the Brier score beside them, lower is better. CLIMB tunes every method
with a hundred trials; here every rival has one configuration for all tables, given below. Answers
are those of the rival's own `predict`. A threshold changes answers and no probabilities, so the
base with a threshold has the average precision and the Brier score of none. The base, LightGBM
and our samplers take the table as it is, with categories and holes; the others take it encoded, as
the peers of the study do.

What was chosen by looking at the open half of the field, whose figures it therefore flatters: the
base has small trees and steps, the one setting that was tried beside its defaults. With the
defaults, in an earlier run of eight of the rivals, it overfits tables of this size, and there
interior led on average precision and shared the lead on macro-F1; without any resampling a forest
and a logistic regression had the better average precision, so they joined. Trees of depth 5 in
RUSBoost (of four depths) and the base in the self-paced ensemble (of three) were the better ones on
six of these tables."""


def tables(scores: StudyScores) -> list[ResultTable]:
    """Return every table of a part."""
    return [
        rank_table(scores, RANK_NOTE),
        leaders_table(scores),
        mean_table(scores),
        *(against_table(scores, method) for method in scores.ours),
        *failure_tables(scores),
    ]


def page(parts: Sequence[Part], versions: Mapping[str, str], figures: str) -> str:
    """Write the page from one part for each suite; the pictures are in the folder ``figures``."""
    lines = [INTRODUCTION, "", "## Who leads", ""]
    for part in parts:
        lines += [f"On **{part.name}**, {len(part.scores.datasets)} data sets:", ""]
        lines += [*leaders(part.scores), ""]
    lines += [PROTOCOL, "", "## The rivals", ""]
    ran = {method for part in parts for method in part.scores.methods} or set(RIVALS)
    for name in (name for name in RIVALS if name in ran):
        call = as_call(RIVALS[name].make(0))
        lines.append(f"- **{name}**: {RIVALS[name].about}. `{call}`")
    for part in parts:
        lines += ["", f"## {part.name.capitalize()}", "", sizes(part)]
        lines += ["", f"![mean ranks]({figures}/rivals_{part.slug}.png)", "", CAPTION, ""]
        lines += [as_markdown(table) for table in part.tables]
    lines += ["", "## Versions", ""]
    lines += [f"- {name} {version}" for name, version in versions.items()]
    return "\n".join(lines).rstrip() + "\n"


def leaders(scores: StudyScores) -> list[str]:
    """Say for each metric who has the best mean rank, and where none and the best of ours stand."""
    return [_leader(scores, metric) for metric in scores.metrics]


def _leader(scores: StudyScores, metric: str) -> str:
    ranks = dict(zip(scores.methods, mean_ranks(scores, metric).tolist(), strict=True))
    best = min(ranks.values())
    first = [name for name, rank in ranks.items() if rank == best]
    text = f"- **{scores.metrics[metric]}**: {' and '.join(first)} (mean rank {best:.2f})"
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


def leaders_table(scores: StudyScores) -> ResultTable:
    """Return who is first on each data set, and what none and the best of ours reach."""
    shown = dict(enumerate(scores.methods))
    own = [scores.place(name) for name in scores.ours]
    rows: list[tuple[str, ...]] = []
    records: list[dict[str, Value]] = []
    for metric, label in scores.metrics.items():
        values = scores.by_dataset(metric)
        oriented = -values if metric in LOWER_IS_BETTER else values
        for d, data in enumerate(scores.datasets):
            first = int(oriented[:, d].argmax())
            none = float(values[scores.place(NONE), d])
            best = float(values[first, d])
            cells = [data, label, f"{best:.3f} ({shown[first]})", f"{none:.3f}"]
            if own:
                ours = own[int(np.argmax(oriented[own, d]))]
                cells.append(f"{values[ours, d]:.3f} ({shown[ours]})")
            rows.append(tuple(cells))
            records += [
                {"data": data, "metric": metric, "method": name, "value": float(values[place, d])}
                for place, name in shown.items()
            ]
    columns = ("data set", "metric", "first", "none", *(["best of ours"] if own else []))
    note = "Who is first is known after the fact, so part of its lead is luck."
    return ResultTable("by_data_set", "First on each table", columns, rows, (note,), records)
