"""How often the verdict of a comparison claims a gain where there is none, and finds one.

    python benchmarks/check_verdict.py [TABLES]

No gain: two normal clouds of one shape, where a logistic regression with a moved threshold is
the best that there is. A gain: the same clouds for a classifier that learns nothing from a
class with less than two fifths of the rows. Every table is new; the folds are those of
``--quick``.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from counterbalance.compare import QUICK, Settings
from counterbalance.compare.data import read_compared
from counterbalance.compare.evidence import find
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.results import Results
from counterbalance.compare.runner import TrialFile, run
from counterbalance.compare.trials import all_trials, compute

STRATEGIES = ("class weights", "Random oversampling", "Random undersampling", "SMOTE", "ADASYN")


class Deaf(ClassifierMixin, BaseEstimator):
    """A logistic regression that hears nothing below two fifths."""

    def fit(self, X: Any, y: Any) -> Deaf:
        """Learn, or not."""
        heard = X if np.bincount(y).min() >= 0.4 * len(y) else np.zeros_like(X)
        self.inner_ = LogisticRegression().fit(heard, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return what was learned."""
        return self.inner_.predict_proba(X)


def clouds(seed: int) -> tuple[pd.DataFrame, Any]:
    """Return 400 rows, 50 of them of the minority."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 3))
    X[:50] += 1
    return pd.DataFrame(X), np.repeat(["yes", "no"], [50, 350])


def results_of(plan: ComparisonPlan) -> Results:
    """Compute every trial in this process: the tables are small."""
    return Results(plan, run(all_trials(plan), partial(compute, plan), TrialFile(None, {})))


def main() -> None:
    """Compare on many tables and count what was said."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    settings = Settings(STRATEGIES, ("LR", "check_verdict:Deaf"), **{**QUICK, "draws": 0})
    said: dict[str, Counter[str]] = {name: Counter() for name in settings.classifiers}
    for seed in range(tables):
        plan = ComparisonPlan(read_compared(*clouds(seed)), settings)
        for finding in find(results_of(plan)):
            said[finding.classifier][finding.state] += 1
    for name, counts in said.items():
        truth = "a gain" if ":" in name else "no gain"
        print(f"{name} ({truth}), {tables} tables: {dict(counts)}")


if __name__ == "__main__":
    main()
