"""Tables for the tests of the comparison, and a run of it that needs no processes."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from counterbalance.compare import Settings, compare
from counterbalance.compare.data import read_compared
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.run import run_looks
from counterbalance.compare.runner import TrialFile

SMALL = {"folds": 3, "repeats": 1, "inner_folds": 2, "adaptive": False}


def two_clouds(majority, minority, *, apart, seed=0, features=2):
    """Two normal clouds; a straight line is the best that can be done."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((majority + minority, features))
    y = np.repeat(["no", "yes"], [majority, minority])
    X[y == "yes"] += apart / np.sqrt(features)
    return pd.DataFrame(X, columns=[f"x{m}" for m in range(features)]), y


def mixed_table(rows=160, seed=0):
    """Numbers, whole numbers, texts, booleans and missing cells of all of them."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.25, "ill", "well")
    ill = y == "ill"
    X = pd.DataFrame(
        {
            "dose": rng.normal(ill * 1.0, 1.0),
            "visits": rng.poisson(2 + 2 * ill),
            "ward": rng.choice(["A", "B", "C"], rows),
            "smokes": rng.random(rows) < 0.3 + 0.3 * ill,
        }
    )
    X.loc[rng.random(rows) < 0.1, "dose"] = np.nan
    X.loc[rng.random(rows) < 0.1, "ward"] = None
    return X, y


def plan_of(X, y, *, groups=None, times=None, **settings):
    chosen = Settings(**{**SMALL, **settings})
    return ComparisonPlan(read_compared(X, y, groups=groups, times=times), chosen)


def results_of(plan):
    """Compute every trial here."""
    return run_looks(plan, TrialFile(None, {}))


class Deaf(ClassifierMixin, BaseEstimator):
    """A user's own classifier that learns nothing from fewer than two in five."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        share = np.bincount(y) / len(y)
        centres = [X[y == code].mean(axis=0) for code in self.classes_]
        self.direction_ = (centres[1] - centres[0]) * (share.min() >= 0.4)
        self.middle_ = (centres[1] + centres[0]) / 2
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-(X - self.middle_) @ self.direction_))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Broken(Deaf):
    """A user's own classifier that cannot stand more rows than there were."""

    def fit(self, X, y):
        if np.bincount(y)[1] == np.bincount(y)[0]:
            raise RuntimeError("too much of a good thing")
        return super().fit(X, y)


def double(trial):
    """A trial of a run, and one that fails."""
    if trial["n"] == 13:
        raise ValueError("thirteen")
    return {"twice": 2.0 * trial["n"]}


def end_itself(trial):
    """A trial that ends its process."""
    if trial["n"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"twice": 2.0 * trial["n"]}


if __name__ == "__main__":
    X, y = two_clouds(120, 40, apart=1.5)
    sys.stdout.write("started\n")
    sys.stdout.flush()
    chosen = Settings(("SMOTE", "weights"), ("LR", "RF"), **{**SMALL, "draws": 1})
    compare(X, y, store=Path(sys.argv[1]), settings=chosen, jobs=2)
