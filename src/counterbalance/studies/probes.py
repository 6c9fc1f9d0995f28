"""Probe tables: small tables that show what a method does, and digests of what is seen.

A trial of a study is named by what makes its result: a digest of its table, and digests of what its
method and the classifiers make of the probe tables. A digest of the source would make every edit of
the package compute days of trials again. These tell what the code *does*: a refactoring keeps all
of them, and a new default of our sampler changes those of its own row and of no other. The price: a
change that shows on none of the probe tables (numbers with three classes, cells and categories with
gaps, more features than rows) is not seen; then delete the store. Versions of the packages are in
the fingerprint of the store.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from counterbalance.extras import require_pandas
from counterbalance.trials.resamplers import expected_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

LENGTH = 12
# the last bits of a sum depend on the machine's kernels, and no result of interest on them
DIGITS = 6


class Probe(NamedTuple):
    """A small table; its labels are texts whose order is that of the classes, largest first."""

    X: Any
    y: NDArray[np.str_]

    @property
    def codes(self) -> NDArray[np.intp]:
        """The labels as numbers, 0 for the largest class."""
        return np.unique(self.y, return_inverse=True)[1].astype(np.intp)


@lru_cache
def probe_tables() -> tuple[Probe, ...]:
    """Return small tables of each kind that the data sets have."""
    rng = np.random.default_rng(7)
    return _numbers(rng, (60, 25, 12), 5), _mixed(rng), _numbers(rng, (40, 14), 150)


@lru_cache
def larger_probe() -> Probe:
    """Return a table with rows enough for boosting to grow trees, and classes that overlap."""
    return _numbers(np.random.default_rng(8), (240, 60), 5)


def _numbers(rng: np.random.Generator, sizes: tuple[int, ...], features: int) -> Probe:
    y = np.repeat([f"class {code}" for code in range(len(sizes))], sizes)
    shift = np.repeat(np.arange(len(sizes)), sizes)[:, None] * np.linspace(1.5, 0.0, features)
    X = np.round(10 * (rng.normal(size=(len(y), features)) + shift))
    names = [f"x{place}" for place in range(features)]
    return Probe(require_pandas().DataFrame(X, columns=names), y)


def _mixed(rng: np.random.Generator) -> Probe:
    pandas = require_pandas()
    table = _numbers(rng, (70, 20), 4)
    X: Any = table.X.copy()
    X.iloc[::9, 1] = np.nan
    X["x2"] = X["x2"].astype(np.int64)
    codes = np.digitize(X["x3"], [-5.0, 5.0])
    codes[::11] = -1
    X["choice"] = pandas.Categorical.from_codes(codes, categories=["never", "now", "then"])
    X["flag"] = X["x0"] > 0
    return Probe(X, table.y)


def short(text: bytes) -> str:
    """Return a short digest of some bytes."""
    return hashlib.sha256(text).hexdigest()[:LENGTH]


def joined(*digests: str) -> str:
    """Return one short digest for several."""
    return short("/".join(digests).encode())


def of_looks(look: Callable[[Probe], bytes], probes: Iterable[Probe]) -> str:
    """Return a short digest of what is seen on probe tables, a failure included."""
    seen = []
    with threadpool_limits(1), expected_warnings():
        for probe in probes:
            try:
                seen.append(look(probe))
            except Exception as error:  # noqa: BLE001 - a method may fail here as on any table
                seen.append(type(error).__name__.encode())
    return short(b"//".join(seen))


def of_numbers(values: Any) -> bytes:
    """Return numbers as bytes, without the digits that a machine decides."""
    return np.round(np.asarray(values, dtype=float), DIGITS).tobytes()


def of_table(X: Any, y: Any) -> str:
    """Return a short digest of the rows and labels of a table."""
    hashed = require_pandas().util.hash_pandas_object(X, index=False).to_numpy()
    return short(hashed.tobytes() + "/".join(map(str, y)).encode())
