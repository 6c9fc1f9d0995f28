"""Results: the scores of each strategy with each classifier.

The Bayesian correlated t-test: folds share training rows, so their scores are correlated, by
about ratio / (1 + ratio), where ratio is the size of a test part over that of its training part
(Nadeau and Bengio). With a flat prior, the mean of n folds d has a Student posterior with n - 1
degrees of freedom around mean(d), with variance var(d) (1 / n + ratio) (Corani and Benavoli,
Machine Learning 2015). Our tests check against baycomp, which assumes folds of equal size.
"""

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from scipy.stats import t

import counterbalance
from counterbalance.arrays import Floats
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.models import HALF
from counterbalance.compare.plan import ComparisonPlan
from counterbalance.compare.runner import TrialRecord

CITATION = (
    "Luo and Liu, Counterfactual-based minority oversampling for imbalanced classification; "
    f"computed with counterbalance {counterbalance.__version__}"
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas")


@dataclass(frozen=True)
class Posterior:
    """Posterior distribution of a mean."""

    mean: float
    scale: float
    freedom: int

    def above(self, bound: float) -> float:
        """Return the probability that the mean is above a bound."""
        if self.scale == 0:
            return float(self.mean > bound)
        return float(t.sf(bound, self.freedom, self.mean, self.scale))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the mean with this probability."""
        if self.scale == 0:
            return self.mean, self.mean
        low, high = t.interval(level, self.freedom, self.mean, self.scale)
        return float(low), float(high)


def posterior(d: Floats, ratio: float) -> Posterior:
    """Return the posterior of the mean of correlated figures, one for each fold.

    >>> belief = posterior(np.array([0.02, 0.04, 0.03, 0.05]), ratio=1 / 3)
    >>> round(belief.mean, 3), round(belief.above(0.01), 3)
    (0.035, 0.957)
    """
    spread = float(np.std(d, ddof=1)) if len(d) > 1 else np.inf
    return Posterior(float(np.mean(d)), spread * np.sqrt(1 / len(d) + ratio), max(len(d) - 1, 1))


@dataclass(frozen=True, eq=False)
class Pair:
    """A strategy with a classifier, and its trials in the order of the folds."""

    plan: ComparisonPlan
    strategy: str
    classifier: str
    records: tuple[TrialRecord, ...]

    @cached_property
    def done(self) -> list[TrialRecord]:
        """The folds that could be computed."""
        return [record for record in self.records if not record.error]

    @cached_property
    def failed(self) -> str | None:
        """Why folds failed, if any did: the most frequent reason."""
        errors = Counter(record.error for record in self.records if record.error)
        if not errors:
            return None if self.records else "it was not tried"
        return f"{errors.total()} of {len(self.records)} folds: {errors.most_common(1)[0][0]}"

    def values(self, metric: str, threshold: str = HALF) -> Floats:
        """Return a metric on each fold that is done."""
        name = f"{metric}@{threshold}" if METRICS[metric].is_tuned else metric
        return np.array([record.figures[name] for record in self.done])

    def thresholds(self, metric: str) -> Floats:
        """Return the threshold of each fold, tuned for a metric; none with more classes."""
        name = f"threshold {metric}"
        return np.array([record.figures[name] for record in self.done if name in record.figures])

    def score(
        self, metric: str, threshold: str = HALF
    ) -> tuple[float, float | None, float | None] | None:
        """Return the mean of a metric and its 95 % interval, which one fold does not have."""
        if not self.done:
            return None
        belief = posterior(self.values(metric, threshold), self.plan.ratio)
        if len(self.done) == 1:
            return belief.mean, None, None
        low, high = np.clip(belief.interval(), 0, 1)
        return belief.mean, float(low), float(high)


@dataclass(frozen=True, eq=False)
class Results:
    """All trials of a plan that are done so far."""

    plan: ComparisonPlan
    records: Sequence[TrialRecord]
    late: tuple[tuple[str, str], ...] = ()  # pairs that were dropped for lack of time

    @cached_property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        """The pairs of strategy and classifier, in the order of the settings."""
        by_pair: dict[tuple[str, str], list[TrialRecord]] = {key: [] for key in self.plan.pairs}
        for record in sorted(self.records, key=lambda record: int(record.trial["fold"])):
            by_pair[str(record.trial["strategy"]), str(record.trial["classifier"])].append(record)
        return {key: Pair(self.plan, *key, tuple(found)) for key, found in by_pair.items()}


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python, of this package and of ``packages``."""
    found = {"python": platform.python_version(), "counterbalance": counterbalance.__version__}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
