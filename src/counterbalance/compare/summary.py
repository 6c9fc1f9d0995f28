"""Summary of a comparison: one table to read, csv files, and plain values for JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from counterbalance.compare.evidence import find
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.models import HALF, TUNED
from counterbalance.compare.results import CITATION, Pair, Results, versions
from counterbalance.compare.strategies import BASELINE
from counterbalance.compare.verdict import Verdict, signed
from counterbalance.extras import require_pandas
from counterbalance.io.atomic import make_folder, written_whole
from counterbalance.result_table import ABSENT, FAILED, ResultTable

WIDTH = 12  # characters on either side of the vertical line of an interval
SCORE = ("mean", "low", "high")


def score_table(results: Results) -> ResultTable:
    """Return the table of scores: each strategy, and its gain over a threshold."""
    metric = METRICS[results.plan.settings.metric]
    thresholds = (HALF, TUNED) if metric.is_tuned else (HALF,)
    gains = {
        (gain.strategy, finding.classifier): gain
        for finding in find(results)
        # the larger one of two thresholds stays
        for gain in (*reversed(finding.gains), *filter(None, [finding.moving]))
    }
    ends = [e for g in gains.values() if g.strategy != BASELINE for e in g.belief.interval()]
    most = max([0.02, *map(abs, ends)])
    rows, last = [], ""
    for (strategy, classifier), pair in results.pairs.items():
        scores = [pair.score(metric.name, threshold) for threshold in thresholds]
        cells = [ABSENT if score is None else f"{score[0]:.3f}" for score in scores]
        if pair.failed and pair.records:
            cells[0] = FAILED
        shown = [ABSENT, "", "", ""]
        if gain := gains.get((strategy, classifier)):
            low, high = gain.belief.interval()
            shown = [signed(gain.belief.mean), f"{signed(low)} to {signed(high)}"]
            sure = {1.0: ">0.99", 0.0: "<0.01"}  # a probability is never a certainty
            shown.append(sure.get(round(gain.better, 2), f"{gain.better:.2f}"))
            shown.append(_picture(low, gain.belief.mean, high, most))
        label = "" if classifier == last else classifier
        rows.append([label, strategy, *cells, *shown[:3], str(len(pair.done)), shown[3]])
        last = classifier
    heads = [
        f"{metric.label} {threshold}" if metric.is_tuned else metric.label
        for threshold in thresholds
    ]
    axis = f"-{most:.2f}".ljust(WIDTH) + "0" + f"+{most:.2f}".rjust(WIDTH)
    note = (
        f"P: probability that the gain is above {results.plan.settings.rope:g}. In the line none: "
        "of the tuned threshold beyond 0.5. Fewer folds: left out early, because more of them "
        "could not show it to help."
    )
    return ResultTable(
        "scores",
        f"{metric.label}, mean over the folds, and the gain beyond none at its better threshold",
        ("classifier", "strategy", *heads, "gain", "95 % interval", "P", "folds", axis),
        rows,
        (note,),
        left=2,
    )


def summarise(
    results: Results, verdict: Verdict, trust: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the whole comparison as plain values."""
    table, shown = results.plan.table, score_table(results)
    in_file = table.counts_of_file.tolist()
    decision = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(verdict).items()}
    decision["table"] = {name: list(getattr(shown, name)) for name in ("columns", "rows", "notes")}
    return {
        "title": "Should it be resampled?",
        "verdict": decision,
        "data": {
            "rows": len(table.codes),
            "rows_of_file": sum(in_file),
            "classes": [
                dict(zip(("label", "count", "count_of_file"), each, strict=True))
                for each in zip(table.classes, table.counts.tolist(), in_file, strict=True)
            ],
            "columns": [
                {
                    "name": str(name),
                    "kind": kind.value,
                    "missing": int(table.X[name].isna().sum()),
                    "distinct": int(table.X[name].nunique()),
                }
                for name, kind in zip(table.X.columns, table.kinds, strict=True)
            ],
        },
        "comparison": {
            "metrics": [{**asdict(m), "needs_threshold": m.is_tuned} for m in METRICS.values()],
            "rows": [row for pair in results.pairs.values() for row in _rows(pair)],
            "baseline": BASELINE,
        },
        "trust": list(trust),
        "settings": results.plan.settings.as_dict(),
        "versions": versions(),
        "cite": CITATION,
    }


def write_files(summary: dict[str, Any], folder: Path, like: Path | None = None) -> list[Path]:
    """Write tables as csv and the summary as JSON; each appears whole or not at all.

    Users who may not read the file ``like`` may not read them.
    """
    make_folder(folder, like)
    texts = {
        f"{name}.csv": require_pandas()
        .json_normalize(found, sep=" ")
        .rename(columns=lambda column: column.removeprefix("scores "))
        .to_csv(index=False)
        for name, found in (
            ("comparison", summary["comparison"]["rows"]),
            ("trust", summary["trust"]),
        )
        if found
    }
    texts["summary.json"] = json.dumps(summary, indent=2) + "\n"
    for name, text in texts.items():
        with written_whole(folder / name, like=like) as part:
            part.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _rows(pair: Pair) -> Iterator[dict[str, Any]]:
    for threshold in (HALF, TUNED):
        scores = {name: pair.score(name, threshold) for name in METRICS}
        yield {
            "classifier": pair.classifier,
            "strategy": pair.strategy,
            "threshold": threshold,
            "folds": len(pair.done),
            "failed": pair.failed,
            "scores": {
                name: dict(zip(SCORE, score, strict=True))
                for name, score in scores.items()
                if score
            },
        }


def _picture(low: float, mean: float, high: float, most: float) -> str:
    """Draw an interval in characters.

    >>> _picture(-0.05, 0.02, 0.09, 0.1)
    '      ------|-o--------- '
    """
    shares = np.clip(np.array([low, mean, high]) / most, -1, 1)
    places = WIDTH + np.round(shares * WIDTH).astype(int)
    cells = ["-" if places[0] <= place <= places[2] else " " for place in range(2 * WIDTH + 1)]
    cells[WIDTH] = "|"
    cells[places[1]] = "o"
    return "".join(cells)
