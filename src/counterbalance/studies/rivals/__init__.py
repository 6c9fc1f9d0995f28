"""What a demanding user would take instead of a resampler, in a study of its own."""

from counterbalance.studies.rivals.registry import RIVALS
from counterbalance.studies.rivals.run import RIVAL_STUDY

__all__ = ["RIVALS", "RIVAL_STUDY"]
