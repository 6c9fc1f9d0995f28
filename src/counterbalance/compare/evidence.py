"""Evidence: what the folds say of each strategy against doing nothing but moving the threshold.

The question is what a strategy adds to what can be had for free. So the reference is ``none`` at
the better of its two thresholds, 0.5 and the tuned one, and each strategy is held against it at
both of its own. Metrics without a threshold are compared as they are, the Brier score after
prior correction.

Many candidates are tried, and the best of many looks better than it is. So a claim has to clear
a bar that rises with their number m: probability 1 - 0.05 / m, which keeps the probability that
any claim of a classifier is wrong at 0.05. And ``chosen_gain`` says what choosing is worth: the
gain on each fold of the candidate that was best on the other folds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.compare.metrics import CORRECTED, METRICS
from counterbalance.compare.posterior import Posterior, posterior
from counterbalance.compare.results import HALF, TUNED, Pair, Results
from counterbalance.compare.strategies import BASELINE

ERROR = 0.05
LIKELY = 1 - ERROR
HOPE = 0.75  # below this a gain is not worth speaking of
FAR = 5  # a threshold so many times below the share of the minority is fragile
WILD = 10  # and one that differs so many times between two folds
State = Literal["helps", "probably", "unclear", "no"]


@dataclass(frozen=True)
class Gain:
    """What a strategy at a threshold adds to the reference."""

    strategy: str
    threshold: str
    belief: Posterior
    score: float
    rope: float

    @cached_property
    def better(self) -> float:
        """Probability of a gain that counts."""
        return self.belief.above(self.rope)

    @cached_property
    def worse(self) -> float:
        """Probability of a loss that counts."""
        return self.belief.below(-self.rope)


@dataclass(frozen=True)
class Evidence:
    """What the folds say of one classifier."""

    classifier: str  # which
    reference: float  # score of ``none`` at the better of its thresholds
    # What each candidate adds, the largest mean gain first; none that failed on a fold.
    gains: tuple[Gain, ...]
    # What the tuned threshold adds to 0.5, without resampling; with more than two classes, what
    # dividing by the class shares adds.
    moving: Gain | None
    # Median, least and greatest tuned threshold of ``none``; None with more than two.
    threshold: tuple[float, float, float] | None
    # Mean gain on a fold of the candidate that was best on the other folds.
    chosen_gain: float | None

    @property
    def bar(self) -> float:
        """The probability that a claim has to reach."""
        return 1 - ERROR / max(len(self.gains), 1)

    @cached_property
    def best(self) -> Gain | None:
        """The candidate to speak of: the largest gain among those that are surest."""
        for least in (self.bar, LIKELY):
            for gain in self.gains:
                if gain.better >= least:
                    return gain
        return self.gains[0] if self.gains else None

    @property
    def state(self) -> State:
        """Whether some strategy helps; a mere chance counts only if choosing gains anything."""
        if self.best is None or self.chosen_gain is None or self.best.better < HOPE:
            return "no"
        if self.best.better >= self.bar:
            return "helps"
        if self.best.better >= LIKELY:
            return "probably"
        return "unclear" if self.chosen_gain > 0 else "no"

    @property
    def threshold_helps(self) -> bool:
        """Whether moving the threshold alone helps."""
        return self.moving is not None and self.moving.better >= LIKELY


def find(results: Results) -> list[Evidence]:
    """Return what was found for each classifier whose baseline could be computed."""
    classifiers = results.plan.settings.classifiers
    bases = {name: results.pairs[BASELINE, name] for name in classifiers}
    return [_evidence(results, base) for base in bases.values() if base.failed is None]


def _evidence(results: Results, base: Pair) -> Evidence:
    settings, ratio = results.plan.settings, results.plan.ratio
    metric, rope = settings.metric, settings.rope
    sign = 1 if METRICS[metric].higher_is_better else -1
    is_tuned = METRICS[metric].needs_threshold
    thresholds = (HALF, TUNED) if is_tuned else (HALF,)
    free = [best_values(base, metric, threshold) for threshold in thresholds]
    reference = max(free, key=lambda values: sign * float(values.mean()))
    rows, gains = [], []
    for (strategy, classifier), pair in results.pairs.items():
        if classifier != base.classifier or strategy == BASELINE or pair.failed is not None:
            continue
        for threshold in thresholds:
            values = best_values(pair, metric, threshold)
            rows.append(sign * (values - reference))
            belief = posterior(rows[-1], ratio)
            gains.append(Gain(strategy, threshold, belief, float(values.mean()), rope))
    gains.sort(key=lambda gain: -gain.belief.mean)
    moving = cuts = None
    if is_tuned:
        moved = posterior(sign * (free[1] - free[0]), ratio)
        moving = Gain(BASELINE, TUNED, moved, float(free[1].mean()), rope)
    if is_tuned and results.plan.table.is_binary:
        found = base.thresholds(metric)
        cuts = (float(np.median(found)), float(found.min()), float(found.max()))
    chosen = chosen_gain(np.array(rows)) if rows else None
    return Evidence(base.classifier, float(reference.mean()), tuple(gains), moving, cuts, chosen)


def is_fragile(threshold: tuple[float, float, float], share: float) -> bool:
    """Say whether a tuned threshold should not be copied.

        threshold  its median, least and greatest over the folds
        share      share of the minority. The threshold of a well calibrated model lies near it
                   for G-mean and above it for F1; far below it, probabilities hardly differ and
                   any cut is chance

    >>> is_fragile((0.00086, 0.0005, 0.002), 0.015), is_fragile((0.012, 0.009, 0.02), 0.015)
    (True, False)
    """
    cut, low, high = threshold
    is_far = cut < share / FAR or 1 - cut < (1 - share) / FAR / FAR
    return is_far or high > WILD * low


def best_values(pair: Pair, metric: str, threshold: str) -> Floats:
    """Return a metric on each fold; of the Brier score, the one after prior correction."""
    return pair.values(f"brier{CORRECTED}" if metric == "brier" else metric, threshold)


def chosen_gain(gains: Floats) -> float:
    """Return the mean gain on a fold of the candidate that was best on all other folds.

        gains  (candidates, folds) gain of each candidate on each fold

    >>> chosen_gain(np.array([[0.3, 0.0, 0.0], [0.1, 0.1, 0.1]]))
    0.03333333333333333
    """
    others = gains.sum(axis=1, keepdims=True) - gains
    choice = others.argmax(axis=0)
    return float(gains[choice, np.arange(gains.shape[1])].mean())
