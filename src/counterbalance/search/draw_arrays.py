"""Draw arrays: what the kernel makes the draws of every factual with, put together once.

    order       the features that may change, K of them
    levels      of the nominal ones, feature by feature: the share of each, and of a missing cell

A search goes over a table chunk by chunk, and rows are built a block at a time: what does not
depend on them is kept with the ``Space`` that it is made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.search.perturbation import Perturbation

# Kinds of cells, as the kernel counts them.
NUMBER, NARROW, NOMINAL = range(3)
# Bytes of a float that the kernel can hold its values in.
WIDTHS = (4, 8)


@dataclass(frozen=True, eq=False)
class DrawArrays:
    """What is the same for all factuals."""

    perturbation: Perturbation
    order: Integers
    taken: bool  # whether the kernel can make these draws
    directed: bool  # whether a rule of direction gives every factual bounds of its own
    fixed: dict[str, Any]

    @classmethod
    def of(cls, perturbation: Perturbation, order: Integers) -> DrawArrays:
        """Put them together."""
        rules = perturbation.rules
        taken = (
            perturbation.way == "exact"
            and not rules.levels
            and not rules.relations
            and not rules.followers
            and bool(np.isin(perturbation.grid.width[order], WIDTHS).all())
        )
        directed = bool((rules.rising | rules.falling)[order].any())
        fixed = _fixed(perturbation, order) if taken else {}
        return cls(perturbation, order, taken, directed, fixed)

    def bounds(self, x: Floats) -> dict[str, Floats]:
        """Return the least and the largest that cells may become; one row if they are all alike."""
        # Without a rule of direction the bounds are those of every factual: one shows them.
        some = (x if self.directed else x[:1])[:, self.order]
        _, *bounds = self.perturbation.bounds(some, self.order)
        lower, upper = (np.ascontiguousarray(np.atleast_2d(array), np.float64) for array in bounds)
        return {"lower": lower, "upper": upper}


def _fixed(perturbation: Perturbation, order: Integers) -> dict[str, Any]:
    profile, rules, grid = perturbation.profile, perturbation.rules, perturbation.grid
    nominal = profile.nominal[order]
    shares = [_shares(profile.frequency[m]) for m in order]
    used = [np.flatnonzero(share) for share in shares]
    arrays = {
        "deviation": profile.deviation[order],
        "scale": profile.scale[order],
        "median": profile.median[order],
        "resolution": np.where(nominal, 0.0, grid.resolution[order]),
        "low": rules.low,
        "high": rules.high,
        "share": np.concatenate(shares),
        "cumulative": np.concatenate([np.cumsum(share) for share in shares]),
    }
    kind = np.where(nominal, NOMINAL, np.where(grid.width[order] == WIDTHS[0], NARROW, NUMBER))
    return {
        **{name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()},
        "order": np.ascontiguousarray(order, dtype=np.intp),
        "changes": np.isin(np.arange(len(profile.lower)), order).astype(np.uint8),
        "kind": kind.astype(np.uint8),
        "used": np.concatenate([np.zeros(0, dtype=np.intp), *used]),
        "first_level": _starts(shares),
        "first_used": _starts(used),
        "most_changed": -1 if rules.most_changed is None else rules.most_changed,
        "change_missing": perturbation.change_missing,
        "bounded": rules.checked,
    }


def _shares(share: Floats | None) -> Floats:
    """Return the shares of the categories, with that of a missing cell behind them."""
    return np.zeros(0) if share is None else np.append(share, 0.0)


def _starts(parts: list[NDArray[Any]]) -> NDArray[np.intp]:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.intp)
