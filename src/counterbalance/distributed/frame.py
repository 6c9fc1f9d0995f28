"""Frame: balance a Dask dataframe; the result is a lazy one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd
import pandas as pd

from counterbalance.distributed.draw import draw
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.found import Found
from counterbalance.distributed.inputs import Place, blocks, check_target
from counterbalance.distributed.prepare import (
    IndexLabels,
    PartitionedTable,
    SearchPlan,
    Statistics,
    check_sampler,
    prepare,
)
from counterbalance.distributed.rows import (
    Balance,
    BuiltRows,
    GatheredClass,
    Interiors,
    MemberLots,
    Piece,
    balance,
    build_block,
    build_interiors,
    no_provenance,
    numbered,
)
from counterbalance.errors import TableError
from counterbalance.profile import Profile
from counterbalance.search.problem import Yield


@dataclass(frozen=True)
class ResampledFrame:
    """A balanced table, not yet computed, and how it came about."""

    frame: Any  # the rows of the table, followed by the new ones, target included
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
) -> ResampledFrame:
    """Balance a Dask dataframe.

    The search runs at once, on the cluster; the rows of the result are built when they are
    computed. Given the same f and statistics they are the rows that the in-memory sampler
    returns, in the same order, for any partitioning and any number of workers.

    Parameters
    ----------
    sampler : CounterfactualOverSampler or InteriorOverSampler
        The sampler; it is not changed.
    ddf : dask.dataframe.DataFrame
        The table, target included. A row's position over all partitions is its id.
    target : label
        The column with the classes.
    client : distributed.Client, default=None
        Where to run; None for the active client, or this process if there is none.
    statistics : {"auto", "gathered", "passes"} or Profile, default="auto"
        How the features are measured. "gathered" brings one column at a time to a worker
        and gives the in-memory profile bit for bit; "passes" needs no more memory than a
        block and is exact, except for the last bits of deviations and the Spearman order of
        nearly equal features; "auto" gathers if single columns fit into a worker's memory. A
        profile is used as it is.
    fit_rows : int, default=None
        About how many rows f is fitted to at most; None for as many as a worker can hold.

    Returns
    -------
    resampled : ResampledFrame
        The lazy table and its provenance, f, the profile, the feature order and the yields.

    See Also
    --------
    counterbalance.distributed.balance_files : Parquet files in, parquet files out.
    """
    if not isinstance(ddf, dd.DataFrame):
        raise TableError(
            f"ddf must be a Dask dataframe, got {type(ddf).__module__}.{type(ddf).__name__}; "
            "make one with dask.dataframe.from_pandas or read_parquet"
        )
    _check_columns(ddf, target)
    own = check_sampler(sampler)
    engine = DaskEngine.of(client)
    parts = ddf.to_delayed()
    source = PartitionedTable(
        parts,
        [f"partition {number}" for number in range(len(parts))],
        list(ddf.columns),
        target,
        lambda columns: ddf[columns].to_delayed(),
    )
    prepared = prepare(engine, source, own, statistics, fit_rows)
    make = balance if prepared.plan.draw is None else draw
    result = make(engine, source, prepared, own.constraints)
    frame, provenance = _lazy(engine, result, ddf)
    plan = prepared.plan
    return ResampledFrame(
        frame,
        provenance,
        prepared.f,
        plan.space.perturbation.profile,
        [plan.layout.features[m] for m in plan.space.order],
        result.yields,
    )


def _check_columns(ddf: Any, target: Any) -> None:
    check_target(list(ddf.columns), target, "ddf")
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


def _lazy(engine: DaskEngine, result: Balance, ddf: Any) -> tuple[Any, Any]:
    prepared, layout = result.prepared, result.prepared.plan.layout
    new = [
        _build_task(engine, result, piece, material)
        for piece, material in zip(result.pieces, result.material, strict=True)
    ]
    nothing = no_provenance(layout)
    if not new:
        return ddf, dd.from_pandas(nothing, npartitions=1)
    empty = ddf._meta  # noqa: SLF001  (Dask's way to say what a partition looks like)
    if prepared.index_labels.first is None:
        empty = empty.set_axis(empty.index.astype("str"))
    rows = [engine.task(_rows, one) for one in new]
    notes = [engine.task(_notes, one) for one in new]
    frame = dd.concat([ddf, dd.from_delayed(rows, meta=empty, verify_meta=False)])
    return frame, dd.from_delayed(notes, meta=nothing, verify_meta=False)


def _build_task(engine: DaskEngine, result: Balance, piece: Piece, material: Any) -> Any:
    prepared, plan, f = result.prepared, result.plan, result.f
    numbers = (prepared.n_rows, piece.start, prepared.index_labels)
    if piece.partition is None:
        gathered = result.gathered[piece.target]
        return engine.task(_build_interior, gathered, plan, f, piece, material, *numbers)
    partition, place = result.source.parts[piece.partition], prepared.places[piece.partition]
    return engine.task(_build_in_place, partition, place, plan, f, piece, material, *numbers)


def _build_in_place(
    partition: pd.DataFrame,
    place: Place,
    plan: SearchPlan,
    f: Any,
    piece: Piece,
    material: Found | MemberLots,
    n_old: int,
    start: int,
    index_labels: IndexLabels,
) -> BuiltRows:
    parts, first = [], place.first
    for block in blocks(partition, plan.size):
        some = material.between(first, first + len(block), piece.target)
        if len(some):
            problem = plan.problem(block, first)
            parts.append(build_block(problem, f, plan, some, piece.target, piece.origin))
        first += len(block)
    return numbered(_join(parts), n_old, start, index_labels)


def _build_interior(
    gathered: GatheredClass,
    plan: SearchPlan,
    f: Any,
    piece: Piece,
    chosen: Interiors,
    n_old: int,
    start: int,
    index_labels: IndexLabels,
) -> BuiltRows:
    new = build_interiors(gathered, plan, f, piece.target, chosen)
    return numbered(new, n_old, start, index_labels)


def _join(parts: Sequence[BuiltRows]) -> BuiltRows:
    rows, notes = zip(*((part.rows, part.provenance) for part in parts), strict=True)
    return BuiltRows(pd.concat(rows, ignore_index=True), pd.concat(notes, ignore_index=True))


def _rows(new: BuiltRows) -> pd.DataFrame:
    return new.rows


def _notes(new: BuiltRows) -> pd.DataFrame:
    return new.provenance
