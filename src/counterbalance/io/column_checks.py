"""Column checks: what is detected in a single column, and whether the column is used.

    finding     something detected, with what is done about it
    remedy      how a user changes that: a parameter in Python, an option on the command line

Identifiers, dates, free text and empty columns stay in the file but are not used. The same
function checks a table in memory and columns of parquet files on Dask.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.constraints.together import MANY_LEVELS, ROWS_PER_LEVEL
from counterbalance.errors import TableError, near_names
from counterbalance.table.table import DATE, DIFFERENT, numbers_identify, texts_identify

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

# Columns with at most this many different texts are categories, even if most are numbers.
FEW_LEVELS = 10
MOSTLY = 0.8
# So many cells are checked to see whether a column of texts holds dates.
LOOKED_AT = 1000
# Columns that a message lists, and characters of a cell that it shows.
MOST_LISTED, MOST_SHOWN = 20, 40

NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")


class Topic(StrEnum):
    """What a finding is about."""

    IDENTIFIER = "identifier"
    DATE = "date"
    EMPTY = "empty column"
    CONSTANT = "constant"
    UNUSABLE = "unusable"
    MIXED = "numbers and texts"
    LEAK = "says the class"
    MANY_CATEGORIES = "many categories"
    MISSING = "missing cells"
    DROPPED = "rows dropped"
    MANY_CLASSES = "many classes"
    FEW_ROWS = "few rows"
    ALIKE = "classes alike"
    BALANCED = "balanced"
    READING = "reading"


# A column with such a finding is not used.
LEFT_OUT = frozenset({Topic.IDENTIFIER, Topic.DATE, Topic.EMPTY, Topic.UNUSABLE, Topic.LEAK})


@dataclass(frozen=True)
class TableFinding:
    """Something detected: its topic, its column, and a sentence to read."""

    topic: Topic
    column: str | None
    text: str


@dataclass(frozen=True)
class Remedies:
    """How a user changes what is done about a column, as parameters or as options.

    In the texts ``{name!r}`` stands for the column, and ``{quoted}`` for it in a shell.
    """

    option: str  # what names columns that are to be used whatever they look like
    use: str  # how one column is used anyway
    number: str  # how a column of numbers with some texts among them is read as numbers

    def using(self, name: str) -> str:
        """Say how a column is used anyway."""
        return self.use.format(name=name, quoted=shlex.quote(name))

    def added_to(self, finding: TableFinding) -> TableFinding:
        """Return a finding with its remedy appended, if that depends on the caller."""
        name = str(finding.column)
        remedies = {
            Topic.IDENTIFIER: f"{self.using(name)} uses it",
            Topic.LEAK: f"{self.using(name)} uses it",
            Topic.MANY_CATEGORIES: f"{self.using(name)} lets it change",
            Topic.MIXED: self.number.format(name=name, quoted=shlex.quote(name)),
        }
        if finding.topic not in remedies:
            return finding
        return replace(finding, text=f"{finding.text}; {remedies[finding.topic]}")


IN_PYTHON = Remedies(
    option="use=",
    use="use=[{name!r}]",
    number="to use it as numbers, convert it, and leave such cells empty",
)


def check_columns(given: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    """Return the columns that an option names; several may be joined by commas."""
    columns: list[str] = []
    for item in given:
        parts = [item] if item in names else [part.strip() for part in item.split(",")]
        for part in parts:
            if part not in names:
                listed = ", ".join(map(repr, names[:MOST_LISTED]))
                more = len(names) - MOST_LISTED
                raise TableError(
                    f"{option} must name a column of the table, got {part!r}"
                    f"{near_names(part, names)}; its columns are {listed}"
                    + (f" and {more} more" if more > 0 else "")
                )
            columns.append(part)
    return list(dict.fromkeys(columns))


def look_at_column(
    column: pd.Series[Any], name: str, remedies: Remedies = IN_PYTHON
) -> TableFinding | None:
    """Return the most important finding about a column, or None."""
    finding = _check_cells(column, name)
    return None if finding is None else remedies.added_to(finding)


def _check_cells(column: pd.Series[Any], name: str) -> TableFinding | None:
    known = column.dropna()
    if known.empty:
        return _left_out(Topic.EMPTY, name, "is empty in every row")
    if known.dtype == object:
        finding = _check_objects(known, name)
        if finding is not None:
            return finding
    different = int(known.nunique())
    if different == 1:
        return TableFinding(
            Topic.CONSTANT,
            name,
            f"column {name!r} holds {short_text(known.iloc[0])} in every row that has a value; "
            "it carries no information and stays as it is",
        )
    if known.dtype.kind in "mM":  # also those with a time zone
        return _date(name)
    if known.dtype.kind in "iu":
        is_number_of_row = numbers_identify(name, known.to_numpy(dtype="float64"), different)
        return _identifier(name, different, len(known)) if is_number_of_row else None
    if isinstance(known.iloc[0], str) and str(known.dtype) != "category":
        return _check_texts(known, name, different)
    return None


def _check_objects(known: pd.Series[Any], name: str) -> TableFinding | None:
    """Return a finding if the objects are neither texts, nor numbers, nor booleans."""
    kinds = set(map(type, known))
    for usable in ((str,), (bool, np.bool_), (int, float, np.number)):
        if all(issubclass(kind, usable) for kind in kinds):
            return None
    if any("date" in kind.__name__ or "time" in kind.__name__.lower() for kind in kinds):
        return _date(name)
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    return _left_out(Topic.UNUSABLE, name, f"holds {listed}, which cannot be perturbed")


def _check_texts(known: pd.Series[Any], name: str, different: int) -> TableFinding | None:
    if known.head(LOOKED_AT).str.fullmatch(DATE).mean() > DIFFERENT:
        return _date(name)
    if different > FEW_LEVELS:
        filled = known[known.str.strip() != ""]
        numbers = filled.str.fullmatch(NUMBER)
        if numbers.mean() >= MOSTLY and not numbers.all():
            return TableFinding(
                Topic.MIXED,
                name,
                f"column {name!r} is read as text because of cells such as "
                # rounded down: an incomplete share never shows as 100%
                f"{short_text(filled[~numbers].iloc[0])}, though {int(100 * numbers.mean())}% are "
                "numbers",
            )
    if texts_identify(name, len(known), different):
        return _identifier(name, different, len(known))
    if different > MANY_LEVELS and different * ROWS_PER_LEVEL > len(known):
        text = (
            f"column {name!r} stays as in the real row: it has too many categories to check "
            f"({different:,} in {len(known):,} rows)"
        )
        return TableFinding(Topic.MANY_CATEGORIES, name, text)
    return None


def find_leak(name: str, remedies: Remedies = IN_PYTHON) -> TableFinding:
    """Return the finding that a column is the target under another name."""
    finding = _left_out(Topic.LEAK, name, "is the target under another name")
    return remedies.added_to(finding)


def _identifier(name: str, different: int, n: int) -> TableFinding:
    return _left_out(
        Topic.IDENTIFIER,
        name,
        f"looks like an identifier or free text ({different:,} different values in {n:,} rows)",
    )


def _date(name: str) -> TableFinding:
    finding = _left_out(Topic.DATE, name, "holds dates or times")
    text = f"{finding.text}; make it a number, such as days since a fixed date, to use it"
    return TableFinding(finding.topic, name, text)


def _left_out(topic: Topic, name: str, why: str) -> TableFinding:
    return TableFinding(topic, name, f"column {name!r} is kept but not used: it {why}")


def short_text(cell: Any) -> str:
    """Write a cell, cut where it is long."""
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."
