"""Settings of a reproduction: how much of the paper's Section V is computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from counterbalance.errors import CounterbalanceError

DATASETS = ("WBC", "ILC", "FMN", "FMN2", "PBC")


class SettingsError(CounterbalanceError):
    """A setting of the reproduction cannot be used."""


@dataclass(frozen=True)
class Settings:
    """How much is computed; the defaults are the paper's sizes, with fewer runs.

    Parameters
    ----------
    datasets : tuple of str
        Data sets of Experiment II, of ``DATASETS``.
    folds : int
        Folds of the cross-validation; the paper has 10.
    runs : int
        Repetitions of the cross-validation; the paper has 100.
    rows : int
        Most rows of a data set, drawn by class share where it has more; 0 takes all.
    splits : int
        Splits for the counts per class (Table IV); the paper has 10.
    seeds : int
        Synthetic tables of Experiment I and of the sensitivity study.
    fashion_path : str or None
        Folder with the images of Fashion-MNIST, where it is not the usual one.
    download : bool
        Whether Fashion-MNIST may be fetched from OpenML.
    """

    datasets: tuple[str, ...] = DATASETS
    folds: int = 10
    runs: int = 1
    rows: int = 0
    splits: int = 10
    seeds: int = 10
    fashion_path: str | None = None
    download: bool = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.datasets if name not in DATASETS]
        if unknown:
            raise SettingsError(
                f"datasets must be some of {', '.join(DATASETS)}, got {', '.join(unknown)}"
            )
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value < least:
                raise SettingsError(f"{name} must be at least {least}, got {value}")
        if 0 < self.rows < FEWEST_ROWS:
            raise SettingsError(
                f"rows must be 0 (all rows) or at least {FEWEST_ROWS}, so that every class keeps "
                f"a row in each fold, got {self.rows}"
            )

    @property
    def decisive(self) -> dict[str, Any]:
        """What the figure of a cell depends on beside the cell itself."""
        return {"folds": self.folds, "rows": self.rows}

    def as_dict(self) -> dict[str, Any]:
        """Return all settings but the folder, which is this machine's own."""
        return {name: value for name, value in asdict(self).items() if name != "fashion_path"}


LEAST = {"folds": 2, "runs": 1, "rows": 0, "splits": 1, "seeds": 1}
FEWEST_ROWS = 200
QUICK = {"folds": 2, "runs": 1, "rows": 400, "splits": 1, "seeds": 2}
NAMES = tuple(field.name for field in fields(Settings))
