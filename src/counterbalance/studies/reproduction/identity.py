"""What a trial of Experiment II depends on, as a short text that belongs to its name.

    table         digest of the rows and labels themselves
    method        digest of what the method makes of small probe tables
    classifiers   digest of what the six classifiers predict for a probe table

A digest of the source would make every edit of the package compute days of trials again. These
tell what the code *does*: a refactoring keeps all of them, and a new default of our sampler changes
those of its own row and of no other. The price: a change that shows on none of the probe tables
(numbers with three classes, cells and categories with gaps, more features than rows) is not seen;
then delete the store. Versions of the packages are in the fingerprint of the store.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterbalance.extras import require_pandas
from counterbalance.studies.reproduction.data import PaperTable, load_labelled
from counterbalance.studies.reproduction.methods import resampled
from counterbalance.studies.reproduction.scores import judged
from counterbalance.trials.resamplers import expected_warnings

if TYPE_CHECKING:
    from counterbalance.studies.reproduction.settings import ReproductionSettings
    from counterbalance.trials.trial import Trial

LENGTH = 12
# the last bits of a sum depend on the machine's kernels, and no result of interest on them
DIGITS = 6


def made_by(settings: ReproductionSettings, trial: Trial) -> str:
    """Return the digest of all that a trial's result depends on, apart from its own names."""
    data = str(trial.get("data", "PBC"))
    parts = (
        _of_table(data, int(trial["rows"]), settings.fashion_path, settings.download),
        of_method(str(trial["method"])),
        of_classifiers(),
    )
    return _short("/".join(parts).encode())


@lru_cache
def of_method(name: str) -> str:
    """Return the digest of what a method makes of the probe tables."""
    digest = hashlib.sha256()
    with threadpool_limits(1):
        for table in probe_tables():
            rows, labels, _ = resampled(name, table.X, table.y, seed=1)
            digest.update(np.round(np.asarray(rows, dtype=float), DIGITS).tobytes())
            digest.update("/".join(map(str, labels)).encode())
    return digest.hexdigest()


@lru_cache
def of_classifiers() -> str:
    """Return the digest of what the classifiers predict for folds of a probe table."""
    with threadpool_limits(1), expected_warnings():
        counts, _ = judged(probe_tables()[0], "none", ("probe", 0, 0, 2, 1))
    return _short(repr(counts).encode())


@lru_cache
def _of_table(name: str, rows: int, fashion_path: str | None, download: bool) -> str:  # noqa: FBT001 - a key of the cache
    from counterbalance.studies.reproduction.settings import (  # noqa: PLC0415 - it names us
        ReproductionSettings,
    )

    source = ReproductionSettings(fashion_path=fashion_path, download=download)
    table = load_labelled(name, rows, source)
    hashed = require_pandas().util.hash_pandas_object(table.X, index=False).to_numpy()
    return _short(hashed.tobytes() + "/".join(table.y).encode())


@lru_cache
def probe_tables() -> tuple[PaperTable, ...]:
    """Return small tables of each kind that the data sets have."""
    rng = np.random.default_rng(7)
    return _numbers(rng, (60, 25, 12), 5), _mixed(rng), _numbers(rng, (40, 14), 150)


def _numbers(rng: np.random.Generator, sizes: tuple[int, ...], features: int) -> PaperTable:
    y = np.repeat([f"class {code}" for code in range(len(sizes))], sizes)
    shift = np.repeat(np.arange(len(sizes)), sizes)[:, None] * np.linspace(1.5, 0.0, features)
    X = np.round(10 * (rng.normal(size=(len(y), features)) + shift))
    names = [f"x{place}" for place in range(features)]
    return PaperTable(require_pandas().DataFrame(X, columns=names), y, tuple(dict.fromkeys(y)))


def _mixed(rng: np.random.Generator) -> PaperTable:
    pandas = require_pandas()
    table = _numbers(rng, (70, 20), 4)
    X: Any = table.X.copy()
    X.iloc[::9, 1] = np.nan
    X["x2"] = X["x2"].astype(np.int64)
    codes = np.digitize(X["x3"], [-5.0, 5.0])
    codes[::11] = -1
    X["choice"] = pandas.Categorical.from_codes(codes, categories=["never", "now", "then"])
    X["flag"] = X["x0"] > 0
    return PaperTable(X, table.y, table.classes)


def _short(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:LENGTH]
