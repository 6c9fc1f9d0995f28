"""Found: what a pass found in one partition, in memory or in a file.

    inversions    40 bytes for each, with a bit for each feature of a drawn one, and the changed
                  cells of those that were solved for
    references    rows of the partition where a search that solves may start

A file holds arrays of numbers and nothing else. One that is damaged, or of another partition,
is not used.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Integers, Small
from counterbalance.distributed.inputs import Place
from counterbalance.distributed.resume import OWNER_ONLY
from counterbalance.errors import EngineError
from counterbalance.io.atomic import written_whole
from counterbalance.search.inversions import COLUMNS, NOT_DRAWN, Changes, Inversions
from counterbalance.search.references import References

T = TypeVar("T")
# The arrays of what was found, beside those of its inversions.
OTHERS = ("source", "right", "answers")
# What reading a damaged archive of arrays can raise.
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
    """The inversions of a partition; factuals are positions in the whole table."""

    inversions: Inversions
    source: Small  # the class of each factual
    right: Integers  # rows of each class that f gets right
    answers: Integers  # the classes that f predicts for some row
    references: References = field(default_factory=References.none)  # of this partition alone

    def pairs(self) -> Integers:
        """Return how many inversions each pair (larger class, smaller class) gave."""
        n_classes = len(self.right)
        pair = self.source.astype(np.intp) * n_classes + self.inversions.target
        return np.bincount(pair, minlength=n_classes**2).reshape(n_classes, n_classes)

    def take(self, positions: Any) -> Found:
        """Return some of the inversions."""
        inversions, source = self.inversions.take(positions), self.source[positions]
        return replace(self, inversions=inversions.trimmed(), source=source)

    def between(self, first: int, stop: int, target: int | None = None) -> Inversions:
        """Return the inversions of the factuals in a range, to one class if given."""
        some = self.inversions.between(first, stop)
        return some if target is None else some.take(some.target == target)

    @classmethod
    def join(cls, parts: list[Found], n_classes: int) -> Found:
        """Concatenate the blocks of a partition."""
        none = np.zeros(0, dtype=np.intp)
        return cls(
            Inversions.join([part.inversions for part in parts]),
            np.concatenate([none.astype(np.int32), *(part.source for part in parts)]),
            np.sum([np.zeros(n_classes, dtype=np.intp), *(part.right for part in parts)], axis=0),
            np.unique(np.concatenate([none, *(part.answers for part in parts)])),
            References.join([part.references for part in parts]),
        )


@dataclass(frozen=True)
class SavedFound:
    """What was found, in a file."""

    path: str


def save(found: Found, path: Path) -> SavedFound:
    """Write what was found, completely or not at all."""
    arrays = {name: getattr(found.inversions, name) for name in COLUMNS}
    others = {name: getattr(found, name) for name in OTHERS}
    if found.inversions.taken_back is not None:
        others["taken_back"] = found.inversions.taken_back
    for group in (found.references, found.inversions.changes):
        if group is not None:
            others |= {_key(type(group), name): array for name, array in vars(group).items()}
    write_arrays(path, arrays | others)
    return SavedFound(str(path))


def load(found: Found | SavedFound) -> Found:
    """Return what was found, wherever it is."""
    return found if isinstance(found, Found) else read_or_refuse(_read, found.path)


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays for the owner, completely or not at all; damaged ones are made anew."""
    with written_whole(path, durable=False) as unfinished:
        unfinished.chmod(OWNER_ONLY)
        with unfinished.open("wb") as file:
            np.savez(file, **arrays)


def read_or_refuse(read: Callable[[Path], T], path: str) -> T:
    """Read what a task wrote."""
    try:
        return read(Path(path))
    except DAMAGE as error:
        raise EngineError(
            f"{path} was damaged after it was written; run the same again: it is made anew"
        ) from error


def _key(group: type, name: str) -> str:
    """Return the name of an array in the file."""
    return f"{group.__name__.lower()}_{name}"


def saved(path: Path, place: Place, n_classes: int) -> SavedFound | None:
    """Return what an earlier run wrote here; None if there is nothing or it is damaged."""
    try:
        found = _read(path)
    except DAMAGE:
        return None
    inversions, classes = found.inversions, np.arange(n_classes)
    rows = np.array([place.first, place.first + place.n_rows - 1])
    sound = (
        _all_within(inversions.factual, rows)
        and _all_within(found.references.row, rows)
        and _all_within(found.references.target, classes)
        and _all_within(inversions.target, classes)
        and _all_within(found.source, classes)
        and _all_within(found.answers, classes)
        and len(found.right) == n_classes
    )
    return SavedFound(str(path)) if sound else None


def _read(path: Path) -> Found:
    """Read arrays of numbers, never objects; zipfile verifies the checksum of each."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        inversions = Inversions(**{name: arrays[name] for name in COLUMNS})
        others = {name: arrays[name] for name in OTHERS}
        references = References(*(arrays[_key(References, f.name)] for f in fields(References)))
        if _key(Changes, "factual") in arrays:
            changes = Changes(*(arrays[_key(Changes, f.name)] for f in fields(Changes)))
            inversions = replace(inversions, changes=changes)
        if "taken_back" in arrays:
            inversions = replace(inversions, taken_back=arrays["taken_back"])
    found = Found(inversions, **others, references=references)
    _check_arrays(found, path)
    return found


def _check_arrays(found: Found, path: Path) -> None:
    """Check that the arrays of a file go together."""
    inversions, references = found.inversions, found.references
    bits, n = inversions.taken_back, len(inversions)
    if bits is not None and (bits.dtype != np.uint8 or bits.ndim != 2 or len(bits) != n):  # noqa: PLR2004
        raise ValueError(f"{path} holds other bits than those of its inversions")
    solved = inversions.take(inversions.draw == NOT_DRAWN)
    changes = inversions.changes or Changes.none()
    floats = [inversions.distance, inversions.key, changes.value]
    measured = {"distance", "key"}
    whole = [getattr(inversions, name) for name in COLUMNS if name not in measured]
    whole += [array for name, array in vars(changes).items() if name != "value"]
    whole += [found.source, found.right, found.answers, references.row, references.target]
    if any(array.dtype.kind != "i" for array in whole) or any(a.dtype.kind != "f" for a in floats):
        raise ValueError(f"{path} holds columns of other types")
    if (
        any(array.ndim != 1 for array in (*whole, *floats))
        or any(len(column) != n for column in (*whole[:4], *floats[:2], found.source))
        or len(references.row) != len(references.target)
        or len(changes.count) != len(changes.factual)
        or not len(changes.feature) == len(changes.value) == changes.count.sum()
    ):
        raise ValueError(f"{path} holds columns of different lengths")
    if (
        not np.array_equal(changes.factual, solved.factual)
        or not np.array_equal(changes.target, solved.target)
        or changes.count.min(initial=0) < 0
        or changes.feature.min(initial=0) < 0
    ):
        raise ValueError(f"{path} holds other changes than those of its inversions")


def _all_within(numbers: NDArray[Any], allowed: NDArray[Any]) -> bool:
    return not numbers.size or (numbers.min() >= allowed[0] and numbers.max() <= allowed[-1])
