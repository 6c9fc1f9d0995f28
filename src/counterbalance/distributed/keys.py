"""Keys: one number for each candidate of ``InteriorOverSampler``; the smallest are drawn.

    least     the smallest key that a lot may have: no weight is above 1
    key       least / weight, infinite where a candidate must not be drawn, or was not judged
    known     every lot whose least key is at most this was made and judged

A task knows its own lots only. If all tasks are alike an eighth of them (1 / POOL) is drawn, so
those with the smallest least keys are judged until no other one can be among that eighth, and some
more, because tasks are not quite alike. What a task computed stays on its worker, or on disk if a
folder is given: 8 bytes for each candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterbalance.arrays import Floats, Integers, Words
from counterbalance.classifier.judge import Classifier
from counterbalance.distributed.found import DAMAGE, read_or_refuse, write_arrays
from counterbalance.distributed.passes import Cutoff
from counterbalance.rows.interior import Interior
from counterbalance.samplers.interior import AT_A_TIME, POOL, WeightedDraw

# Cells of the candidates that are made, and that f is asked about, at a time.
CELLS_AT_ONCE = 2**19
# How far beyond its own cutoff a task judges.
MARGIN = 1.25
NONE = np.zeros(0, dtype=np.intp)
ARRAYS = ("start", "known", "keys", "ids", "partners", "copyable")


@dataclass(frozen=True)
class Keys:
    """The candidates of a class that one task made: those of a run of lots."""

    start: Integers  # the first lot, (1,)
    known: Floats  # (1,)
    keys: Floats
    ids: Integers  # of the rows of the class in the partition; none if they are gathered
    partners: Integers
    copyable: Integers  # ids of the rows that keep the rules

    @property
    def sound(self) -> int:
        """How many candidates are known that may be drawn."""
        return int(np.count_nonzero(self.keys < np.inf))

    def words(self) -> tuple[Words, Integers]:
        """Return the keys of those that may be drawn as words that sort alike, and their lots."""
        places = np.flatnonzero(self.keys < np.inf)
        # Floats that are not negative sort as their bits do.
        return self.keys[places].view(np.uint64), self.start[0] + places

    def drawn(self, cutoff: Cutoff | None) -> Integers:
        """Return the lots up to the cutoff; without one, all that may be drawn."""
        words, lots = self.words()
        return lots if cutoff is None else lots[cutoff.takes(words, lots)]

    @classmethod
    def join(cls, parts: list[Keys]) -> Keys:
        """Concatenate the blocks of a partition, in their order."""
        some = [part for part in parts if len(part.ids)]
        start = next((part.start for part in some if len(part.keys)), np.zeros(1, dtype=np.intp))
        known = np.array([min((part.known[0] for part in some), default=np.inf)])
        if not some:
            return cls(start, known, np.zeros(0), NONE, NONE, NONE)
        rest = (np.concatenate([getattr(part, name) for part in some]) for name in ARRAYS[2:])
        return cls(start, known, *rest)


@dataclass(frozen=True)
class SavedKeys:
    """Keys in a file."""

    path: str


def make_keys(
    interior: Interior, lots: Integers, how: WeightedDraw, f: Classifier, at_least: float
) -> tuple[Floats, Floats]:
    """Make candidates and return their keys, and up to which key they are known.

    That is ``at_least``, or further.
    """
    least, keys = how.least_keys(interior, lots), np.full(len(lots), np.inf)
    drawn = -(-len(lots) // POOL)
    known, done = -np.inf, np.zeros(len(lots), dtype=bool)
    wanted = max(at_least, _smallest(least, AT_A_TIME * drawn))
    while known < wanted:
        places = np.flatnonzero((least <= wanted) & ~done)
        keys[places], done[places] = _judge(interior, lots[places], least[places], how, f), True
        known, wanted = wanted, max(wanted, MARGIN * _smallest(keys, drawn))
    return keys, np.array([known])


def _smallest(keys: Floats, n: int) -> float:
    """Return the n-th smallest of some keys; infinite if there is none."""
    return float(np.partition(keys, n - 1)[n - 1]) if 0 < n <= len(keys) else np.inf


def _judge(
    interior: Interior, lots: Integers, least: Floats, how: WeightedDraw, f: Classifier
) -> Floats:
    keys = np.empty(len(lots))
    size = max(1, CELLS_AT_ONCE // interior.x.shape[1])
    for start in range(0, len(lots), size):
        some = slice(start, start + size)
        made = interior.at(lots[some])
        scores = f.scores(made[0], interior.rows[made[1]])
        assert scores is not None  # noqa: S101  (f has probabilities)
        keys[some] = how.keys(interior, least[some], made, scores[:, interior.lots.target])
    return keys


def path_in(folder: str | None, number: int, target: int) -> Path | None:
    """Return where the keys of a class in a partition or a run are, if a folder is given."""
    return None if folder is None else Path(folder) / f"keys-{target}-{number:012d}.npz"


def keep(keys: Keys, path: Path | None) -> Keys | SavedKeys:
    """Return keys, or write them, completely or not at all."""
    if path is None:
        return keys
    write_arrays(path, {name: getattr(keys, name) for name in ARRAYS})
    return SavedKeys(str(path))


def are_there(path: Path | None, at_least: float) -> bool:
    """Say whether a run wrote these keys, as many as needed; a damaged file is made anew."""
    try:
        return path is not None and bool(_read(path).known[0] >= at_least)
    except DAMAGE:
        return False


def load(found: Keys | SavedKeys) -> Keys:
    """Return keys, wherever they are."""
    return found if isinstance(found, Keys) else read_or_refuse(_read, found.path)


def _read(path: Path) -> Keys:
    """Read arrays of numbers, never objects; zipfile verifies the checksum of each."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        keys = Keys(*(arrays[name] for name in ARRAYS))
    numbers = (keys.known, keys.keys)
    whole = (keys.start, keys.ids, keys.partners, keys.copyable)
    if any(array.dtype != np.float64 for array in numbers) or any(
        array.dtype.kind != "i" for array in whole
    ):
        raise ValueError(f"{path} holds columns of other types")
    lengths = keys.start.shape, keys.known.shape
    if lengths != ((1,), (1,)) or len(keys.ids) != len(keys.partners):
        raise ValueError(f"{path} holds columns of other lengths")
    if not (keys.keys >= 0).all():
        raise ValueError(f"{path} holds keys below zero")
    return keys
