"""Unfinished: the folder of a run that is not done, which belongs to its owner alone.

    OUT.partial    made with the mode 0700; a rerun goes on with what it finds there
    run            a word for the files, settings and versions of the run

What another user could have put there is never taken up: a folder or file of somebody else,
one that others may write to, or a link is refused. The result gets the mode that a new
folder gets here, without what the modes of the inputs keep from others.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from counterbalance.distributed.records import remove_unfinished, write_text
from counterbalance.errors import TableError

WORK = "_work"
RUN = "run"
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Those who may not read an input may not reach a result.
GROUP, OTHERS = (stat.S_IRGRP, stat.S_IRWXG), (stat.S_IROTH, stat.S_IRWXO)


def check_unfinished(partial: Path, run: str) -> None:
    """Refuse to go on with what others could have written, or with another run."""
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
    """Make the folder of unfinished results, or clear what dead workers left in it."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    for folder in (partial, partial / WORK, *folders):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
    _check_private(partial)  # somebody else may have been quicker
    write_text(partial / WORK / RUN, run)
    remove_unfinished(partial)


def publish_modes(partial: Path, inputs: Iterable[str]) -> None:
    """Give the folder and its files the modes of new ones, as far as the inputs allow."""
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
        about = path.lstat()
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
    """Whether we set the mode: written rows have that of new files, and checksums."""
    return path == partial or WORK in path.relative_to(partial).parts


def _within(folder: Path) -> Iterator[Path]:
    """Yield all that is in a folder; links are not followed."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent) / name
