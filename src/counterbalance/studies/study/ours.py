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
    "counterfactuals": "`CounterfactualOverSampler()`: minimum inversions of majority rows as the "
    "paper finds them, the nearest ones up to balance; where too few rows invert, further "
    "inversions and rows made within the class. What the new rows are is counted below.",
    "interior": "`InteriorOverSampler()`: rows spread around minority rows, drawn as f agrees.",
}
