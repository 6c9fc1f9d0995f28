"""The tables of a study, and the picture of the mean ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterbalance.result_table import ResultTable, Value
from counterbalance.rows.origins import HEADS, NEAREST, ORIGINS, percent
from counterbalance.studies.canvas import new_figure
from counterbalance.studies.study.methods import NONE, OURS, PAPER, PEERS
from counterbalance.studies.study.scores import (
    StudyScores,
    critical_difference,
    mean_ranks,
    probability,
    ranks_by_dataset,
    record,
    standing,
)
from counterbalance.studies.study.trials import LOWER_IS_BETTER, METRICS

MILLISECONDS = 1000
WORST_SHOWN = 8
PANELS = 4

OUR_COLOUR, OTHER_COLOUR, BAR_COLOUR = "#c1121f", "#33415c", "#c9d1dc"
RANK_NOTE = (
    " with six classifiers each; the Brier score has no SVM. `ms` is the median processor time of "
    "one resampling, the preparation included, `failed` the number of folds on which the method "
    "failed and counts as no resampling. Ours are bold, and so is the best of a column."
)
CAPTION = (
    "Mean ranks over the data sets (a data set counts once, by the mean over its classifiers; "
    "left is better). The grey band reaches as far from the best as the critical difference of "
    "Nemenyi's test at 0.05: methods inside it are not told apart from the best by that test."
)


def all_tables(scores: StudyScores) -> list[ResultTable]:
    """Return every table of a study."""
    ours, others = scores.ours, not set(PEERS).isdisjoint(scores.methods)
    return [
        rank_table(scores),
        *origin_tables(scores),
        *(against_table(scores, method) for method in ours),
        *(claims_table(scores, method) for method in ours),
        *(loss_table(scores, method) for method in ours if others),
        mean_table(scores),
        *failure_tables(scores),
    ]


def rank_table(scores: StudyScores, note: str = RANK_NOTE) -> ResultTable:
    """Return the mean ranks of all methods, the best sum on top.

    The Brier score counts in the sum only where a method is judged with all its parts, as rivals
    are: what a resampler does to probabilities is undone by a prior correction.
    """
    by_metric = {metric: mean_ranks(scores, metric) for metric in scores.metrics}
    summed = [m for m in scores.metrics if m not in LOWER_IS_BETTER or scores.metrics != METRICS]
    total = sum(by_metric[metric] for metric in summed)
    failed = dict.fromkeys(scores.methods, 0)
    for (method, _), count in scores.failed.items():
        failed[method] += count
    best = {metric: by_metric[metric].min() for metric in scores.metrics}
    rows, records = [], []
    for place in np.argsort(total):
        method = scores.methods[place]
        values = {metric: float(by_metric[metric][place]) for metric in scores.metrics}
        seconds = float(scores.seconds[place])
        rows.append(
            (
                bold(method, when=method in scores.ours),
                *(bold(f"{v:.2f}", when=v == best[metric]) for metric, v in values.items()),
                f"{seconds * MILLISECONDS:.0f}",
                str(failed[method] or ""),
            )
        )
        records.append({"method": method, **values, "seconds": seconds, "failed": failed[method]})
    return ResultTable(
        "ranks",
        f"Mean ranks of {len(scores.methods)} methods (1 is the best)",
        ("method", *scores.metrics.values(), "ms", "failed"),
        rows,
        (f"{len(scores.datasets)} data sets{note}",),
        records,
    )


def origin_tables(scores: StudyScores) -> Iterable[ResultTable]:
    """Return what the new rows of ours are, if any of ours ran."""
    if not scores.origins:
        return
    rows, records = [], []
    for method, counts in scores.origins.items():
        made = counts[counts.sum(axis=1) > 0]
        share = (made / made.sum(axis=1, keepdims=True)).mean(axis=0)
        shares = dict(zip(ORIGINS, share.tolist(), strict=True))
        nearest = made[:, [ORIGINS.index(origin) for origin in NEAREST]]
        without = int(np.sum(nearest.sum(axis=1) == 0))
        rows.append((bold(method, when=True), *(percent(s) for s in shares.values()), str(without)))
        records.append({"method": method, **shares, "without_inversion": without})
    yield ResultTable(
        "origins",
        "What the new rows of ours are",
        ("method", *(HEADS[origin] for origin in ORIGINS), "data sets without an inversion"),
        rows,
        (
            (
                "Mean shares over the data sets. A minimum inversion is the nearest one found for "
                "its majority row; rows drawn again are further inversions of such rows; rows "
                "within the class are no counterfactuals."
            ),
        ),
        records,
    )


def against_table(scores: StudyScores, ours: str) -> ResultTable:
    """Return how sure one can be that ours is better than each other method."""
    rows, records = [], []
    for other in scores.methods:
        if other == ours:
            continue
        row = [other]
        for metric in scores.metrics:
            better = probability(scores, metric, ours, other)
            won = record(scores, metric, ours, other)
            row.append(f"{better:.2f} ({won.wins}/{won.ties}/{won.losses})")
            records.append(
                {"other": other, "metric": metric, "probability": better, **won._asdict()}
            )
        rows.append(tuple(row))
    return ResultTable(
        f"against_{_slug(ours)}",
        f"{ours}: probability of being better than each other method (wins/ties/losses)",
        ("method", *scores.metrics.values()),
        rows,
        (
            (
                "Bayesian signed-rank test over the data sets, without a region of equivalence; "
                "wins, ties and losses over pairs of data set and classifier."
            ),
        ),
        records,
    )


def claims_table(scores: StudyScores, ours: str) -> ResultTable:
    """Return the rank of ours beside the best other method, metric by metric."""
    rows: list[tuple[str, ...]] = []
    records: list[dict[str, Value]] = []
    groups = {"all": [m for m in scores.methods if m not in OURS]}
    groups["the paper's"] = [m for m in scores.methods if m in PAPER]
    for group, others in groups.items():
        for metric, label in METRICS.items() if others else ():
            found = standing(scores, metric, ours, others)
            rows.append(
                (
                    group,
                    label,
                    f"{found.rank:.2f}",
                    f"{found.rank_of_best:.2f} ({found.best})",
                    "yes" if found.leads else "no",
                    f"{found.probability:.2f}",
                )
            )
            records.append(
                {
                    "group": group,
                    "metric": metric,
                    "rank": found.rank,
                    "best_other": found.best,
                    "rank_of_best_other": found.rank_of_best,
                    "probability": found.probability,
                }
            )
    return ResultTable(
        f"claims_{_slug(ours)}",
        f"{ours} against the best other method",
        ("against", "metric", "mean rank", "best other", "better rank", "probability"),
        rows,
        (),
        records,
    )


def loss_table(scores: StudyScores, ours: str) -> ResultTable:
    """Return the data sets on which ours is farthest behind the best peer."""
    peers = [scores.place(m) for m in scores.methods if m in PEERS]
    rows, records = [], []
    for metric in ("g_mean", "f_measure"):
        values = scores.by_dataset(metric)
        best = values[peers].max(axis=0)
        behind = best - values[scores.place(ours)]
        for d in np.argsort(-behind)[:WORST_SHOWN]:
            winner = scores.methods[peers[int(values[peers, d].argmax())]]
            own = float(values[scores.place(ours), d])
            none = float(values[scores.place(NONE), d])
            rows.append(
                (
                    scores.datasets[d],
                    METRICS[metric],
                    f"{own:.3f}",
                    f"{best[d]:.3f} ({winner})",
                    f"{none:.3f}",
                )
            )
            records.append(
                {"data": scores.datasets[d], "metric": metric, "ours": own, "best": float(best[d])}
            )
    return ResultTable(
        f"losses_{_slug(ours)}",
        f"Where {ours} loses most",
        ("data set", "metric", "ours", "best peer on it", "no resampling"),
        rows,
        (
            (
                "Means over the six classifiers. The best peer is chosen for each data set after "
                "the fact, so part of the distance is luck."
            ),
        ),
        records,
    )


def mean_table(scores: StudyScores) -> ResultTable:
    """Return the plain means over data sets and classifiers."""
    rows = [
        (
            bold(method, when=method in scores.ours),
            *(f"{scores.by_dataset(m)[place].mean():.4f}" for m in scores.metrics),
        )
        for place, method in enumerate(scores.methods)
    ]
    return ResultTable(
        "means",
        "Plain means over data sets and classifiers",
        ("method", *scores.metrics.values()),
        rows,
        ("Means over unlike tables say less than ranks; they are here to show the magnitudes.",),
    )


def failure_tables(scores: StudyScores) -> Iterable[ResultTable]:
    """Return the table of failures, if there are any."""
    if scores.failed:
        rows = [(method, str(n), error) for (method, error), n in sorted(scores.failed.items())]
        yield ResultTable(
            "failures", "Folds that count as no resampling", ("method", "folds", "reason"), rows
        )


def bold(text: str, *, when: bool) -> str:
    """Return a text of markdown, bold if it is."""
    return f"**{text}**" if when else text


def _slug(method: str) -> str:
    return method.replace(" ", "_").lower()


def draw_ranks(scores: StudyScores) -> Any:
    """Draw a panel for each of the first four metrics."""
    metrics = list(scores.metrics)[:PANELS]
    height = 0.9 + 0.19 * len(scores.methods)
    figure, panels = new_figure(2, 2, width=5.2, height=height)
    for panel, metric in zip(panels, metrics, strict=True):
        _draw_panel(panel, scores, metric)
    return figure


def _draw_panel(panel: Any, scores: StudyScores, metric: str) -> None:
    mean = ranks_by_dataset(scores, metric).mean(axis=1)
    order = np.argsort(mean)
    best = float(mean[order[0]])
    reach = critical_difference(len(scores.methods), len(scores.datasets))
    panel.axvspan(best, best + reach, color=BAR_COLOUR, alpha=0.5, linewidth=0)
    for height, place in enumerate(order):
        ours = scores.methods[place] in scores.ours
        colour = OUR_COLOUR if ours else OTHER_COLOUR
        panel.hlines(height, best, mean[place], color=colour, linewidth=0.8)
        panel.plot(mean[place], height, "o", color=colour, markersize=5)
    panel.set_yticks(range(len(order)), [scores.methods[place] for place in order], fontsize=7)
    for label, place in zip(panel.get_yticklabels(), order, strict=True):
        if scores.methods[place] in scores.ours:
            label.set(color=OUR_COLOUR, fontweight="bold")
    panel.invert_yaxis()
    panel.set_title(scores.metrics[metric], loc="left")
    panel.set_xlabel("mean rank", fontsize=8)
    panel.tick_params(axis="x", labelsize=7)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
