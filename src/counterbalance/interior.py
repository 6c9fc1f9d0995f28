"""Interior: new rows between the rows that a class already has.

    x          encoded rows of one class, (n, M)
    base       the row a new one starts from
    partner    one of its nearest rows of the same class
    step       how far it goes towards the partner, uniform on (0, 1)

This is interpolation, not a counterfactual: it fills a class where inversions
are too few. A class of one row can only be copied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from counterbalance.draws import stream, uniform
from counterbalance.perturbation import Perturbation
from counterbalance.profile import Floats, Mask, Profile

Integers = NDArray[np.intp]

N_NEIGHBOURS = 5
# Rows that break a rule are drawn again so many times.
MOST_TRIES = 10


def interpolate(
    x: Floats, perturbation: Perturbation, seed: int, lots: Integers
) -> tuple[Floats, Integers]:
    """Return one new row for each number in ``lots``, and the position of its base in ``x``.

    A nominal cell is the base's or the partner's, whichever is nearer; a cell that is
    missing in either is the base's, and so is a cell that the rules keep from changing.
    """
    state = stream(seed, lots, 0)
    base = (uniform(state, 0) * len(x)).astype(np.intp)
    if len(x) == 1:
        return x[base], base
    profile, rules = perturbation.profile, perturbation.rules
    partners = _partners(x, profile)
    partner = partners[base, (uniform(state, 1) * partners.shape[1]).astype(np.intp)]
    step = uniform(state, 2)[:, None]
    start, end = x[base], x[partner]
    new = start + step * (end - start)
    features = np.arange(x.shape[1])
    perturbation.snap(new, features)
    lower, upper = rules.bounds(start, features, np.minimum(start, end), np.maximum(start, end))
    new = np.clip(new, lower, upper)
    new = np.where(profile.nominal, np.where(step < 0.5, start, end), new)  # noqa: PLR2004
    keep = np.isnan(start) | np.isnan(end) | (lower > upper) | rules.frozen
    return np.where(keep, start, new), base


def accepted(x: Floats, perturbation: Perturbation, seed: int, n: int, first_lot: int) -> Integers:
    """Return the lots of ``n`` interpolated rows that keep the rules, fewer if they are rare."""
    rules = perturbation.rules
    lots = np.zeros(0, dtype=np.intp)
    for _ in range(MOST_TRIES):
        more = first_lot + np.arange(n)
        first_lot += n
        new, base = interpolate(x, perturbation, seed, more)
        good = rules.allow(new)
        if rules.most_changed is not None:
            good &= np.count_nonzero(new != x[base], axis=1) <= rules.most_changed
        lots = np.append(lots, more[good])[:n]
        if len(lots) == n:
            break
    return lots


def _partners(x: Floats, profile: Profile) -> Integers:
    """Return the nearest rows of each row by the method's distance, without itself."""
    k = min(N_NEIGHBOURS, len(x) - 1)
    space = _space(x, profile.nominal, profile.scale)
    search = NearestNeighbors(n_neighbors=k + 1, metric="manhattan").fit(space)
    near = search.kneighbors(space, return_distance=False)
    # Among duplicates a row need not come first in its own list: drop it where it
    # is, or the farthest where it is not there at all.
    own = near == np.arange(len(x))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(near[~own].reshape(len(x), k))


def _space(x: Floats, nominal: Mask, scale: Floats) -> Floats:
    """Lay the rows out so that the Manhattan distance is the method's distance."""
    columns: list[Floats] = []
    for m, is_nominal in enumerate(nominal):
        column = x[:, m]
        known = column[~np.isnan(column)]
        if is_nominal:
            columns.extend((column == level) * 0.5 for level in np.unique(known))
        elif known.size:
            columns.append(np.where(np.isnan(column), np.median(known), column) / scale[m])
    return np.column_stack(columns) if columns else np.zeros((len(x), 1))
