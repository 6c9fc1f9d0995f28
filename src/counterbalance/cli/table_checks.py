"""Table checks: what is detected in a user's table before it is used.

    finding     something detected, with what is done about it
    target      the column with the classes
    features    the columns that are used
    kept        the columns that stay in the file but are not used

A table that cannot be used (no such target, one class, a quantity for a class) raises an error.
Anything else is a finding, and the command continues.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.errors import TableError
from counterbalance.io.column_checks import (
    LEFT_OUT,
    Remedies,
    TableFinding,
    Topic,
    check_columns,
    find_leak,
    look_at_column,
    short_text,
)
from counterbalance.table.table import ENOUGH_ROWS, HALF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

# A target with more classes is refused: it is an identifier, a quantity or free text.
MOST_CLASSES = 100
MANY_CLASSES = 20
# Whole numbers are classes only if there are few of them.
MOST_NUMBERS = 50
# A class with fewer rows can hardly be learnt.
FEW_ROWS = 6
LISTED = 5

OPTIONS = Remedies(
    option="--use",
    use="--use {quoted}",
    number="--number {quoted} reads it as numbers, and such cells as missing",
)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was detected in a table, and which part of it is used."""

    target: str
    rows: NDArray[np.intp]  # positions of the rows that are used
    features: tuple[str, ...]
    kept: tuple[str, ...]
    findings: tuple[TableFinding, ...]


def diagnose(
    frame: pd.DataFrame,
    target: str,
    *,
    keep: Sequence[str] = (),
    use: Sequence[str] = (),
    drop_missing_target: bool = False,
) -> Diagnosis:
    """Check a table before it is used.

    frame                the table, with the target
    target               name of the column with the classes
    keep                 columns that are not to be used
    use                  columns that are to be used whatever they look like
    drop_missing_target  whether rows without a class are left out; else they are an error
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
    findings += _check_classes(y)
    kept = list(keep)
    features = []
    for name in names:
        if name == target or name in kept:
            continue
        column = frame[name].iloc[rows]
        finding = look_at_column(column, name, OPTIONS)
        if _is_copy_of_target(column, y):
            finding = find_leak(name, OPTIONS)
        if finding is not None and name not in use:
            findings.append(finding)
            if finding.topic in LEFT_OUT:
                kept.append(name)
                continue
        features.append(name)
    if not features:
        raise TableError(
            "no column can be used: "
            + "; ".join(finding.text for finding in findings if finding.column)
            + f"; name columns to use with {OPTIONS.option}"
        )
    findings = [*_merge_constant(findings), *_missing_cells(frame[features].iloc[rows])]
    return Diagnosis(target, rows, tuple(features), tuple(kept), tuple(findings))


def _merge_constant(findings: list[TableFinding]) -> list[TableFinding]:
    """Name all constant columns in one finding."""
    constant = [finding.column for finding in findings if finding.topic is Topic.CONSTANT]
    if len(constant) < 2:  # noqa: PLR2004  (one has a finding of its own)
        return findings
    more = f" and {len(constant) - LISTED} more" if len(constant) > LISTED else ""
    listed = ", ".join(map(repr, constant[:LISTED])) + more
    text = f"{len(constant)} columns hold one value in every row and stay as they are: {listed}"
    rest = [finding for finding in findings if finding.topic is not Topic.CONSTANT]
    return [*rest, TableFinding(Topic.CONSTANT, None, text)]


def _is_copy_of_target(column: pd.Series[Any], y: pd.Series[Any]) -> bool:
    """Whether every value belongs to one class and every class to one value."""
    few = len(y) < ENOUGH_ROWS or bool(column.isna().any())
    if few or column.dtype == object or column.nunique() != y.nunique():
        return False
    pairs = set(zip(column.tolist(), y.tolist(), strict=True))
    return len(pairs) == y.nunique()


def _check_frame(frame: pd.DataFrame, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"column names must be unique, but {', '.join(map(repr, repeated))} "
            f"{'is' if len(repeated) == 1 else 'are'} there more than once; rename the columns"
        )
    if not len(frame):
        raise TableError("the table has a header but no rows; give one with rows")


def _missing_classes(y: pd.Series[Any], known: int, *, drop: bool) -> TableFinding:
    n_missing = len(y) - known
    if not known:
        raise TableError(f"the target {y.name!r} is empty in every row; name another column")
    if not drop:
        first = int(np.flatnonzero(y.isna().to_numpy())[0])
        raise TableError(
            f"the target must have a class in every row, but {y.name!r} is empty in {n_missing} of "
            f"{len(y)} rows, the first is row {first}; fill them, or leave these rows out with "
            "--drop-missing-target"
        )
    rows = (
        "1 row without a class was"
        if n_missing == 1
        else f"{n_missing:,} rows without a class were"
    )
    return TableFinding(Topic.DROPPED, str(y.name), f"{rows} left out, as you asked")


def _check_classes(y: pd.Series[Any]) -> Iterator[TableFinding]:
    counts = y.value_counts()
    n, name = len(y), str(y.name)
    if len(counts) == 1:
        raise TableError(
            f"the target {name!r} has one class only ({short_text(counts.index[0])}); there is "
            "nothing to balance: name another column"
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
        yield TableFinding(Topic.MANY_CLASSES, name, text)
    few = counts[counts < FEW_ROWS]
    for label, count in list(few.items())[:LISTED]:
        rows = "one row" if count == 1 else f"{count} rows"
        text = f"class {short_text(label)} has {rows} only: a classifier can hardly learn it"
        yield TableFinding(Topic.FEW_ROWS, name, text)
    if len(few) > LISTED:
        text = f"{len(few) - LISTED} more classes have fewer than {FEW_ROWS} rows"
        yield TableFinding(Topic.FEW_ROWS, name, text)
    yield from _similar_labels(list(counts.index), name)
    if counts.iloc[0] == counts.iloc[-1]:
        text = f"all classes have {counts.iloc[0]:,} rows: the table is balanced already"
        yield TableFinding(Topic.BALANCED, name, text)


def _check_quantity(y: pd.Series[Any], different: int) -> None:
    """Raise for a target of measured numbers."""
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


def _similar_labels(labels: list[Any], name: str) -> Iterator[TableFinding]:
    spellings: dict[str, list[Any]] = {}
    for label in labels:
        if isinstance(label, str):
            spellings.setdefault(label.strip().casefold(), []).append(label)
    for alike in spellings.values():
        if len(alike) > 1:
            listed = " and ".join(map(repr, alike))
            text = f"the classes {listed} differ in case or spaces only; are they one class?"
            yield TableFinding(Topic.ALIKE, name, text)


def _missing_cells(X: pd.DataFrame) -> Iterator[TableFinding]:
    n_missing = X.isna().sum()
    columns = n_missing[n_missing > 0]
    if len(columns):
        worst = ", ".join(str(name) for name in columns.sort_values(ascending=False).index[:LISTED])
        rest = len(columns) - LISTED
        more = f" and {rest} more {'column' if rest == 1 else 'columns'}" if rest > 0 else ""
        n = int(columns.sum())
        cells = "1 cell is" if n == 1 else f"{n:,} cells are"
        text = f"{cells} missing, in {worst}{more}; what is missing stays missing"
        yield TableFinding(Topic.MISSING, None, text)
