"""Found: the inversions of one partition, small enough to keep, and where they are kept.

A search is the dear part. What it found is 32 bytes for each row that inverted: it stays
on the worker, or on disk where a folder is given, so that neither a worker that dies nor
a run that is stopped loses it.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Small
from counterbalance.distributed.partitions import Place
from counterbalance.distributed.records import OWNER_ONLY
from counterbalance.errors import EngineError
from counterbalance.io.atomic import written_whole
from counterbalance.search.inversions import Inversions

# What reading a damaged archive of arrays can end in.
DAMAGE = (
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Found:
    """The inversions of a partition; the factuals are positions in the whole table."""

    inversions: Inversions
    source: Small  # the class of each factual
    right: Integers  # rows of each class that f gets right
    answers: Integers  # the classes that f gives some row

    def pairs(self) -> Integers:
        """Return how many inversions each pair (larger class, smaller class) gave."""
        n_classes = len(self.right)
        pair = self.source.astype(np.intp) * n_classes + self.inversions.target
        return np.bincount(pair, minlength=n_classes**2).reshape(n_classes, n_classes)

    def take(self, positions: Any) -> Found:
        """Return some of the inversions."""
        return Found(
            self.inversions.take(positions), self.source[positions], self.right, self.answers
        )

    def between(self, first: int, stop: int, target: int | None = None) -> Inversions:
        """Return the inversions of the factuals in a range, to one class if given."""
        chosen = (self.inversions.factual >= first) & (self.inversions.factual < stop)
        if target is not None:
            chosen &= self.inversions.target == target
        return self.inversions.take(chosen)

    @classmethod
    def join(cls, parts: list[Found], n_classes: int) -> Found:
        """Put the blocks of a partition one behind the other."""
        none = np.zeros(0, dtype=np.intp)
        return cls(
            Inversions.join([part.inversions for part in parts]),
            np.concatenate([none.astype(np.int32), *(part.source for part in parts)]),
            np.sum([np.zeros(n_classes, dtype=np.intp), *(part.right for part in parts)], axis=0),
            np.unique(np.concatenate([none, *(part.answers for part in parts)])),
        )


@dataclass(frozen=True)
class Kept:
    """What was found, on disk."""

    path: str


def save(found: Found, path: Path) -> Kept:
    """Write what was found, all or nothing."""
    arrays = {field.name: getattr(found.inversions, field.name) for field in fields(Inversions)}
    others = {name: getattr(found, name) for name in ("source", "right", "answers")}
    with written_whole(path) as unfinished:
        unfinished.chmod(OWNER_ONLY)
        with unfinished.open("wb") as file:
            np.savez(file, **arrays, **others)
    return Kept(str(path))


def load(found: Found | Kept) -> Found:
    """Return what was found, wherever it is."""
    if isinstance(found, Found):
        return found
    try:
        return _read(Path(found.path))
    except DAMAGE as error:
        raise EngineError(
            f"{found.path} is damaged since it was written; run the same again: it is made anew"
        ) from error


def saved(path: Path, place: Place, n_classes: int) -> Kept | None:
    """Return what an earlier run wrote here, None where there is nothing or it is damaged."""
    try:
        found = _read(path)
    except DAMAGE:
        return None
    inversions, classes = found.inversions, np.arange(n_classes)
    sound = (
        _all_within(inversions.factual, np.array([place.first, place.first + place.n_rows - 1]))
        and _all_within(inversions.target, classes)
        and _all_within(found.source, classes)
        and _all_within(found.answers, classes)
        and len(found.right) == n_classes
    )
    return Kept(str(path)) if sound else None


def _read(path: Path) -> Found:
    """Read arrays of numbers, never objects; zipfile compares the checksum of every one."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        inversions = Inversions(*(arrays[field.name] for field in fields(Inversions)))
        found = Found(inversions, *(arrays[name] for name in ("source", "right", "answers")))
    columns = [*vars(inversions).values(), found.source]
    if any(column.shape != inversions.factual.shape or column.ndim != 1 for column in columns):
        raise ValueError(f"{path} holds columns of different lengths")
    whole = [*columns[:4], *columns[5:], found.right, found.answers]
    if any(column.dtype.kind != "i" for column in whole) or inversions.distance.dtype.kind != "f":
        raise ValueError(f"{path} holds columns of other types")
    return found


def _all_within(numbers: NDArray[Any], allowed: NDArray[Any]) -> bool:
    return not numbers.size or (numbers.min() >= allowed[0] and numbers.max() <= allowed[-1])
