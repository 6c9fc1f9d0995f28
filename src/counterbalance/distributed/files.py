"""Files: balance parquet files into a folder of such files; a stopped run can be resumed.

    OUT.partial/                    while it runs
        part-00000.parquet          the rows of the input, then the new ones
        _provenance/                where the new ones come from
        _work/                      the plan, rows as Arrow has them, what was found and written
    OUT/                            when it is complete: the same without _work, and
        _manifest.json              every file with its SHA-256, counts, yields

The folder gets its name in the last step, so a result under that name is always complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib

from counterbalance import CounterfactualOverSampler, __version__
from counterbalance.distributed.columns import (
    Notice,
    UsedColumns,
    choose_columns,
    parameters_by_name,
    warn_of,
)
from counterbalance.distributed.draw import draw
from counterbalance.distributed.engine import DaskEngine, Progress, connect, silent
from counterbalance.distributed.inputs import Inputs, read_inputs
from counterbalance.distributed.prepare import (
    OurSampler,
    PartitionedTable,
    Statistics,
    check_sampler,
    with_parameters,
)
from counterbalance.distributed.resume import (
    PLAN,
    WORK,
    WrittenFile,
    check_unfinished,
    open_unfinished,
    prepare_or_resume,
    publish_modes,
    remove_unfinished,
    write_text,
)
from counterbalance.distributed.rows import Balance, balance
from counterbalance.distributed.write import PROVENANCE, RECORDS, write_result
from counterbalance.errors import CounterbalanceError, EngineError, TableError
from counterbalance.io.atomic import store
from counterbalance.io.column_checks import IN_PYTHON, Remedies, TableFinding
from counterbalance.plausible.relations import Found
from counterbalance.search.problem import Yield
from counterbalance.table.labels import plain
from counterbalance.user_warnings import warn_user

MANIFEST = "_manifest.json"
FOUND = f"{WORK}/found"
SPOOL = f"{WORK}/rows"
# The rows are spooled if the disk has room for so many times what they take; the result, too,
# has to fit.
ROOM_FOR_SPOOL = 4


@dataclass(frozen=True)
class BalancedFiles:
    """What was written."""

    folder: Path
    before: dict[Any, int]  # rows of each class
    after: dict[Any, int]
    yields: dict[tuple[Any, Any], Yield]
    origins: dict[Any, dict[str, int]]  # new rows of each class by their origin
    files: list[WrittenFile]
    kept: tuple[str, ...] = ()  # columns that are not used and are empty in new rows
    findings: tuple[TableFinding, ...] = ()  # what was recognised in the columns
    relations: tuple[Found, ...] = ()  # between columns, that new rows keep


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
    statistics: Statistics = "auto",
    fit_rows: int | None = None,
    keep: Sequence[str] = (),
    use: Sequence[str] = (),
    progress: Progress = silent,
    notice: Notice = warn_of,
    remedies: Remedies = IN_PYTHON,
) -> BalancedFiles:
    """Balance a table of parquet files, larger than any memory, into a folder of such files.

    Read in the order of their names, the files of the result hold what the in-memory
    sampler returns. To resume a stopped run, make the same call again: what was finished
    is kept in ``OUT.partial``, with its checksums.

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
    statistics, fit_rows
        As in :func:`counterbalance.distributed.fit_resample`.
    keep : sequence of str, default=()
        Columns that stay in the files but are not used. They are empty in new rows, as are
        those that look like identifiers, dates or free text.
    use : sequence of str, default=()
        Columns to use even if they look like that.
    progress : callable, default=silent
        Called with what is being done, how many of its tasks are done, and how many there are.
    notice : callable, default=warn_of
        Called with everything remarkable in a column, before the work starts; by default
        there is a warning of each column that is not used.
    remedies : Remedies, default=IN_PYTHON
        How messages say what to do about a column; the command line names its options.

    Returns
    -------
    balanced : BalancedFiles
        The folder, the counts before and after, yields, origins, files and kept columns.

    See Also
    --------
    counterbalance.distributed.fit_resample : The same for a Dask dataframe.
    """
    own = check_sampler(CounterfactualOverSampler(random_state=0) if sampler is None else sampler)
    inputs = read_inputs(paths, target)
    out = Path(out)
    _check_out(out)
    if inputs.indexes:
        warn_user(
            UserWarning(
                f"the index column {inputs.indexes[0]!r} of the files is left out: new rows have "
                "no index; write the files with index=False"
            )
        )
    # The estimator is hashed as a whole, because a Dask classifier then leaves out its client.
    settings = own.get_params(deep=False)
    asked = (target, sorted(keep), sorted(use))
    how = (type(own).__name__, settings, statistics, fit_rows)
    run = joblib.hash((__version__, inputs.fingerprint, asked, how))
    partial = out.with_name(f"{out.name}.partial")
    check_unfinished(partial, run)
    with connect(client, scheduler, n_workers, memory) as connected:
        engine = DaskEngine.of(connected, progress)
        names = inputs.schema.names
        columns = choose_columns(engine, inputs.partitions, names, target, keep, use, remedies)
        for finding in columns.findings:
            notice(finding)
        features = [name for name in names if name != target]
        own = with_parameters(own, **parameters_by_name(own, features, columns.kept, remedies))
        folders = (partial / FOUND, partial / SPOOL, partial / RECORDS, partial / PROVENANCE)
        open_unfinished(partial, run, folders)
        try:
            result, files = _run(
                engine, inputs, target, columns, own, statistics, fit_rows, partial
            )
        except CounterbalanceError as error:
            if not (partial / WORK / PLAN).exists():
                shutil.rmtree(partial)  # nothing was prepared, so there is nothing to resume
            if not isinstance(error, EngineError):
                raise
            raise EngineError(f"{error}; the unfinished result is in {partial}") from error
    return _finish(out, partial, inputs, columns, result, files)


def _run(
    engine: DaskEngine,
    inputs: Inputs,
    target: str,
    columns: UsedColumns,
    sampler: OurSampler,
    statistics: Statistics,
    fit_rows: int | None,
    partial: Path,
) -> tuple[Balance, list[WrittenFile]]:
    used = list(columns.used)
    parts = [part.only(used) for part in inputs.partitions]
    if inputs.bytes_in_memory * ROOM_FOR_SPOOL < shutil.disk_usage(partial).free:
        parts = [part.spooled_to(partial / SPOOL, number) for number, part in enumerate(parts)]
    source = PartitionedTable(
        parts,
        [part.path for part in parts],
        used,
        target,
        lambda columns: [part.only(columns) for part in parts],
    )
    work = partial / WORK
    prepared = prepare_or_resume(engine, source, sampler, statistics, fit_rows, work)
    make = balance if prepared.plan.draw is None else draw
    result = make(engine, source, prepared, sampler.constraints, str(partial / FOUND))
    return result, write_result(engine, result, inputs, columns.kept, partial, parts)


def _finish(
    out: Path,
    partial: Path,
    inputs: Inputs,
    columns: UsedColumns,
    result: Balance,
    files: list[WrittenFile],
) -> BalancedFiles:
    layout = result.prepared.plan.layout
    classes = [plain(label) for label in layout.classes]
    before = dict(zip(classes, layout.counts.tolist(), strict=True))
    made = {tally.target: tally.asked - tally.missing for tally in result.tallies}
    after = {label: before[label] + made.get(code, 0) for code, label in enumerate(classes)}
    origins = {classes[tally.target]: tally.made for tally in result.tallies}
    manifest = {
        "counterbalance": __version__,
        "inputs": [{"name": Path(path).name} for path in inputs.paths],
        "target": layout.target,
        "kept": list(columns.kept),
        "seed": result.prepared.plan.space.seed,
        "features": [str(layout.features[m]) for m in result.prepared.plan.space.order],
        "rows": {str(label): {"before": before[label], "after": after[label]} for label in classes},
        "origins": {str(label): counts for label, counts in origins.items()},
        "yields": [
            {"from": str(source), "to": str(target), **one._asdict()}
            for (source, target), one in result.yields.items()
        ],
        "relations": [one.text for one in result.prepared.plan.relations],
        "files": [asdict(file) for file in files],
    }
    # Workers do not wait for the disk; the result gets its name when all of it is there.
    for file in files:
        store(partial / file.name)
    write_text(partial / MANIFEST, json.dumps(manifest, indent=1))
    shutil.rmtree(partial / WORK)
    remove_unfinished(partial)
    publish_modes(partial, inputs.paths)
    if out.exists():
        out.rmdir()
    partial.replace(out)
    return BalancedFiles(
        out,
        before,
        after,
        result.yields,
        origins,
        files,
        columns.kept,
        columns.findings,
        result.prepared.plan.relations,
    )


def _check_out(out: Path) -> None:
    if out.is_file():
        raise TableError(f"out is the file {out}; name a folder to make")
    if out.exists() and any(out.iterdir()):
        raise TableError(f"out {out} holds files already; name a new folder, or remove it")
