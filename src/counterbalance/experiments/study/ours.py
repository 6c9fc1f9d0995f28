"""Our own samplers in the study, each with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterbalance import CounterfactualOverSampler

OURS: dict[str, Callable[..., Any]] = {"counterfactuals": CounterfactualOverSampler}
