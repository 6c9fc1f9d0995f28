"""Settings of a study: which data sets, methods and folds."""

from __future__ import annotations

from dataclasses import dataclass

from counterbalance.errors import CounterbalanceError
from counterbalance.experiments.study.methods import METHODS
from counterbalance.experiments.study.suite import DEVELOPMENT


class StudySettingsError(CounterbalanceError):
    """A setting of the study cannot be used."""


@dataclass(frozen=True)
class Settings:
    """How much is computed.

    Parameters
    ----------
    datasets : tuple of str
        Names of KEEL data sets.
    methods : tuple of str
        Some of ``METHODS``; no resampling is always among them, because it stands in for
        what fails.
    folds : int
        Folds of the cross-validation.
    repeats : tuple of int
        Which repetitions: each one shuffles the rows anew by its number.
    rows : int
        Most rows of a data set, drawn by class share where it has more; 0 takes all.
    """

    datasets: tuple[str, ...] = DEVELOPMENT
    methods: tuple[str, ...] = METHODS
    folds: int = 5
    repeats: tuple[int, ...] = (0,)
    rows: int = 1600

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise StudySettingsError(
                f"methods must be some of {', '.join(METHODS)}; got {', '.join(unknown)}"
            )
        for name, least in (("folds", 2), ("rows", 0)):
            value = getattr(self, name)
            if value < least:
                raise StudySettingsError(f"{name} must be at least {least}, got {value}")
