"""Should this table be resampled, and with what? An honest answer, on the user's own rows."""

from counterbalance.compare.plan import QUICK, ComparisonError, Settings
from counterbalance.compare.records import Summary, Verdict, as_plain
from counterbalance.compare.run import Comparison, compare, write_files

__all__ = [
    "QUICK",
    "Comparison",
    "ComparisonError",
    "Settings",
    "Summary",
    "Verdict",
    "as_plain",
    "compare",
    "write_files",
]
