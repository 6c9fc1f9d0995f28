"""Explain: what would have to change for one row to be called another class."""

from counterbalance.explain.answers import explain
from counterbalance.explain.explanation import Answer, Explanation, Room

__all__ = ["Answer", "Explanation", "Room", "explain"]
