"""Should this table be resampled, and with what? An honest answer, on the user's own rows."""

from counterbalance.compare.records import Summary, Verdict, as_plain
from counterbalance.compare.run import Comparison, compare, write_files
from counterbalance.compare.settings import QUICK, ComparisonError, Settings

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
