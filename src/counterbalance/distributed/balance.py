"""Balance: a Dask dataframe into a lazy one, or parquet files into a folder of such files.

    OUT.partial/run-*/              while it runs
    OUT/                            when it is complete
        part-00000.parquet ...      the rows of the input, then the new ones
        _provenance/                where the new rows come from
        _summary.json               counts, yields, origins, seed

The folder is renamed in the last step, so a result under its final name is complete.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
from operator import and_
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_integer_dtype
from pyarrow import parquet

from counterbalance import CounterfactualOverSampler, __version__
from counterbalance.distributed.cluster import Engine, Progress, connect
from counterbalance.distributed.inputs import (
    FileRows,
    Inputs,
    Notice,
    check_parameters,
    check_target,
    choose_columns,
    read_inputs,
    warn_of,
)
from counterbalance.distributed.plan import Plan, Source, check_sampler, learn_plan
from counterbalance.distributed.search import Built, Piece, balance, count_made
from counterbalance.errors import TableError
from counterbalance.io.atomic import store
from counterbalance.io.column_checks import IN_PYTHON, Remedies, TableFinding, check_columns
from counterbalance.plausible.relations import FoundRelation
from counterbalance.profile import Profile
from counterbalance.rows.provenance import COLUMNS
from counterbalance.samplers.counterfactual import Yield
from counterbalance.table.labels import plain

# Readers of the folder as one table skip names that begin with an underscore.
PROVENANCE, SUMMARY = "_provenance", "_summary.json"
RUN = "run-"
MODES = ((0o040, 0o070), (0o004, 0o007))  # group, others: read, all


@dataclass(frozen=True)
class ResampledFrame:
    """A balanced table, not yet computed, and its provenance."""

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
    profile: Profile | None = None,
    fit_rows: int | None = None,
) -> ResampledFrame:
    """Balance a Dask dataframe.

    The search runs immediately, on the cluster; the new rows are built when the result is computed.
    With the same classifier (f in the paper) and profile they are the rows of the in-memory
    sampler, in the same order, for any partitioning and any number of workers.

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
    profile : Profile, default=None
        Statistics of the features, such as ``profile_`` of a fitted sampler; None computes them.
    fit_rows : int, default=None
        Size of the sample from which profile and classifier are learned; it depends only on the ids
        of the rows. None for as many rows as a worker can hold, and at least 20,000.

    Returns
    -------
    resampled : ResampledFrame
        The lazy table and its provenance, the classifier, the profile, the feature order and the
        yields.

    See Also
    --------
    counterbalance.distributed.balance_files : Parquet files in, parquet files out.
    """
    if not isinstance(ddf, dd.DataFrame):
        raise TableError(
            f"ddf must be a Dask dataframe, got {type(ddf).__module__}.{type(ddf).__name__}; "
            "make one with dask.dataframe.from_pandas or read_parquet"
        )
    check_target(list(ddf.columns), target, "ddf")
    own, engine = check_sampler(sampler), Engine.from_client(client)
    names = [f"partition {number}" for number in range(ddf.npartitions)]
    source = Source(lambda some: ddf[some].to_delayed(), names, list(ddf.columns), target)
    rows, plan = learn_plan(engine, source, own, profile, fit_rows)
    pieces, yields = balance(engine, source, rows, plan)
    frame, nothing = ddf, _no_provenance(plan)
    provenance = dd.from_pandas(nothing, npartitions=1)
    if pieces:
        whole = is_integer_dtype(ddf.index.dtype)
        new = [
            dask.delayed(_numbered, nout=2)(piece.built, start, n_old=len(rows.codes), whole=whole)
            for piece, start in zip(pieces, _starts(pieces), strict=False)
        ]
        empty = ddf._meta  # noqa: SLF001  (Dask's description of a partition)
        empty = empty if whole else empty.set_axis(empty.index.astype("str"))
        made = dd.from_delayed([one[0] for one in new], meta=empty, verify_meta=False)
        frame = dd.concat([ddf, made])
        provenance = dd.from_delayed([one[1] for one in new], meta=nothing, verify_meta=False)
    order = [plan.features[m] for m in plan.prepared.space.order]
    known = plan.prepared.estimator, plan.prepared.profile
    return ResampledFrame(frame, provenance, *known, order, yields)


def _starts(pieces: Sequence[Piece]) -> list[int]:
    """Return the start of each piece among all new rows, and the end of the last."""
    return [0, *accumulate(piece.n_rows for piece in pieces)]


def _numbered(built: Built, start: int, n_old: int, *, whole: bool) -> Built:
    """Return new rows with their numbers, from ``start`` on, after the ``n_old`` old ones.

    In an index that is not of ``whole`` numbers their labels are new-0, new-1, ...
    """
    rows, provenance = built
    number = np.arange(start, start + len(rows))
    index = pd.Index(n_old + number) if whole else pd.Index([f"new-{n}" for n in number])
    return rows.set_axis(index), provenance.assign(sample=n_old + number)


def _no_provenance(plan: Plan) -> pd.DataFrame:
    """Return an empty provenance."""
    types: dict[str, Any] = dict.fromkeys(COLUMNS, np.float64)
    types |= dict.fromkeys(("sample", "factual", "round"), np.int64)
    types |= dict.fromkeys(("origin", "changed"), "str")
    types |= dict.fromkeys(("from_class", "to_class"), pd.Series(plan.rows.classes).dtype)
    return pd.DataFrame({name: pd.Series(dtype=types[name]) for name in COLUMNS})


@dataclass(frozen=True)
class BalancedFiles:
    """The folder that was written, and its counts."""

    folder: Path
    before: dict[Any, int]  # rows of each class
    after: dict[Any, int]
    yields: dict[tuple[Any, Any], Yield]
    origins: dict[Any, dict[str, int]]  # new rows of each class by their origin
    files: list[str]  # of rows, by name
    kept: list[str]  # unused columns, which are empty in new rows
    findings: list[TableFinding]  # findings about the columns
    relations: list[FoundRelation]  # between columns, that new rows keep


def balance_files(
    paths: str | Path | Iterable[str | Path],
    target: str,
    out: str | Path,
    *,
    sampler: Any = None,
    client: Any | None = None,
    scheduler: str | None = None,
    n_workers: int | None = None,
    memory: int | str | None = None,
    dashboard: str | None = None,
    profile: Profile | None = None,
    fit_rows: int | None = None,
    keep: Sequence[str] = (),
    use: Sequence[str] = (),
    progress: Progress | None = None,
    notice: Notice = warn_of,
    remedies: Remedies = IN_PYTHON,
) -> BalancedFiles:
    """Balance a table of parquet files, larger than memory, into a folder of such files.

    Read in the order of their names, the files of the result hold what the in-memory
    sampler returns. A run that is stopped leaves no result; the same call starts over.

    Parameters
    ----------
    paths : path, pattern, folder or several of them
        The files; their order is the order of the rows.
    target : str
        The column with the classes.
    out : path
        The folder to make. It must not exist yet, or be empty.
    sampler : CounterfactualOverSampler or InteriorOverSampler, default=None
        The sampler; None for ``CounterfactualOverSampler(random_state=0)``.
    client : distributed.Client, default=None
        The client of a running cluster.
    scheduler : str, default=None
        The address of a scheduler, instead of a client. With neither, a cluster is started
        on this machine and closed at the end.
    n_workers : int, default=None
        Workers of that cluster; None for one per core.
    memory : int or str, default=None
        Memory of each of its workers, like "2GB", at least 1 GB; None for an even share.
    dashboard : str, default=None
        Address of Dask's dashboard for that cluster, like "127.0.0.1:8787"; None for none.
    profile, fit_rows
        As in :func:`counterbalance.distributed.fit_resample`.
    keep : sequence of str, default=()
        Columns that stay in the files but are not used. They are empty in new rows, as are
        those that look like identifiers, dates or free text.
    use : sequence of str, default=()
        Columns to use even if they look like that.
    progress : callable, default=None
        Called with the name of a step, the number of its finished tasks, and their total number.
    notice : callable, default=warn_of
        Called with every finding about a column, before the work starts; by default each unused
        column gives a warning.
    remedies : Remedies, default=IN_PYTHON
        The remedies named in messages about columns; the command line names its options.

    Returns
    -------
    balanced : BalancedFiles
        The folder, the counts before and after, yields, origins, files and kept columns.

    See Also
    --------
    counterbalance.distributed.fit_resample : The same for a Dask dataframe.
    """
    own = check_sampler(CounterfactualOverSampler(random_state=0) if sampler is None else sampler)
    inputs, out = read_inputs(paths, target), Path(out)
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise TableError(f"out must be a new folder or an empty one, got {out}; name another")
    with connect(client, scheduler, n_workers, memory, dashboard) as connected:
        engine = Engine.from_client(connected, progress)
        parts = inputs.parts(engine.memory)
        keep = [*keep, *inputs.indexes]
        used, kept, findings = choose_columns(engine, parts, target, keep, use, remedies)
        for finding in findings:
            notice(finding)
        check_parameters(own, kept, remedies)
        if use:  # what was named is used, and may change
            own.set_params(use=[*(own.use or ()), *check_columns(use, used, "use")])

        def frames(some: list[Any]) -> list[Any]:
            return [dask.delayed(FileRows.frame)(part.only(some)) for part in parts]

        source = Source(frames, [part.path for part in parts], used, target)
        with _unfinished(out) as folder:
            rows, plan = learn_plan(engine, source, own, profile, fit_rows)
            pieces, yields = balance(engine, source, rows, plan)
            schema = inputs.schema_of_result(kept)
            files = _write(engine, parts, pieces, len(rows.codes), schema, folder)
            classes = [plain(label) for label in rows.classes]
            before = dict(zip(classes, rows.counts.tolist(), strict=True))
            made = {classes[code]: new for code, new in count_made(pieces, plan).items()}
            after = {label: n + sum(made.get(label, {}).values()) for label, n in before.items()}
            found = kept, findings, list(plan.prepared.learned.relations)
            balanced = BalancedFiles(out, before, after, yields, made, files, *found)
            _finish(folder, balanced, inputs, plan)
    return balanced


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """Yield a private folder for the files of a run; only a killed run leaves it behind.

    Files of killed runs are removed. Every run has its own folder, so a worker of a killed run
    cannot write into it.
    """
    place = out.with_name(f"{out.name}.partial")
    wrong = ""
    if place.is_symlink():
        wrong = "is a link, which may lead anywhere"
    elif place.exists() and place.stat().st_uid != os.geteuid():
        wrong = "belongs to another user"
    elif place.exists() and any(not path.name.startswith(RUN) for path in place.iterdir()):
        wrong = "holds files that no run has left there"
    if wrong:
        raise TableError(f"{place} {wrong}; remove it, or name another folder")
    if place.exists():
        shutil.rmtree(place)
    folder = place / f"{RUN}{secrets.token_hex(8)}"
    place.mkdir(mode=0o700, parents=True)
    (folder / PROVENANCE).mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(
    engine: Engine,
    parts: Sequence[FileRows],
    pieces: Sequence[Piece],
    n_old: int,
    schema: pa.Schema,
    folder: Path,
) -> list[str]:
    """Write the rows of the files and the new ones, each task a file; return the names."""
    n = len(parts) + len(pieces)
    names = [f"part-{number:0{max(5, len(str(n)))}d}.parquet" for number in range(n)]
    calls: list[Any] = [partial(dask.delayed(write_part), part) for part in parts]
    for piece, start in zip(pieces, _starts(pieces), strict=False):
        calls.append(partial(dask.delayed(write_new), piece.built, start, n_old))
    paths = [str(folder.absolute() / name) for name in names]
    tasks = [call(schema, path) for call, path in zip(calls, paths, strict=True)]
    engine.compute(tasks, "write")
    return names


def write_part(part: FileRows, schema: pa.Schema, path: str) -> None:
    """Write rows of the input as they are."""
    write_table(_with_schema(part.read(), schema), path)


def write_new(built: Built, start: int, n_old: int, schema: pa.Schema, path: str) -> None:
    """Write new rows, and their provenance to a second file."""
    rows, provenance = _numbered(built, start, n_old, whole=True)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    write_table(_with_schema(table, schema), path)
    beside = Path(path).parent / PROVENANCE / Path(path).name
    notes = pa.Table.from_pandas(provenance, preserve_index=False)
    write_table(notes.replace_schema_metadata(None), beside)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a file without dictionaries of floats: they take six times as long and save nothing."""
    coded = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    parquet.write_table(table, path, use_dictionary=coded)


def _with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns and types of a schema; absent columns are empty."""
    cells = [
        # A decimal was converted to a float in between: the cast only drops rounding errors.
        table.column(field.name).cast(field.type, safe=not pa.types.is_decimal(field.type))
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(cells, schema=schema)


def _finish(folder: Path, balanced: BalancedFiles, inputs: Inputs, plan: Plan) -> None:
    """Write the summary, and rename the folder once all files are on disk."""
    space = plan.prepared.space
    summary = {
        "counterbalance": __version__,
        "inputs": [Path(path).name for path in inputs.paths],
        "target": plan.target,
        "kept": balanced.kept,
        "seed": space.seed,
        "features": [plan.features[m] for m in space.order],
        "before": balanced.before,
        "after": balanced.after,
        "origins": balanced.origins,
        "yields": [
            {"from": str(source), "to": str(target), **one._asdict()}
            for (source, target), one in balanced.yields.items()
        ],
        "relations": [one.text for one in balanced.relations],
    }
    (folder / SUMMARY).write_text(json.dumps(summary, indent=1), encoding="utf-8")
    # Users who may not read the table may not read the result.
    open_to = reduce(and_, (Path(path).stat().st_mode for path in inputs.paths))
    closed = sum(every for read, every in MODES if not open_to & read)
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~closed)
        if path.is_file():
            store(path)
    if balanced.folder.exists():
        balanced.folder.rmdir()
    folder.replace(balanced.folder)
