"""Tables that nobody would make on purpose, each from its seed: dtypes, shapes, names, labels."""

import decimal
import fractions
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from counterbalance.constraints import (
    Decreasing,
    Immutable,
    Increasing,
    MaxChanged,
    OneOf,
    Range,
)

NAMES = [
    "",
    " ",
    "a",
    "a b",
    "\n",
    "x0",
    "0",
    "é",
    "\u202e",
    "`",
    "<",
    "a" * 300,
    "None",
    "🙂",
    "y",
]
LABELS = [
    [0, 1],
    [-1, 1],
    ["", " "],
    ["a", "A"],
    ["1", "2"],
    [True, False],
    [2**62, -(2**62)],
    [0.0, 1.0],
    ["nan", "None"],
    ["é", "e\u0301"],
    [0, 1, 2],
    ["a" * 500, "a" * 501],
    # What follows is refused.
    [b"x", b"y"],
    [(1, 2), (3, 4)],
    [decimal.Decimal(1), decimal.Decimal(2)],
    [pd.Timestamp("2020"), pd.Timestamp("2021")],
    [1, "1"],
    [np.nan, 1.0],
    [None, "a"],
    [np.inf, 0.0],
]
USUAL = 12
TEXTS = ["", " ", "a", "a\0", "NaN", "nan", "\ud7ff", "🙂", "1", "1.0", "null", "a" * 999, "\n"]
NUMBERS = [0.0, -0.0, 1.0, 5e-324, 1e-30, 1e30, 1e300, -1e308, 1.7e18, 0.1, 2**53, np.nan, -1.5]


@dataclass(frozen=True, eq=False)
class Hostile:
    """A table, its labels and the settings of the sampler."""

    X: object
    y: object
    n_rows: int
    settings: dict


def hostile(seed):
    """Return the table of a seed."""
    rng = np.random.default_rng([seed, 13])
    n = int(rng.choice([1, 2, 3, 5, 12, 30, 61], p=[0.02, 0.02, 0.03, 0.08, 0.2, 0.4, 0.25]))
    X = [_array, _pandas, _pandas, _polars, _polars][rng.integers(5)](rng, n)
    return Hostile(X, _labels(rng, n), n, _settings(rng, X))


def snapshot(rows, n=None):
    """Return all that can be seen of the first rows, so that two states can be compared."""
    if isinstance(rows, (list, tuple)):
        return repr(list(rows[:n]))
    if sparse.issparse(rows):
        return rows.format, rows.dtype.str, repr(rows.toarray()[:n].tolist())
    if isinstance(rows, pd.DataFrame):
        part = rows.iloc[:n]
        cells = [repr(part.iloc[:, m].tolist()) for m in range(part.shape[1])]
        return [repr(name) for name in part.columns], list(map(str, part.dtypes)), cells
    if isinstance(rows, pd.Series):
        return str(rows.dtype), repr(rows.iloc[:n].tolist())
    if isinstance(rows, pl.DataFrame):
        return str(rows.schema), repr(rows.head(n or len(rows)).to_dict(as_series=False))
    if isinstance(rows, pl.Series):
        return str(rows.dtype), repr(rows.head(n or len(rows)).to_list())
    return rows.dtype.kind, repr(rows[:n].tolist())


def _some(rng, values, n, holes=0.0):
    few = [values[k] for k in rng.integers(len(values), size=int(rng.integers(1, 5)))]
    return [None if rng.random() < holes else few[k] for k in rng.integers(len(few), size=n)]


def _array(rng, n):
    m = int(rng.choice([1, 2, 4, 9]))
    kind = rng.integers(8)
    if kind < 4:
        dtype = rng.choice(["f8", "f4", "f2", "i8", "u1", "i2", "?", "g", ">f8"])
        with np.errstate(all="ignore"):
            X = (rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 5)).astype(dtype)
        if kind == 1 and X.dtype.kind in "fiu" and X.dtype.itemsize in {4, 8} and dtype != ">f8":
            return [sparse.csr_array, sparse.csc_matrix, sparse.coo_array][rng.integers(3)](X)
        if kind == 2:
            X.flags.writeable = False
        return np.asfortranarray(X) if kind == 3 else X
    cells = np.empty((n, m), dtype=object)
    for column in range(m):
        values = [NUMBERS, TEXTS, [True, False], [1, 2, 2**40], [0.5, 3]][rng.integers(5)]
        cells[:, column] = _some(rng, values, n, rng.choice([0, 0.3]))
    if kind == 4:
        return cells.tolist()
    if kind == 5:
        return np.array(_some(rng, NUMBERS, n * m)).reshape(n, m)
    return cells


def _pandas(rng, n):
    makers = [
        lambda: pd.Series(_some(rng, NUMBERS, n)),
        lambda: pd.Series(rng.normal(size=n)),
        lambda: pd.Series(rng.normal(size=n)).astype("float32"),
        lambda: pd.Series(_some(rng, TEXTS, n, 0.2), dtype=object),
        lambda: pd.Series(_some(rng, TEXTS, n, 0.2), dtype="str"),
        lambda: pd.Series(_some(rng, TEXTS, n, 0.2), dtype="category"),
        lambda: pd.Series(_some(rng, [1, 2, 3], n, 0.2), dtype="category"),
        lambda: pd.Series(_some(rng, [1, 5, -7], n, 0.3), dtype="Int8"),
        lambda: pd.Series(_some(rng, [0.5, 2.5], n, 0.3), dtype="Float32"),
        lambda: pd.Series(_some(rng, [True, False], n, 0.3), dtype="boolean"),
        lambda: pd.Series(_some(rng, [True, False], n, 0.3), dtype=object),
        lambda: pd.Series(_some(rng, [fractions.Fraction(1, 3), 2], n), dtype=object),
        lambda: pd.Series(pd.arrays.SparseArray(rng.integers(0, 2, n).astype(float))),
        lambda: pd.Series(pd.arrays.SparseArray(np.where(rng.random(n) < 0.3, np.nan, 1.5))),
        lambda: pd.Series(pd.arrays.SparseArray(rng.integers(0, 3, n))),
        lambda: pd.Series(pd.arrays.SparseArray(rng.random(n) < 0.5)),
        lambda: pd.Series(pd.cut(np.arange(n + 2), 2)[:n]),
        lambda: pd.Series([None] * n, dtype=pd.ArrowDtype(pa.null())),
        lambda: pd.Series(_some(rng, [1, 2], n, 0.2), dtype=pd.ArrowDtype(pa.int16())),
        lambda: pd.Series(_some(rng, ["a", "b"], n, 0.2), dtype=pd.ArrowDtype(pa.string())),
        lambda: pd.Series(np.arange(n)),
        lambda: pd.Series(np.full(n, np.nan)),
    ]
    unusable = [
        lambda: pd.Series(_some(rng, [1, 2**63 - 1], n, 0.1), dtype="Int64"),
        lambda: pd.Series(_some(rng, [True, 1, 2.5, "a"], n), dtype=object),
        lambda: pd.Series(_some(rng, [decimal.Decimal("1.5"), None], n), dtype=object),
        lambda: pd.Series(_some(rng, [10**400, 1], n), dtype=object),
        lambda: pd.Series(_some(rng, [[1], {}, {1}], n), dtype=object),
        lambda: pd.Series(pd.date_range("2020", periods=n)),
        lambda: pd.Series(pd.to_timedelta(np.arange(n), unit="D")),
        lambda: pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(n + 1))),
        lambda: pd.Series(_some(rng, [b"a"], n, 0.2), dtype=pd.ArrowDtype(pa.binary())),
        lambda: pd.Series(_some(rng, [0.5, np.inf], n)),
    ]
    columns = _mixed(rng, makers, unusable)
    X = pd.DataFrame(dict(enumerate(columns)))
    X.columns = _names(rng, len(columns))
    X.index = [
        lambda: pd.RangeIndex(3, 3 + n),
        lambda: pd.RangeIndex(0, -2 * n, -2),
        lambda: pd.Index(np.arange(2**64 - n, 2**64, dtype=np.uint64)),
        lambda: pd.Index([0] * n),
        lambda: pd.Index([f"new-{k}" for k in range(n)]),
        lambda: pd.Index([None, *range(n - 1)], dtype=object),
        lambda: pd.Index([pd.NA, *range(n - 1)], dtype="Int64"),
        lambda: pd.date_range("2020", periods=n),
        lambda: pd.MultiIndex.from_arrays([np.arange(n), ["a"] * n]),
        lambda: pd.CategoricalIndex(["a", "b"] * n)[:n],
        lambda: pd.interval_range(0, n),
        lambda: pd.Index(np.arange(n) / 2),
        lambda: pd.Index(rng.random(n) < 0.5),
        lambda: pd.period_range("2020", periods=n, freq="D"),
    ][rng.integers(14)]()
    return X


def _names(rng, m):
    kind = rng.integers(5)
    if kind == 0:
        return pd.MultiIndex.from_tuples([("u", k) for k in range(m)])
    if kind == 1:
        return pd.Index(range(m, 0, -1))
    names = rng.permutation(len(NAMES))[:m]
    return pd.Index([NAMES[k] for k in names])


def _polars(rng, n):
    makers = [
        lambda: pl.Series(_some(rng, NUMBERS, n, 0.1), dtype=pl.Float64),
        lambda: pl.Series(rng.normal(size=n)),
        lambda: pl.Series(rng.normal(size=n), dtype=pl.Float32),
        lambda: pl.Series(_some(rng, TEXTS, n, 0.2), dtype=pl.String),
        lambda: pl.Series(_some(rng, TEXTS, n, 0.2), dtype=pl.Categorical),
        lambda: pl.Series(_some(rng, ["a", "b"], n, 0.2), dtype=pl.Enum(["b", "c", "a"])),
        lambda: pl.Series([None] * n, dtype=pl.Enum([])),
        lambda: pl.Series([None] * n),
        lambda: pl.Series(_some(rng, [1, 2, 120], n, 0.2), dtype=pl.Int8),
        lambda: pl.Series(_some(rng, [1, 2, -9], n, 0.2), dtype=pl.Int128),
        lambda: pl.Series(_some(rng, [True, False], n, 0.2), dtype=pl.Boolean),
    ]
    unusable = [
        lambda: pl.Series(_some(rng, [1, 2**64 - 1], n, 0.2), dtype=pl.UInt64),
        lambda: pl.Series(_some(rng, [1, 2**126], n), dtype=pl.Int128),
        lambda: pl.Series(_some(rng, [1, 2], n, 0.2), dtype=pl.Decimal(9, 2)),
        lambda: pl.Series(_some(rng, [1, 2], n, 0.2), dtype=pl.Date),
        lambda: pl.Series(_some(rng, [1, 2], n, 0.2), dtype=pl.Duration("ms")),
        lambda: pl.Series(_some(rng, [[1], [2, 3]], n)),
        lambda: pl.Series(_some(rng, [{"u": 1}], n)),
        lambda: pl.Series(_some(rng, [b"a", b"b"], n), dtype=pl.Binary),
        lambda: pl.Series(_some(rng, [1, 2], n), dtype=pl.Object),
        lambda: pl.Series(_some(rng, ["a", 2], n), dtype=pl.Object),
        lambda: pl.Series(_some(rng, [10**400, 2], n), dtype=pl.Object),
        lambda: pl.Series(_some(rng, [np.inf, 0.5], n), dtype=pl.Float32),
    ]
    columns = _mixed(rng, makers, unusable)
    names = [NAMES[k] for k in rng.permutation(len(NAMES))[: len(columns)]]
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _mixed(rng, makers, unusable):
    """Make some columns; in one table of six, one that cannot be used is among them."""
    columns = [makers[rng.integers(len(makers))]() for _ in range(rng.integers(1, 6))]
    if rng.random() < 1 / 6:
        columns[rng.integers(len(columns))] = unusable[rng.integers(len(unusable))]()
    return columns


def _labels(rng, n):
    few = LABELS[rng.integers(len(LABELS) if rng.random() < 0.2 else USUAL)]
    codes = np.minimum(rng.geometric(0.7, size=n) - 1, len(few) - 1)
    cells = [few[code] for code in codes]
    kind = rng.integers(6)
    if kind == 0:
        return cells
    if kind == 1:
        y = np.empty(n, dtype=object)
        y[:] = cells
        return y
    if kind == 2:
        return pd.Series(cells, dtype=object if rng.random() < 0.5 else None)
    if kind == 3 and all(isinstance(cell, str) for cell in few):
        return pl.Series(cells, dtype=rng.choice([pl.String, pl.Categorical]))
    if kind == 4:
        return pd.Series(pd.Categorical([str(cell) for cell in cells]))
    return np.array([0, 1])[np.minimum(codes, 1)]


def _settings(rng, X):
    """Draw settings that name columns of the table, in ways that may not fit."""
    if isinstance(X, list) or rng.random() < 0.7:
        return {}
    names = list(X.columns) if hasattr(X, "columns") else [f"x{m}" for m in range(X.shape[1])]
    name = names[rng.integers(len(names))]
    choices = [
        {"categorical_features": [name]},
        {"ignore_relations": [name]},
        {"plausible": True},
        {"constraints": [Immutable(name)]},
        {"constraints": [Increasing(name), Decreasing(name)]},
        {"constraints": [Range(name, -1, 10**400)]},
        {"constraints": [Range(name, 0, 1), MaxChanged(1)]},
        {"constraints": [OneOf(name, [])]},
        {"constraints": [OneOf(name, [1, "a", None])]},
        {"constraints": [OneOf(name, ["a", "b"])]},
        {"constraints": [f"`{name}` <= 1"]},
        {"constraints": [Immutable(names)]},
        {"sampling_strategy": "not majority"},
    ]
    return choices[rng.integers(len(choices))]
