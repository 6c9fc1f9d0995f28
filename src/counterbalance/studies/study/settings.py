"""Settings of a study: which data sets, methods and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterbalance.errors import CounterbalanceError
from counterbalance.studies.study.methods import METHODS, NONE
from counterbalance.studies.study.suite import DEVELOPMENT, SUITES, suite


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
        if not self.datasets or not self.repeats:
            raise StudySettingsError("datasets and repeats must name at least one each")
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise StudySettingsError(
                f"methods must be some of {', '.join(METHODS)}; got {', '.join(unknown)}"
            )
        for name, least in (("folds", 2), ("rows", 0)):
            value = getattr(self, name)
            if value < least:
                raise StudySettingsError(f"{name} must be at least {least}, got {value}")


def settings_of(
    names: Sequence[str],
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    folds: int = 5,
    repeats: str = "0",
    rows: int = 1600,
) -> dict[str, Settings]:
    """Read the options of the command: settings for each suite that is named.

    Examples
    --------
    >>> settings_of(["development"], datasets=["glass2"], methods=["SMOTE"])["chosen"].methods
    ('none', 'SMOTE')
    """
    unknown = [name for name in names if name not in SUITES]
    if unknown or not names:
        raise StudySettingsError(
            f"suite must be some of {', '.join(SUITES)}, got {', '.join(names) or 'none'}"
        )
    numbers = [part.strip() for part in repeats.split(",")]
    if not all(number.isdigit() for number in numbers):
        raise StudySettingsError(
            f"repeats must be whole numbers with commas, such as 0,1; got {repeats!r}"
        )
    chosen = tuple(dict.fromkeys((NONE, *methods))) if methods else METHODS
    tables = {"chosen": tuple(datasets)} if datasets else {name: suite(name) for name in names}
    return {
        name: Settings(sets, chosen, folds, tuple(map(int, numbers)), rows)
        for name, sets in tables.items()
    }
