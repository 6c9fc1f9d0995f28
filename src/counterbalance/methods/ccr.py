"""CCR: clear a sphere around each minority row, then fill it.

Glossary
    energy     budget that a sphere may spend on growing
    radius     (n_min,)  of the sphere around each minority row
    moved      (n_maj, d)  majority rows after they were pushed out of the spheres
"""

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.methods.base import Change, PeerOverSampler
from counterbalance.methods.parameters import POSITIVE_REAL, parameter
from counterbalance.methods.synthesis import allocate, repeated


def within_reach(minority: Floats, majority: Floats, energy: float) -> Integers:
    """Return the majority rows that a sphere could reach: no radius exceeds the energy."""
    found = KDTree(majority).query_ball_point(minority, energy, p=1)
    return np.unique(np.concatenate([np.asarray(rows, dtype=np.intp) for rows in found]))


def sphere_radii(distances: Floats, energy: float) -> Floats:
    """Return the radius that each sphere reaches with its energy.

    Growing by ``dr`` costs ``dr`` times one more than the number of majority rows inside, so
    reaching the j-th nearest one costs the sum over i <= j of i * (d_i - d_{i-1}).
    """
    n_inner, n_outer = distances.shape
    ordered = np.hstack([np.zeros((n_inner, 1)), np.sort(distances, axis=1)])
    cost = np.cumsum(np.diff(ordered, axis=1) * np.arange(1, n_outer + 1), axis=1)
    cost = np.hstack([np.zeros((n_inner, 1)), cost])
    inside = (cost <= energy).sum(axis=1) - 1
    rows = np.arange(n_inner)
    reached, spent = ordered[rows, inside], cost[rows, inside]
    radii: Floats = reached + (energy - spent) / (inside + 1)
    return radii


def pushed_out(
    minority: Floats, majority: Floats, distances: Floats, radii: Floats, rng: np.random.Generator
) -> Floats:
    """Return the majority rows after each sphere has pushed those inside it to its surface.

    The pushes of several spheres add up, as in the paper. A majority row at the exact
    centre of a sphere has no direction away from it; one is drawn.
    """
    inner, outer = np.nonzero(distances < radii[:, None])
    away = majority[outer] - minority[inner]
    length = distances[inner, outer]
    centred = length == 0
    away[centred] = rng.laplace(size=(int(centred.sum()), majority.shape[1]))
    away /= np.abs(away).sum(axis=1, keepdims=True)
    moved = majority.copy()
    np.add.at(moved, outer, away * (radii[inner] - length)[:, None])
    return moved


def drawn_in_spheres(centres: Floats, radii: Floats, rng: np.random.Generator) -> Floats:
    """Draw rows in a random direction from each centre, at a uniform fraction of the radius."""
    direction = rng.laplace(size=centres.shape)
    direction /= np.abs(direction).sum(axis=1, keepdims=True)
    row: Floats = centres + direction * (radii * rng.random(len(radii)))[:, None]
    return row


class CCR(PeerOverSampler):
    """Combined cleaning and resampling.

    M. Koziarski, M. Wozniak, "CCR: A combined cleaning and resampling algorithm for imbalanced
    data classification", International Journal of Applied Mathematics and Computer Science
    2017.

    A sphere (in the sum of absolute differences, as in the paper) grows around each minority
    row until its energy is spent; the more majority rows it holds, the sooner that happens.
    Majority rows inside are pushed to its surface. New rows are drawn inside the spheres, in
    inverse proportion to their radii, so that endangered rows get more.

    By definition majority rows are moved: the first rows of the result are the original table
    with those rows at their new positions. The number of rows of each class is exact.

    Departures: none known. Energy is in units of the features: standardise them first, or
    give an energy that fits.

    Parameters
    ----------
    energy : float, default=0.25
        Budget that each sphere may spend on growing.
    """

    _least_minority = 1
    _needs_spread = False
    energy: float = parameter(default=0.25, rule=POSITIVE_REAL)

    def _resample_class(
        self, table: Floats, ours: Mask, n_samples: int, rng: np.random.Generator
    ) -> Change:
        minority = table[ours]
        reachable = np.flatnonzero(~ours)[within_reach(minority, table[~ours], self.energy)]
        distances = cdist(minority, table[reachable], "cityblock")
        radii = sphere_radii(distances, self.energy)
        moved = table.copy()
        moved[reachable] = pushed_out(minority, table[reachable], distances, radii, rng)
        seeds = repeated(allocate(1 / radii, n_samples))
        return Change(drawn_in_spheres(minority[seeds], radii[seeds], rng), moved=moved)
