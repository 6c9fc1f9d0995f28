"""Which modules are the method: a figure of an experiment depends on these.

The command line, displays, reports and the other readers of a result may change without a
cell being computed again. A test holds this list against what the samplers import.
"""

from __future__ import annotations

SAMPLER_MODULES = tuple(
    f"counterbalance.{name}"
    for name in (
        *("base", "classifier", "columns", "constraints", "containers", "draws", "encoder"),
        *("errors", "factuals", "forest", "frames", "interior", "interior_sampler", "kinds"),
        *("labels", "origins", "perturbation", "profile", "provenance", "relations", "rules"),
        *("sampler", "samples", "screen", "search", "selection", "shortfall", "table"),
        "user_warnings",
    )
)
