"""Draw, judge, keep what passes, draw again."""

from collections.abc import Callable

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.methods.fallback import warn_fallback


def drawn_until_accepted(
    n_samples: int,
    draw: Callable[[int], Floats],
    fault: Callable[[Floats], Floats],
    *,
    limit: float,
    max_rounds: int,
    method: str,
) -> Floats:
    """Rows from ``draw`` whose ``fault`` is not above ``limit``.

    Each round draws as many as are missing. What is missing after ``max_rounds`` is filled
    with the least faulty of the rejected rows, and a warning says how many.
    """
    accepted: list[Floats] = []
    rejected: list[Floats] = []
    faults: list[Floats] = []
    missing = n_samples
    for _ in range(max_rounds):
        candidates = draw(missing)
        judged = fault(candidates)
        good = judged <= limit
        accepted.append(candidates[good])
        rejected.append(candidates[~good])
        faults.append(judged[~good])
        missing -= int(good.sum())
        if missing == 0:
            break
    if missing:
        warn_fallback(
            method,
            f"after {max_rounds} rounds {missing} of {n_samples} rows were still rejected",
            "the least faulty of the rejected rows were taken",
        )
        best = np.argsort(np.concatenate(faults), kind="stable")[:missing]
        accepted.append(np.vstack(rejected)[best])
    return np.vstack(accepted)
