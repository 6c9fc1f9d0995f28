"""How long every other method takes, as a multiple of SMOTE's time, measured in one run.

The table is 10,000 rows of 20 features with 500 minority rows. Each time is the best of a few
calls on one thread, and SMOTE is measured again beside each peer, so that a busy machine slows
both.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from counterbalance.methods import PeerFallbackWarning, all_samplers


def table() -> tuple[Any, Any]:
    """Overlapping classes of two clusters each, 500 rows of 10,000 in the minority."""
    X, y = make_classification(
        n_samples=40_000, n_features=20, n_informative=10, class_sep=0.8, random_state=0
    )
    rows = np.concatenate([np.flatnonzero(y == 1)[:500], np.flatnonzero(y == 0)[:9500]])
    return X[rows], y[rows]


def seconds(call: Callable[[], Any], times: int) -> float:
    """Best of several calls."""
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return float(best)


def main() -> None:
    """Print a line for each peer as it is measured."""
    X, y = table()
    warnings.simplefilter("ignore", PeerFallbackWarning)
    SMOTE(random_state=0).fit_resample(X, y)
    print("| method | seconds | times SMOTE |\n|---|---|---|")
    for name, peer in all_samplers().items():
        if peer.ours:
            continue
        made = peer.factory(random_state=0)
        call = made.fit if peer.kind == "classifier" else made.fit_resample
        smote = seconds(lambda: SMOTE(random_state=0).fit_resample(X, y), 5)
        try:
            took = seconds(lambda call=call: call(X, y), 3)
        except RuntimeError as error:
            print(f"| {name} | {type(error).__name__} | |")
            continue
        print(f"| {name} | {took:.3f} | {took / smote:.1f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
