"""Fit how the cost grows in rows, in features and in draws."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from timing import best_of

from counterbalance import CounterfactualOverSampler
from counterbalance.errors import ShortfallWarning

BAR = 1.1


def main() -> None:
    """Fit the exponent of the processor time of ``fit_resample`` in each direction."""
    print(f"Growth of fit_resample with a fitted linear f: time ~ size ** exponent (bar: {BAR})")
    print(f"{'in':10}{'sizes':38}{'seconds':38}{'exponent':>9}")
    _line("rows", (12_500, 25_000, 50_000, 100_000), lambda n: seconds(n, 20, 20))
    _line("features", (60, 125, 250, 500, 1000), lambda m: seconds(3000, m, 20))
    _line("draws", (10, 20, 40, 80, 160), lambda t: seconds(10_000, 20, t))


def seconds(n_rows: int, n_features: int, n_draws: int) -> float:
    """Return the time to resample a generated table of ten informative features."""
    rng = np.random.default_rng(0)
    y = (rng.random(n_rows) < 0.1).astype(int)
    X = rng.normal(size=(n_rows, n_features))
    X[:, :10] += y[:, None]
    f = LogisticRegression(class_weight="balanced", max_iter=1000).fit(X, y)
    sampler = CounterfactualOverSampler(
        estimator=FrozenEstimator(f), n_draws=n_draws, on_shortfall="accept", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortfallWarning)
        return best_of(2, lambda: sampler.fit_resample(X, y), clock=time.process_time)[0]


def _line(name: str, sizes: Iterable[int], measure: Callable[[int], float]) -> None:
    sizes = list(sizes)
    times = [measure(size) for size in sizes]
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    shown = " ".join(f"{size:,}" for size in sizes), " ".join(f"{t:.2f}" for t in times)
    print(f"{name:10}{shown[0]:38}{shown[1]:38}{exponent:>9.2f}", flush=True)
