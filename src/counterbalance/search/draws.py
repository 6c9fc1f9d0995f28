"""Draws: where every random number of the method comes from.

    seed      key of one call of ``fit_resample``
    row       id of a factual: its position in the table
    draw      t, one of the T perturbations of a round
    stream    64-bit state that belongs to (seed, row, draw)
    u         uniform on the open interval (0, 1): a pure function of (stream, counter)
    z         standard normal truncated to [a, b], a <= 0 <= b

Randomness belongs to the row. Nothing is drawn in sequence, so the result is
the same for any number of jobs, any chunk size, partitioning or engine, and a
candidate can be rebuilt from (row, draw, round) alone.

The generator is splitmix64 (Steele, Lea and Flood 2014): the stream is its
state, the feature's position its counter.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from counterbalance.arrays import Floats, Mask, Words

Way = Literal["exact", "gibbs"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_EXPONENT_OF_ONE = np.uint64(0x3FF0000000000000)

# Draws 0, 1, ... belong to the perturbations of a row; this one says which rows a sample takes.
SAMPLE_DRAW = 2**43
# One sweep of the Gibbs sampler is visibly biased towards its start; five agree
# with the exact distribution (tests/test_draws.py measures both).
GIBBS_SWEEPS = 5


def _words(numbers: ArrayLike) -> Words:
    return np.atleast_1d(np.asarray(numbers)).astype(np.uint64)


def _mix(state: Words) -> Words:
    """Scramble ``state`` in place: the finaliser of splitmix64."""
    state ^= state >> np.uint64(30)
    state *= _MIX_1
    state ^= state >> np.uint64(27)
    state *= _MIX_2
    state ^= state >> np.uint64(31)
    return state


def stream(seed: int, row: ArrayLike, draw: ArrayLike) -> Words:
    """Return the state of every (row, draw), broadcast against each other."""
    key = _mix(_words(seed) + _GOLDEN)
    by_row = _mix(key + (_words(row) + np.uint64(1)) * _GOLDEN)
    return _mix(by_row + (_words(draw) + np.uint64(1)) * _GOLDEN)


def uniform(state: Words, counter: ArrayLike) -> Floats:
    """Return the ``counter``-th uniform of every stream, broadcast against each other.

    The top 52 bits become the fraction of a float in [1, 2); taking away
    ``1 - 2**-53`` puts it into the middle of its cell, so neither 0 nor 1 ever
    comes out.
    """
    counter = np.asarray(counter).astype(np.uint64)
    with np.errstate(over="ignore"):  # words wrap around; numpy only minds it for a single one
        word = _mix(state + (counter + np.uint64(1)) * _GOLDEN)
    word >>= np.uint64(12)
    word |= _EXPONENT_OF_ONE
    u = word.view(np.float64)
    u -= 1 - 2.0**-53
    return u


def sample_number(ids: ArrayLike) -> Floats:
    """Return the number of each row by which samples are taken: the smallest come first.

    It depends on nothing but the id: any cut of a table gives the same samples, whatever the seed.
    """
    return uniform(stream(0, ids, SAMPLE_DRAW), 0)


def sample_of_classes(number: Floats, codes: NDArray[Any], n: int, n_each: int) -> Mask:
    """Say which rows have the ``n`` smallest numbers of all, or the ``n_each`` of their class."""
    chosen = first_in_sample(number, n)
    for code in np.flatnonzero(np.bincount(codes)):
        here = np.flatnonzero(codes == code)
        chosen[here[first_in_sample(number[here], n_each)]] = True
    return chosen


def first_in_sample(number: Floats, n: int) -> Mask:
    """Say which rows have the ``n`` smallest numbers."""
    if len(number) <= n:
        return np.ones(len(number), dtype=bool)
    return np.asarray(number <= np.partition(number, n - 1)[n - 1])


def exact_normal(u: Floats, below: Floats, width: Floats) -> Floats:
    """Draw truncated normals by the inverse of their distribution function.

    ``below`` is Phi(a) and ``width`` is Phi(b) - Phi(a). The paper prints alpha
    and beta swapped (alpha belongs to the lower bound). Its worry about tails
    does not arise: [a, b] always holds zero, because a row lies inside the range
    of its own features.
    """
    u *= width
    u += below
    return np.asarray(ndtri(u, out=u))


def gibbs_normal(
    state: Words, counter: ArrayLike, n_counters: int, lower: Floats, upper: Floats
) -> Floats:
    """Draw truncated normals with the latent variable of Damien and Walker (2001).

    Given z, the latent height is uniform below exp(-z^2 / 2); given the height,
    z is uniform where the bell is higher, cut to [a, b]. Each sweep takes two
    uniforms, at counters that no other sweep or feature uses.
    """
    counter = np.asarray(counter)
    shape = np.broadcast_shapes(state.shape, counter.shape, lower.shape)
    z = np.broadcast_to(np.clip(0.0, lower, upper), shape)
    for sweep in range(1, GIBBS_SWEEPS + 1):
        height = uniform(state, counter + (2 * sweep - 1) * n_counters)
        # height * exp(-z^2 / 2) is the latent variable; its bell reaches sqrt(-2 log) of it.
        reach = np.sqrt(z * z - 2 * np.log(height))
        left = np.maximum(lower, -reach)
        right = np.minimum(upper, reach)
        z = left + uniform(state, counter + 2 * sweep * n_counters) * (right - left)
    return z
