"""An invented but realistic summary: what compare would say of a table of births."""

import math

import numpy as np

METRICS = [
    ("g_mean", "G-mean", True, "Geometric mean of the recalls of all classes."),
    ("f1", "F1", True, "Harmonic mean of precision and recall of the smaller class."),
    ("roc_auc", "ROC AUC", True, "How often a row of the smaller class gets the higher score."),
    ("average_precision", "Average precision", True, "Area under precision over recall."),
    ("brier", "Brier score", False, "Mean squared error of the probabilities."),
    ("calibration_slope", "Calibration slope", True, "Below 1 the probabilities are too extreme."),
]
STRATEGIES = [
    "none",
    "class weights",
    "tuned threshold",
    "random oversampling",
    "random undersampling",
    "SMOTENC",
    "ADASYN",
    "counterfactual",
]
CLASSIFIERS = ["logistic regression", "random forest", "gradient boosting"]


def example_summary():
    """Return a summary with every section."""
    rng = np.random.default_rng(0)
    return {
        "title": "Births: should you oversample?",
        "verdict": {
            "headline": "Do not oversample for gradient boosting; for logistic regression it helps",
            "sentences": [
                "Counterfactuals help logistic regression: G-mean rises (probability 0.97).",
                "It does not help gradient boosting; use a threshold of 0.18 instead.",
                "With a random forest the data are too few to tell.",
            ],
            "caveats": [
                "Only 59 rows belong to the smaller class: intervals are wide.",
                "Probabilities after oversampling need the correction for the base rate.",
            ],
        },
        "data": {
            "file": "births.csv",
            "target": "low_weight",
            "rows": 1389,
            "classes": [{"label": "healthy", "count": 1230}, {"label": "low weight", "count": 159}],
            "columns": [
                {"name": "mother_age", "kind": "integer", "missing": 0, "distinct": 31},
                {"name": "mother_weight", "kind": "integer", "missing": 12, "distinct": 75},
                {"name": "race", "kind": "nominal", "missing": 0, "distinct": 3},
                {"name": "smoker", "kind": "boolean", "missing": 0, "distinct": 2},
                {"name": "visits", "kind": "integer", "missing": 3, "distinct": 6},
            ],
            "notes": ["The column id has one value for each row and was left out."],
        },
        "comparison": {
            "metrics": [
                {"name": name, "label": label, "higher_is_better": higher, "help": text}
                | ({"ideal": 1.0} if name == "calibration_slope" else {})
                for name, label, higher, text in METRICS
            ],
            "rows": [
                _result(strategy, classifier, threshold, rng)
                for classifier in CLASSIFIERS
                for strategy in STRATEGIES
                for threshold in ("0.5", "tuned")
            ],
            "baseline": "none",
        },
        "trust": [
            {
                "strategy": strategy,
                "hidden_majority": None if strategy == "random oversampling" else 0.1 + 0.05 * k,
                "agreement": 0.93 - 0.04 * k,
                "distance": 0.4 * k,
                "new": 1071,
                "outliers": 0.05 + 0.1 * k,
            }
            for k, strategy in enumerate(["random oversampling", "SMOTENC", "counterfactual"])
        ],
        "curves": [_curves(strategy, c) for c in CLASSIFIERS for strategy in STRATEGIES],
        "map": example_map(rng),
        "explorer": example_explorer(rng),
        "features": {
            "rows": [
                {"name": "mother_weight", "share": 0.81, "typical": "by 12, down in 74%"},
                {"name": "smoker", "share": 0.42, "typical": "False → True in 91%"},
                {"name": "mother_age", "share": 0.2, "typical": "by 2, up in 100%"},
                {"name": "race", "share": 0.013, "typical": "1 → 3 in 60%"},
            ],
            "total": 1071,
        },
        "settings": {"folds": 5, "repeats": 3, "seed": 0, "methods": STRATEGIES},
        "versions": {"python": "3.13.1", "counterbalance": "0.1.0", "numpy": "2.4.6"},
        "reproduce": "counterbalance compare births.csv --target low_weight --seed 0 "
        "--report report.html",
        "cite": "Luo and Liu, Counterfactual-based minority oversampling for imbalanced "
        "classification.",
    }


def _result(strategy, classifier, threshold, rng):
    base = 0.55 + 0.05 * CLASSIFIERS.index(classifier) + 0.02 * STRATEGIES.index(strategy)
    base += 0.08 * (threshold == "tuned") * (strategy in {"none", "tuned threshold"})
    scores = {}
    for name, *_ in METRICS:
        mean = {"brier": 0.12, "calibration_slope": 1.0}.get(name, base) + rng.normal(0, 0.02)
        half = rng.uniform(0.01, 0.06)
        scores[name] = {"mean": mean, "low": mean - half, "high": mean + half}
    failed = strategy == "ADASYN" and classifier == "random forest"
    return {
        "strategy": strategy,
        "classifier": classifier,
        "threshold": threshold,
        "failed": "no neighbours of another class were found" if failed else None,
        "seconds": float(rng.uniform(0.1, 30)),
        "scores": {} if failed else scores,
    }


def _curves(strategy, classifier):
    bend = 0.25 if strategy != "none" else 0.03
    predicted = np.linspace(0.05, 0.95, 10)
    observed = np.clip(predicted - bend * np.sin(math.pi * predicted), 0, 1)
    recall = np.linspace(0, 1, 200)
    steep = 1.5 + CLASSIFIERS.index(classifier)
    return {
        "strategy": strategy,
        "classifier": classifier,
        "calibration": [[float(p), float(o), 40] for p, o in zip(predicted, observed, strict=True)],
        "calibration_corrected": [
            [float(p), float((p + o) / 2), 40] for p, o in zip(predicted, observed, strict=True)
        ],
        "precision_recall": [[float(r), float(1 - 0.85 * r**steep)] for r in recall],
    }


def example_map(rng):
    real = rng.normal(0, 1, (400, 2))
    small = rng.normal(1.6, 0.7, (80, 2))
    new = rng.normal(1.1, 0.4, (120, 2))
    columns, rows = 30, 20
    cells = [[int(i + j > 30) for j in range(columns)] for i in range(rows)]
    return {
        "axes": ["first principal component", "second principal component"],
        "points": [
            _points("healthy", new=False, at=real),
            _points("low weight", new=False, at=small),
            _points("low weight", new=True, at=new),
        ],
        "links": np.hstack([real[:50], new[:50]]).tolist(),
        "regions": {
            "classes": ["healthy", "low weight"],
            "x": [-3.5, 4.0],
            "y": [-3.5, 4.0],
            "cells": cells,
            "lines": [[[0.3, 4.0], [2.0, 1.0], [4.0, 0.2]]],
        },
        "notes": ["50 thin lines lead from a real row to the new row that was made of it."],
    }


def _points(label, *, new, at):
    x, y = at.T.tolist()
    return {"label": label, "new": new, "x": x, "y": y, "total": len(at)}


def example_explorer(rng):
    columns = ["mother_weight", "smoker", "mother_age", "race", "visits"]
    rows = []
    for place in range(60):
        old = [str(rng.integers(90, 180)), "False", str(rng.integers(17, 40)), "1", "0"]
        new = list(old)
        changed = [0] if place % 3 else [0, 1]
        new[0] = str(int(old[0]) - 10)
        if 1 in changed:
            new[1] = "True"
        rows.append(
            {
                "sample": 1389 + place,
                "factual": int(rng.integers(0, 1230)),
                "from_class": "healthy",
                "to_class": "low weight",
                "origin": "inversion" if place < 50 else "threshold",
                "distance": 0.3 + place / 20,
                "old": old,
                "new": new,
                "changed": changed,
            }
        )
    return {"columns": columns, "rows": rows, "total": 1071, "columns_left_out": 0}
