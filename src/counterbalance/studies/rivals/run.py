"""The study of rivals: a trial fits one rival to a training fold and judges it on the test fold.

The protocol is CLIMB's (Liu et al. 2025): stratified folds, average precision, macro-F1 and
balanced accuracy, and beside them the Brier score, because a classifier that is put to use is
asked for probabilities too. ``seconds`` is the processor time of the whole fit.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from counterbalance.result_table import ResultTable, Value, as_markdown
from counterbalance.studies.probes import Probe, joined, larger_probe, of_looks, probe_tables
from counterbalance.studies.rivals.registry import RIVALS
from counterbalance.studies.study.identity import of_data, of_figures
from counterbalance.studies.study.methods import NONE
from counterbalance.studies.study.run import PACKAGES, Part, Protocol, sizes
from counterbalance.studies.study.scores import ScoreKind, StudyScores, mean_ranks, record, standing
from counterbalance.studies.study.tables import (
    CAPTION,
    against_table,
    bold,
    failure_tables,
    mean_table,
    rank_table,
)
from counterbalance.studies.study.trials import LOWER_IS_BETTER, folds_of, load_labelled, measure
from counterbalance.trials.classifiers import as_call
from counterbalance.trials.resamplers import expected_warnings
from counterbalance.trials.trial import Trial, seed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
        *ensemble_tables(scores),
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


def ensemble_tables(scores: StudyScores) -> Iterable[ResultTable]:
    """Return the mean ranks of the ensembles among themselves, if ours ran beside another.

    A user who wants one model for everything looks at several metrics together: CLIMB's, or those
    of the paper and average precision.
    """
    names = [name for name in scores.methods if RIVALS[name].ensemble]
    own = [name for name in names if name in scores.ours]
    if not own or len(names) == len(own):
        return
    among = scores.among(names)
    labels = scores.kind.collected
    single = {metric: mean_ranks(among, metric) for metric in labels}
    joined = {
        ", ".join(labels[metric] for metric in together): np.mean(
            [single[metric] for metric in together], axis=0
        )
        for together in TOGETHER
    }
    columns = {**{labels[metric]: ranks for metric, ranks in single.items()}, **joined}
    *_, decides = joined.values()
    rows: list[tuple[str, ...]] = []
    records: list[dict[str, Value]] = []
    for place in np.argsort(decides, kind="stable"):
        name = names[place]
        values = {column: float(ranks[place]) for column, ranks in columns.items()}
        shown = (bold(f"{v:.2f}", when=v == columns[c].min()) for c, v in values.items())
        rows.append((bold(name, when=name in own), *shown))
        records.append({"method": name, **values})
    others = [name for name in names if name not in own]
    notes = [_brier_wins(among, name, others) for name in own]
    note = f"Mean ranks of {len(names)}; the last {len(TOGETHER)} columns are means of others."
    title = f"The {len(names)} ensembles among themselves"
    yield ResultTable("ensembles", title, ("method", *columns), rows, (note, *notes), records)


def _brier_wins(scores: StudyScores, name: str, others: Sequence[str]) -> str:
    won = (f"{other} {record(scores, 'brier', name, other).wins}" for other in others)
    return (
        f"Of {len(scores.datasets)} data sets {name} has a better Brier score than the other on: "
        f"{', '.join(won)}."
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


def compute(trial: Trial) -> dict[str, float]:
    """Fit a rival to a training fold and judge it on the test fold."""
    data, rows = str(trial["data"]), int(trial["rows"])
    repeat, fold = int(trial["repeat"]), int(trial["fold"])
    table = load_labelled(data, rows)
    train, test = folds_of(data, rows, int(trial["folds"]), repeat)[fold]
    rival = RIVALS[str(trial["method"])].make(seed_of(data, repeat, fold))
    with expected_warnings():
        start = time.process_time()
        rival.fit(table.X.iloc[train], table.y[train])
        seconds = time.process_time() - start
        judged = measure(rival, table.X.iloc[test], table.y[test], table.n_classes)
    return {"seconds": seconds, **{f"{MODEL} {name}": value for name, value in judged.items()}}


def made_by(trial: Trial) -> str:
    """Return the digest of all that a trial's figures depend on, apart from its own names."""
    return joined(of_data(trial), of_rival(str(trial["method"])))


@lru_cache
def of_rival(name: str) -> str:
    """Return the digest of the figures that a rival has on the probe tables."""

    def look(probe: Probe) -> bytes:
        y, known = probe.codes, np.arange(len(probe.y)) % 2 == 0
        rival = RIVALS[name].make(1).fit(probe.X[known], y[known])
        return of_figures(rival, probe.X[~known], y[~known])

    return of_looks(look, (*probe_tables()[:2], larger_probe()))


RIVAL_STUDY = Protocol(
    "rivals",
    "rivals",
    ScoreKind(METRICS, (MODEL,), frozenset(name for name, r in RIVALS.items() if r.ours), BESIDE),
    compute,
    made_by,
    tables,
    page,
    (*PACKAGES, "lightgbm"),
)
