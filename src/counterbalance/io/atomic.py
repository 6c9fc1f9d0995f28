"""Outputs: write files whole, together, with private permissions, and never over their source.

part     the file while it is written, beside its place: .NAME.counterbalance-XXXXXXXX.part
lock     held by the process that writes a part; the system frees it when the process dies
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from counterbalance.errors import CounterbalanceError

try:
    import fcntl
except ImportError:  # Windows has other locks: leftovers of a kill stay there
    fcntl = None  # type: ignore[assignment]

# Permissions of a file: everybody that the umask allows, or the owner alone.
READ_AND_WRITE, OWN = 0o666, 0o600
OURS = "counterbalance-"
LOCK = ".lock"


class OutputError(CounterbalanceError):
    """A file cannot be written where the user wants it."""


def write_files(contents: Mapping[Path, bytes], like: Path | None = None) -> None:
    """Write the files of one run: all of them, or none."""
    with written_together(list(contents), like) as parts:
        for part, content in zip(parts, contents.values(), strict=True):
            part.write_bytes(content)


@contextmanager
def written_whole(path: Path, like: Path | None = None) -> Iterator[Path]:
    """Yield a temporary file in the same folder, which replaces ``path`` at the end.

    >>> from tempfile import mkdtemp
    >>> table = Path(mkdtemp(), "table.csv")
    >>> with written_whole(table) as part:
    ...     _ = part.write_text("a,b")
    >>> table.read_text()
    'a,b'
    """
    with written_together([path], like) as (part,):
        yield part


@contextmanager
def written_together(paths: Sequence[Path], like: Path | None = None) -> Iterator[list[Path]]:
    """Yield a temporary file for each path; at the end all of them move to their places.

    Whoever opens a path, even after a kill or a power failure, finds the old file or the new one,
    never part of it. Parts that a killed process left in these folders are removed first. Users who
    may not read ``like`` may never read the files.
    """
    for path in paths:
        check_output(path)
    places = [path.parent.resolve() / path.name for path in paths]
    for folder in {place.parent for place in places}:
        _remove_leftovers(folder)
    allowed = READ_AND_WRITE if like is None else like.stat().st_mode & READ_AND_WRITE | OWN
    parts: list[Path] = []
    handles: list[int] = []
    try:
        for place in places:
            part, handle = _begin(place, allowed)
            parts.append(part)
            handles.append(handle)
        yield parts
        for part in parts:
            store(part)
        if fcntl is None:  # an open file cannot be moved on Windows
            while handles:
                os.close(handles.pop())
        for part, place in zip(parts, places, strict=True):
            part.replace(place)
    finally:
        for part in parts:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        for handle in handles:
            os.close(handle)


def _begin(place: Path, allowed: int) -> tuple[Path, int]:
    """Make an empty part and lock it."""
    while True:
        part = place.with_name(f".{place.name[:100]}.{OURS}{secrets.token_hex(4)}.part")
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, allowed)
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        if fcntl is None or os.fstat(handle).st_nlink:
            break
        os.close(handle)  # another process took it for a leftover before it was locked
    if place.exists():
        part.chmod(place.stat().st_mode & allowed)
    return part, handle


def _remove_leftovers(folder: Path) -> None:
    """Remove the parts that a process left in a folder when it was killed."""
    for part in folder.glob(f".*.{OURS}*.part"):
        if _is_abandoned(part):
            with suppress(OSError):
                part.unlink()


def _is_abandoned(path: Path) -> bool:
    """Whether no process holds the lock on a file of ours."""
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


@contextmanager
def scratch_folder(within: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield a private temporary folder; those that killed processes left are removed first."""
    root = Path(tempfile.gettempdir() if within is None else within)
    for lock in root.glob(f"{OURS}*/{LOCK}"):
        if _is_abandoned(lock):
            shutil.rmtree(lock.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=OURS, dir=within) as folder:
        if fcntl is None:
            yield Path(folder)
            return
        # Lock the file before it gets the name that other processes check.
        handle = os.open(Path(folder, "lock"), os.O_RDWR | os.O_CREAT, OWN)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            Path(folder, "lock").rename(Path(folder, LOCK))
            yield Path(folder)
        finally:
            os.close(handle)


def store(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def check_output(path: Path, *inputs: Path, option: str = "path") -> None:
    """Refuse a path that cannot be written, or that is one of the ``inputs`` by any name."""
    place = path.resolve()
    if place.is_dir() or not path.name:
        raise OutputError(
            f"{option} must be a file, and {path} is a folder; add a file name, for example "
            f"{path / 'result.csv'}"
        )
    if place.exists() and not place.is_file():
        raise OutputError(f"{option} must be a file, and {path} is not one; give another path")
    if not place.parent.is_dir():
        raise OutputError(f"{option} must be in a folder that exists, got {path}; make it first")
    if not os.access(place.parent, os.W_OK):
        raise OutputError(
            f"{option} must be in a folder that can be written, got {path}; choose another"
        )
    for source in inputs:
        if place == source.resolve() or (place.exists() and place.samefile(source)):
            raise OutputError(
                f"{option} must not be the file that is read, got {path}; give another name"
            )
    _refuse_link(path, option)


def check_folder(path: Path, option: str = "path") -> None:
    """Refuse a folder that is a file, or a link, which may lead anywhere."""
    _refuse_link(path, option, "folder")
    if path.exists() and not path.is_dir():
        raise OutputError(f"{option} must be a folder, and {path} is a file; give another name")


def _refuse_link(path: Path, option: str, what: str = "file") -> None:
    if path.is_symlink():
        raise OutputError(
            f"{option} must be a {what}, and {path} is a link to {path.readlink()}, which may lead "
            f"anywhere; give the path of the {what} itself, or remove the link"
        )


def make_folder(path: Path, like: Path | None = None, option: str = "path") -> None:
    """Make a folder if it is not there; users who may not read ``like`` may not open it."""
    check_folder(path, option)
    readable = 0o777 if like is None else like.stat().st_mode
    allowed = 0o700 | (0o070 if readable & 0o040 else 0) | (0o007 if readable & 0o004 else 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(allowed, exist_ok=True)
