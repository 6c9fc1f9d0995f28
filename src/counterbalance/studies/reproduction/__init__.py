"""The paper's Section V on real data, each number beside the paper's own."""

from counterbalance.studies.reproduction.run import Reproduction, reproduce
from counterbalance.studies.reproduction.settings import (
    DATASETS,
    QUICK,
    ReproductionSettings,
    SettingsError,
)

__all__ = [
    "DATASETS",
    "QUICK",
    "Reproduction",
    "ReproductionSettings",
    "SettingsError",
    "reproduce",
]
