"""A user's own table: csv, tsv, parquet or feather."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.datasets.record import DataNotFoundError, Dataset, require_pandas
from counterbalance.errors import TableError

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t"}
BINARY_FORMATS = (".parquet", ".feather")
PACKED = ".gz"


def load_table(path: str | PathLike[str], target: str) -> Dataset:
    """Load a file: one row per line, a header, one column to predict.

    Parameters
    ----------
    path : path-like
        A ``.csv`` or ``.tsv`` file, which may be gzipped (``.csv.gz``), or a
        ``.parquet`` or ``.feather`` file, which needs pyarrow.
    target : str
        Name of the column with the classes.

    Returns
    -------
    Dataset
        Text columns become categories; the other columns keep their dtype.
    """
    pandas = require_pandas()
    file = Path(path)
    if not file.is_file():
        near = _near(file.name, [other.name for other in file.absolute().parent.glob("*")])
        raise DataNotFoundError(
            f"path must be a file, and there is none at {file}{near}; give the path of a csv, "
            "tsv, parquet or feather file"
        )
    table = _read(file)
    names = [str(name) for name in table.columns]
    if target not in table.columns:
        raise TableError(
            f"target must be a column of {file.name}, got {target!r}{_near(target, names)}; "
            f"its columns are {', '.join(names)}"
        )
    y = table[target]
    if bool(y.isna().any()):
        raise TableError(
            f"target must have a class in every row; {target!r} of {file.name} is empty in "
            f"{int(y.isna().sum())} of {len(y)} rows: drop these rows or fill them"
        )
    X = table.drop(columns=target)
    text = [name for name in X if pandas.api.types.is_object_dtype(X[name]) or _text(X[name])]
    X = X.astype(dict.fromkeys(text, "category"))
    y = y.astype(object) if _text(y) else y
    return Dataset(file.name, X, y, f"file {file.name}", f"Predict {target}.")


def _read(file: Path) -> pd.DataFrame:
    pandas = require_pandas()
    suffixes = [suffix.lower() for suffix in file.suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix != PACKED), "")
    packed = bool(suffixes) and suffixes[-1] == PACKED
    if kind in SEPARATORS:
        table: pd.DataFrame = pandas.read_csv(file, sep=SEPARATORS[kind])
        return table
    if kind not in BINARY_FORMATS or packed:
        known = ", ".join([*SEPARATORS, *(s + PACKED for s in SEPARATORS), *BINARY_FORMATS])
        raise TableError(
            f"path must end in one of {known}, got {file.name!r}; convert the file, or read it "
            "yourself and give X and y"
        )
    read = pandas.read_parquet if kind == ".parquet" else pandas.read_feather
    try:
        table = read(file)
    except ImportError as error:
        raise ImportError(
            f"a {kind} file needs pyarrow, which is not installed; "
            'run: pip install "counterbalance[parquet]"'
        ) from error
    return table


def _text(column: Any) -> bool:
    return str(column.dtype) in {"str", "string"}


def _near(name: str, names: list[str]) -> str:
    matches = difflib.get_close_matches(name, names, n=3)
    return f" (near: {', '.join(matches)})" if matches else ""
