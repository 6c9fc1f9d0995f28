"""The comparison as tables: to read in a terminal, and in full precision as csv."""

from __future__ import annotations

from collections.abc import Iterator

from counterbalance.compare.metrics import (
    CALIBRATION,
    CORRECTED,
    METRICS,
    THRESHOLDED,
)
from counterbalance.compare.records import Score
from counterbalance.compare.results import Pair, Results
from counterbalance.result_table import ABSENT, FAILED, ResultTable, Value

NAMES = {
    "g_mean": "G-mean",
    "f1": "F1",
    "balanced_accuracy": "bal. acc.",
    "roc_auc": "ROC AUC",
    "average_precision": "av. prec.",
    "brier": "Brier",
}
ANSWERS = ("most probable", "by class share")  # with more than two classes
NOTE = (
    "* is the metric of the verdict. The tuned threshold is tuned for each metric inside the "
    "training folds; ROC AUC, average precision and Brier need none. ! marks what failed."
)
TRUST = ("hidden majority", "agreement", "distance", "outliers")


def score_tables(results: Results) -> list[ResultTable]:
    """Return a table of scores for each classifier, then their probabilities and the trust."""
    chosen = results.plan.settings.metric
    tables = []
    for classifier in results.plan.settings.classifiers:
        pairs = [pair for pair in results.pairs.values() if pair.classifier == classifier]
        columns = [
            "strategy",
            "threshold" if results.plan.table.is_binary else "answer",
            *(_head(name, chosen) for name in NAMES),
        ]
        rows = [row for pair in pairs for row in _score_rows(results, pair)]
        title = f"{classifier}: mean over {len(results.plan.folds)} folds"
        is_last = classifier == results.plan.settings.classifiers[-1]
        tables.append(ResultTable("scores", title, columns, rows, (NOTE,) if is_last else ()))
    tables.append(_calibration_table(results))
    if results.trust:
        tables.append(_trust_table(results))
    return tables


def csv_tables(results: Results) -> list[ResultTable]:
    """Return the same figures with their intervals, one record for each, to be written."""
    scores = [record for pair in results.pairs.values() for record in _records(results, pair)]
    trust: list[dict[str, Value]] = [
        {
            "strategy": found.strategy,
            "new": found.new,
            "hidden_majority": found.hidden_majority,
            "agreement": found.agreement,
            "distance": found.distance,
            "outliers": found.outliers,
            "failed": found.failed or "",
        }
        for found in results.trust
    ]
    return [
        ResultTable("comparison", "scores", (), (), records=scores),
        *([ResultTable("trust", "trust", (), (), records=trust)] if trust else []),
    ]


def _head(name: str, chosen: str) -> str:
    return f"{NAMES[name]}*" if name == chosen else NAMES[name]


def _score_rows(results: Results, pair: Pair) -> Iterator[list[str]]:
    for place, threshold in enumerate(results.thresholds):
        scores = [pair.score(name, threshold) for name in NAMES]
        cells = [_mean(score) for score in scores]
        if place:  # the other metrics do not depend on the threshold and stand above
            cells = [
                cell if name in THRESHOLDED else "" for cell, name in zip(cells, NAMES, strict=True)
            ]
        if pair.failed and not pair.done:
            cells = [FAILED, *[""] * (len(NAMES) - 1)]
        label = pair.strategy if not place else ""
        mark = "!" if pair.failed and not place else ""
        how = threshold if results.plan.table.is_binary else ANSWERS[place]
        yield [label + mark, how, *cells]


def _calibration_table(results: Results) -> ResultTable:
    columns = ["probabilities", "Brier", "slope", "intercept"]
    rows = []
    for classifier in results.plan.settings.classifiers:
        rows.append([classifier, "", "", ""])
        rows += [
            [f"  {pair.strategy}", *(_both(pair, name) for name in ("brier", *CALIBRATION))]
            for pair in results.pairs.values()
            if pair.classifier == classifier
        ]
    note = (
        "Raw, then after prior correction, which undoes the shift of the base rate that resampling "
        "or weights made. A Brier score is good when low, a slope at 1, an intercept at 0."
    )
    return ResultTable(
        "calibration", "Do the probabilities mean what they say?", columns, rows, (note,)
    )


def _both(pair: Pair, metric: str) -> str:
    raw, corrected = _mean(pair.score(metric)), _mean(pair.score(f"{metric}{CORRECTED}"))
    return raw if raw == corrected else f"{raw} → {corrected}"


def _trust_table(results: Results) -> ResultTable:
    rows = [
        [
            found.strategy,
            str(found.new),
            *(
                ABSENT if value is None else f"{value:.3f}"
                for value in (
                    found.hidden_majority,
                    found.agreement,
                    found.distance,
                    found.outliers,
                )
            ),
        ]
        for found in results.trust
    ]
    note = (
        "Hidden majority: share of new rows nearer to a hidden row of the largest class than to a "
        "real one of their own (low is good). Agreement: share that a committee fitted to other "
        "rows puts into their class (high is good). Distance to the nearest real row: 0 is a copy, "
        "1 as far as real rows are from each other. Outliers: share that lies farther out than "
        "95 % of the real rows of its class. Real rows say what to expect of true labels. "
        "New: rows made from half of the table, on average."
    )
    return ResultTable(
        "trust", "Trust in the new labels", ("strategy", "new", *TRUST), rows, (note,)
    )


def _records(results: Results, pair: Pair) -> Iterator[dict[str, Value]]:
    for threshold in results.thresholds:
        record: dict[str, Value] = {
            "classifier": pair.classifier,
            "strategy": pair.strategy,
            "threshold": threshold,
            "failed": pair.failed or "",
        }
        for name in METRICS:
            score = pair.score(name, threshold)
            for part in ("mean", "low", "high"):
                record[f"{name} {part}"] = None if score is None else getattr(score, part)
        yield record


def _mean(score: Score | None) -> str:
    if score is None or score.mean is None:
        return ABSENT
    text = f"{score.mean:.3f}"
    return "0.000" if text == "-0.000" else text
