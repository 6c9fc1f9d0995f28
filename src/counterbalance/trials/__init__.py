"""Experiments as lists of independent trials, kept in a store that survives a kill."""

from counterbalance.trials.fingerprint import Fingerprint, take_fingerprint
from counterbalance.trials.progress import Progress, Status
from counterbalance.trials.runner import (
    ExperimentRun,
    RunInterruptedError,
    RunSummary,
    run,
    run_experiment,
)
from counterbalance.trials.store import Section, TrialStore
from counterbalance.trials.store_file import StoreError
from counterbalance.trials.trial import Trial, TrialRecord, TrialResult

__all__ = [
    "ExperimentRun",
    "Fingerprint",
    "Progress",
    "RunInterruptedError",
    "RunSummary",
    "Section",
    "Status",
    "StoreError",
    "Trial",
    "TrialRecord",
    "TrialResult",
    "TrialStore",
    "run",
    "run_experiment",
    "take_fingerprint",
]
