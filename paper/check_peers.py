"""Compare the peers with smote-variants 1.0.1: whether both lead to the same classifiers.

KEEL data sets, repeated stratified folds. After each resampling, by our sampler and by that of
smote-variants on the same fold with the same seed, a k-NN, a decision tree, a logistic
regression and a support vector machine are trained; G-mean, F-measure and ROC AUC are taken on
the rows left out.

    difference   ours minus theirs, fold by fold
    error        standard error of the mean of the differences

A metric differs if the mean of its differences over the four classifiers is beyond two standard
errors, or that of a single classifier beyond 3.5: two standard errors, corrected for the number
of comparisons of single classifiers. ``EXPLAINED`` names the differences that are known, with
their direction. Any other ends the run with exit status 1.

Run it by ``make check-peers``: smote-variants wants an environment of its own. It takes about a
quarter of an hour on one core; ``make check-peers ONLY="SSO MDO"`` takes a part of it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import smote_variants as sv
from imblearn.metrics import geometric_mean_score
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import methods
from paper.datasets.keel import load_keel
from paper.tables import Table
from paper.trials import Frame

DATA_SETS = (
    *("ecoli3", "glass0", "glass4", "haberman", "new_thyroid1"),
    *("pima", "vehicle0", "vehicle1", "yeast3", "yeast6"),
)
FOLDS = 5
COLUMNS = ["name", "fold", "metric", "classifier", "ours", "theirs", "nothing", "failed"]
CLASSIFIERS = {
    "k-NN": KNeighborsClassifier(5),
    "tree": DecisionTreeClassifier(random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
    "SVM": SVC(),
}
# Standard errors beyond which the mean over the classifiers, or a single one, differs.
TOGETHER, SINGLE = 2.0, 3.5
LIMITS = pd.Series({**dict.fromkeys(CLASSIFIERS, SINGLE), "together": TOGETHER})
# A mean difference that the table shows as 0.000 is none.
TOO_SMALL = 5e-4

# Name, ours, theirs.
PAIRS: tuple[tuple[str, Any, Callable[..., Any]], ...] = (
    ("SMOTE", methods.all_samplers()["SMOTE"].factory(), sv.SMOTE),
    ("ProWSyn", methods.ProWSyn(), sv.ProWSyn),
    ("polynom-fit-star", methods.PolynomFitSMOTE(topology="star"), sv.polynom_fit_SMOTE_star),
    ("polynom-fit-bus", methods.PolynomFitSMOTE(topology="bus"), sv.polynom_fit_SMOTE_bus),
    ("polynom-fit-mesh", methods.PolynomFitSMOTE(topology="mesh"), sv.polynom_fit_SMOTE_mesh),
    (
        "polynom-fit-polynomial",
        methods.PolynomFitSMOTE(topology="polynomial"),
        sv.polynom_fit_SMOTE_poly,
    ),
    ("SMOTE-IPF", methods.SMOTEIPF(), sv.SMOTE_IPF),
    ("Lee", methods.Lee(), sv.Lee),
    ("SSO", methods.SSO(), sv.SSO),
    ("SOMO", methods.SOMO(), sv.SOMO),
    ("CCR", methods.CCR(), sv.CCR),
    ("MDO", methods.MDO(), sv.MDO),
    ("ANS", methods.ANS(), sv.ANS),
    ("Gaussian-SMOTE", methods.GaussianSMOTE(), sv.Gaussian_SMOTE),
    ("NRAS", methods.NRAS(), sv.NRAS),
    ("SMOTE-D", methods.SMOTED(), sv.SMOTE_D),
    ("CURE-SMOTE", methods.CURESMOTE(), sv.CURE_SMOTE),
    ("OUPS", methods.OUPS(), sv.OUPS),
    ("NRSBoundary-SMOTE", methods.NRSBoundarySMOTE(), sv.NRSBoundary_SMOTE),
)


# Known differences, whether ours is higher (+1) or lower (-1); docs/methods.md gives the reasons.
EXPLAINED: dict[str, dict[str, int]] = {
    "polynom-fit-polynomial": {"G-mean": -1},
    "SMOTE-IPF": {"G-mean": -1, "F-measure": -1, "AUC": -1},
    "SSO": {"F-measure": -1},
    "CCR": {"F-measure": +1, "AUC": -1},
    "MDO": {"F-measure": +1, "AUC": +1},
    "Gaussian-SMOTE": {"G-mean": +1, "F-measure": +1},
    "NRAS": {"G-mean": +1, "F-measure": +1, "AUC": +1},
}


def folds_of(data_set: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield seed and standardised training and test rows of each fold, the minority as class 1."""
    data = load_keel(data_set)
    smallest = min(data.class_counts, key=data.class_counts.__getitem__)
    X, y = data.X.to_numpy(dtype=float), (data.y == smallest).to_numpy().astype(int)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    for seed, (train, test) in enumerate(folds):
        scaler = StandardScaler().fit(X[train])
        yield seed, (scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def scores_of(rows: Any, labels: Any, X_test: Any, y_test: Any) -> dict[tuple[str, str], float]:
    """Return the metrics of the four classifiers trained on the resampled rows."""
    found = {}
    for name, classifier in CLASSIFIERS.items():
        f = clone(classifier).fit(rows, labels)
        answer = f.predict(X_test)
        has_margin = hasattr(f, "decision_function")
        score = f.decision_function(X_test) if has_margin else f.predict_proba(X_test)[:, 1]
        found["G-mean", name] = geometric_mean_score(y_test, answer)
        found["F-measure", name] = f1_score(y_test, answer, zero_division=0)
        found["AUC", name] = roc_auc_score(y_test, score)
    return found


def compare(
    ours: Any, theirs: Callable[..., Any], seed: int, fold: tuple[Any, ...]
) -> list[dict[str, Any]]:
    """Resample one fold by both; return a line for each metric and classifier."""
    X, y, *test = fold
    try:
        made = theirs(random_state=seed).sample(X, y)
        their_scores = scores_of(*made, *test)
    except Exception:  # noqa: BLE001  # whatever it raises, the fold cannot be compared
        return [{"failed": True}]
    mine = scores_of(*clone(ours).set_params(random_state=seed).fit_resample(X, y), *test)
    nothing = len(made[1]) == len(y)
    return [
        {
            "metric": m,
            "classifier": c,
            "ours": value,
            "theirs": their_scores[m, c],
            "nothing": nothing,
        }
        for (m, c), value in mine.items()
    ]


def verdict(name: str, metric: str, lines: Frame) -> tuple[list[str], bool]:
    """Return the cells of a metric of a method, and whether it differs without a known reason."""
    d = lines.assign(d=lines["ours"] - lines["theirs"]).pivot(
        index="fold", columns="classifier", values="d"
    )
    d["together"] = d.mean(axis=1)
    limits = d.sem() * LIMITS.reindex(d.columns)
    beyond = d.mean()[(d.mean().abs() > limits) & (d.mean().abs() >= TOO_SMALL)]
    is_unexplained = bool({*np.sign(beyond)} - {EXPLAINED.get(name, {}).get(metric)})
    said = ["within noise" if not len(beyond) else "differs"]
    said += [f"{c} {mean:+.3f}" for c, mean in beyond.items() if c != "together"]
    said += ["NOT EXPLAINED"] * is_unexplained
    means = [f"{lines[side].mean():.3f}" for side in ("ours", "theirs")]
    shown = [f"{d['together'].mean():+.3f}", f"{d['together'].sem():.3f}", "; ".join(said)]
    return [name, metric, *means, *shown], is_unexplained


def main() -> int:
    """Run all folds, print the tables, and return the exit status."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=[name for name, _, _ in PAIRS], default=[])
    parser.add_argument("--data-sets", nargs="*", default=DATA_SETS)
    chosen = parser.parse_args()
    lines = []
    for data_set in chosen.data_sets:
        for seed, fold in folds_of(data_set):
            for name, ours, theirs in PAIRS:
                if not chosen.only or name in chosen.only:
                    place = {"name": name, "fold": (data_set, seed)}
                    lines += [place | line for line in compare(ours, theirs, seed, fold)]
        sys.stderr.write(f"{data_set} is done\n")
    ran = pd.DataFrame(lines).reindex(columns=COLUMNS)
    rows, unexplained = [], []
    for peer, found in ran.groupby("name", sort=False):
        compared = found[found["failed"].isna()]
        nothing = int(compared.groupby("fold")["nothing"].first().sum())
        notes = [f"theirs made nothing in {nothing} folds"] * (nothing > 0)
        failed = int(found["failed"].notna().sum())
        notes += [f"theirs failed in {failed} folds, left out"] * (failed > 0)
        for metric, of_metric in compared.groupby("metric", sort=False):
            cells, is_unexplained = verdict(str(peer), str(metric), of_metric)
            rows.append([*cells[:-1], "; ".join([cells[-1], *notes])])
            unexplained += [f"{peer}, {metric}"] * is_unexplained
        if compared.empty:
            rows.append([str(peer), *["-"] * 5, *notes])
    columns = ("method", "metric", "ours", "smote-variants", "difference", "standard error", "")
    sys.stdout.write(Table("peers", "Beside smote-variants", columns, rows).markdown() + "\n")
    if unexplained:
        sys.stderr.write(
            f"differences without an explanation: {'; '.join(unexplained)}; mend the method, or "
            "name it in EXPLAINED of paper/check_peers.py, its reason in docs/methods.md\n"
        )
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
