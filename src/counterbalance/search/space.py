"""Space: where one searches, and the draws of Algorithm 1 in it.

order        <F_1, ..., F_M>, the features that may change
n_draws      T in the paper
epsilon      inversions at this distance or farther do not count
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.search.draws import stream
from counterbalance.search.perturbation import Perturbation

# Kinds of cells, as the kernel counts them, and the bytes of the floats that it knows.
NUMBER, NARROW, NOMINAL = range(3)
WIDTHS = (4, 8)


@dataclass(frozen=True)
class Space:
    """What a cell may become, which features change, and with which draws."""

    perturbation: Perturbation
    order: Integers
    seed: int
    n_draws: int = 1
    epsilon: float = np.inf
    first_row: int = 0  # id of the first row of the table, which may be a part of a larger one

    @cached_property
    def changes(self) -> Mask:
        """Which features may change."""
        return np.isin(np.arange(len(self.perturbation.profile.lower)), self.order)

    def drawn(self, x: Floats, rows: Integers, draw: Integers, rounds: Integers) -> Floats:
        """Return candidates: rows of ``x`` with the first ``rounds`` features of a draw."""
        state = stream(self.seed, rows + self.first_row, draw)[:, None]
        values = self.perturbation.values(x, state, self.order)[:, 0]
        new = x.copy()
        changed = np.arange(len(self.order)) < rounds[:, None]
        new[:, self.order] = np.where(changed, values, x[:, self.order])
        return new

    @cached_property
    def draw_arrays(self) -> dict[str, Any] | None:
        """What the kernel makes draws with; None for what it does not know."""
        perturbation, order = self.perturbation, self.order
        profile, grid = perturbation.profile, perturbation.grid
        if (
            perturbation.way != "exact"
            or (profile.nominal[list(perturbation.rules.levels)]).any()
            or not np.isin(grid.width[order], WIDTHS).all()
        ):
            return None
        nominal = profile.nominal[order]
        levels = [perturbation.rules.levels.get(int(m), np.zeros(0)) for m in order]
        shares = [_shares(profile.frequency[m]) for m in order]
        used = [np.flatnonzero(share) for share in shares]
        kind = np.where(nominal, NOMINAL, np.where(grid.width[order] == WIDTHS[0], NARROW, NUMBER))
        return {
            "order": np.ascontiguousarray(order, dtype=np.intp),
            "changes": self.changes.astype(np.uint8),
            "kind": kind.astype(np.uint8),
            "deviation": np.ascontiguousarray(profile.deviation[order]),
            "scale": np.ascontiguousarray(profile.scale[order]),
            "resolution": np.where(nominal, 0.0, grid.resolution[order]),
            "share": np.concatenate([np.zeros(0), *shares]),
            "cumulative": np.concatenate([np.zeros(0), *map(np.cumsum, shares)]),
            "used": np.concatenate([np.zeros(0, dtype=np.intp), *used]),
            "first_level": _starts(shares),
            "first_used": _starts(used),
            "listed": np.concatenate([np.zeros(0), *levels]),
            "first_listed": _starts(levels),
        }


def _shares(share: Floats | None) -> Floats:
    """Return the shares of the categories, with that of a missing cell behind them."""
    return np.zeros(0) if share is None else np.append(share, 0.0)


def _starts(parts: list[NDArray[Any]]) -> NDArray[np.intp]:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.intp)
