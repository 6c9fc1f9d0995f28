"""The paper's Section V on real data, each number beside the paper's own."""

from counterbalance.experiments.reproduction.reproduce import Reproduction, reproduce
from counterbalance.experiments.reproduction.settings import (
    DATASETS,
    QUICK,
    Settings,
    SettingsError,
)

__all__ = ["DATASETS", "QUICK", "Reproduction", "Settings", "SettingsError", "reproduce"]
