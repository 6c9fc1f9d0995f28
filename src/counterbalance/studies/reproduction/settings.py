"""Settings of a reproduction: how much of the paper's Section V is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from counterbalance.errors import CounterbalanceError
from counterbalance.studies.reproduction.methods import DEEP, METHODS

# in the order of their cost: a run that is stopped has the cheap ones
DATASETS = ("WBC", "PBC", "FMN", "FMN2", "ILC")
TABLE_IV = "IV"
EVERY = "all"


class SettingsError(CounterbalanceError):
    """A setting of the reproduction cannot be used."""


@dataclass(frozen=True)
class ReproductionSettings:
    """How much is computed; the defaults are the paper's sizes, with fewer runs.

    Parameters
    ----------
    datasets : tuple of str
        Data sets of Experiment II, of ``DATASETS``.
    folds : int
        Folds of the cross-validation; the paper has 10.
    runs : tuple of (str, int)
        Repetitions of the cross-validation by data set, ``"all"`` for every name that is not
        there; the paper has 100.
    rows : tuple of (str, int)
        Most rows of a data set by name; of a larger one a stratified sample is used. ``"all"``
        stands for every name that is not there, ``"IV"`` for PBC in Table IV; 0 takes all.
    splits : int
        Splits for the counts per class (Table IV); the paper has 10.
    seeds : int
        Synthetic tables of Experiment I and of the sensitivity study.
    fashion_path : str or None
        Folder with the images of Fashion-MNIST, where it is not the usual one.
    download : bool
        Whether Fashion-MNIST may be fetched from OpenML.
    deep : bool
        Whether GAMO and DOS, which the paper names and does not compare with, get rows too.
    without : tuple of str
        Methods of Experiment II and Table IV that are left out.
    """

    datasets: tuple[str, ...] = DATASETS
    folds: int = 10
    runs: tuple[tuple[str, int], ...] = ((EVERY, 5), ("ILC", 2))
    rows: tuple[tuple[str, int], ...] = ()
    splits: int = 10
    seeds: int = 10
    fashion_path: str | None = None
    download: bool = False
    deep: bool = False
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_names("datasets", self.datasets, DATASETS)
        _check_names("without", self.without, METHODS)
        _check_names("runs", dict(self.runs), (*DATASETS, EVERY))
        _check_names("rows", dict(self.rows), (*DATASETS, TABLE_IV, EVERY))
        sizes = [(name, getattr(self, name), least) for name, least in LEAST.items()]
        sizes += [(f"runs of {name}", count, 1) for name, count in self.runs]
        for name, value, least in sizes:
            if value < least:
                raise SettingsError(f"{name} must be at least {least}, got {value}")
        for name, count in self.rows:
            if count < 0 or 0 < count < FEWEST_ROWS:
                raise SettingsError(
                    f"rows must be 0 (all rows) or at least {FEWEST_ROWS}, so that every class "
                    f"keeps rows in each fold, got {count} for {name}"
                )

    def rows_of(self, name: str) -> int:
        """Return the most rows of a data set, 0 for all.

        Examples
        --------
        >>> settings = ReproductionSettings(rows=(("FMN", 500), ("all", 2000)))
        >>> settings.rows_of("FMN"), settings.rows_of("PBC"), ReproductionSettings().rows_of("PBC")
        (500, 2000, 0)
        """
        given = dict(self.rows)
        return given.get(name, given.get(EVERY, 0))

    def runs_of(self, name: str) -> int:
        """Return the repetitions of the cross-validation of a data set.

        Examples
        --------
        >>> ReproductionSettings().runs_of("WBC"), ReproductionSettings().runs_of("ILC")
        (5, 2)
        """
        given = dict(self.runs)
        return given.get(name, given.get(EVERY, 1))

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods of Experiment II, in the order of the tables."""
        named = (*METHODS, *(DEEP if self.deep else ()))
        return tuple(name for name in named if name not in self.without)

    def as_dict(self) -> dict[str, Any]:
        """Return all settings but the folder, which is this machine's own."""
        return {name: value for name, value in asdict(self).items() if name != "fashion_path"}


def _check_names(setting: str, names: Iterable[str], known: Sequence[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError(
            f"{setting} must be some of {', '.join(known)}, got {', '.join(unknown)}"
        )


LEAST = {"folds": 2, "splits": 1, "seeds": 1}
FEWEST_ROWS = 200
# The second pair of images is not the paper's, and takes most of the time.
QUICK: dict[str, Any] = {
    "datasets": ("WBC", "PBC", "FMN", "ILC"),
    "folds": 2,
    "runs": ((EVERY, 1),),
    "rows": (("FMN", 200), ("ILC", 250), (EVERY, 400)),
    "splits": 1,
    "seeds": 2,
}
