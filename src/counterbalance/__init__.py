"""Balance imbalanced data with counterfactuals."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterbalance import errors
    from counterbalance.sampler import CounterfactualOverSampler

__version__ = "0.1.0"

__all__ = ["CounterfactualOverSampler", "errors"]


def __getattr__(name: str) -> Any:
    """Load the sampler, and scikit-learn with it, when it is first asked for."""
    if name == "CounterfactualOverSampler":
        from counterbalance.sampler import CounterfactualOverSampler  # noqa: PLC0415  (lazily)

        return CounterfactualOverSampler
    if name == "errors":
        from importlib import import_module  # noqa: PLC0415  (lazily)

        return import_module("counterbalance.errors")
    raise AttributeError(f"module 'counterbalance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
