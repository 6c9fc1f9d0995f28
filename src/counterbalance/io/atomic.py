"""Atomic writes: a file is written whole or not at all, and never over its own source."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from counterbalance.errors import CounterbalanceError

# Permissions of a file: everybody that the umask allows, or the owner alone.
READ_AND_WRITE, OWN = 0o666, 0o600


class OutputError(CounterbalanceError):
    """A file cannot be written where the user wants it."""


@contextmanager
def written_whole(path: Path, like: Path | None = None, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary file in the same folder, which replaces ``path`` at the end.

    Whoever opens ``path``, even after a kill or a power failure, finds the old file or the new
    one, never part of it. A kill leaves ``.NAME.*.part`` behind. From the first byte on, nobody
    may read it who may not read ``like``.

    A file that need not be ``durable`` is not waited for: a power failure may damage it.

    >>> from tempfile import mkdtemp
    >>> table = Path(mkdtemp(), "table.csv")
    >>> with written_whole(table) as part:
    ...     _ = part.write_text("a,b")
    >>> table.read_text()
    'a,b'
    """
    check_output(path)
    place = path.parent.resolve() / path.name
    part = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}.part")
    allowed = READ_AND_WRITE if like is None else like.stat().st_mode & READ_AND_WRITE | OWN
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, allowed))
        if place.exists():
            part.chmod(place.stat().st_mode & allowed)
        yield part
        if durable:
            store(part)
        part.replace(place)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def store(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def begin_to_store(path: Path) -> None:
    """Let the system write a file to the disk in the meantime, where it can be told to."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


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
    if path.is_symlink():
        raise OutputError(
            f"{option} must be a file, and {path} is a link to {path.readlink()}, which may lead "
            "anywhere; give the path of the file itself, or remove the link"
        )


def check_folder(path: Path, option: str = "path") -> None:
    """Refuse a folder that is a file, or a link, which may lead anywhere."""
    if path.is_symlink():
        raise OutputError(
            f"{option} must be a folder, and {path} is a link to {path.readlink()}, which may lead "
            "anywhere; give the path of the folder itself, or remove the link"
        )
    if path.exists() and not path.is_dir():
        raise OutputError(f"{option} must be a folder, and {path} is a file; give another name")


def make_folder(path: Path, like: Path | None = None, option: str = "path") -> None:
    """Make a folder if it is not there; nobody may open it who may not read ``like``."""
    check_folder(path, option)
    readable = 0o777 if like is None else like.stat().st_mode
    allowed = 0o700 | (0o070 if readable & 0o040 else 0) | (0o007 if readable & 0o004 else 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(allowed, exist_ok=True)
