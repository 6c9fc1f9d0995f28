"""How often the verdict of a comparison claims a gain that is not there, or finds a real one.

    python benchmarks/check_verdict.py [TABLES]

No gain: tables whose target is shuffled, and normal clouds of one shape, where a logistic
regression with a moved threshold is the best that there is. A gain: clouds for a classifier that
learns nothing from a class with less than two fifths of the rows. Every table is new. Each is
compared with the default number of repeats and with one repeat, from the same trials.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from counterbalance.compare import Settings
from counterbalance.compare.data import read_compared
from counterbalance.compare.evidence import find
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.run import run_looks
from counterbalance.compare.runner import TrialFile

DESIGNS: dict[str, dict[str, Any]] = {
    "default": {},
    "one repeat": {"repeats": 1},
}
Table = tuple[pd.DataFrame, Any]


class NeedsBalance(ClassifierMixin, BaseEstimator):
    """A logistic regression that learns nothing from a class with less than two fifths."""

    def fit(self, X: Any, y: Any) -> NeedsBalance:
        """Learn, or not."""
        heard = X if np.bincount(y).min() >= 0.4 * len(y) else np.zeros_like(X)
        self.inner_ = LogisticRegression().fit(heard, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return what was learned."""
        return self.inner_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def clouds(seed: int, rows: int, few: int, features: int, shifted: int) -> Table:
    """Return two normal clouds that differ in some features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    X[:few, :shifted] += 1
    names = [f"x{m}" for m in range(features)]
    return pd.DataFrame(X, columns=names), np.repeat(["yes", "no"], [few, rows - few])


def shuffled_mixed(seed: int, rows: int = 400) -> Table:
    """Return a mixed table with gaps, and classes that have nothing to do with it."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(rows)
    X = pd.DataFrame(
        {
            "dose": z + rng.normal(0, 0.5, rows),
            "visits": rng.poisson(np.exp(z / 2)),
            "ward": rng.choice(["A", "B", "C"], rows),
            "smokes": rng.random(rows) < 0.3,
        }
    )
    X.loc[rng.random(rows) < 0.1, "dose"] = np.nan
    return X, np.where(np.argsort(rng.random(rows)) < rows * 0.15, "ill", "well")


def shuffled_real(seed: int, rows: int = 300) -> Table:
    """Return tumours of scikit-learn's, with classes that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    X = load_breast_cancer(as_frame=True).data.sample(rows, random_state=seed).iloc[:, :10]
    return X, np.where(np.argsort(rng.random(rows)) < rows * 0.12, "yes", "no")


def null_tables(count: int) -> Iterator[tuple[str, Table]]:
    """Yield tables on which nothing can help beyond a threshold."""
    for seed in range(count // 4):
        yield "clouds", clouds(seed, 400, 50, 3, 3)
        yield "clouds", clouds(100 + seed, 300, 45, 8, 2)
        yield "shuffled", shuffled_mixed(seed)
        yield "shuffled", shuffled_real(seed)


def count_claims(
    kind: str, table: Table, classifiers: tuple[str, ...], verdicts: Counter[Any]
) -> None:
    """Compare in every design, and count the verdicts on each classifier."""
    compared, file = read_compared(*table), TrialFile(None, {})
    for design, settings in DESIGNS.items():
        chosen = Settings(classifiers=classifiers, seconds=0, **settings)
        results = run_looks(ComparisonPlan(compared, chosen), file)
        verdicts[kind, design, "trials"] += len(results.records)
        for finding in find(results):
            verdicts[kind, design, f"{finding.classifier}: {finding.state}"] += 1


def main() -> None:
    """Compare on many tables and print the verdicts."""
    warnings.simplefilter("ignore")
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    verdicts: Counter[Any] = Counter()
    for kind, table in null_tables(tables):
        count_claims(kind, table, ("LR", "GBDT"), verdicts)
    for seed in range(tables // 4):
        gained = clouds(200 + seed, 400, 50, 3, 3)
        count_claims("a gain", gained, ("check_verdict:NeedsBalance",), verdicts)
    for key in sorted(verdicts):
        print(*key, verdicts[key])


if __name__ == "__main__":
    main()
