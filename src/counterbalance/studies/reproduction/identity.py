"""What a trial of Experiment II depends on, as a short text that belongs to its name.

table         digest of the rows and labels themselves
method        digest of what the method makes of the probe tables
classifiers   digest of what the six classifiers predict for a probe table
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from counterbalance.studies.probes import joined, of_numbers, of_table, probe_tables, short
from counterbalance.studies.reproduction.data import PaperTable, load_labelled
from counterbalance.studies.reproduction.methods import resampled
from counterbalance.studies.reproduction.scores import judged
from counterbalance.trials.resamplers import expected_warnings

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial


def made_by(settings: ReproductionSettings, trial: Trial) -> str:
    """Return the digest of all that a trial's result depends on, apart from its own names."""
    data = str(trial.get("data", "PBC"))
    return joined(
        _of_data(data, int(trial["rows"]), settings.fashion_path, settings.download),
        of_method(str(trial["method"])),
        of_classifiers(),
    )


@lru_cache
def of_method(name: str) -> str:
    """Return the digest of what a method makes of the probe tables."""
    digest = hashlib.sha256()
    with threadpool_limits(1):
        for table in probe_tables():
            rows, labels, _ = resampled(name, table.X, table.y, seed=1)
            digest.update(of_numbers(rows))
            digest.update("/".join(map(str, labels)).encode())
    return digest.hexdigest()


@lru_cache
def of_classifiers() -> str:
    """Return the digest of what the classifiers predict for folds of a probe table."""
    X, y = probe_tables()[0]
    table = PaperTable(X, y, tuple(dict.fromkeys(y)))
    with threadpool_limits(1), expected_warnings():
        counts, _ = judged(table, "none", ("probe", 0, 0, 2, 1))
    return short(repr(counts).encode())


@lru_cache
def _of_data(name: str, rows: int, fashion_path: str | None, download: bool) -> str:  # noqa: FBT001 - a key of the cache
    from counterbalance.studies.reproduction.settings import (  # noqa: PLC0415 - it names us
        ReproductionSettings,
    )

    source = ReproductionSettings(fashion_path=fashion_path, download=download)
    table = load_labelled(name, rows, source)
    return of_table(table.X, table.y)
