"""Inside: interior samples of a class whose rows are brought together on one worker.

A class that is short of inversions is small: its rows are gathered, if a worker can hold
them, and interpolated by the sampler's own code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterbalance.arrays import Integers
from counterbalance.distributed.building import New, build
from counterbalance.distributed.partitions import Partition, Place, blocks
from counterbalance.distributed.plan import Plan
from counterbalance.rows.interior import Interior
from counterbalance.rows.shortfall import NewRows
from counterbalance.search.problem import Problem


@dataclass(frozen=True)
class Members:
    """The rows of one class, and their positions in the whole table."""

    rows: pd.DataFrame
    ids: Integers

    @classmethod
    def join(cls, parts: list[Members]) -> Members:
        """Put the members of partitions one behind the other."""
        rows = [part.rows for part in parts if len(part.rows)] or [parts[0].rows]
        return cls(pd.concat(rows, ignore_index=True), np.concatenate([part.ids for part in parts]))


@dataclass(frozen=True)
class Interiors:
    """Which interior samples and copies a class gets."""

    lots: Integers
    copies: Integers  # positions among the members

    def __len__(self) -> int:
        return len(self.lots) + len(self.copies)

    def part(self, start: int, stop: int) -> Interiors:
        """Return some of them, the copies behind the lots."""
        behind = len(self.lots)
        return Interiors(
            self.lots[start:stop], self.copies[max(0, start - behind) : max(0, stop - behind)]
        )


def members_of(partition: Partition, place: Place, plan: Plan, target: int) -> Members:
    """Return the rows of a class in a partition."""
    first = place.first
    found = [Members(plan.layout.empty, np.zeros(0, dtype=np.intp))]
    for block in blocks(partition, plan.size):
        here = np.flatnonzero(plan.layout.class_codes(block) == target)
        found.append(Members(block.iloc[here], here + first))
        first += len(block)
    return Members.join(found)


def choose_interiors(members: Members, plan: Plan, target: int, n: int) -> Interiors:
    """Return ``n`` interior samples, or as many as the rules allow, and copies for the rest."""
    interior = Interior.of(_problem(members, plan), target)
    lots = interior.accept(n)
    copies = interior.copies(n - len(lots))
    return Interiors(lots, copies)


def build_interiors(members: Members, plan: Plan, f: Any, target: int, chosen: Interiors) -> New:
    """Build interior samples and copies."""
    problem = _problem(members, plan)
    interior = Interior.of(problem, target) if len(chosen.lots) else None
    rows = NewRows(target, len(chosen), interior=interior, lots=chosen.lots, copies=chosen.copies)
    shown = np.zeros(len(plan.layout.sketch), dtype=np.intp)
    ids = np.concatenate([shown, members.ids])
    return build(problem, plan.classifier(f, problem), plan.layout, rows, ids)


def _problem(members: Members, plan: Plan) -> Problem:
    # Interior samples are drawn by lots, not by row ids: the members may start anywhere.
    return plan.problem(members.rows, 0)
