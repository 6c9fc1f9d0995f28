"""Evidence: what the folds say of each strategy against doing nothing but moving the threshold.

The question is what a strategy adds to what can be had for free. So the reference is ``none``
at its tuned threshold, and each strategy is held against it at a threshold that was tuned in
the same way. Metrics without a threshold are compared as they are, the Brier score after prior
correction.

Many strategies are tried, and the best of many looks better than it is. So a claim has to clear
a bar that rises with their number m: probability 1 - 0.05 / m, which keeps the probability that
any claim of a classifier is wrong at 0.05. And ``chosen_gain`` says what choosing is worth: the
gain on each fold of the strategy that was best on the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterbalance.experiments.comparison.metrics import CORRECTED, METRICS
from counterbalance.experiments.comparison.posterior import Posterior, posterior
from counterbalance.experiments.comparison.results import HALF, TUNED, Pair, Results
from counterbalance.experiments.comparison.strategies import BASELINE

Floats = NDArray[np.float64]
ERROR = 0.05
LIKELY = 1 - ERROR
EVEN = 0.5
State = Literal["helps", "probably", "unclear", "no"]


@dataclass(frozen=True)
class Gain:
    """What a strategy adds to the reference."""

    strategy: str
    belief: Posterior
    score: float
    rope: float

    @property
    def better(self) -> float:
        """Probability of a gain that counts."""
        return self.belief.above(self.rope)

    @property
    def worse(self) -> float:
        """Probability of a loss that counts."""
        return self.belief.below(-self.rope)


@dataclass(frozen=True)
class Finding:
    """What was found for one classifier.

    Parameters
    ----------
    classifier : str
        Which.
    reference : float
        Score of ``none`` at its tuned threshold.
    gains : tuple of Gain
        What each strategy adds, the largest mean gain first; none that failed on a fold.
    moving : Gain or None
        What the tuned threshold adds to 0.5, without resampling.
    threshold : tuple of float or None
        Median, least and greatest tuned threshold of ``none``.
    chosen_gain : float or None
        Mean gain on a fold of the strategy that was best on the other folds.
    """

    classifier: str
    reference: float
    gains: tuple[Gain, ...]
    moving: Gain | None
    threshold: tuple[float, float, float] | None
    chosen_gain: float | None

    @property
    def bar(self) -> float:
        """The probability that a claim has to reach."""
        return 1 - ERROR / max(len(self.gains), 1)

    @property
    def best(self) -> Gain | None:
        """The strategy to speak of: the largest gain among those that are surest."""
        for least in (self.bar, LIKELY):
            for gain in self.gains:
                if gain.better >= least:
                    return gain
        return self.gains[0] if self.gains else None

    @property
    def state(self) -> State:
        """Whether some strategy helps."""
        if self.best is None or self.best.better < EVEN:
            return "no"
        if self.best.better >= self.bar:
            return "helps"
        return "probably" if self.best.better >= LIKELY else "unclear"

    @property
    def threshold_helps(self) -> bool:
        """Whether moving the threshold alone helps."""
        return self.moving is not None and self.moving.better >= LIKELY


def find(results: Results) -> list[Finding]:
    """Return what was found for each classifier whose baseline could be computed."""
    classifiers = results.plan.settings.classifiers
    bases = {name: results.pairs[BASELINE, name] for name in classifiers}
    return [_finding(results, base) for base in bases.values() if base.failed is None]


def _finding(results: Results, base: Pair) -> Finding:
    settings = results.plan.settings
    metric, rope, ratio = settings.metric, settings.rope, results.plan.ratio
    others = [
        pair
        for (strategy, classifier), pair in results.pairs.items()
        if classifier == base.classifier and strategy != BASELINE and pair.failed is None
    ]
    is_tuned = METRICS[metric].needs_threshold and results.plan.table.is_binary
    reference = best_values(base, metric, tuned=is_tuned)
    sign = 1 if METRICS[metric].higher_is_better else -1
    rows = {
        pair.strategy: sign * (best_values(pair, metric, tuned=is_tuned) - reference)
        for pair in others
    }
    gains = [
        Gain(
            pair.strategy,
            posterior(rows[pair.strategy], ratio),
            float(best_values(pair, metric, tuned=is_tuned).mean()),
            rope,
        )
        for pair in others
    ]
    gains.sort(key=lambda gain: -gain.belief.mean)
    moving = threshold = None
    if is_tuned:
        moved = posterior(reference - base.values(metric, HALF), ratio)
        moving = Gain(BASELINE, moved, float(base.values(metric, HALF).mean()), rope)
        cuts = base.thresholds(metric)
        threshold = (float(np.median(cuts)), float(cuts.min()), float(cuts.max()))
    return Finding(
        base.classifier,
        float(reference.mean()),
        tuple(gains),
        moving,
        threshold,
        chosen_gain(np.array(list(rows.values()))) if rows else None,
    )


def best_values(pair: Pair, metric: str, *, tuned: bool) -> Floats:
    """Return a metric on each fold, as good as the strategy can make it without looking."""
    if metric == "brier":
        return pair.values(f"brier{CORRECTED}")
    return pair.values(metric, TUNED if tuned else HALF)


def chosen_gain(gains: Floats) -> float:
    """Return the mean gain on a fold of the strategy that was best on all other folds.

    Parameters
    ----------
    gains : array of shape (strategies, folds)
        Gain of each strategy on each fold.

    Examples
    --------
    >>> chosen_gain(np.array([[0.3, 0.0, 0.0], [0.1, 0.1, 0.1]]))
    0.03333333333333333
    """
    others = gains.sum(axis=1, keepdims=True) - gains
    choice = others.argmax(axis=0)
    return float(gains[choice, np.arange(gains.shape[1])].mean())
