"""Compare strategies against imbalance by cross-validation on the user's own rows."""

from counterbalance.compare.plan import FULL, QUICK, ComparisonError, Settings
from counterbalance.compare.run import Comparison, compare
from counterbalance.compare.summary import write_files
from counterbalance.compare.verdict import Verdict

__all__ = [
    "FULL",
    "QUICK",
    "Comparison",
    "ComparisonError",
    "Settings",
    "Verdict",
    "compare",
    "write_files",
]
