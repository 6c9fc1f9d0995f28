"""Experiments as lists of independent cells, kept in a store that survives a kill."""

from counterbalance.trials.fingerprint import Fingerprint, take_fingerprint
from counterbalance.trials.integrity import StoreError
from counterbalance.trials.progress import Progress, Status
from counterbalance.trials.runner import RunInterruptedError, RunSummary, run
from counterbalance.trials.store import Cell, CellRecord, CellStore, Section
from counterbalance.trials.workers import CellResult

__all__ = [
    "Cell",
    "CellRecord",
    "CellResult",
    "CellStore",
    "Fingerprint",
    "Progress",
    "RunInterruptedError",
    "RunSummary",
    "Section",
    "Status",
    "StoreError",
    "run",
    "take_fingerprint",
]
