"""Files: parquet in, parquet out, and a run that can be stopped and taken up again.

    OUT.partial/                    while it runs
        part-00000.parquet          the rows that came in, then the new ones
        _provenance/                where the new ones come from
        _work/                      the plan, what was found, what is written
    OUT/                            when it is whole: the same without _work, and
        _manifest.json              every file with its SHA-256, counts, yields

The folder gets its name in the last step: there is never half a result under it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import pyarrow as pa

from counterbalance import CounterfactualOverSampler, __version__
from counterbalance.distributed.balancing import Balance, balance
from counterbalance.distributed.engine import Engine, Progress, local_client, silent
from counterbalance.distributed.inputs import Inputs, read_inputs
from counterbalance.distributed.plan import check_sampler
from counterbalance.distributed.preparing import Source, Statistics
from counterbalance.distributed.recognition import (
    Notice,
    Recognised,
    recognise,
    use_names,
    warn_of,
)
from counterbalance.distributed.records import Written, remove_unfinished, write_text
from counterbalance.distributed.resuming import PLAN, prepare_or_resume
from counterbalance.distributed.unfinished import (
    WORK,
    check_unfinished,
    open_unfinished,
    publish_modes,
)
from counterbalance.distributed.writing import (
    PROVENANCE,
    RECORDS,
    Order,
    Target,
    write_interiors,
    write_partition,
)
from counterbalance.errors import CounterbalanceError, EngineError, TableError
from counterbalance.io.column_checks import TableFinding
from counterbalance.search.problem import Yield
from counterbalance.table.labels import plain
from counterbalance.user_warnings import warn_user
from distributed import Client

MANIFEST = "_manifest.json"
# Numbers of files have at least so many digits, so that names sort as numbers do.
DIGITS = 5
FOUND = f"{WORK}/found"


@dataclass(frozen=True)
class Balanced:
    """What was written."""

    folder: Path
    before: dict[Any, int]  # rows of each class
    after: dict[Any, int]
    yields: dict[tuple[Any, Any], Yield]
    origins: dict[Any, dict[str, int]]  # new rows of each class by what they are
    files: list[Written]
    kept: tuple[str, ...] = ()  # columns that are not used, empty in new rows
    findings: tuple[TableFinding, ...] = ()  # what was recognised in the columns


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
) -> Balanced:
    """Balance a table of parquet files, larger than any memory, into a folder of such files.

    Read in the order of their names, the files of the result hold what the in-memory
    sampler returns. A run that was stopped is taken up where it stood by calling the same
    again: what is finished is kept in ``OUT.partial``, with its checksums.

    Parameters
    ----------
    paths : path, pattern, folder or several of them
        The files; their order is the order of the rows.
    target : str
        The column with the classes.
    out : path
        The folder to make. It must not exist, or be empty.
    sampler : CounterfactualOverSampler, default=None
        The sampler; None for the default one with ``random_state=0``.
    client : distributed.Client, default=None
        A cluster in use.
    scheduler : str, default=None
        The address of a scheduler, in place of a client. With neither, a cluster is started
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
        Columns to use although they look like it.
    progress : callable, default=silent
        Called with what is being done, how many of its tasks are done, and how many there are.
    notice : callable, default=warn_of
        Called with everything remarkable in a column, before the work starts; by default a
        column that is not used is a warning.

    Returns
    -------
    balanced : Balanced
        The folder, the counts before and after, yields, origins, files, the columns kept.
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
    # The estimator is hashed as a whole: a Dask classifier then leaves its client out.
    settings = own.get_params(deep=False)
    asked = (target, sorted(keep), sorted(use))
    run = joblib.hash((__version__, inputs.fingerprint, asked, settings, statistics, fit_rows))
    partial = out.with_name(f"{out.name}.partial")
    check_unfinished(partial, run)
    with _client(client, scheduler, n_workers, memory) as connected:
        engine = Engine.of(connected, progress)
        names = inputs.schema.names
        columns = recognise(engine, inputs.partitions, names, target, keep, use)
        for finding in columns.findings:
            notice(finding)
        use_names(own, [name for name in names if name != target], columns.kept)
        folders = (partial / FOUND, partial / RECORDS, partial / PROVENANCE)
        open_unfinished(partial, run, folders)
        try:
            result, files = _run(
                engine, inputs, target, columns, own, statistics, fit_rows, partial
            )
        except CounterbalanceError as error:
            if not (partial / WORK / PLAN).exists():
                shutil.rmtree(partial)  # nothing was prepared: nothing to go on with
            if not isinstance(error, EngineError):
                raise
            raise EngineError(f"{error}; the unfinished result is in {partial}") from error
    return _finish(out, partial, inputs, columns, result, files)


def _run(
    engine: Engine,
    inputs: Inputs,
    target: str,
    columns: Recognised,
    sampler: CounterfactualOverSampler,
    statistics: Statistics,
    fit_rows: int | None,
    partial: Path,
) -> tuple[Balance, list[Written]]:
    used = list(columns.used)
    parts = [part.only(used) for part in inputs.partitions]
    source = Source(
        parts,
        [part.path for part in parts],
        used,
        target,
        lambda columns: [part.only(columns) for part in parts],
    )
    work = partial / WORK
    prepared = prepare_or_resume(engine, source, sampler, statistics, fit_rows, work)
    result = balance(engine, source, prepared, sampler.constraints, str(partial / FOUND))
    return result, _write(engine, result, inputs, columns, partial)


def _write(
    engine: Engine, result: Balance, inputs: Inputs, columns: Recognised, partial: Path
) -> list[Written]:
    prepared, pieces, parts = result.prepared, result.pieces, inputs.partitions
    label = inputs.schema.field(prepared.plan.layout.target).type
    target = Target(
        str(partial.absolute()),
        inputs.with_nulls(columns.kept),
        label.value_type if pa.types.is_dictionary(label) else label,
        prepared.n_rows,
        max(DIGITS, len(str(len(parts) + len(pieces)))),
    )
    orders = [Order(piece, len(parts) + place) for place, piece in enumerate(pieces)]
    tasks = []
    for part, place in zip(parts, prepared.places, strict=True):
        mine = [
            order
            for order in orders
            if order.piece.chosen is not None and order.piece.partition == place.number
        ]
        found = [
            result.filling.chosen[order.piece.chosen].parts[place.number]
            for order in mine
            if order.piece.chosen is not None
        ]
        tasks.append(
            engine.task(write_partition, part, place, result.plan, result.f, mine, found, target)
        )
    for order in orders:
        if order.piece.chosen is None:
            code, first = order.piece.target, order.piece.first
            chosen = result.interiors[code].part(first, first + order.piece.n_rows)
            members = result.members[code]
            tasks.append(
                engine.task(write_interiors, members, result.plan, result.f, order, chosen, target)
            )
    written = engine.compute(tasks, "write")
    return sorted((file for files in written for file in files), key=lambda file: file.name)


def _finish(
    out: Path,
    partial: Path,
    inputs: Inputs,
    columns: Recognised,
    result: Balance,
    files: list[Written],
) -> Balanced:
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
        "files": [asdict(file) for file in files],
    }
    write_text(partial / MANIFEST, json.dumps(manifest, indent=1))
    shutil.rmtree(partial / WORK)
    remove_unfinished(partial)
    publish_modes(partial, inputs.paths)
    if out.exists():
        out.rmdir()
    partial.replace(out)
    return Balanced(
        out, before, after, result.yields, origins, files, columns.kept, columns.findings
    )


@contextmanager
def _client(
    client: Any | None, scheduler: str | None, n_workers: int | None, memory: int | str | None
) -> Iterator[Any]:
    if client is not None:
        yield client
    elif scheduler is not None:
        try:
            connected = Client(scheduler)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no scheduler answers at {scheduler}; check the address, as in "
                f"tcp://127.0.0.1:8786. Dask said: {error}"
            ) from error
        with connected:
            yield connected
    else:
        with local_client(n_workers, memory) as started:
            yield started


def _check_out(out: Path) -> None:
    if out.is_file():
        raise TableError(f"out is the file {out}; name a folder to make")
    if out.exists() and any(out.iterdir()):
        raise TableError(f"out {out} holds files already; name a new folder, or remove it")
