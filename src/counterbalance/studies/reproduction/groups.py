"""Records of trials, gathered into the groups that a table shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterbalance.trials.trial import TrialRecord

Group = tuple[str | int, ...]
SHOWN_ERROR = 160


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of some values; a single value has no deviation."""

    mean: float
    deviation: float | None

    def __str__(self) -> str:
        deviation = "" if self.deviation is None else f" ±{self.deviation:.3f}"
        return f"{self.mean:.3f}{deviation}"


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation.

    Examples
    --------
    >>> str(spread([0.5, 0.7])), str(spread([0.5]))
    ('0.600 ±0.141', '0.500')
    """
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None)


def gather(records: Iterable[TrialRecord], names: Sequence[str]) -> dict[Group, list[TrialRecord]]:
    """Gather the records of trials that have the same values under these names."""

    def group_of(record: TrialRecord) -> Group:
        return tuple(record.trial[name] for name in names)

    ordered = sorted(records, key=lambda record: tuple(map(str, group_of(record))))
    return {group: list(members) for group, members in groupby(ordered, group_of)}


def in_all(groups: Iterable[Iterable[int]]) -> set[int]:
    """Return the numbers (of runs, or splits) that every group has; empty groups do not count.

    Examples
    --------
    >>> in_all([[0, 1, 2], [0, 1], []])
    {0, 1}
    """
    known = [numbers for group in groups if (numbers := set(group))]
    return set.intersection(*known) if known else set()


def has_failed(members: Iterable[TrialRecord]) -> bool:
    """Tell whether a trial of a group failed; then the group has no figure."""
    return any(record.state == "failed" for record in members)


def failures(groups: Mapping[Group, Sequence[TrialRecord]]) -> list[str]:
    """Say for each group with failures how many trials failed, and the first error."""
    notes = []
    for group, members in groups.items():
        failed = [record for record in members if record.state == "failed"]
        if failed:
            name = " ".join(map(str, group))
            error = failed[0].error.splitlines()[0][:SHOWN_ERROR]
            notes.append(f"Failed: {name}, {len(failed)} of {len(members)} trials: {error}")
    return notes
