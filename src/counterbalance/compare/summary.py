"""The summary of a comparison as plain values: for ``--json`` and for the report."""

from __future__ import annotations

from typing import Any

import counterbalance
from counterbalance.compare.calibration import calibration_curve, recall_curve
from counterbalance.compare.classifiers import new_classifier
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.results import Pair, Results
from counterbalance.compare.strategies import BASELINE, OURS, make_ours
from counterbalance.compare.verdict import Verdict
from counterbalance.trials.classifiers import as_call
from counterbalance.trials.fingerprint import CITATION, versions

PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas")
CITE = f"{CITATION}; computed with counterbalance"
DIGITS = 6


def summarise(
    results: Results, verdict: Verdict, *, file: str, target: str, reproduce: str
) -> dict[str, Any]:
    """Return everything that a report shows of a comparison, as plain values."""
    table = results.plan.table
    whole = table.counts if table.cut is None else table.cut.whole
    return {
        "title": f"Should {file} be resampled?",
        "verdict": {
            "scope": verdict.scope,
            "headline": verdict.headline,
            "sentences": list(verdict.sentences),
            "caveats": list(verdict.caveats),
        },
        "data": {
            "file": file,
            "target": target,
            "rows": len(table.codes),
            "rows_of_file": int(whole.sum()),
            "classes": [
                {"label": label, "count": int(count), "count_of_file": int(all_of_it)}
                for label, count, all_of_it in zip(table.classes, table.counts, whole, strict=True)
            ],
            "columns": _columns(results),
            "notes": [],
        },
        "comparison": {
            "metrics": [
                {
                    "name": metric.name,
                    "label": metric.label,
                    "higher_is_better": metric.higher_is_better,
                    "help": metric.help,
                    "needs_threshold": metric.needs_threshold,
                    **({} if metric.ideal is None else {"ideal": metric.ideal}),
                }
                for metric in METRICS.values()
            ],
            "rows": [
                _row(pair, threshold)
                for pair in results.pairs.values()
                for threshold in results.thresholds
            ],
            "baseline": BASELINE,
        },
        "trust": [
            {
                "strategy": found.strategy,
                "hidden_majority": found.hidden_majority,
                "agreement": found.agreement,
                "distance": found.distance,
                "new": found.new,
            }
            for found in results.trust
        ],
        "curves": [_curves(pair) for pair in results.pairs.values() if pair.done]
        if table.is_binary
        else [],
        "settings": _settings(results),
        "versions": versions(PACKAGES),
        "reproduce": reproduce,
        "cite": f"{CITE} {counterbalance.__version__}",
    }


def _settings(results: Results) -> dict[str, Any]:
    """Return the settings of the run, and those of the objects that it made."""
    settings = results.plan.settings
    classifiers = {name: as_call(new_classifier(name, 0)) for name in settings.classifiers}
    ours = [sampler.name for sampler in OURS if sampler.name in settings.strategies]
    made = {"settings of classifiers": classifiers}
    if ours:
        made["settings of our samplers"] = {name: as_call(make_ours(name, 0)) for name in ours}
    return {**settings.as_dict(), **made}


def _columns(results: Results) -> list[dict[str, Any]]:
    table = results.plan.table
    return [
        {
            "name": str(name),
            "kind": kind.value,
            "missing": int(table.X[name].isna().sum()),
            "distinct": int(table.X[name].nunique()),
        }
        for name, kind in zip(table.X.columns, table.kinds, strict=True)
    ]


def _row(pair: Pair, threshold: str) -> dict[str, Any]:
    scores = {name: pair.score(name, threshold) for name in METRICS}
    return {
        "strategy": pair.strategy,
        "classifier": pair.classifier,
        "threshold": threshold,
        "failed": pair.failed,
        "seconds": round(pair.seconds, 3),
        "scores": {
            name: {"mean": score.mean, "low": score.low, "high": score.high}
            for name, score in scores.items()
            if score is not None
        },
    }


def _curves(pair: Pair) -> dict[str, Any]:
    """Return the curves of the first repeat: every row is tested once in it."""
    ((p, y, w),) = pair.pooled("p")
    ((corrected, *_),) = pair.pooled("corrected")
    curves = {
        "calibration": calibration_curve(p, y, w),
        "calibration_corrected": calibration_curve(corrected, y, w),
        "precision_recall": recall_curve(p, y, w),
    }
    return {
        "strategy": pair.strategy,
        "classifier": pair.classifier,
        **{name: [[round(v, DIGITS) for v in point] for point in c] for name, c in curves.items()},
    }
