"""Balance imbalanced data with counterfactuals."""

__version__ = "0.1.0"
