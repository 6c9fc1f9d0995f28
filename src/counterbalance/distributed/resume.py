"""Resume: the folder of an unfinished run, and what a rerun reuses of it.

    OUT.partial    made with the mode 0700; a rerun continues with what it finds there
    run            a hash of the files, settings and versions of the run
    record         what one task wrote: for each file its name, rows, bytes and SHA-256
    sealed         plain data (JSON) below the SHA-256 of its text, so that any change is noticed
    plan.json      the seed, how many rows f is fitted to, the statistics of the features, and
                   what f answered about some rows
    probe          rows that f is asked about: drawn evenly between the ends of each column

A task writes its files under temporary names, moves them into place when they are complete, and
then writes its record. A task whose record and files agree has nothing to do. Two workers may
write the same file at the same time, when one is taken for dead: each uses a name of its own.

Nothing in the folder is ever executed. The table is scanned again, which is cheap, and f is fitted
again to the same rows with the same seed; its answers tell whether it is the same f. What another
user could have put there is never used: a folder or file of somebody else, one that others may
write to, or a link is refused. The result gets the mode of a new folder, minus what the modes of
the inputs keep from others.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterbalance.arrays import Floats
from counterbalance.classifier.judge import judge
from counterbalance.distributed.engine import DaskEngine
from counterbalance.distributed.prepare import (
    OurSampler,
    PartitionedTable,
    PreparedTable,
    SearchPlan,
    Statistics,
    prepare,
    rows_for_fit,
    with_parameters,
)
from counterbalance.errors import EngineError, TableError
from counterbalance.io.atomic import begin_to_store, written_whole
from counterbalance.profile import Profile
from counterbalance.search.draws import stream, uniform

WORK = "_work"
RUN = "run"
PLAN = "plan.json"
# The mode of files that a rerun relies on.
OWNER_ONLY = 0o600
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Who may not read an input may not access the result.
GROUP, OTHERS = (stat.S_IRGRP, stat.S_IRWXG), (stat.S_IROTH, stat.S_IRWXO)
BYTES_AT_ONCE = 2**20
N_PROBES = 500
# Draws 0, 1, ... belong to the perturbations of a row, 2**40 to the sample: see ``fit``.
PROBE_DRAW = 2**41
# Other threads or another machine may round the last digits of a score differently.
ROUNDING = 1e-6


@dataclass(frozen=True)
class WrittenFile:
    """One file of the result."""

    name: str  # relative to the folder of the result
    rows: int
    bytes: int
    sha256: str


def read_record(record: Path, folder: Path) -> list[WrittenFile] | None:
    """Return what a task wrote; None if it did not finish or a file has changed."""
    try:
        files = [WrittenFile(**entry) for entry in read_sealed(record)]
    except (OSError, ValueError, TypeError):
        return None
    whole = all(
        (folder / file.name).is_file()
        and (folder / file.name).stat().st_size == file.bytes
        and sha256(folder / file.name) == file.sha256
        for file in files
    )
    return files if whole else None


def write_record(record: Path, files: list[WrittenFile]) -> None:
    """Record what a task wrote."""
    # The files are stored when all are written; until then a damaged one is made anew.
    write_sealed(record, [asdict(file) for file in files], durable=False)


def describe(path: Path, folder: Path, rows: int) -> WrittenFile:
    """Return what is recorded about a file; it goes to the disk in the meantime."""
    name, digest = path.relative_to(folder).as_posix(), sha256(path)
    begin_to_store(path)
    return WrittenFile(name, rows, path.stat().st_size, digest)


def copy_file(source: str, path: Path, folder: Path, rows: int) -> WrittenFile:
    """Copy a file, completely or not at all; return what is recorded about it."""
    digest, n_bytes = hashlib.sha256(), 0
    with (
        written_whole(path, durable=False) as unfinished,
        Path(source).open("rb") as old,
        unfinished.open("wb") as new,
    ):
        while chunk := old.read(BYTES_AT_ONCE):
            new.write(chunk)
            digest.update(chunk)
            n_bytes += len(chunk)
    begin_to_store(path)
    return WrittenFile(path.relative_to(folder).as_posix(), rows, n_bytes, digest.hexdigest())


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a text, completely or not at all, that only its owner can read."""
    with written_whole(path, durable=durable) as unfinished:
        unfinished.chmod(OWNER_ONLY)
        unfinished.write_text(text, "utf-8")


def write_sealed(path: Path, content: Any, *, durable: bool = True) -> None:
    """Write plain data below its checksum, that only its owner can read."""
    text = json.dumps(content)
    write_text(path, f"{_digest(text)}\n{text}", durable=durable)


def read_sealed(path: Path) -> Any:
    """Return the plain data of a file; raise a ValueError if it is not what was written."""
    digest, _, text = path.read_bytes().decode("utf-8").partition("\n")
    if digest != _digest(text):
        raise ValueError(f"{path} is damaged: its SHA-256 is not the one in its first line")
    return json.loads(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def remove_unfinished(folder: Path) -> None:
    """Remove what dead workers left behind."""
    for path in folder.rglob(".*.part"):
        path.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_unfinished(partial: Path, run: str) -> None:
    """Refuse to continue with what others could have written, or with another run."""
    if not os.path.lexists(partial):
        return
    _check_private(partial)
    note = partial / WORK / RUN
    if not (note.is_file() and note.read_bytes() == run.encode()):
        raise TableError(
            f"{partial} holds an unfinished result of other files, settings or versions; run "
            "those again to finish it, or remove the folder to start anew"
        )


def open_unfinished(partial: Path, run: str, folders: Iterable[Path]) -> None:
    """Make the folder of an unfinished run, or remove what dead workers left in it."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    for folder in (partial, partial / WORK, *folders):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
    _check_private(partial)  # somebody else may have made it first
    write_text(partial / WORK / RUN, run)
    remove_unfinished(partial)


def publish_modes(partial: Path, inputs: Iterable[str]) -> None:
    """Give the folder and its files the modes of new ones, as far as those of the inputs allow."""
    probe = partial / f"{WORK}-mode"
    probe.mkdir()
    mode = stat.S_IMODE(probe.stat().st_mode)
    probe.rmdir()
    closed = 0
    for source in inputs:
        readable = Path(source).stat().st_mode
        closed |= sum(bits for read, bits in (GROUP, OTHERS) if not readable & read)
    for path in _within(partial):
        path.chmod((mode if path.is_dir() else mode & 0o666) & ~closed)
    partial.chmod(mode & ~closed)


def _check_private(partial: Path) -> None:
    for path in (partial, *_within(partial)):
        try:
            about = path.lstat()
        except FileNotFoundError:  # a worker of a lost scheduler has just finished this file
            continue
        why = ""
        if stat.S_ISLNK(about.st_mode):
            why = "is a link"
        elif hasattr(os, "geteuid") and about.st_uid != os.geteuid():
            why = f"belongs to another user ({about.st_uid})"
        elif path == partial and not path.is_dir():
            why = "is a file"
        elif _is_ours_to_keep(path, partial) and about.st_mode & WRITABLE_BY_OTHERS:
            why = "may be written by other users"
        if why:
            raise TableError(
                f"{path} {why}, so what is in it cannot be trusted; remove {partial} to start "
                "anew, or name another out"
            )


def _is_ours_to_keep(path: Path, partial: Path) -> bool:
    """Say whether we set its mode: files of rows have that of new files, and checksums."""
    return path == partial or WORK in path.relative_to(partial).parts


def _within(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder; links are not followed."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent) / name


def prepare_or_resume(
    engine: DaskEngine,
    source: PartitionedTable,
    sampler: OurSampler,
    statistics: Statistics,
    fit_rows: int | None,
    work: Path,
) -> PreparedTable:
    """Prepare the search, in the same way as an earlier run if there was one."""
    path = work / PLAN
    if path.exists():
        known = _read_plan(path)
        seed = known["random_state"] or sampler.random_state
        sampler = with_parameters(sampler, random_state=seed)
        statistics, fit_rows = known["profile"], known["fit_rows"]
        prepared = prepare(engine, source, sampler, statistics, fit_rows)
        if not sampler.prefit:
            _check_answers(prepared, known["answers"], path)
        return prepared
    drawn = secrets.randbelow(2**32 - 1) + 1 if sampler.random_state is None else None
    sampler = with_parameters(sampler, random_state=drawn or sampler.random_state)
    fit_rows = rows_for_fit(engine, source) if fit_rows is None else fit_rows
    prepared = prepare(engine, source, sampler, statistics, fit_rows)
    profile = prepared.plan.space.perturbation.profile
    content = {
        "random_state": drawn,
        "fit_rows": fit_rows,
        "profile": _plain_profile(profile),
        # A fitted f is a setting of the run, so another one is noticed by the hash.
        "answers": [] if sampler.prefit else _answers(prepared.plan, prepared.f).tolist(),
    }
    write_sealed(path, content)
    return prepared


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        content = read_sealed(path)
        drawn, fit_rows = content["random_state"], int(content["fit_rows"])
        profile = _restore_profile(content["profile"])
        answers = np.array(content["answers"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError(
            f"{path} is damaged: its content is not what was written; remove "
            f"{path.parent.parent} to start anew"
        ) from error
    return {"random_state": drawn, "fit_rows": fit_rows, "profile": profile, "answers": answers}


def _plain_profile(profile: Profile) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: values.tolist() for name, values in vars(profile).items() if name != "frequency"
    }
    shares = [None if share is None else share.tolist() for share in profile.frequency]
    return plain | {"frequency": shares}


def _restore_profile(plain: dict[str, Any]) -> Profile:
    columns = {
        name: np.array(values, dtype=np.float64)
        for name, values in plain.items()
        if name != "frequency"
    }
    shares = (
        None if share is None else np.array(share, dtype=np.float64) for share in plain["frequency"]
    )
    return Profile(**columns, frequency=tuple(shares))


def _answers(plan: SearchPlan, f: Any) -> Floats:
    """Return f's scores of the probes, or the codes of its labels if it has no scores."""
    layout, profile = plan.layout, plan.space.perturbation.profile
    table, features = layout.sketch_table, np.arange(len(layout.features))
    state = stream(plan.space.seed, np.arange(N_PROBES), PROBE_DRAW)
    x = uniform(state[:, None], features) * (profile.upper - profile.lower) + profile.lower
    layout.grid.snap(x, features)
    for m, kind in enumerate(layout.kinds):
        if kind.has_levels:
            x[:, m] = np.clip(np.rint(x[:, m]), 0, layout.n_levels(m) - 1)
        if not np.isfinite(table.column(m)).any():
            x[:, m] = np.nan
    classifier = judge(f, table, layout.classes, own=plan.own)
    nowhere = np.zeros(N_PROBES, dtype=np.intp)
    scores = classifier.scores(x, nowhere)
    return classifier(x, nowhere).astype(np.float64) if scores is None else scores


def _check_answers(prepared: PreparedTable, expected: Floats, path: Path) -> None:
    answers = _answers(prepared.plan, prepared.f)
    same = answers.shape == expected.shape and np.allclose(
        answers, expected, rtol=ROUNDING, atol=ROUNDING, equal_nan=True
    )
    if not same:
        raise EngineError(
            f"f, fitted again, does not answer as it did when {path} was written: its fit cannot "
            "be repeated. Remove the unfinished folder to start anew; to be able to resume, fit "
            "the classifier first and pass it with prefit=True"
        )
