"""What a trial of the study depends on, as a short text that belongs to its name.

data          digest of the rows and labels of the table, and of its folds
method        digest of what the method makes of the probe tables
classifiers   digest of the figures of the six classifiers on a probe table
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.studies.probes import (
    Probe,
    joined,
    of_looks,
    of_numbers,
    of_table,
    probe_tables,
    short,
)
from counterbalance.studies.study.methods import NONE, fitted, resampled
from counterbalance.studies.study.trials import folds_of, load_labelled, measure
from counterbalance.trials.classifiers import CLASSIFIERS, make_classifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.trials.trial import Trial

# Figures of classifiers that are fitted by many small steps differ more between machines.
FIGURE_DIGITS = 4


def made_by(trial: Trial) -> str:
    """Return the digest of all that a trial's figures depend on, apart from its own names."""
    return joined(of_data(trial), of_method(str(trial["method"])), of_classifiers())


def of_data(trial: Trial) -> str:
    """Return the digest of the table of a trial and of its folds."""
    rows, folds, repeat = (int(trial[name]) for name in ("rows", "folds", "repeat"))
    return _of_folds(str(trial["data"]), rows, folds, repeat)


@cache
def _of_folds(data: str, rows: int, folds: int, repeat: int) -> str:
    table = load_labelled(data, rows)
    tests = [of_numbers(test) for _, test in folds_of(data, rows, folds, repeat)]
    return joined(of_table(table.X, table.y), short(b"/".join(tests)))


@lru_cache
def of_method(name: str) -> str:
    """Return the digest of what a method makes of the probe tables, and of rows to be judged."""

    def look(probe: Probe) -> bytes:
        made = resampled(name, probe.X, probe.codes, seed=1)
        ready = made.preparation.transform(probe.X)
        f = fitted(name, make_classifier("LR", 1, small=True), made.rows, made.labels, 1)
        return b"/".join(map(of_numbers, (made.rows, made.labels, ready, f.predict(ready))))

    return of_looks(look, probe_tables())


@lru_cache
def of_classifiers() -> str:
    """Return the digest of the figures that the classifiers have on a probe table."""

    def look(probe: Probe) -> bytes:
        made = resampled(NONE, probe.X, probe.codes, seed=1)
        known = np.arange(len(made.labels)) % 2 == 0
        figures = []
        for name in CLASSIFIERS:
            f = make_classifier(name, 1, small=True).fit(made.rows[known], made.labels[known])
            figures.append(of_figures(f, made.rows[~known], made.labels[~known]))
        return b"/".join(figures)

    return of_looks(look, probe_tables()[:1])


def of_figures(f: Any, X: Any, y: NDArray[np.intp]) -> bytes:
    """Return the figures of a fitted classifier as bytes."""
    figures = measure(f, X, y, int(y.max()) + 1)
    return repr({name: round(value, FIGURE_DIGITS) for name, value in figures.items()}).encode()
