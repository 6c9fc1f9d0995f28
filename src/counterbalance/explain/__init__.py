"""Explain: the smallest changes of a row for which a classifier predicts another class."""

from typing import Any

from counterbalance.explain.explanation import AcceptedRange, Answer, Explanation
from counterbalance.explain.table import Explanations, explain

__all__ = ["AcceptedRange", "Answer", "Explanation", "Explanations", "explain"]


def __getattr__(name: str) -> Any:
    """Return a name of version 0.2, with a warning."""
    if name == "Room":
        import warnings  # noqa: PLC0415  (only here)

        text = "Room was renamed to AcceptedRange; the old name will be removed in 0.4"
        warnings.warn(text, FutureWarning, stacklevel=2)
        return AcceptedRange
    raise AttributeError(f"module 'counterbalance.explain' has no attribute {name!r}")
