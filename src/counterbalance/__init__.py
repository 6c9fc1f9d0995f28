"""Balance imbalanced data with counterfactuals."""

from counterbalance import errors
from counterbalance.sampler import CounterfactualOverSampler

__version__ = "0.1.0"

__all__ = ["CounterfactualOverSampler", "errors"]
