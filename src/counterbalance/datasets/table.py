"""A user's own table: csv, tsv, parquet or feather."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from counterbalance.datasets.record import Dataset
from counterbalance.errors import TableError
from counterbalance.io import Reading, near_names, read_table_file

if TYPE_CHECKING:
    from os import PathLike

# Dtypes of pandas with another that every classifier takes.
DTYPES = {
    "str": "category",
    "string": "category",
    "object": "category",
    "boolean": "category",
    "Int64": "float64",
}


def load_table(path: str | PathLike[str], target: str) -> Dataset:
    """Load a file: one row per line, a header, one column to predict.

    Parameters
    ----------
    path : path-like
        A ``.csv`` or ``.tsv`` file, which may be gzipped (``.csv.gz``), an ``.xlsx`` file,
        which needs openpyxl, or a ``.parquet``, ``.feather`` or ``.arrow`` file, which needs
        pyarrow.
    target : str
        Name of the column with the classes.

    Returns
    -------
    Dataset
        Text columns become categories; the other columns keep their dtype.
    """
    file = Path(path)
    table = read_table_file(file, Reading(header=True, labels=(target,))).frame
    names = [str(name) for name in table.columns]
    if target not in table.columns:
        raise TableError(
            f"target must be a column of {file.name}, got {target!r}{near_names(target, names)}; "
            f"its columns are {', '.join(names)}"
        )
    y = table[target]
    if bool(y.isna().any()):
        raise TableError(
            f"target must have a class in every row; {target!r} of {file.name} is empty in "
            f"{int(y.isna().sum())} of {len(y)} rows: drop these rows or fill them"
        )
    X = table.drop(columns=target)
    X = X.astype({name: DTYPES[str(X[name].dtype)] for name in X if str(X[name].dtype) in DTYPES})
    y = y.astype(object) if str(y.dtype) == "str" else y
    return Dataset(file.name, X, y, f"file {file.name}", f"Predict {target}.")
