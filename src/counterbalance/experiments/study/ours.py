"""Our own samplers in the study, each with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterbalance import CounterfactualOverSampler, InteriorOverSampler

OURS: dict[str, Callable[..., Any]] = {
    "counterfactuals": CounterfactualOverSampler,
    "interior": InteriorOverSampler,
}
DESCRIPTIONS = {
    "counterfactuals": "`CounterfactualOverSampler()`, the paper's algorithm: every new row is a "
    "minimum inversion of a majority row.",
    "interior": "`InteriorOverSampler()`: rows spread around minority rows, drawn as f agrees.",
}
