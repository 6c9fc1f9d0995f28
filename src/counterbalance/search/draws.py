"""Draws: which cells may change, and the new value that a draw of Algorithm 1 gives each.

    x         encoded factuals, (R, M)
    order     <F_1, ..., F_M>, the features that may change
    seed      key of one call of ``fit_resample``
    row       id of a factual: its position in the table
    draw      t, one of the T perturbations of a round
    state     64 bits that belong to (seed, row, draw), (R, T)
    u         uniform on the open interval (0, 1): a pure function of (state, counter)
    z         standard normal truncated to [a, b]

A continuous cell moves by a normal step with the deviation of its feature, truncated to the
feature's factual range. The paper's formula adds X_nm, so it gives x' and not the step; this module
computes x'. The value is then rounded to the grid of its column, *before* f predicts its class: f
has tested exactly the rows that are returned. A nominal cell takes another category, drawn by its
frequency. A missing cell stays missing.

Random numbers depend on the row, not on the order of the work. So the result is the same for any
number of jobs, chunk size or partitioning, and a candidate can be rebuilt from (row, draw, round).
The generator is splitmix64 (Steele, Lea and Flood 2014): (seed, row, draw) give its state, the
feature's position is its counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from counterbalance.arrays import Floats, Integers, Mask, Unsigned
from counterbalance.constraints.rules import Rules
from counterbalance.profile import Profile
from counterbalance.table.kinds import Grid

DrawMethod = Literal["exact", "gibbs"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_EXPONENT_OF_ONE = np.uint64(0x3FF0000000000000)

# Draws 0, 1, ... perturb a row; this one decides which rows a sample takes.
SAMPLE_DRAW = 2**43
# One sweep of the Gibbs sampler is visibly biased towards its start; five agree
# with the exact distribution (tests/search/test_draws.py measures both).
GIBBS_SWEEPS = 5
# Codes of the kinds of cells in the kernel, and the float sizes in bytes that it supports.
NUMBER, NARROW, NOMINAL = range(3)
WIDTHS = (4, 8)


def _unsigned(numbers: ArrayLike) -> Unsigned:
    return np.atleast_1d(np.asarray(numbers)).astype(np.uint64)


def _mix(state: Unsigned) -> Unsigned:
    """Scramble ``state`` in place: the finaliser of splitmix64."""
    state ^= state >> np.uint64(30)
    state *= _MIX_1
    state ^= state >> np.uint64(27)
    state *= _MIX_2
    state ^= state >> np.uint64(31)
    return state


def stream(seed: int, row: ArrayLike, draw: ArrayLike) -> Unsigned:
    """Return the state of every (row, draw), broadcast against each other."""
    key = _mix(_unsigned(seed) + _GOLDEN)
    by_row = _mix(key + (_unsigned(row) + np.uint64(1)) * _GOLDEN)
    return _mix(by_row + (_unsigned(draw) + np.uint64(1)) * _GOLDEN)


def uniform(state: Unsigned, counter: ArrayLike) -> Floats:
    """Return the ``counter``-th uniform of every state, broadcast against each other.

    The top 52 bits become the fraction of a float in [1, 2); subtracting ``1 - 2**-53`` puts it
    into the middle of its cell, so neither 0 nor 1 ever comes out.
    """
    counter = np.asarray(counter).astype(np.uint64)
    with np.errstate(over="ignore"):  # wraps; numpy only warns of it for scalars
        bits = _mix(state + (counter + np.uint64(1)) * _GOLDEN)
    bits >>= np.uint64(12)
    bits |= _EXPONENT_OF_ONE
    u = bits.view(np.float64)
    u -= 1 - 2.0**-53
    return u


def sample_number(ids: ArrayLike) -> Floats:
    """Return a number for each row; a sample takes the rows with the smallest numbers.

    It depends on the id only: the samples are the same for every partitioning and seed.
    """
    return uniform(stream(0, ids, SAMPLE_DRAW), 0)


def sample_of_classes(number: Floats, codes: NDArray[Any], n: int, n_each: int) -> Mask:
    """Return the mask of the ``n`` smallest numbers of all and the ``n_each`` of each class."""
    chosen = first_in_sample(number, n)
    for code in np.flatnonzero(np.bincount(codes)):
        here = np.flatnonzero(codes == code)
        chosen[here[first_in_sample(number[here], n_each)]] = True
    return chosen


def first_in_sample(number: Floats, n: int) -> Mask:
    """Return which rows have the ``n`` smallest numbers."""
    if len(number) <= n:
        return np.ones(len(number), dtype=bool)
    return np.asarray(number <= np.partition(number, n - 1)[n - 1])


def exact_normal(u: Floats, lower: Floats, upper: Floats) -> Floats:
    """Draw normals truncated to [lower, upper] by the inverse of their distribution function.

    The paper prints alpha and beta swapped (alpha belongs to the lower bound). The paper worries
    about the tails, but the interval always holds zero, because a row lies inside the range of its
    own features. Only a rule can put the whole interval above zero; then its mirror image is drawn,
    because the distribution function is precise in the lower tail.
    """
    mirrored = lower > 0
    low, high = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
    below = ndtr(low)
    mass = ndtr(high) - below
    z = np.where(mass == 0, high, ndtri(below + u * mass))  # so far out that the mass rounds to 0
    return np.where(mirrored, -z, z)


def gibbs_normal(
    state: Unsigned, counter: ArrayLike, n_counters: int, lower: Floats, upper: Floats
) -> Floats:
    """Draw truncated normals with the latent variable of Damien and Walker (2001).

    Given z, the latent height is uniform below exp(-z^2 / 2); given the height,
    z is uniform where the density is higher, cut to [a, b]. Each sweep takes two
    uniforms, at counters that no other sweep or feature uses.
    """
    counter = np.asarray(counter)
    shape = np.broadcast_shapes(state.shape, counter.shape, lower.shape)
    z = np.broadcast_to(np.clip(0.0, lower, upper), shape)
    for sweep in range(1, GIBBS_SWEEPS + 1):
        height = uniform(state, counter + (2 * sweep - 1) * n_counters)
        # height * exp(-z^2 / 2) is the latent variable; the density exceeds it up to sqrt(-2 log).
        reach = np.sqrt(z * z - 2 * np.log(height))
        left = np.maximum(lower, -reach)
        right = np.minimum(upper, reach)
        z = left + uniform(state, counter + 2 * sweep * n_counters) * (right - left)
    return z


@dataclass(frozen=True)
class Space:
    """The values a cell may take, the features that may change, and the draws."""

    profile: Profile
    grid: Grid
    rules: Rules
    order: Integers
    seed: int
    n_draws: int = 1
    epsilon: float = np.inf  # inversions at this distance or farther do not count
    method: DrawMethod = "exact"
    first_row: int = 0  # id of the first row of the table, which may be a part of a larger one

    @cached_property
    def changes(self) -> Mask:
        """Which features may change."""
        return np.isin(np.arange(len(self.profile.lower)), self.order)

    def bounds(self, cells: Floats, features: Integers) -> tuple[Floats, Floats]:
        """Return the least and the largest value that cells may take.

        They are (R, K), or (K,) where they are the same for every factual.
        """
        lower, upper = self.profile.lower[features], self.profile.upper[features]
        return self.rules.bounds(cells, features, lower, upper)

    def snap(self, values: Floats, features: Integers) -> None:
        """Put values onto their grid, or the nearest level that a rule allows, in place."""
        self.grid.snap(values, features)
        for m, levels in self.rules.levels.items():
            for k in np.flatnonzero(features == m):
                middle = (levels[1:] + levels[:-1]) / 2
                column = values[..., k]
                nearest = levels[np.searchsorted(middle, column)]
                values[..., k] = np.where(np.isnan(column), np.nan, nearest)

    def drawn(self, x: Floats, rows: Integers, draw: Integers, rounds: Integers) -> Floats:
        """Return candidates: rows of ``x`` with the first ``rounds`` features of a draw."""
        state = stream(self.seed, rows + self.first_row, draw)[:, None]
        values = self.values(x, state, self.order)[:, 0]
        new = x.copy()
        changed = np.arange(len(self.order)) < rounds[:, None]
        new[:, self.order] = np.where(changed, values, x[:, self.order])
        return new

    def values(self, x: Floats, state: Unsigned, features: Integers) -> Floats:
        """Return the cells of K features after each draw, (R, T, K)."""
        values = np.empty((*state.shape, len(features)))
        nominal = self.profile.nominal[features]
        numbers = features[~nominal]
        if numbers.size:
            values[..., ~nominal] = self._numbers(x[:, numbers], state, numbers)
        for k in np.flatnonzero(nominal):
            values[..., k] = self._category(x[:, features[k]], state, int(features[k]))
        return values

    def _numbers(self, cells: Floats, state: Unsigned, features: Integers) -> Floats:
        lower, upper = self.bounds(cells, features)
        deviation = self.profile.deviation[features]
        a, b = (((end - cells) / deviation)[:, None, :] for end in (lower, upper))
        if self.method == "gibbs":
            z = gibbs_normal(state[..., None], features, len(self.profile.lower), a, b)
        else:
            z = exact_normal(uniform(state[..., None], features), a, b)
        values = cells[:, None, :] + z * deviation
        self.snap(values, features)
        lower, upper = (np.atleast_2d(end)[:, None, :] for end in (lower, upper))
        inside = np.minimum(np.maximum(values, lower), upper)
        # A cell without an allowed value stays.
        return np.where(lower > upper, cells[:, None, :], inside)

    def _category(self, cells: Floats, state: Unsigned, feature: int) -> Floats:
        """Draw another category by its frequency; a cell with no other one keeps its own."""
        share = self._shares(feature)
        missing = np.isnan(cells)[:, None]
        own = np.where(missing[:, 0], len(share) - 1, cells).astype(np.intp)[:, None]
        cumulative = np.cumsum(share)
        # Leave the cell's own category out: scale u down, then skip its interval.
        u = uniform(state, feature) * (cumulative[-1] - share[own])
        u += np.where(u >= cumulative[own] - share[own], share[own], 0.0)
        # Rounding at an interval's edge may lead to the own or an absent category.
        used = np.flatnonzero(share)
        place = np.searchsorted(used, np.searchsorted(cumulative, u, side="right"))
        place = np.minimum(place, len(used) - 1)
        beside = np.where(place > 0, place - 1, min(1, len(used) - 1))
        drawn = np.where(used[place] == own, used[beside], used[place])
        return np.where(missing, np.nan, drawn)

    def _shares(self, feature: int) -> Floats:
        """Return the shares of the categories, with that of a missing cell behind them."""
        share = self.profile.frequency[feature]
        assert share is not None  # noqa: S101  (callers pass nominal features only)
        levels = self.rules.levels.get(feature)
        if levels is not None:
            share = np.where(np.isin(np.arange(len(share)), levels), share, 0.0)
        return np.append(share, 0.0)

    @cached_property
    def draw_arrays(self) -> dict[str, Any] | None:
        """Return the arrays that the kernel draws with; None for what it does not support."""
        profile, order, grid = self.profile, self.order, self.grid
        if (
            self.method != "exact"
            or profile.nominal[list(self.rules.levels)].any()
            or not np.isin(grid.width[order], WIDTHS).all()
        ):
            return None
        nominal = profile.nominal[order]
        none = np.zeros(0)
        levels = [self.rules.levels.get(int(m), none) for m in order]
        shares = [self._shares(m) if profile.nominal[m] else none for m in order]
        used = [np.flatnonzero(share) for share in shares]
        kind = np.where(nominal, NOMINAL, np.where(grid.width[order] == WIDTHS[0], NARROW, NUMBER))
        return {
            "order": np.ascontiguousarray(order, dtype=np.intp),
            "changes": self.changes.astype(np.uint8),
            "kind": kind.astype(np.uint8),
            "deviation": np.ascontiguousarray(profile.deviation[order]),
            "scale": np.ascontiguousarray(profile.scale[order]),
            "resolution": np.where(nominal, 0.0, grid.resolution[order]),
            "share": np.concatenate([none, *shares]),
            "cumulative": np.concatenate([none, *map(np.cumsum, shares)]),
            "used": np.concatenate([np.zeros(0, dtype=np.intp), *used]),
            "first_level": _starts(shares),
            "first_used": _starts(used),
            "listed": np.concatenate([none, *levels]),
            "first_listed": _starts(levels),
        }


def _starts(parts: list[NDArray[Any]]) -> NDArray[np.intp]:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.intp)
