"""Beside imbalanced-learn's oversamplers, and beside DiCE for one counterfactual."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from imblearn.over_sampling import ADASYN, SMOTE, SMOTENC, KMeansSMOTE
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from timing import best_of, wisconsin

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from paper.datasets import load

HERE = Path(__file__).parent
DICE = HERE.parent / ".venv-dice"


def main() -> None:
    """Print times of ``fit_resample`` as ratios to SMOTE's, f's fit apart."""
    X, y = make_classification(
        10_000, 20, n_informative=8, weights=[0.95], class_sep=1.5, random_state=0
    )
    print("fit_resample, 10,000 rows x 20 features, 5 % minority, as ratios to SMOTE")
    smote, _ = best_of(3, lambda: SMOTE(random_state=0).fit_resample(X, y))
    print(f"{'method':44}{'fit of f':>10}{'the rest':>10}")
    for peer in (
        ADASYN(random_state=0),
        KMeansSMOTE(random_state=0, cluster_balance_threshold=0.01),
    ):
        seconds, _ = best_of(3, lambda peer=peer: peer.fit_resample(X, y))
        print(f"{type(peer).__name__:44}{'':>10}{seconds / smote:>10.1f}")
    for f in (
        LogisticRegression(class_weight="balanced", max_iter=1000),
        MLPClassifier((20,), max_iter=50, random_state=0),
        RandomForestClassifier(min_samples_leaf=3, class_weight="balanced", random_state=0),
    ):
        fit, fitted = best_of(1, lambda f=f: _quietly(lambda: f.fit(X, y)))
        sampler = CounterfactualOverSampler(estimator=FrozenEstimator(fitted), random_state=0)
        rest, _ = best_of(3, lambda sampler=sampler: _quietly(lambda: sampler.fit_resample(X, y)))
        name = f"counterfactuals, f = {type(f).__name__}"
        print(f"{name:44}{fit / smote:>10.1f}{rest / smote:>10.1f}")
    mixed()
    dice()


def mixed() -> None:
    """Print times on a table with categories as ratios to those of SMOTENC."""
    loaded = load("fars")
    rows = [
        (loaded.y == name).to_numpy().nonzero()[0][:n]
        for name, n in (("No_Injury", 18_000), ("Possible_Injury", 2_000))
    ]
    X, y = (part.iloc[np.concatenate(rows)].reset_index(drop=True) for part in (loaded.X, loaded.y))
    categories = X.select_dtypes("category").columns.tolist()
    print(
        f"fars, two classes, {len(X):,} rows x {X.shape[1]} features, {len(categories)} of them "
        "categories, 10 % minority, as ratios to SMOTENC"
    )
    peer, _ = best_of(1, lambda: SMOTENC(categories, random_state=0).fit_resample(X, y))
    for name, sampler in {
        "CounterfactualOverSampler()": CounterfactualOverSampler(random_state=0),
        'search="perturb"': CounterfactualOverSampler(search="perturb", random_state=0),
        "InteriorOverSampler()": InteriorOverSampler(random_state=0),
    }.items():
        seconds, _ = best_of(2, lambda s=sampler: _quietly(lambda: s.fit_resample(X, y)))
        print(f"{name:44}{seconds / peer:>10.2f}", flush=True)


def _quietly(work):  # noqa: ANN001, ANN202
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def dice() -> None:
    """Time one counterfactual of DiCE in an environment of its own, on the bundled table."""
    X, y = wisconsin()
    f = LogisticRegression(max_iter=1000).fit(X, y)
    sampler = CounterfactualOverSampler(estimator=FrozenEstimator(f), random_state=0)
    ours, _ = best_of(3, lambda: sampler.fit_resample(X, y))
    ours /= len(sampler.provenance_)
    if not DICE.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(DICE)], check=True)  # noqa: S603
            pip = [str(DICE / "bin/python"), "-m", "pip", "install", "-q", "dice-ml==0.12"]
            subprocess.run(pip, check=True)  # noqa: S603
        except subprocess.CalledProcessError:
            shutil.rmtree(DICE, ignore_errors=True)
            print("DiCE 0.12 cannot be installed here: left out")
            return
    command = [str(DICE / "bin/python"), "-W", "ignore", str(HERE / "dice_time.py")]
    sys.stdout.flush()
    run = subprocess.run(  # noqa: S603
        command, input=_as_csv(X, y), capture_output=True, text=True, check=False
    )
    if run.returncode:
        print(f"DiCE failed: {run.stderr.strip().splitlines()[-1]}")
        return
    theirs = float(run.stdout.split()[-1])
    print(
        f"one counterfactual of Wisconsin breast cancer with a linear f: DiCE (random) "
        f"{theirs * 1e3:.0f} ms, ours {ours * 1e3:.3f} ms, ratio {theirs / ours:,.0f}"
    )


def _as_csv(X, y) -> str:  # noqa: ANN001
    return "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True))
