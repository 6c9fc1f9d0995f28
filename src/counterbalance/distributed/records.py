"""Records: files that are written all or nothing, with their sums, so that a rerun can go on.

    record    what one task wrote: for each file its name, rows, bytes and SHA-256
    sealed    plain data (JSON) below the SHA-256 of its text: any change of it is noticed

A task writes its files under other names, moves them into place when they are whole, and
then writes its record. A task whose record and files agree has nothing to do. Two workers
may write the same file at a time, when one is taken for dead: each does so under a name of
its own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterbalance.io.atomic import written_whole

# The mode of a file that says how a run is to go on.
OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Written:
    """One file."""

    name: str  # from the folder of the result
    rows: int
    bytes: int
    sha256: str


def read_record(record: Path, folder: Path) -> list[Written] | None:
    """Return what a task wrote, None if it did not finish or a file is not as it was."""
    try:
        files = [Written(**entry) for entry in read_sealed(record)]
    except (OSError, ValueError, TypeError):
        return None
    whole = all(
        (folder / file.name).is_file()
        and (folder / file.name).stat().st_size == file.bytes
        and sha256(folder / file.name) == file.sha256
        for file in files
    )
    return files if whole else None


def write_record(record: Path, files: list[Written]) -> None:
    """Write what a task wrote."""
    write_sealed(record, [asdict(file) for file in files])


def describe(path: Path, folder: Path, rows: int) -> Written:
    """Return what is to be noted of a file."""
    name = path.relative_to(folder).as_posix()
    return Written(name, rows, path.stat().st_size, sha256(path))


def write_text(path: Path, text: str) -> None:
    """Write a text, all or nothing, for nobody else to read."""
    with written_whole(path) as unfinished:
        unfinished.chmod(OWNER_ONLY)
        unfinished.write_text(text, "utf-8")


def write_sealed(path: Path, content: Any) -> None:
    """Write plain data below its checksum, for nobody else to read."""
    text = json.dumps(content)
    write_text(path, f"{_digest(text)}\n{text}")


def read_sealed(path: Path) -> Any:
    """Return the plain data of a file; a ValueError where it is not what was written."""
    digest, _, text = path.read_bytes().decode("utf-8").partition("\n")
    if digest != _digest(text):
        raise ValueError(f"{path} is damaged: its SHA-256 is not the one in its first line")
    return json.loads(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def remove_unfinished(folder: Path) -> None:
    """Remove what workers that died left behind."""
    for path in folder.rglob(".*.part"):
        path.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
