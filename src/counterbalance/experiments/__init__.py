"""Experiments as lists of independent cells, kept in a store that survives a kill."""

from counterbalance.experiments.fingerprint import Fingerprint, take_fingerprint
from counterbalance.experiments.integrity import StoreError
from counterbalance.experiments.progress import Progress, Status
from counterbalance.experiments.runner import RunInterruptedError, RunSummary, run
from counterbalance.experiments.store import Cell, CellRecord, CellStore, Section
from counterbalance.experiments.workers import CellResult

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
