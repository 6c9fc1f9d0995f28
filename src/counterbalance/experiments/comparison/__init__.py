"""Should this table be resampled, and with what? An honest answer, on the user's own rows."""

from counterbalance.experiments.comparison.compare import Comparison, compare, write_files
from counterbalance.experiments.comparison.settings import QUICK, ComparisonError, Settings
from counterbalance.experiments.comparison.verdict import Verdict

__all__ = [
    "QUICK",
    "Comparison",
    "ComparisonError",
    "Settings",
    "Verdict",
    "compare",
    "write_files",
]
