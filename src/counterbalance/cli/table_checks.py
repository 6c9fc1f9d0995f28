"""Diagnosis: what a user's table is like before anything is done with it.

    finding     something recognised, with what is done about it
    target      the column with the classes
    features    the columns that are used
    kept        the columns that stay in the file but are not used

What makes the work impossible (no such target, one class, a quantity for a class) is an
error; what is only remarkable is a finding, and the work goes on.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.errors import TableError
from counterbalance.io import near_names
from counterbalance.table.identifiers import (
    DIFFERENT,
    ENOUGH_ROWS,
    HALF,
    numbers_identify,
    texts_identify,
)

if TYPE_CHECKING:
    import pandas as pd

# A target with more classes is refused: it is an identifier, a quantity or free text.
MOST_CLASSES = 100
MANY_CLASSES = 20
# Whole numbers are classes only if there are few of them.
MOST_NUMBERS = 50
# Texts of so few kinds are categories, even if most of them are numbers.
FEW_LEVELS = 10
# A class with fewer rows can hardly be learnt.
FEW_ROWS = 6
MOSTLY = 0.8
LISTED = 5
# Cells that tell whether a column of texts holds dates.
LOOKED_AT = 1000

DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    r"|[^\W\d]{3,9}\.? \d{1,2},? \d{4}|\d{1,2}\.? [^\W\d]{3,9} \d{4})(?:[T ].*)?\s*"
    r"|\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*"
)
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
    MISSING = "missing cells"
    DROPPED = "rows dropped"
    MANY_CLASSES = "many classes"
    FEW_ROWS = "few rows"
    ALIKE = "classes alike"
    BALANCED = "balanced"
    READING = "reading"


# A column with such a finding is not used.
LEFT_OUT = frozenset({Topic.IDENTIFIER, Topic.DATE, Topic.EMPTY, Topic.UNUSABLE})


@dataclass(frozen=True)
class Finding:
    """Something recognised: what it is about, in which column, and a sentence to read."""

    topic: Topic
    column: str | None
    text: str


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was recognised in a table, and which part of it is used."""

    target: str
    rows: NDArray[np.intp]
    """Positions of the rows that are used."""
    features: tuple[str, ...]
    kept: tuple[str, ...]
    findings: tuple[Finding, ...]


def diagnose(
    frame: pd.DataFrame,
    target: str,
    *,
    keep: Sequence[str] = (),
    use: Sequence[str] = (),
    drop_missing_target: bool = False,
) -> Diagnosis:
    """Look at a table before it is used.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, target and all.
    target : str
        Name of the column with the classes.
    keep : sequence of str
        Columns that are not to be used.
    use : sequence of str
        Columns that are to be used whatever they look like.
    drop_missing_target : bool
        Whether rows without a class are left out; else they are an error.
    """
    names = [str(name) for name in frame.columns]
    _check_frame(frame, names)
    check_columns([target], names, "--target")
    keep, use = check_columns(keep, names, "--keep"), check_columns(use, names, "--use")
    if target in keep or target in use:
        raise TableError(f"the target {target!r} is neither kept nor used; leave it to --target")
    y = frame[target]
    findings = []
    rows = np.flatnonzero(y.notna().to_numpy())
    if len(rows) < len(y):
        findings.append(_missing_classes(y, len(rows), drop=drop_missing_target))
        y = y.iloc[rows]
    findings += _look_at_classes(y)
    kept = list(keep)
    features = []
    for name in names:
        if name == target or name in kept:
            continue
        column = frame[name].iloc[rows]
        finding = look_at_column(column, name)
        if finding is not None and not (name in use and finding.topic in LEFT_OUT):
            findings.append(finding)
            if finding.topic in LEFT_OUT:
                kept.append(name)
                continue
        if _says_the_class(column, y):
            findings.append(_leak(name))
        features.append(name)
    if not features:
        raise TableError(
            "no column is left to work with: "
            + "; ".join(finding.text for finding in findings if finding.column)
            + "; name columns to use with --use"
        )
    findings += _missing_cells(frame[features].iloc[rows])
    return Diagnosis(target, rows, tuple(features), tuple(kept), tuple(findings))


def check_columns(given: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    """Return the columns that an option names; several may be joined by commas."""
    columns: list[str] = []
    for item in given:
        parts = [item] if item in names else [part.strip() for part in item.split(",")]
        for part in parts:
            if part not in names:
                listed = ", ".join(map(repr, names[:ENOUGH_ROWS]))
                more = len(names) - ENOUGH_ROWS
                raise TableError(
                    f"{option} must name a column of the table, got {part!r}"
                    f"{near_names(part, names)}; its columns are {listed}"
                    + (f" and {more} more" if more > 0 else "")
                )
            columns.append(part)
    return list(dict.fromkeys(columns))


def look_at_column(column: pd.Series[Any], name: str) -> Finding | None:
    """Return what is remarkable in a column: the one thing that matters most."""
    known = column.dropna()
    if known.empty:
        return _left_out(Topic.EMPTY, name, "is empty in every row")
    if known.dtype == object:
        finding = _look_at_objects(known, name)
        if finding is not None:
            return finding
    different = int(known.nunique())
    if different == 1:
        return Finding(
            Topic.CONSTANT,
            name,
            f"column {name!r} holds {_short(known.iloc[0])} in every row that has a value; "
            "it tells nothing and stays as it is",
        )
    if known.dtype.kind in "mM":  # also those with a time zone
        return _date(name)
    if known.dtype.kind in "iu":
        return _look_at_whole(known, name, different)
    if isinstance(known.iloc[0], str) and str(known.dtype) != "category":
        return _look_at_texts(known, name, different)
    return None


def _look_at_whole(known: pd.Series[Any], name: str, different: int) -> Finding | None:
    if numbers_identify(name, known.to_numpy(dtype="float64"), different):
        return _identifier(name, different, len(known))
    return None


def _look_at_objects(known: pd.Series[Any], name: str) -> Finding | None:
    """Return a finding if the objects are neither texts, nor numbers, nor truths."""
    kinds = set(map(type, known))
    for usable in ((str,), (bool, np.bool_), (int, float, np.number)):
        if all(issubclass(kind, usable) for kind in kinds):
            return None
    if any("date" in kind.__name__ or "time" in kind.__name__.lower() for kind in kinds):
        return _date(name)
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    return _left_out(Topic.UNUSABLE, name, f"holds {listed}, which cannot be perturbed")


def _look_at_texts(known: pd.Series[Any], name: str, different: int) -> Finding | None:
    if known.head(LOOKED_AT).str.fullmatch(DATE).mean() > DIFFERENT:
        return _date(name)
    if different > FEW_LEVELS:
        filled = known[known.str.strip() != ""]
        numbers = filled.str.fullmatch(NUMBER)
        if numbers.mean() >= MOSTLY and not numbers.all():
            return Finding(
                Topic.MIXED,
                name,
                f"column {name!r} is read as text because of cells such as "
                f"{_short(filled[~numbers].iloc[0])}, though {_most(numbers.mean())} are numbers; "
                f"--number {shlex.quote(name)} reads it as numbers, and such cells as missing",
            )
    if texts_identify(name, len(known), different):
        return _identifier(name, different, len(known))
    return None


def _identifier(name: str, different: int, n: int) -> Finding:
    return _left_out(
        Topic.IDENTIFIER,
        name,
        f"looks like an identifier or free text ({different:,} different values in {n:,} rows)",
    )


def _date(name: str) -> Finding:
    finding = _left_out(Topic.DATE, name, "holds dates or times")
    text = f"{finding.text}; make it a number, such as days since a fixed date, to use it"
    return Finding(finding.topic, name, text)


def _left_out(topic: Topic, name: str, why: str) -> Finding:
    more = f"; --use {shlex.quote(name)} uses it" if topic is Topic.IDENTIFIER else ""
    return Finding(topic, name, f"column {name!r} is kept but not used: it {why}{more}")


def _says_the_class(column: pd.Series[Any], y: pd.Series[Any]) -> bool:
    """Whether every value belongs to one class and every class to one value."""
    few = len(y) < ENOUGH_ROWS or bool(column.isna().any())
    if few or column.dtype == object or column.nunique() != y.nunique():
        return False
    pairs = set(zip(column.tolist(), y.tolist(), strict=True))
    return len(pairs) == y.nunique()


def _leak(name: str) -> Finding:
    return Finding(
        Topic.LEAK,
        name,
        f"column {name!r} says the class outright: it is the target under another name; "
        f"--keep {shlex.quote(name)} leaves it out",
    )


def _check_frame(frame: pd.DataFrame, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"column names must be unique, but {', '.join(map(repr, repeated))} "
            f"{'is' if len(repeated) == 1 else 'are'} there more than once; rename the columns"
        )
    if not len(frame):
        raise TableError("the table has a header but no rows; give one with rows")


def _missing_classes(y: pd.Series[Any], known: int, *, drop: bool) -> Finding:
    gone = len(y) - known
    if not known:
        raise TableError(f"the target {y.name!r} is empty in every row; name another column")
    if not drop:
        first = int(np.flatnonzero(y.isna().to_numpy())[0])
        raise TableError(
            f"the target must have a class in every row, but {y.name!r} is empty in {gone} of "
            f"{len(y)} rows, the first is row {first}; fill them, or leave these rows out with "
            "--drop-missing-target"
        )
    rows = "1 row without a class was" if gone == 1 else f"{gone:,} rows without a class were"
    return Finding(Topic.DROPPED, str(y.name), f"{rows} left out, as you asked")


def _look_at_classes(y: pd.Series[Any]) -> Iterator[Finding]:
    counts = y.value_counts()
    n, name = len(y), str(y.name)
    if len(counts) == 1:
        raise TableError(
            f"the target {name!r} has one class only ({_short(counts.index[0])}); there is nothing "
            "to balance: name another column"
        )
    _check_quantity(y, len(counts))
    if len(counts) > MOST_CLASSES or len(counts) > HALF * n >= ENOUGH_ROWS / 2:
        raise TableError(
            f"the target {name!r} has {len(counts):,} classes in {n:,} rows; at most "
            f"{MOST_CLASSES} classes, and half as many as rows, can be balanced: name another "
            "column, or put rare classes together"
        )
    if len(counts) > MANY_CLASSES:
        text = (
            f"the target {name!r} has {len(counts)} classes; to balance all of them makes "
            f"{len(counts) * int(counts.iloc[0]):,} rows of {n:,}"
        )
        yield Finding(Topic.MANY_CLASSES, name, text)
    few = counts[counts < FEW_ROWS]
    for label, count in list(few.items())[:LISTED]:
        rows = "one row" if count == 1 else f"{count} rows"
        text = f"class {_short(label)} has {rows} only: a classifier can hardly learn it"
        yield Finding(Topic.FEW_ROWS, name, text)
    if len(few) > LISTED:
        text = f"{len(few) - LISTED} more classes have fewer than {FEW_ROWS} rows"
        yield Finding(Topic.FEW_ROWS, name, text)
    yield from _alike(list(counts.index), name)
    if counts.iloc[0] == counts.iloc[-1]:
        text = f"all classes have {counts.iloc[0]:,} rows: the table is balanced already"
        yield Finding(Topic.BALANCED, name, text)


def _check_quantity(y: pd.Series[Any], different: int) -> None:
    """Refuse numbers that are measured, not classes."""
    if y.dtype.kind not in "iuf":
        return
    numbers = y.to_numpy(dtype="float64")
    fractions = bool((numbers != np.rint(numbers)).any())
    if fractions or different > MOST_NUMBERS:
        raise TableError(
            f"the target {y.name!r} looks like a quantity, not a class ({different:,} different "
            f"numbers from {numbers.min():g} to {numbers.max():g}): this would be regression; cut "
            "it into classes with names, for example low and high, or name another column"
        )


def _alike(labels: list[Any], name: str) -> Iterator[Finding]:
    spellings: dict[str, list[Any]] = {}
    for label in labels:
        if isinstance(label, str):
            spellings.setdefault(label.strip().casefold(), []).append(label)
    for alike in spellings.values():
        if len(alike) > 1:
            listed = " and ".join(map(repr, alike))
            text = f"the classes {listed} differ in case or spaces only; are they one class?"
            yield Finding(Topic.ALIKE, name, text)


def _missing_cells(X: pd.DataFrame) -> Iterator[Finding]:
    gone = X.isna().sum()
    columns = gone[gone > 0]
    if len(columns):
        worst = ", ".join(str(name) for name in columns.sort_values(ascending=False).index[:LISTED])
        more = f" and {len(columns) - LISTED} more columns" if len(columns) > LISTED else ""
        n = int(columns.sum())
        cells = "1 cell is" if n == 1 else f"{n:,} cells are"
        text = f"{cells} missing, in {worst}{more}; what is missing stays missing"
        yield Finding(Topic.MISSING, None, text)


def _most(share: float) -> str:
    """Write a share of most cells; what is not all is not shown as all."""
    return f"{int(100 * share)}%"


def _short(cell: Any) -> str:
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= 2 * ENOUGH_ROWS else text[: 2 * ENOUGH_ROWS] + "..."
