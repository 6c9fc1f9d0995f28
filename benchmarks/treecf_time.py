"""Explain rows with treecf; runs in treecf's own environment.

    python treecf_time.py problems.pickle N_EXACT SECONDS

The file holds for each table a forest f, rows x and the scale of each feature. The output on stdout
is JSON.
"""

import json
import pickle
import sys
import time
from typing import Any

import numpy as np
from treecf import Explainer, Target

# The forest predicts the class above a half; ties go to the other class.
TURNED = Target.raw(range=(0.5000001, 1.01))


def explain(problem: dict[str, Any], n_exact: int, seconds: float) -> dict[str, Any]:
    """Return distances by the heuristic and the exact backend, and the time a row of the first."""
    explainer = Explainer(problem["f"], normalizers=problem["scale"])
    heuristic, times, exact, proved = [], [], [], []
    for row in problem["x"]:
        start = time.process_time()
        found = explainer.explain(row, target=TURNED, seed=0)
        times.append(time.process_time() - start)
        heuristic.append(float(getattr(found, "distance", np.inf)))
    for row in problem["x"][:n_exact]:
        found = explainer.explain(
            row, target=TURNED, backend="exact", seed=0, time_budget_s=seconds
        )
        exact.append(float(getattr(found, "distance", np.inf)))
        proved.append(getattr(found, "proof", "") == "optimal")
    return {
        "heuristic": heuristic,
        "exact": exact,
        "proved": proved,
        "seconds": float(np.median(times)),
    }


with open(sys.argv[1], "rb") as file:  # noqa: PTH123
    problems = pickle.load(file)  # noqa: S301  (benchmarks/against_treecf.py wrote it)
print(
    json.dumps(
        {name: explain(one, int(sys.argv[2]), float(sys.argv[3])) for name, one in problems.items()}
    )
)
