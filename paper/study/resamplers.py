"""The study of resamplers: a trial resamples a training fold and measures six classifiers.

Its figures are named ``classifier metric``, as in ``"RF g_mean"``. ``seconds`` is the processor
time of the resampling alone, which the load of the machine does not change. ``origin redraw``
and its like count what the new rows of ours are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from counterbalance.rows.origins import HEADS, ORIGINS, percent
from paper.classifiers import (
    CLASSIFIERS,
    as_call,
    descriptions,
    expected_warnings,
    f_of,
    make_classifier,
)
from paper.study import FEWEST_KEPT, fold_of, measure
from paper.study.methods import (
    METHODS,
    NONE,
    OURS,
    OURS_DESCRIBED,
    PAPER,
    PEERS,
    fitted,
    resampled,
)
from paper.study.page import Protocol
from paper.study.scores import Kind, Scores, standing
from paper.study.tables import against_table, failure_tables, mean_table, rank_table, slug
from paper.tables import Table, bold
from paper.trials import Trial, seed_of

METRICS = {
    "g_mean": "G-mean",
    "f_measure": "F-measure",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
WORST_SHOWN = 8
RANK_NOTE = (
    " with six classifiers each; the Brier score has no SVM. `ms` is the median processor time of "
    "one resampling, the preparation included, `failed` the number of folds on which the method "
    "failed and counts as no resampling. Ours are bold, and so is the best of a column."
)


def compute(trial: Trial) -> dict[str, float]:
    """Resample a training fold, fit the six classifiers, measure them on the test fold."""
    method, fold = str(trial["method"]), fold_of(trial)
    with expected_warnings():
        start = time.process_time()
        made = resampled(method, fold.X, fold.y, seed_of(*fold.place))
        figures = {"seconds": time.process_time() - start, "rows": float(len(made.labels))}
        figures |= {f"origin {name}": float(count) for name, count in made.origins.items()}
        test_rows = made.preparation.transform(fold.X_test)
        for name in CLASSIFIERS:
            # The seed belongs to the fold, not to the method: all methods get the same one.
            seed = seed_of(*fold.place, name)
            f = make_classifier(name, seed, small=True)
            f = fitted(method, f, made.rows, made.labels, seed)
            found = measure(f, test_rows, fold.y_test, fold.n_classes)
            figures |= {f"{name} {m}": value for m, value in found.items()}
    return figures


def tables(scores: Scores) -> list[Table]:
    """Return every table of a suite."""
    ours, others = scores.ours, not set(PEERS).isdisjoint(scores.methods)
    return [
        rank_table(scores, RANK_NOTE, with_brier=False),
        *origin_tables(scores),
        *(against_table(scores, method) for method in ours),
        *(loss_table(scores, method) for method in ours if others),
        mean_table(scores),
        *failure_tables(scores),
    ]


def origin_tables(scores: Scores) -> list[Table]:
    """Return what the new rows of ours are, if any of ours ran."""
    made = scores.origins[scores.origins.sum(axis=1) > 0]
    if not len(made):
        return []
    shares = made.div(made.sum(axis=1), axis=0).groupby("method").mean()
    without = (made["inversion"] == 0).groupby("method").sum()
    rows = [
        (bold(method, when=True), *map(percent, shares.loc[method]), str(without[method]))
        for method in scores.methods
        if method in shares.index
    ]
    return [
        Table(
            "origins",
            "What the new rows of ours are",
            ("method", *(HEADS[origin] for origin in ORIGINS), "data sets without an inversion"),
            rows,
            (
                (
                    "Mean shares over the data sets. A minimum inversion is the nearest one found "
                    "for its majority row; rows drawn again are further inversions of such rows; "
                    "rows within the class are no counterfactuals."
                ),
            ),
            shares.assign(without_inversion=without).reset_index(),
        )
    ]


def loss_table(scores: Scores, ours: str) -> Table:
    """Return the data sets on which ours is farthest behind the best peer."""
    peers = [method for method in scores.methods if method in PEERS]
    rows = []
    for metric in ("g_mean", "f_measure"):
        values = scores.by_dataset(metric)
        best, winner = values[peers].max(axis=1), values[peers].idxmax(axis=1)
        for data in (best - values[ours]).nlargest(WORST_SHOWN).index:
            others = f"{best[data]:.3f} ({winner[data]})", f"{values.loc[data, NONE]:.3f}"
            rows.append((data, METRICS[metric], f"{values.loc[data, ours]:.3f}", *others))
    return Table(
        f"losses_{slug(ours)}",
        f"Where {ours} loses most",
        ("data set", "metric", "ours", "best peer on it", "no resampling"),
        rows,
        (
            (
                "Means over the six classifiers. The best peer is chosen for each data set after "
                "the fact, so part of the distance is chance."
            ),
        ),
    )


def page_fields(_: Mapping[str, Scores]) -> dict[str, Any]:
    """Return what the page says of ours and of the classifiers, read from the objects."""
    made = {name: (text, OURS[name]()) for name, text in OURS_DESCRIBED.items()}
    ours = (
        f"- **{name}**: {text} f on a table of numbers: `{as_call(f_of(sampler))}`."
        for name, (text, sampler) in made.items()
    )
    classifiers = descriptions(small=True)
    return {"fewest": FEWEST_KEPT, "ours": "\n".join(ours), "classifiers": classifiers}


def statements(scores: Scores) -> list[str]:
    """Say in plain words where ours leads and where it loses."""
    return ["", *(f"- {_statement(scores, ours)}" for ours in scores.ours)]


def _statement(scores: Scores, ours: str) -> str:
    groups = {
        "every other method": [m for m in scores.methods if m not in scores.ours],
        "every method that the paper compares with": [m for m in scores.methods if m in PAPER],
    }
    sentences = []
    for group, others in groups.items():
        parts: dict[bool, list[str]] = {True: [], False: []}
        for metric, label in METRICS.items() if others else ():
            found = standing(scores, metric, ours, others)
            parts[found.leads].append(
                f"{label} ({found.rank:.2f}; {found.best} {found.rank_of_best:.2f}; "
                f"probability {found.probability:.2f})"
            )
        for leads, verb in ((True, "has a better mean rank than"), (False, "does not rank before")):
            if parts[leads]:
                sentences.append(f"It {verb} {group} on {', '.join(parts[leads])}.")
    return f"**{ours}**: {' '.join(sentences)}"


PROTOCOL = Protocol(
    "results",
    "study",
    METHODS,
    Kind(METRICS, CLASSIFIERS, frozenset(OURS)),
    compute,
    tables,
    page_fields,
    statements,
)
