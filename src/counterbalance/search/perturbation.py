"""Perturbation: F_nm, how a cell of a factual is changed.

    x        encoded factuals, (R, M)
    state    streams of the draws to make, (R, T)
    values   what the perturbed cells become, (R, T, K) for K features

A continuous cell moves by a normal step with the deviation of its feature,
truncated to the feature's factual range. The paper's formula adds X_nm, so it
gives x' and not the step; x' is what is computed here. The value is then put on
the grid of its column, *before* f sees it: what is returned is what was tested.
A nominal cell takes another category, drawn by its frequency. A missing cell stays missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from counterbalance.arrays import Floats, Integers, Words
from counterbalance.constraints.rules import Rules
from counterbalance.profile import Profile
from counterbalance.search.draws import Way, exact_normal, gibbs_normal, uniform
from counterbalance.table.kinds import Grid


class Mass(NamedTuple):
    """How much of the normal distribution lies between the limits of a cell."""

    mirrored: NDArray[np.bool_]
    a: Floats
    b: Floats
    below: Floats  # Phi(a)
    width: Floats  # Phi(b) - Phi(a)


@dataclass(frozen=True)
class Limits:
    """Where cells may move to: [lower, upper], which is [a, b] in deviations from the cell."""

    cells: Floats  # (R, K)
    lower: Floats
    upper: Floats
    a: Floats
    b: Floats

    def mass(self) -> Mass:
        """Return the mass between the limits.

        A rule may put the whole interval above zero: then it is that of its mirror image,
        where the distribution function still has digits.
        """
        a, b, mirrored = self.a, self.b, self.a > 0
        if mirrored.any():
            a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
        below = ndtr(a)
        return Mass(mirrored, a, b, below, ndtr(b) - below)


@dataclass(frozen=True)
class Perturbation:
    """Everything that decides what a draw makes of a cell, except the row itself."""

    profile: Profile
    grid: Grid
    rules: Rules
    way: Way = "exact"

    def values(self, x: Floats, state: Words, features: Integers) -> Floats:
        """Return the perturbed cells of ``features`` for every row and draw."""
        cells = x[:, features]
        nominal = self.profile.nominal[features]
        if not nominal.any():
            return self._numeric(cells, state, features)
        values = np.empty((*state.shape, len(features)))
        if not nominal.all():
            values[..., ~nominal] = self._numeric(cells[:, ~nominal], state, features[~nominal])
        for k in np.flatnonzero(nominal):
            values[..., k] = self._category(cells[:, k], state, int(features[k]))
        return values

    def _numeric(self, cells: Floats, state: Words, features: Integers) -> Floats:
        limits = self.limits(cells, features)
        deviation = self.profile.deviation[features]
        z = self._normal(state, features, limits)
        z *= deviation
        z += limits.cells[:, None, :]
        self.snap(z, features)
        lower, upper = (np.atleast_2d(array)[:, None, :] for array in (limits.lower, limits.upper))
        np.maximum(z, lower, out=z)
        np.minimum(z, upper, out=z)
        if (lower > upper).any():  # the rules leave this cell no value: it stays
            z = np.where(lower > upper, limits.cells[:, None, :], z)
        return z

    def limits(self, cells: Floats, features: Integers) -> Limits:
        """Return where numeric cells may move to."""
        lower, upper = self.bounds(cells, features)
        deviation = self.profile.deviation[features]
        a, b = (lower - cells) / deviation, (upper - cells) / deviation
        return Limits(cells, lower, upper, a, b)

    def bounds(self, cells: Floats, features: Integers) -> tuple[Floats, Floats]:
        """Return the least and the largest that cells may become.

        They are (R, K), or (K,) where they are the same for every factual.
        """
        lower, upper = self.profile.lower[features], self.profile.upper[features]
        return self.rules.bounds(cells, features, lower, upper)

    def _normal(self, state: Words, features: Integers, limits: Limits) -> Floats:
        """Draw standard normals truncated to [a, b], one for each row, draw and feature."""
        if self.way == "gibbs":
            n_features = len(self.profile.lower)
            a, b = limits.a[:, None, :], limits.b[:, None, :]
            return gibbs_normal(state[..., None], features, n_features, a, b)
        mirrored, _, b, below, width = limits.mass()
        u = uniform(state[..., None], features)
        z = exact_normal(u, below[:, None, :], width[:, None, :])
        if (width == 0).any():  # so far out that no digit is left: all mass is at the near bound
            z = np.where((width == 0)[:, None, :], b[:, None, :], z)
        return np.where(mirrored[:, None, :], -z, z) if mirrored.any() else z

    def snap(self, values: Floats, features: Integers) -> None:
        """Put values onto their grid, or the nearest level that a rule allows, in place."""
        self.grid.snap(values, features)
        for m, levels in self.rules.levels.items():
            for k in np.flatnonzero(features == m):
                middle = (levels[1:] + levels[:-1]) / 2
                column = values[..., k]
                nearest = levels[np.searchsorted(middle, column)]
                values[..., k] = np.where(np.isnan(column), np.nan, nearest)

    def _category(self, cells: Floats, state: Words, feature: int) -> Floats:
        """Draw another category by its frequency; a cell with no other one keeps its own."""
        share = self._shares(feature)
        missing = np.isnan(cells)[:, None]
        own = np.where(missing[:, 0], len(share), cells).astype(np.intp)[:, None]
        share = np.append(share, 0.0)  # of a missing cell
        cumulative = np.cumsum(share)
        # Leave the own category's interval out: squeeze u, then step over it.
        u = uniform(state, feature)
        u *= cumulative[-1] - share[own]
        u += np.where(u >= cumulative[own] - share[own], share[own], 0.0)
        drawn = _other_than(own, np.searchsorted(cumulative, u, side="right"), share)
        return np.where(missing, np.nan, drawn)

    def _shares(self, feature: int) -> Floats:
        share = self.profile.frequency[feature]
        assert share is not None  # noqa: S101  (callers pass nominal features only)
        levels = self.rules.levels.get(feature)
        return (
            share if levels is None else np.where(np.isin(np.arange(len(share)), levels), share, 0)
        )


def _other_than(own: NDArray[np.intp], drawn: NDArray[np.intp], share: Floats) -> NDArray[np.intp]:
    """Mend what rounding at an interval's edge may do: the own or an absent category."""
    used = np.flatnonzero(share)
    position = np.clip(np.searchsorted(used, drawn), 0, len(used) - 1)
    if len(used) == 1:
        return np.broadcast_to(used[position], drawn.shape)
    neighbour = used[np.where(position > 0, position - 1, 1)]
    return np.where(used[position] == own, neighbour, used[position])
