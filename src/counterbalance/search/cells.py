"""Cells: what the compiled kernel is told of the features that change, the same for all rows.

It is worked out once for a space: the kernel is called for some rows at a time, and often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterbalance.arrays import Floats, Integers
from counterbalance.search.perturbation import Perturbation

# Kinds of cells, as the kernel counts them.
NUMBER, NARROW, NOMINAL = range(3)
# Bytes of a float that the kernel can hold its values in.
WIDTHS = (4, 8)


def are_known(perturbation: Perturbation, order: Integers) -> bool:
    """Say whether the kernel can draw such cells."""
    rules = perturbation.rules
    return (
        perturbation.way == "exact"
        and not rules.levels
        and not rules.relations
        and not rules.followers
        and bool(np.isin(perturbation.grid.width[order], WIDTHS).all())
    )


def cells_of(perturbation: Perturbation, order: Integers) -> dict[str, Any]:
    """Return the arguments of the kernel's ``Draws`` that no row, draw or distance changes."""
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
        "share": np.concatenate([np.zeros(0), *shares]),
        "cumulative": np.concatenate([np.zeros(0), *(np.cumsum(share) for share in shares)]),
    }
    kind = np.where(nominal, NOMINAL, np.where(grid.width[order] == WIDTHS[0], NARROW, NUMBER))
    # Without a rule of direction the bounds are those of every factual, and no row is looked at.
    nothing = np.zeros((1, len(profile.nominal)))
    bounds = {} if are_directed(perturbation, order) else bounds_of(perturbation, order, nothing)
    return {
        **bounds,
        **{name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()},
        "order": np.ascontiguousarray(order, dtype=np.intp),
        "changes": np.isin(np.arange(len(profile.nominal)), order).astype(np.uint8),
        "kind": kind.astype(np.uint8),
        "used": np.concatenate([np.zeros(0, dtype=np.intp), *used]),
        "first_level": _starts(shares),
        "first_used": _starts(used),
        "most_changed": -1 if rules.most_changed is None else rules.most_changed,
        "change_missing": perturbation.change_missing,
        "bounded": rules.checked,
    }


def bounds_of(perturbation: Perturbation, order: Integers, x: Floats) -> dict[str, Floats]:
    """Return the least and the largest that cells may become, (R, K).

    Without a rule of direction they are those of every factual: any row shows them, (1, K).
    """
    _, *bounds = perturbation.bounds(x[:, order], order)
    lower, upper = (np.ascontiguousarray(np.atleast_2d(array), np.float64) for array in bounds)
    return {"lower": lower, "upper": upper}


def are_directed(perturbation: Perturbation, order: Integers) -> bool:
    """Say whether a rule lets a feature only rise or only fall, from where a factual is."""
    rules = perturbation.rules
    return bool((rules.rising | rules.falling)[order].any())


def _shares(share: Floats | None) -> Floats:
    """Return the shares of the categories, with that of a missing cell behind them."""
    return np.zeros(0) if share is None else np.append(share, 0.0)


def _starts(parts: list[NDArray[Any]]) -> NDArray[np.intp]:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.intp)
