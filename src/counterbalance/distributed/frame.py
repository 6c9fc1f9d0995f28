"""Frame: a Dask dataframe in, a lazy one out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd
import pandas as pd

from counterbalance.distributed.balancing import Balance, Piece, balance
from counterbalance.distributed.building import (
    New,
    Numbering,
    build_block,
    no_provenance,
    numbered,
)
from counterbalance.distributed.engine import Engine
from counterbalance.distributed.found import Found
from counterbalance.distributed.inside import Interiors, Members, build_interiors
from counterbalance.distributed.partitions import Place, blocks
from counterbalance.distributed.plan import Plan, check_sampler
from counterbalance.distributed.preparing import Source, Statistics, prepare
from counterbalance.errors import TableError
from counterbalance.profile import Profile
from counterbalance.search.problem import Yield


@dataclass(frozen=True)
class Resampled:
    """A balanced table, not yet computed, and how it came to be."""

    frame: Any  # the rows of the table and the new ones behind them, target included
    provenance: Any  # one row per new sample: see ``counterbalance.rows.provenance``
    estimator: Any
    profile: Profile
    feature_order: list[Any]
    yields: dict[tuple[Any, Any], Yield]


def fit_resample(
    sampler: Any,
    ddf: Any,
    target: Any,
    client: Any | None = None,
    *,
    statistics: Statistics = "auto",
    fit_rows: int | None = None,
) -> Resampled:
    """Balance a Dask dataframe.

    The search runs now, on the cluster; the rows of the result are built when they are
    asked for. Given the same f and statistics they are the rows that the in-memory sampler
    returns, in the same order, for any partitioning and any number of workers.

    Parameters
    ----------
    sampler : CounterfactualOverSampler
        The sampler; it stays as it is.
    ddf : dask.dataframe.DataFrame
        The table, target included. A row's position over all partitions is its id.
    target : label
        The column with the classes.
    client : distributed.Client, default=None
        Where to run; None for the active client, or this process if there is none.
    statistics : {"auto", "gathered", "passes"} or Profile, default="auto"
        How the features are measured. "gathered" brings one column at a time to a worker
        and gives the bits of the in-memory profile; "passes" needs no more memory than a
        block and is exact but for the last bits of deviations and for the Spearman order
        of nearly equal features; "auto" gathers where single columns fit a worker. A
        profile is used as it is.
    fit_rows : int, default=None
        How many rows f is fitted to, at most some; None for what a worker can hold.

    Returns
    -------
    resampled : Resampled
        The lazy table and its provenance, f, the profile and the yields.
    """
    if not isinstance(ddf, dd.DataFrame):
        raise TableError(
            f"ddf must be a Dask dataframe, got {type(ddf).__module__}.{type(ddf).__name__}; "
            "make one with dask.dataframe.from_pandas or read_parquet"
        )
    _check_columns(ddf, target)
    own = check_sampler(sampler)
    engine = Engine.of(client)
    parts = ddf.to_delayed()
    source = Source(
        parts,
        [f"partition {number}" for number in range(len(parts))],
        list(ddf.columns),
        target,
        lambda columns: ddf[columns].to_delayed(),
    )
    prepared = prepare(engine, source, own, statistics, fit_rows)
    result = balance(engine, source, prepared, own.constraints)
    frame, provenance = _lazy(engine, result, ddf)
    plan = prepared.plan
    return Resampled(
        frame,
        provenance,
        prepared.f,
        plan.space.perturbation.profile,
        [plan.layout.features[m] for m in plan.space.order],
        result.yields,
    )


def _check_columns(ddf: Any, target: Any) -> None:
    names = list(ddf.columns)
    if target not in names:
        raise TableError(
            f"the target column {target!r} is not in ddf; "
            f"its columns are {', '.join(map(repr, names))}"
        )
    if len(names) == 1:
        raise TableError(f"ddf holds the target {target!r} only; it needs at least one feature")
    unknown = [
        name
        for name, dtype in ddf.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype) and not ddf[name].cat.known
    ]
    if unknown:
        raise TableError(
            f"the categories of column {unknown[0]!r} are not known; "
            "call ddf.categorize() first, or turn it into text"
        )


def _lazy(engine: Engine, result: Balance, ddf: Any) -> tuple[Any, Any]:
    prepared, layout = result.prepared, result.prepared.plan.layout
    new = [_build_task(engine, result, piece) for piece in result.pieces]
    nothing = no_provenance(layout)
    if not new:
        return ddf, dd.from_pandas(nothing, npartitions=1)
    empty = ddf._meta  # noqa: SLF001  (Dask's way to say what a partition looks like)
    if prepared.numbering.first is None:
        empty = empty.set_axis(empty.index.astype("str"))
    rows = [engine.task(_rows, one) for one in new]
    notes = [engine.task(_notes, one) for one in new]
    frame = dd.concat([ddf, dd.from_delayed(rows, meta=empty, verify_meta=False)])
    return frame, dd.from_delayed(notes, meta=nothing, verify_meta=False)


def _build_task(engine: Engine, result: Balance, piece: Piece) -> Any:
    prepared = result.prepared
    numbers = (prepared.n_rows, piece.start, prepared.numbering)
    if piece.chosen is None:
        part = result.interiors[piece.target].part(piece.first, piece.first + piece.n_rows)
        members = result.members[piece.target]
        return engine.task(_build_inside, members, result.plan, result.f, piece, part, *numbers)
    partition, place = result.source.parts[piece.partition], prepared.places[piece.partition]
    found = result.filling.chosen[piece.chosen].parts[piece.partition]
    return engine.task(
        _build_piece, partition, place, result.plan, result.f, piece, found, *numbers
    )


def _build_piece(
    partition: pd.DataFrame,
    place: Place,
    plan: Plan,
    f: Any,
    piece: Piece,
    found: Found,
    n_old: int,
    start: int,
    numbering: Numbering,
) -> New:
    parts, first = [], place.first
    for block in blocks(partition, plan.size):
        some = found.between(first, first + len(block), piece.target)
        if len(some):
            problem = plan.problem(block, first)
            parts.append(build_block(problem, f, plan, some, piece.target, piece.origin))
        first += len(block)
    return numbered(_join(parts), n_old, start, numbering)


def _build_inside(
    members: Members,
    plan: Plan,
    f: Any,
    piece: Piece,
    chosen: Interiors,
    n_old: int,
    start: int,
    numbering: Numbering,
) -> New:
    new = build_interiors(members, plan, f, piece.target, chosen)
    return numbered(new, n_old, start, numbering)


def _join(parts: Sequence[New]) -> New:
    rows, notes = zip(*((part.rows, part.provenance) for part in parts), strict=True)
    return New(pd.concat(rows, ignore_index=True), pd.concat(notes, ignore_index=True))


def _rows(new: New) -> pd.DataFrame:
    return new.rows


def _notes(new: New) -> pd.DataFrame:
    return new.provenance
