"""Should this table be resampled, and with what? An honest answer, on the user's own rows."""

from counterbalance.compare.run import Comparison, compare, write_files
from counterbalance.compare.settings import QUICK, ComparisonError, Settings
from counterbalance.compare.verdict import Verdict

__all__ = [
    "QUICK",
    "Comparison",
    "ComparisonError",
    "Settings",
    "Verdict",
    "compare",
    "write_files",
]
