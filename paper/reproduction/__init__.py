"""The paper's Section V, each number beside the paper's own.

    Experiment I     areas          where new samples fall (Table II, Figures 1 and 4)
    Experiment II    scores         G-mean and F-measure of six classifiers (Table III, Figure 5)
    Table IV         class_counts   rows of each class of PBC that are classified correctly
    beyond it        sensitivity    what T, epsilon and f do

Each experiment lists its trials, computes one, and makes a table of the frame of those that ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from paper.reproduction.methods import METHODS
from paper.trials import ERROR, Frame

# In the order of their cost: a run that is stopped has the cheap ones.
DATASETS = ("WBC", "PBC", "FMN", "FMN2", "ILC")
EVERY, TABLE_IV = "all", "IV"
SHOWN_ERROR = 160


@dataclass(frozen=True)
class Settings:
    """How much is computed; the defaults are the paper's sizes, with fewer runs."""

    datasets: tuple[str, ...] = DATASETS  # of Experiment II
    methods: tuple[str, ...] = METHODS  # of Experiment II
    folds: int = 10  # of the cross-validation; the paper has 10
    # Repetitions of the cross-validation by data set, "all" for every name that is not there; the
    # paper has 100.
    runs: dict[str, int] = field(default_factory=lambda: {EVERY: 5, "ILC": 2})
    # Most rows of a data set by name, 0 for all; of a larger one a stratified sample is used. "all"
    # stands for every name that is not there, "IV" for PBC in Table IV.
    rows: dict[str, int] = field(default_factory=dict)
    splits: int = 10  # for the counts per class (Table IV); the paper has 10
    seeds: int = 10  # synthetic tables of Experiment I and of the sensitivity study

    def rows_of(self, name: str) -> int:
        """Return the most rows of a data set, 0 for all."""
        return self.rows.get(name, self.rows.get(EVERY, 0))

    def runs_of(self, name: str) -> int:
        """Return the repetitions of the cross-validation of a data set."""
        return self.runs.get(name, self.runs.get(EVERY, 1))


# The second pair of images is not the paper's, and takes most of the time.
QUICK = Settings(
    datasets=("WBC", "PBC", "FMN", "ILC"),
    folds=2,
    runs={EVERY: 1},
    rows={"FMN": 200, "ILC": 250, EVERY: 400},
    splits=1,
    seeds=2,
)


def with_columns(ran: Frame, columns: Iterable[str]) -> Frame:
    """Return the trials of an experiment with these columns, also where none has run."""
    return ran.reindex(columns=[*columns, ERROR])


def failures(ran: Frame, names: Sequence[str]) -> list[str]:
    """Say for each group of trials with failures how many failed, and the first error."""
    notes = []
    for group, errors in ran.groupby(list(names))[ERROR]:
        failed = errors.dropna()
        if len(failed):
            first = failed.iloc[0].splitlines()[0][:SHOWN_ERROR]
            name = " ".join(map(str, group))
            notes.append(f"Failed: {name}, {len(failed)} of {len(errors)} trials: {first}")
    return notes


def spread(mean: float, deviation: float, digits: int = 3) -> str:
    """Write mean and standard deviation; a single value has no deviation.

    >>> spread(0.6, 0.1414), spread(0.5, float("nan"))
    ('0.600 ±0.141', '0.500')
    """
    return f"{mean:.{digits}f}" + ("" if pd.isna(deviation) else f" ±{deviation:.{digits}f}")
