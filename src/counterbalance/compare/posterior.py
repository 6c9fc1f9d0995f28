"""The Bayesian correlated t-test: what the folds say of a difference.

    d       (n,) differences of two strategies, one for each fold
    ratio   rows of a test part / rows of its training part

The folds share training rows, so their differences are correlated, by about ratio / (1 +
ratio) (Nadeau and Bengio). With a flat prior, the mean difference has a Student posterior with
n - 1 degrees of freedom around mean(d), with variance var(d) (1 / n + ratio) (Corani and
Benavoli, Machine Learning 2015). The region of practical equivalence is [-rope, rope].

The package baycomp has the same test, and our tests check against it. It is not used here because
it assumes folds of equal size (training parts that follow time grow), gives no intervals, and
imports matplotlib.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from counterbalance.arrays import Floats

FEWEST = 2


@dataclass(frozen=True)
class Posterior:
    """Where the mean difference is believed to lie."""

    mean: float
    scale: float
    freedom: int

    def above(self, bound: float) -> float:
        """Return the probability that the mean difference is above a bound."""
        if self.scale == 0:
            return float(self.mean > bound)
        return float(t.sf(bound, self.freedom, self.mean, self.scale))

    def below(self, bound: float) -> float:
        """Return the probability that the mean difference is below a bound."""
        if self.scale == 0:
            return float(self.mean < bound)
        return float(t.cdf(bound, self.freedom, self.mean, self.scale))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds the mean difference with this probability."""
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
    n = len(d)
    if n < FEWEST:
        return Posterior(float(np.mean(d)), np.inf, 1)
    variance = float(np.var(d, ddof=1)) * (1 / n + ratio)
    return Posterior(float(np.mean(d)), float(np.sqrt(variance)), n - 1)
