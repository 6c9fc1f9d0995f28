"""An invented but realistic summary: what compare would say of a table of births."""

import numpy as np

METRICS = [
    ("g_mean", "G-mean", True, "Geometric mean of the recalls of all classes."),
    ("f1", "F1", True, "Harmonic mean of precision and recall of the smaller class."),
    ("roc_auc", "ROC AUC", True, "How often a row of the smaller class gets the higher score."),
    ("average_precision", "Average precision", True, "Area under precision over recall."),
    ("brier", "Brier score", False, "Mean squared error of the probabilities."),
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
SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 0h9v9z'/></svg>"
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
            "code": "model = LogisticRegression(class_weight='balanced')",
            "table": {
                "columns": ["classifier", "strategy", "G-mean 0.5", "-0.1 0 +0.1"],
                "rows": [["logistic regression", "none", "0.550", "--|--"]],
            },
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
                {
                    "name": name,
                    "label": label,
                    "higher_is_better": higher,
                    "help": text,
                    "needs_threshold": name in {"g_mean", "f1", "brier"},
                }
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
        "map": [{"svg": SVG, "title": "Rows and boundary", "text": "Tinted areas are answers."}],
        "explorer": example_explorer(rng),
        "features": {
            "rows": [
                {"name": "mother_weight", "share": 0.81, "typical": "by 12, down in 74%"},
                {"name": "smoker", "share": 0.42, "typical": "False → True in 91%"},
                {"name": "mother_age", "share": 0.2, "typical": "by 2, up in 100%"},
                {"name": "race", "share": 0.013, "typical": "1 → 3 in 60%"},
            ],
            "total": 1071,
            "left_out": 0,
            "inverted": True,
        },
        "settings": {
            "folds": 5,
            "repeats": 3,
            "seed": 0,
            "methods": STRATEGIES,
            "metric": "g_mean",
        },
        "versions": {"python": "3.13.1", "numpy": "2.4.6"},
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
        mean = {"brier": 0.12}.get(name, base) + rng.normal(0, 0.02)
        half = rng.uniform(0.01, 0.06)
        scores[name] = {"mean": mean, "low": mean - half, "high": mean + half}
    failed = strategy == "ADASYN" and classifier == "random forest"
    return {
        "strategy": strategy,
        "classifier": classifier,
        "threshold": threshold,
        "failed": "no neighbours of another class were found" if failed else None,
        "scores": {} if failed else scores,
    }


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
                "name": "",
                "origin": "inversion" if place < 50 else "interior",
                "distance": 0.3 + place / 20,
                "old": old,
                "new": new,
                "changed": changed,
            }
        )
    return {"columns": columns, "rows": rows, "total": 1071, "columns_left_out": 0}
