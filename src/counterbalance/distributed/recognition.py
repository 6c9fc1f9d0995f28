"""Recognition: which columns stay in the files but are not used, decided as in memory.

    kept         columns that are not used; they are empty in new rows
    finding      what was recognised in a column, with a sentence to read
    beginning    the first rows of a column: all of them, where a worker can hold that many

A column is looked at by the very function that looks at a table in memory. It sees the whole
column up to MOST_ROWS rows and MOST_BYTES bytes, else its beginning, and the sentence says so.
Both limits are fixed: the answer depends neither on the workers nor on their memory.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from counterbalance.constraints import Constraint, Immutable, as_constraints
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.partitions import FileRows
from counterbalance.errors import TableError
from counterbalance.io.column_checks import LEFT_OUT, TableFinding, check_columns, look_at_column
from counterbalance.table.columns import column_position, select_columns

# What a worker of 1 GB holds of a column, with the table of its different values.
MOST_ROWS = 4_000_000
MOST_BYTES = 128_000_000
# Rows that are read at a time, and that tell most columns of numbers from empty ones.
FIRST_ROWS = 10_000
FAULTS_NAMED = 5

# Told of each finding, before the work starts.
Notice = Callable[[TableFinding], None]


def warn_of(finding: TableFinding) -> None:
    """Warn of a column that is not used, at the line of the user's call."""
    if finding.topic in LEFT_OUT:
        warnings.warn(finding.text, stacklevel=3)


@dataclass(frozen=True)
class Look:
    """What a worker says of one column."""

    finding: TableFinding | None = None
    fault: str = ""  # why a file cannot be read


@dataclass(frozen=True)
class Recognised:
    """Which columns are used, and what was recognised."""

    used: tuple[str, ...]  # target included, in the order of the files
    kept: tuple[str, ...]
    findings: tuple[TableFinding, ...]


def recognise(
    engine: Engine,
    parts: Sequence[FileRows],
    names: Sequence[str],
    target: str,
    keep: Sequence[str],
    use: Sequence[str],
) -> Recognised:
    """Look at every column and decide which are used: see ``diagnosis.diagnose``."""
    keep, use = check_columns(keep, names, "keep"), check_columns(use, names, "use")
    if target in keep or target in use:
        raise TableError(f"the target {target!r} is neither kept nor used; leave it out of both")
    looked_at = [name for name in names if name != target and name not in keep]
    tasks = [
        engine.task(look_at_parts, [part.only([name]) for part in parts], name)
        for name in looked_at
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
            + "; name columns to use with --use"
        )
    return Recognised(used, tuple(kept), tuple(findings))


def look_at_parts(parts: Sequence[FileRows], name: str) -> Look:
    """Return what is remarkable in a column of files, as far as a worker can hold it."""
    try:
        first, _ = _beginning(parts, FIRST_ROWS)
        finding = look_at_column(first, name)
        # Fractions, categories and truths are remarkable only if they never differ.
        tells = first.dtype.kind in "fb" or isinstance(first.dtype, pd.CategoricalDtype)
        if tells and finding is None:
            return Look()
        cells, whole = _beginning(parts, MOST_ROWS)
    except TableError as error:
        return Look(fault=str(error))
    finding = look_at_column(cells, name)
    if finding is None or whole:
        return Look(finding)
    said = f"{finding.text} (as its first {len(cells):,} rows show)"
    return Look(replace(finding, text=said))


def _beginning(parts: Sequence[FileRows], most_rows: int) -> tuple[pd.Series[Any], bool]:
    """Return the first cells of a column, and whether they are all."""
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
            reason = str(error).strip().splitlines()[0]
            raise TableError(f"{part.path}: {reason}; mend the file or leave it out") from error
    if not found:
        return pd.Series([], dtype=object), True
    return pd.concat(found, ignore_index=True), True


def use_names(sampler: Any, names: Sequence[str], kept: Sequence[str]) -> None:
    """Let the sampler name columns where it has positions: those shift where a column is kept.

    ``names`` are those of all features. A setting that names a kept column is refused.
    """
    features = list(names)
    for setting in ("categorical_features", "integer_features"):
        given = getattr(sampler, setting)
        if given is not None:
            chosen = select_columns(given, features, setting)
            called = [name for name, is_chosen in zip(features, chosen, strict=True) if is_chosen]
            _check_used(called, kept, setting)
            sampler.set_params(**{setting: called})
    order = sampler.feature_order
    if not isinstance(order, str):
        called = [features[column_position(one, features, "feature_order")] for one in order]
        _check_used(called, kept, "feature_order")
        sampler.set_params(feature_order=called)
    rules = [_by_name(rule, features, kept) for rule in as_constraints(sampler.constraints)]
    sampler.set_params(constraints=rules or None)


def _by_name(rule: Constraint, features: list[str], kept: Sequence[str]) -> Constraint:
    if isinstance(rule, Immutable):
        columns = [features[column_position(one, features, str(rule))] for one in rule.columns]
        _check_used(columns, kept, str(rule))
        return Immutable(*columns)
    if not hasattr(rule, "column"):
        return rule
    name = features[column_position(rule.column, features, str(rule))]
    _check_used([name], kept, str(rule))
    named = copy(rule)
    object.__setattr__(named, "column", name)  # as the frozen rules do themselves
    return named


def _check_used(columns: Sequence[str], kept: Sequence[str], setting: str) -> None:
    for name in columns:
        if name in kept:
            raise TableError(
                f"{setting} names {name!r}, which is not used; leave it out, or use the column "
                f"with --use {shlex.quote(name)}"
            )
