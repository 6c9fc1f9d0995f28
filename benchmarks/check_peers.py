"""Compare the peers with smote-variants 1.0.1: whether both lead to the same classifiers.

KEEL data sets, repeated stratified folds. After each resampling, by our sampler and by that of
smote-variants on the same fold with the same seed, a k-NN, a decision tree, a logistic
regression and a support vector machine are trained; G-mean, F-measure and ROC AUC are taken on
the rows left out.

Glossary
    scores       (folds, packages, metrics, classifiers)  package 0 is ours
    difference   ours minus theirs, fold by fold
    error        standard error of the mean of the differences

A metric differs if the mean of its differences over the four classifiers is beyond two standard
errors, or that of a single classifier beyond 3.5: two standard errors, corrected for the number
of comparisons of single classifiers. ``EXPLAINED`` names the differences that are known, with
their direction and reason. Any other ends the run with exit status 1.

Run it by ``make check-peers``: smote-variants wants an environment of its own. It takes about a
quarter of an hour on one core; ``make check-peers ONLY="SSO MDO"`` takes a part of it.
"""

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import smote_variants as sv
from imblearn.metrics import geometric_mean_score
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterbalance import methods as peers
from counterbalance.datasets import load

DATA_SETS = (
    "ecoli3",
    "glass0",
    "glass4",
    "haberman",
    "new-thyroid1",
    "pima",
    "vehicle0",
    "vehicle1",
    "yeast3",
    "yeast6",
)
FOLDS, REPEATS = 5, 1
METRICS = ("G-mean", "F-measure", "AUC")
CLASSIFIERS = {
    "k-NN": KNeighborsClassifier(5),
    "tree": DecisionTreeClassifier(random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
    "SVM": SVC(),
}
TOGETHER, SINGLE = 2.0, 3.5
"""Standard errors beyond which the mean over the classifiers, or a single one, differs."""
TOO_SMALL = 5e-4
"""A mean difference that the table shows as 0.000 is none."""

# Name, ours, theirs.
PAIRS: tuple[tuple[str, Any, Callable[..., Any]], ...] = (
    ("SMOTE", peers.all_samplers()["SMOTE"].factory(), sv.SMOTE),
    ("ProWSyn", peers.ProWSyn(), sv.ProWSyn),
    ("polynom-fit-star", peers.PolynomFitSMOTE(topology="star"), sv.polynom_fit_SMOTE_star),
    ("polynom-fit-bus", peers.PolynomFitSMOTE(topology="bus"), sv.polynom_fit_SMOTE_bus),
    ("polynom-fit-mesh", peers.PolynomFitSMOTE(topology="mesh"), sv.polynom_fit_SMOTE_mesh),
    (
        "polynom-fit-polynomial",
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


@dataclass(frozen=True)
class Explanation:
    """Why ours differs, in which metrics, and whether it is higher (+1) or lower (-1)."""

    signs: dict[str, int]
    reason: str


EXPLAINED = {
    "polynom-fit-polynomial": Explanation(
        {"G-mean": -1},
        "there every feature of a new row is read off its polynomial at a place of its own, so a "
        "new row lies on no curve; here one place gives all features, as the paper's curve does, "
        "which leaves a thin line through the class",
    ),
    "SMOTE-IPF": Explanation(
        {"G-mean": -1, "F-measure": -1, "AUC": -1},
        "there the trees are grown to single rows, so eight of nine repeat the class of a row "
        "that they have seen: the filter hardly ever removes anything, and the figures are those "
        "of SMOTE; here a leaf holds two rows, as in C4.5, and about 1 % is removed",
    ),
    "SSO": Explanation(
        {"F-measure": -1},
        "the weights: there they fall towards the boundary on six of nine of these data sets, "
        "here they rise on six, as the method intends; our sampler with their weights is at "
        "+0.002, with even weights at -0.011",
    ),
    "CCR": Explanation(
        {"F-measure": +1, "AUC": -1},
        "there the majority rows are moved out of the spheres in a copy that is not returned; "
        "here they are moved, as in the paper",
    ),
    "MDO": Explanation(
        {"F-measure": +1, "AUC": +1},
        "there each coordinate is drawn within the whole ellipse, so most new rows lie outside of "
        "it and the class is spread; here a new row lies on it and the covariance is kept",
    ),
    "Gaussian-SMOTE": Explanation(
        {"G-mean": +1, "F-measure": +1},
        "there every feature gets a normal draw of one standard deviation on top; the paper "
        "blurs the place on the segment by 0.05 of its length",
    ),
    "NRAS": Explanation(
        {"G-mean": +1, "F-measure": +1, "AUC": +1},
        "there a row needs three of five minority neighbours to stay (half of k + 1), and a "
        "majority row may be the partner; here it needs two, and partners are minority rows",
    ),
}

Scores = npt.NDArray[np.float64]


@dataclass
class Comparison:
    """Scores of one method, fold by fold, and how often the other package made nothing."""

    folds: list[Scores] = field(default_factory=list)
    made_nothing: int = 0
    failed: int = 0

    @property
    def scores(self) -> Scores:
        """All folds: (folds, packages, metrics, classifiers)."""
        return np.array(self.folds)


@dataclass(frozen=True)
class Verdict:
    """One metric of one method."""

    ours: float
    theirs: float
    difference: float
    error: float
    single: dict[str, tuple[float, float]]
    """Difference and error with each classifier."""

    @property
    def signs(self) -> set[int]:
        """Directions in which ours differs: none, +1, -1, or both."""
        means = [(self.difference, self.error, TOGETHER)]
        means += [(mean, error, SINGLE) for mean, error in self.single.values()]
        return {
            int(np.sign(mean))
            for mean, error, limit in means
            if abs(mean) > limit * error and abs(mean) >= TOO_SMALL
        }


def mean_and_error(differences: Scores) -> tuple[float, float]:
    """Mean of paired differences and its standard error."""
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


def verdicts(scores: Scores) -> dict[str, Verdict]:
    """Judge each metric of a method."""
    found = {}
    for place, metric in enumerate(METRICS):
        ours, theirs = scores[:, 0, place], scores[:, 1, place]
        single = {
            name: mean_and_error(ours[:, i] - theirs[:, i]) for i, name in enumerate(CLASSIFIERS)
        }
        together = mean_and_error((ours - theirs).mean(axis=1))
        found[metric] = Verdict(ours.mean(), theirs.mean(), *together, single)
    return found


def load_binary(name: str) -> tuple[Any, Any]:
    """One data set, the minority as class 1."""
    data = load(name)
    smallest = min(data.class_counts, key=data.class_counts.__getitem__)
    return data.X.to_numpy(dtype=float), (data.y == smallest).to_numpy().astype(int)


def scores_of(rows: Any, labels: Any, X_test: Any, y_test: Any) -> Scores:
    """Metrics of the four classifiers trained on the resampled rows: (metrics, classifiers)."""
    found = []
    for classifier in CLASSIFIERS.values():
        fitted = clone(classifier).fit(rows, labels)
        answer = fitted.predict(X_test)
        if hasattr(fitted, "decision_function"):
            score = fitted.decision_function(X_test)
        else:
            score = fitted.predict_proba(X_test)[:, 1]
        found.append(
            (
                geometric_mean_score(y_test, answer),
                f1_score(y_test, answer, zero_division=0),
                roc_auc_score(y_test, score),
            )
        )
    return np.array(found).T


def folds_of(data_set: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Seed and standardised training and test rows of each fold."""
    X, y = load_binary(data_set)
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    for seed, (train, test) in enumerate(folds.split(X, y)):
        scaler = StandardScaler().fit(X[train])
        yield seed, (scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def compare(
    found: Comparison, ours: Any, theirs: Callable[..., Any], seed: int, fold: tuple[Any, ...]
) -> None:
    """Resample one fold by both and note both packages' scores."""
    X_train, y_train, X_test, y_test = fold
    try:
        rows, labels = theirs(random_state=seed).sample(X_train, y_train)
        their_scores = scores_of(rows, labels, X_test, y_test)
    except Exception:  # noqa: BLE001  # whatever it raises, the fold cannot be compared
        found.failed += 1
        return
    found.made_nothing += len(labels) == len(y_train)
    rows, labels = clone(ours).set_params(random_state=seed).fit_resample(X_train, y_train)
    found.folds.append(np.stack([scores_of(rows, labels, X_test, y_test), their_scores]))


def remarks(name: str, metric: str, verdict: Verdict, found: Comparison) -> list[str]:
    """Say what a line of the table shows."""
    said = ["within noise" if not verdict.signs else "differs"]
    beyond = [
        f"{classifier} {mean:+.3f}"
        for classifier, (mean, error) in verdict.single.items()
        if abs(mean) > SINGLE * error and abs(mean) >= TOO_SMALL
    ]
    if beyond:
        said.append(", ".join(beyond))
    if is_unexplained(name, metric, verdict):
        said.append("NOT EXPLAINED")
    if found.made_nothing:
        said.append(f"theirs made nothing in {found.made_nothing} of {len(found.folds)} folds")
    if found.failed:
        said.append(f"theirs failed in {found.failed} folds, left out")
    return said


def is_unexplained(name: str, metric: str, verdict: Verdict) -> bool:
    """Whether a metric differs in a direction that ``EXPLAINED`` does not name."""
    explained = EXPLAINED[name].signs.get(metric) if name in EXPLAINED else None
    return bool(verdict.signs - {explained})


def print_tables(comparisons: dict[str, Comparison]) -> list[str]:
    """Print a line for each method and metric; give the differences without an explanation."""
    print("| method | metric | ours | smote-variants | difference | standard error | |")
    print("|---|---|---|---|---|---|---|")
    unexplained = []
    for name, found in comparisons.items():
        if not found.folds:
            print(f"| {name} | - | - | - | - | - | all {found.failed} folds failed there |")
            continue
        for metric, verdict in verdicts(found.scores).items():
            said = "; ".join(remarks(name, metric, verdict, found))
            print(
                f"| {name} | {metric} | {verdict.ours:.3f} | {verdict.theirs:.3f} | "
                f"{verdict.difference:+.3f} | {verdict.error:.3f} | {said} |"
            )
            if is_unexplained(name, metric, verdict):
                unexplained.append(f"{name}, {metric}: {verdict.difference:+.3f}")
    print("\n| method | differs in | why |\n|---|---|---|")
    for name, explanation in EXPLAINED.items():
        if name in comparisons:
            print(f"| {name} | {', '.join(explanation.signs)} | {explanation.reason} |")
    return unexplained


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare the peers with smote-variants.")
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD", help="these methods")
    parser.add_argument("--data-sets", nargs="*", default=DATA_SETS, help="these data sets")
    chosen = parser.parse_args()
    unknown = set(chosen.only) - {name for name, _, _ in PAIRS}
    if unknown:
        names = ", ".join(name for name, _, _ in PAIRS)
        parser.error(f"--only takes {names}; it does not know {', '.join(sorted(unknown))}")
    return chosen


def main() -> int:
    """Run all folds, print the tables, and give the exit status."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chosen = arguments()
    pairs = [pair for pair in PAIRS if not chosen.only or pair[0] in chosen.only]
    comparisons = {name: Comparison() for name, _, _ in pairs}
    start = time.monotonic()
    for n_done, data_set in enumerate(chosen.data_sets, start=1):
        for seed, fold in folds_of(data_set):
            for name, ours, theirs in pairs:
                compare(comparisons[name], ours, theirs, seed, fold)
        minutes = (time.monotonic() - start) / 60
        print(
            f"{data_set}: {n_done} of {len(chosen.data_sets)} data sets, {minutes:.1f} minutes",
            file=sys.stderr,
            flush=True,
        )
    unexplained = print_tables(comparisons)
    if unexplained:
        print(
            "\nDifferences without an explanation: "
            + "; ".join(unexplained)
            + ". Mend the method, or give the reason in EXPLAINED of benchmarks/check_peers.py.",
            file=sys.stderr,
        )
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
