"""Compare the peak of memory with the size of input and output."""

from __future__ import annotations

import subprocess
import sys

BAR = 300
CODE = """
import resource, numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from counterbalance import CounterfactualOverSampler

rng = np.random.default_rng(0)
y = (rng.random(1_000_000) < 0.2).astype(np.int8)
X = rng.normal(size=(1_000_000, 30))
X[:, :10] += y[:, None]
f = LogisticRegression(class_weight="balanced", max_iter=50).fit(X[:20_000], y[:20_000])
sampler = CounterfactualOverSampler(
    estimator=FrozenEstimator(f), n_draws=10, on_shortfall="accept", random_state=0
)
X_new, y_new = sampler.fit_resample(X, y)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
data = (X.nbytes + y.nbytes + X_new.nbytes + y_new.nbytes) / 2**20
print(f"{data:.0f} {peak:.0f} {len(X_new) - len(X)}")
"""


def main() -> None:
    """Resample a million rows in a process of its own and read its peak."""
    command = [sys.executable, "-W", "ignore", "-c", CODE]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    data, peak, n_new = map(int, run.stdout.split())
    print("Memory: 1,000,000 rows x 30 features, linear f")
    print(f"input and output {data:,} MiB, peak of the process {peak:,} MiB, ", end="")
    print(f"{peak - data:,} MiB more (bar: {BAR} MiB); {n_new:,} new rows")
