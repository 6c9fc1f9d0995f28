"""Our own samplers in the study, each with its defaults: as the registry has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterbalance.methods import all_samplers

_METHODS = {method.aliases[0]: method for method in all_samplers().values() if method.ours}
OURS: dict[str, Callable[..., Any]] = {name: method.factory for name, method in _METHODS.items()}
DESCRIPTIONS = {
    name: f"`{method.factory.__name__}()`: {method.details}" for name, method in _METHODS.items()
}
DESCRIPTIONS["counterfactuals"] += " What the new rows are is counted below."
