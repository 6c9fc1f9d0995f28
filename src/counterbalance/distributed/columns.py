"""Columns: which columns of the files are used, decided exactly as for a table in memory.

    kept         columns that stay in the files but are not used; they are empty in new rows
    finding      what was recognised in a column, with a sentence to read
    beginning    the first rows of a column: all of them, where a worker can hold that many

A column is looked at by the same function as in memory. It sees the whole column up to MOST_ROWS
rows and MOST_BYTES bytes, otherwise only its beginning, and then the sentence says so. Both limits
are fixed: the answer depends neither on the workers nor on their memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from counterbalance import CounterfactualOverSampler, InteriorOverSampler
from counterbalance.constraints import Constraint, Immutable, as_constraints
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.inputs import FileRows, first_line
from counterbalance.errors import TableError
from counterbalance.io.column_checks import (
    IN_PYTHON,
    LEFT_OUT,
    Remedies,
    TableFinding,
    check_columns,
    look_at_column,
)
from counterbalance.table.columns import column_position, select_columns

# As much of a column as a worker of 1 GB can hold beside the table of its different values.
MOST_ROWS = 4_000_000
MOST_BYTES = 128_000_000
# Rows that are read at a time; they are enough to tell most columns of numbers from empty ones.
FIRST_ROWS = 10_000
FAULTS_NAMED = 5

# Called with each finding before the work starts.
Notice = Callable[[TableFinding], None]


def warn_of(finding: TableFinding) -> None:
    """Warn of a column that is not used; the warning points to the line of the user's call."""
    if finding.topic in LEFT_OUT:
        warnings.warn(finding.text, stacklevel=3)


@dataclass(frozen=True)
class ColumnLook:
    """What a worker says of one column."""

    finding: TableFinding | None = None
    fault: str = ""  # why a file cannot be read


@dataclass(frozen=True)
class UsedColumns:
    """Which columns are used, and what was recognised."""

    used: tuple[str, ...]  # target included, in the order of the files
    kept: tuple[str, ...]
    findings: tuple[TableFinding, ...]


def choose_columns(
    engine: DaskEngine,
    parts: Sequence[FileRows],
    names: Sequence[str],
    target: str,
    keep: Sequence[str],
    use: Sequence[str],
    remedies: Remedies,
) -> UsedColumns:
    """Look at every column and decide which are used; ``keep`` and ``use`` have the last word."""
    keep, use = check_columns(keep, names, "keep"), check_columns(use, names, "use")
    if target in keep or target in use:
        raise TableError(f"the target {target!r} is neither kept nor used; leave it out of both")
    tasks = [
        engine.task(look_at_column_of_files, [part.only([name]) for part in parts], name, remedies)
        for name in names
        if name != target and name not in keep
    ]
    looks = engine.compute(tasks, "columns")
    faults = list(dict.fromkeys(look.fault for look in looks if look.fault))
    if faults:
        raise TableError("; ".join(faults[:FAULTS_NAMED]))
    findings = [
        look.finding
        for look in looks
        if look.finding is not None
        and not (look.finding.column in use and look.finding.topic in LEFT_OUT)
    ]
    kept = [*keep, *(str(one.column) for one in findings if one.topic in LEFT_OUT)]
    used = tuple(name for name in names if name not in kept)
    if len(used) == 1:
        raise TableError(
            "no column is left to work with: "
            + "; ".join(finding.text for finding in findings)
            + f"; name columns to use with {remedies.option}"
        )
    return UsedColumns(used, tuple(kept), tuple(findings))


def look_at_column_of_files(
    parts: Sequence[FileRows], name: str, remedies: Remedies = IN_PYTHON
) -> ColumnLook:
    """Return what is remarkable in a column of files, or in as much of it as a worker can hold."""
    try:
        first, _ = _beginning(parts, FIRST_ROWS)
        finding = look_at_column(first, name, remedies)
        # Fractions, categories and booleans are remarkable only if they never differ.
        tells = first.dtype.kind in "fb" or isinstance(first.dtype, pd.CategoricalDtype)
        if tells and finding is None:
            return ColumnLook()
        cells, whole = _beginning(parts, MOST_ROWS)
    except TableError as error:
        return ColumnLook(fault=str(error))
    finding = look_at_column(cells, name, remedies)
    if finding is None or whole:
        return ColumnLook(finding)
    said = f"{finding.text} (as its first {len(cells):,} rows show)"
    return ColumnLook(replace(finding, text=said))


def _beginning(parts: Sequence[FileRows], most_rows: int) -> tuple[pd.Series[Any], bool]:
    """Return the first cells of a column, and whether there are no more."""
    found: list[pd.Series[Any]] = []
    n_rows = n_bytes = 0
    for part in parts:
        try:
            for batch in part.batches(FIRST_ROWS):
                if n_rows >= most_rows or n_bytes >= MOST_BYTES:
                    return pd.concat(found, ignore_index=True), False
                found.append(part.frame(batch).iloc[:, 0])
                n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        except (OSError, pa.ArrowException) as error:
            raise TableError(
                f"{part.path}: {first_line(error)}; repair the file or leave it out"
            ) from error
    if not found:
        return pd.Series([], dtype=object), True
    return pd.concat(found, ignore_index=True), True


def parameters_by_name(
    sampler: CounterfactualOverSampler | InteriorOverSampler,
    names: Sequence[str],
    kept: Sequence[str],
    remedies: Remedies = IN_PYTHON,
) -> dict[str, Any]:
    """Return the sampler's parameters that name columns, with names in place of positions.

    Positions shift where a column is kept. ``names`` are those of all features; a parameter
    that names a kept column is refused.
    """
    features = list(names)

    def named(columns: Sequence[Any], parameter: str) -> list[str]:
        found = [features[column_position(one, features, parameter)] for one in columns]
        for name in found:
            if name in kept:
                raise TableError(
                    f"{parameter} names {name!r}, which is not used; leave it out, or use the "
                    f"column with {remedies.using(name)}"
                )
        return found

    def rule_by_name(rule: Constraint) -> Constraint:
        if isinstance(rule, Immutable):
            return Immutable(*named(rule.columns, str(rule)))
        if not hasattr(rule, "column"):
            return rule
        by_name = copy(rule)
        # The rule is frozen, so it is set as its own __init__ does.
        object.__setattr__(by_name, "column", named([rule.column], str(rule))[0])
        return by_name

    found: dict[str, Any] = {}
    for parameter in ("categorical_features", "integer_features"):
        given = getattr(sampler, parameter)
        if given is not None:
            chosen = select_columns(given, features, parameter)
            found[parameter] = named(list(np.flatnonzero(chosen)), parameter)
    if isinstance(sampler, CounterfactualOverSampler) and not isinstance(
        sampler.feature_order, str
    ):
        found["feature_order"] = named(sampler.feature_order, "feature_order")
    rules = [rule_by_name(rule) for rule in as_constraints(sampler.constraints)]
    return found | {"constraints": rules or None}
