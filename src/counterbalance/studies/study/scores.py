"""Scores of a study: one number for each method on each data set and classifier.

    figures     of one cell, as the store keeps them
    scores      for each metric an array (methods, data sets, classifiers): means over the folds

A cell that failed counts as no resampling: its method gets the figures of ``none`` on the
same fold, because that is what a user would be left with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.errors import CounterbalanceError
from counterbalance.rows.origins import ORIGINS
from counterbalance.studies.study.classifiers import CLASSIFIERS
from counterbalance.studies.study.methods import NONE
from counterbalance.studies.study.metrics import METRICS
from counterbalance.trials.store import CellRecord

Place = tuple[str, int, int]  # data set, repetition, fold


class NoScoresError(CounterbalanceError):
    """There is nothing to compare."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What a study measured.

    Parameters
    ----------
    methods, datasets : tuple of str
        Names along the first two axes.
    of : mapping of str to array (methods, data sets, classifiers)
        For each metric the means over the folds; nan where a classifier has no such figure.
    seconds : array (methods,)
        Median processor time of a resampling.
    failed : mapping of (str, str) to int
        How many cells of a method failed for a reason.
    origins : mapping of str to array (data sets, origins)
        Of ours, how many new rows have which origin, added up over the folds.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    of: Mapping[str, Floats]
    seconds: Floats
    failed: Mapping[tuple[str, str], int]
    origins: Mapping[str, Floats] = field(default_factory=dict)

    def by_dataset(self, metric: str) -> Floats:
        """Return the means over the classifiers, (methods, data sets)."""
        return np.asarray(np.nanmean(self.of[metric], axis=2))

    def place(self, method: str) -> int:
        """Return where a method is along the first axis."""
        return self.methods.index(method)


def collect(records: Sequence[CellRecord]) -> Scores:
    """Average the cells of a study over its folds.

    Data sets that some method has not finished are left out, so that all methods are
    compared on the same ones.
    """
    by_method: dict[str, dict[Place, CellRecord]] = {}
    for record in (record for record in records if record.state in {"done", "failed"}):
        cell = record.cell
        place = (str(cell["data"]), int(cell["repeat"]), int(cell["fold"]))
        by_method.setdefault(str(cell["method"]), {})[place] = record
    if NONE not in by_method:
        raise NoScoresError(
            f"the study has no cells of the method {NONE!r}, which all others are compared with; "
            "add it to the methods"
        )
    methods = tuple(by_method)
    places = _finished(by_method)
    datasets = tuple(dict.fromkeys(data for data, _, _ in places))
    figures = np.array(
        [[_figures(by_method, method, place) for place in places] for method in methods]
    )
    owner = np.array([datasets.index(data) for data, _, _ in places])
    means = np.stack([figures[:, owner == d].mean(axis=1) for d in range(len(datasets))], axis=1)
    return Scores(
        methods,
        datasets,
        {metric: means[..., m] for m, metric in enumerate(METRICS)},
        np.array([_seconds(by_method[method].values()) for method in methods]),
        Counter(
            (method, record.error)
            for method, cells in by_method.items()
            for record in cells.values()
            if record.state == "failed"
        ),
        _origins(by_method, places, datasets),
    )


def _finished(by_method: Mapping[str, Mapping[Place, CellRecord]]) -> list[Place]:
    """Return the folds of the data sets that every method has settled all folds of."""
    wanted = by_method[NONE]
    settled = {place for place in wanted if all(place in cells for cells in by_method.values())}
    open_sets = {place[0] for place in wanted if place not in settled}
    kept = [place for place in wanted if place[0] not in open_sets]
    if not kept:
        raise NoScoresError("no data set is finished by every method yet; run the study further")
    return kept


def _figures(
    by_method: Mapping[str, Mapping[Place, CellRecord]], method: str, place: Place
) -> list[list[float]]:
    """Return the figures of a cell, (classifiers, metrics)."""
    record = by_method[method][place]
    if record.state == "failed":
        record = by_method[NONE][place]
    return [
        [record.figures.get(f"{name} {metric}", np.nan) for metric in METRICS]
        for name in CLASSIFIERS
    ]


def _origins(
    by_method: Mapping[str, Mapping[Place, CellRecord]],
    places: Sequence[Place],
    datasets: Sequence[str],
) -> dict[str, Floats]:
    """Add up what the new rows are, (data sets, origins), for the methods that say so."""
    found: dict[str, Floats] = {}
    for method, cells in by_method.items():
        counts = np.zeros((len(datasets), len(ORIGINS)))
        for place in places:
            figures = cells[place].figures
            counts[datasets.index(place[0])] += [figures.get(f"origin {o}", 0.0) for o in ORIGINS]
        if counts.any():
            found[method] = counts
    return found


def _seconds(records: Iterable[CellRecord]) -> float:
    done = [record.figures["seconds"] for record in records if record.state == "done"]
    return float(np.median(done)) if done else np.nan
