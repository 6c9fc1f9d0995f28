"""A trial: one unit of work of an experiment, its result, and the seed that belongs to it.

A trial is a mapping of short text and whole numbers that names everything its result depends on::

    {"data": "car-good", "method": "SMOTE", "classifier": "SVM", "run": 0, "fold": 3}
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from counterbalance.trials.store_file import StoreError

Trial = dict[str, str | int]
State = Literal["done", "failed"]


@dataclass(frozen=True)
class TrialResult:
    """Figures of a trial, with anything else that is plain JSON."""

    figures: Mapping[str, float]
    payload: Any = None


@dataclass(frozen=True)
class TrialRecord:
    """What the store knows of a trial."""

    trial: Trial
    state: State
    figures: Mapping[str, float]
    payload: Any
    error: str
    traceback: str
    seconds: float


def trial_key(trial: Mapping[str, str | int]) -> str:
    """Return the canonical text of a trial, the same for any order of its names.

    >>> trial_key({"run": 0, "data": "glass"})
    '{"data": "glass", "run": 0}'
    """
    for name, value in trial.items():
        if not isinstance(name, str) or type(value) not in {str, int}:
            raise StoreError(
                f"a trial must map text to text or whole numbers, got {name!r}: {value!r}; "
                "write other settings as text"
            )
    return json.dumps(dict(trial), sort_keys=True, ensure_ascii=False)


def seed_of(*names: str | int) -> int:
    """Return a seed that is a pure function of names, so that no order of work changes a figure.

    >>> seed_of("WBC", "ours", 0, 3)
    1435577967
    """
    return zlib.crc32("/".join(map(str, names)).encode()) >> 1
