"""The tables of a study."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterbalance.result_table import Table, Value
from counterbalance.rows.origins import HEADS, NEAREST, ORIGINS, percent
from counterbalance.studies.study.comparison import mean_ranks, probability, record, standing
from counterbalance.studies.study.methods import NONE, PAPER, PEERS
from counterbalance.studies.study.metrics import LOWER_IS_BETTER, METRICS
from counterbalance.studies.study.ours import OURS
from counterbalance.studies.study.scores import Scores

MILLISECONDS = 1000
WORST_SHOWN = 8


def all_tables(scores: Scores) -> list[Table]:
    """Return every table of a study."""
    ours = [method for method in scores.methods if method in OURS]
    return [
        rank_table(scores),
        *origin_tables(scores),
        *(against_table(scores, method) for method in ours),
        *(claims_table(scores, method) for method in ours),
        *(loss_table(scores, method) for method in ours),
        mean_table(scores),
        *failure_tables(scores),
    ]


def rank_table(scores: Scores) -> Table:
    """Return the mean ranks of all methods, the best sum of the first four on top."""
    by_metric = {metric: mean_ranks(scores, metric) for metric in METRICS}
    total = sum(by_metric[metric] for metric in METRICS if metric not in LOWER_IS_BETTER)
    failed = dict.fromkeys(scores.methods, 0)
    for (method, _), count in scores.failed.items():
        failed[method] += count
    best = {metric: by_metric[metric].min() for metric in METRICS}
    rows, records = [], []
    for place in np.argsort(total):
        method = scores.methods[place]
        values = {metric: float(by_metric[metric][place]) for metric in METRICS}
        seconds = float(scores.seconds[place])
        rows.append(
            (
                _ours_bold(method),
                *(_bold(f"{v:.2f}", when=v == best[metric]) for metric, v in values.items()),
                f"{seconds * MILLISECONDS:.0f}",
                str(failed[method] or ""),
            )
        )
        records.append({"method": method, **values, "seconds": seconds, "failed": failed[method]})
    return Table(
        "ranks",
        f"Mean ranks of {len(scores.methods)} methods (1 is the best)",
        ("method", *METRICS.values(), "ms", "failed"),
        rows,
        (
            (
                f"{len(scores.datasets)} data sets with six classifiers each; the Brier score has "
                "no SVM. `ms` is the median processor time of one resampling, the preparation "
                "included, `failed` the number of folds on which the method gave nothing and "
                "counts as no resampling. Ours are bold, and so is the best of a column."
            ),
        ),
        records,
    )


def origin_tables(scores: Scores) -> Iterable[Table]:
    """Return what the new rows of ours are, if any of ours ran."""
    if not scores.origins:
        return
    rows, records = [], []
    for method, counts in scores.origins.items():
        made = counts[counts.sum(axis=1) > 0]
        share = (made / made.sum(axis=1, keepdims=True)).mean(axis=0)
        shares = dict(zip(ORIGINS, share.tolist(), strict=True))
        without = int(
            np.sum(made[:, [ORIGINS.index(origin) for origin in NEAREST]].sum(axis=1) == 0)
        )
        rows.append((_ours_bold(method), *(percent(s) for s in shares.values()), str(without)))
        records.append({"method": method, **shares, "without_inversion": without})
    yield Table(
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


def against_table(scores: Scores, ours: str) -> Table:
    """Return how sure one can be that ours is better than each other method."""
    rows, records = [], []
    for other in scores.methods:
        if other == ours:
            continue
        row = [other]
        for metric in METRICS:
            better = probability(scores, metric, ours, other)
            won = record(scores, metric, ours, other)
            row.append(f"{better:.2f} ({won.wins}/{won.ties}/{won.losses})")
            records.append(
                {"other": other, "metric": metric, "probability": better, **won._asdict()}
            )
        rows.append(tuple(row))
    return Table(
        f"against_{_slug(ours)}",
        f"{ours}: probability of being better than each other method (wins/ties/losses)",
        ("method", *METRICS.values()),
        rows,
        (
            (
                "Bayesian signed-rank test over the data sets, without a region of equivalence; "
                "wins, ties and losses over pairs of data set and classifier."
            ),
        ),
        records,
    )


def claims_table(scores: Scores, ours: str) -> Table:
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
    return Table(
        f"claims_{_slug(ours)}",
        f"{ours} against the best other method",
        ("against", "metric", "mean rank", "best other", "better rank", "probability"),
        rows,
        (),
        records,
    )


def loss_table(scores: Scores, ours: str) -> Table:
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
    return Table(
        f"losses_{_slug(ours)}",
        f"Where {ours} loses most",
        ("data set", "metric", "ours", "best peer on it", "no resampling"),
        rows,
        (
            (
                "Means over the six classifiers. The best peer is chosen for each data set after "
                "the fact, so some distance is luck."
            ),
        ),
        records,
    )


def mean_table(scores: Scores) -> Table:
    """Return the plain means over data sets and classifiers."""
    rows = [
        (_ours_bold(method), *(f"{scores.by_dataset(m)[place].mean():.4f}" for m in METRICS))
        for place, method in enumerate(scores.methods)
    ]
    return Table(
        "means",
        "Plain means over data sets and classifiers",
        ("method", *METRICS.values()),
        rows,
        ("Means of unlike tables say less than ranks; they are here to show the sizes.",),
    )


def failure_tables(scores: Scores) -> Iterable[Table]:
    """Return the table of failures, if there are any."""
    if scores.failed:
        rows = [(method, str(n), error) for (method, error), n in sorted(scores.failed.items())]
        yield Table(
            "failures", "Folds that count as no resampling", ("method", "folds", "reason"), rows
        )


def _ours_bold(method: str) -> str:
    return _bold(method, when=method in OURS)


def _bold(text: str, *, when: bool) -> str:
    return f"**{text}**" if when else text


def _slug(method: str) -> str:
    return method.replace(" ", "_").lower()
