"""Evidence: compare each strategy with a tuned threshold without resampling, fold by fold.

The reference is ``none`` at the better of its two thresholds, 0.5 and the tuned one. Each strategy
is compared with it at both of its own thresholds. The results are evaluated several times, at
looks. After each look, strategies that can no longer be shown to help are dropped. A classifier is
settled when no strategy is left, or when one is shown to help. Neither makes a false claim more
probable:

    a claim needs a probability of 1 - 0.05 / (m looks), where m counts the candidates and looks
    the times at which a claim can be made: any claim about a classifier is wrong with 0.05
    a dropped strategy is never reported to help, and still counts in m

The variance of the posterior is var(d) (1 / n + ratio) (see `results`). More folds of the same rows
only reduce its first part. So after a few folds it is known how far the mean can still move, and
`chance` is the probability that it moves far enough.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.stats import t

from counterbalance.arrays import Floats
from counterbalance.compare.metrics import METRICS
from counterbalance.compare.models import HALF, TUNED
from counterbalance.compare.plan import FEWEST_FOLDS
from counterbalance.compare.results import Pair, Posterior, Results, posterior
from counterbalance.compare.strategies import BASELINE, COUNTERFACTUAL, INTERIOR

ERROR = 0.05
LIKELY = 1 - ERROR
POSSIBLE = 0.75  # below this probability a threshold is not mentioned
LEAST_CHANCE = 0.05  # below this probability of still being shown to help a strategy is left out
State = Literal["helps", "probably", "no"]


def chance(d: Floats, ratio: float, folds: int, bound: float, level: float) -> float:
    """Return the probability that the mean over ``folds`` folds will be shown to exceed a bound.

    ``level`` is the posterior probability that this needs.

    >>> gains = np.array([0.01, -0.02, 0.03, 0.0, -0.01])
    >>> round(chance(gains, 1 / 4, 15, bound=0.01, level=0.95), 3)
    0.009
    """
    if len(d) < 2:  # noqa: PLR2004 - one fold has no variance
        return 1.0
    spread = float(np.std(d, ddof=1))
    wanted = bound + float(t.ppf(level, folds - 1)) * spread * np.sqrt(1 / folds + ratio)
    to_go = spread * np.sqrt(max(1 / len(d) - 1 / folds, 0))
    return Posterior(float(np.mean(d)), to_go, len(d) - 1).above(wanted)


@dataclass(frozen=True)
class Gain:
    """The gain of a strategy at a threshold over the reference."""

    strategy: str
    threshold: str
    belief: Posterior
    rope: float
    chance: float = 1.0  # how probable it is that all folds show it to help
    is_whole: bool = True  # whether it was tried on as many folds as the reference

    @cached_property
    def better(self) -> float:
        """Probability of a gain that counts."""
        return self.belief.above(self.rope)


@dataclass(frozen=True)
class ClassifierEvidence:
    """The evidence about one classifier."""

    classifier: str
    # The gain of each candidate, the largest mean first; none that failed on a fold.
    gains: tuple[Gain, ...]
    # The gain of threshold and calibration without resampling; None where they change nothing.
    moving: Gain | None
    looks: int = 1  # at how many looks a claim can be made

    @property
    def bar(self) -> float:
        """The probability that a claim has to reach."""
        return 1 - ERROR / (max(len(self.gains), 1) * self.looks)

    @cached_property
    def best(self) -> Gain | None:
        """The candidate to report: the largest gain among those of the highest certainty.

        Among equally good ones, Interior comes first and Counterfactual last, which is for reading.
        """
        whole = [gain for gain in self.gains if gain.is_whole]
        for least in (self.bar, LIKELY):
            if sure := [gain for gain in whole if gain.better >= least]:
                near = [g for g in sure if g.belief.mean >= sure[0].belief.mean - sure[0].rope]
                first = {INTERIOR: 0, COUNTERFACTUAL: 2}
                return min(near, key=lambda gain: first.get(gain.strategy, 1))
        return next(iter([*whole, *self.gains]), None)

    @property
    def state(self) -> State:
        """Whether some strategy helps."""
        if self.best is None or not self.best.is_whole or self.best.better < LIKELY:
            return "no"
        return "helps" if self.best.better >= self.bar else "probably"


def find(results: Results) -> list[ClassifierEvidence]:
    """Return the evidence for each classifier whose baseline could be computed."""
    bases = [results.pairs[BASELINE, name] for name in results.plan.settings.classifiers]
    return [_evidence(results, base) for base in bases if base.failed is None]


def still_open(results: Results, folds: int) -> list[tuple[str, str]]:
    """Return the pairs of strategy and classifier that more folds can still change."""
    wanted = set()
    for found in find(results):
        is_settled = found.state == "helps" and folds > FEWEST_FOLDS
        open_gains = [gain for gain in found.gains if gain.is_whole and gain.chance >= LEAST_CHANCE]
        if open_gains and not is_settled:
            names = (BASELINE, *(gain.strategy for gain in open_gains))
            wanted |= {(name, found.classifier) for name in names}
    return [pair for pair in results.plan.pairs if pair in wanted]


def _evidence(results: Results, base: Pair) -> ClassifierEvidence:
    plan, rope = results.plan, results.plan.settings.rope
    metric = METRICS[plan.settings.metric]
    thresholds = (HALF, TUNED) if metric.is_tuned else (HALF,)
    baseline_values = [base.values(metric.name, threshold) for threshold in thresholds]
    reference = max(baseline_values, key=lambda values: metric.sign * float(values.mean()))
    gains = []
    for (strategy, classifier), pair in results.pairs.items():
        is_tried = len(pair.records) >= min(FEWEST_FOLDS, len(plan.folds))
        is_other = classifier != base.classifier or strategy == BASELINE
        if is_other or pair.failed is not None or not is_tried:
            continue
        for threshold in thresholds:
            values = pair.values(metric.name, threshold)
            d = metric.sign * (values - reference[: len(values)])
            to_come = chance(d, plan.ratio, len(plan.folds), rope, LIKELY)
            is_whole = len(values) == len(reference)
            belief = posterior(d, plan.ratio)
            gains.append(Gain(strategy, threshold, belief, rope, to_come, is_whole))
    gains.sort(key=lambda gain: -gain.belief.mean)
    moved = posterior(metric.sign * (baseline_values[-1] - baseline_values[0]), plan.ratio)
    moving = Gain(BASELINE, TUNED, moved, rope) if metric.is_tuned else None
    claims = sum(look > FEWEST_FOLDS for look in plan.looks)  # at the end of each repeat
    return ClassifierEvidence(base.classifier, tuple(gains), moving, max(claims, 1))
