"""Draws: pure functions of (seed, row, draw, feature) with the right distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
from counterbalance.search import draws

words = st.integers(0, 2**63 - 1)


@given(seed=words, row=words, draw=st.integers(0, 10**6), counter=st.integers(0, 10**6))
def test_a_uniform_is_the_one_of_the_naive_twin(seed, row, draw, counter):
    fast = draws.uniform(draws.stream(seed, row, draw), counter)
    assert fast[0] == naive.uniform(seed, row, draw, counter)


def test_a_uniform_does_not_depend_on_what_is_drawn_beside_it():
    rows, ts, features = np.arange(50), np.arange(7), np.arange(11)
    together = draws.uniform(draws.stream(3, rows[:, None], ts)[..., None], features)
    alone = draws.uniform(draws.stream(3, rows[20:21, None], ts[4:5])[..., None], features[9:10])
    assert together[20, 4, 9] == alone[0, 0, 0]


def test_uniforms_are_uniform_and_independent():
    u = draws.uniform(draws.stream(0, np.arange(2000)[:, None], np.arange(20))[..., None], range(5))
    assert u.min() > 0
    assert u.max() < 1
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    correlation = np.corrcoef(u.reshape(-1, 5).T) - np.eye(5)
    assert np.abs(correlation).max() < 4 / np.sqrt(40_000)


@pytest.mark.parametrize(("a", "b"), [(-0.3, 0.2), (0.0, 3.0), (-8.0, 0.0), (-2.0, 40.0)])
@pytest.mark.parametrize("way", ["exact", "gibbs"])
def test_draws_follow_the_truncated_normal(way, a, b):
    state = draws.stream(1, np.arange(20_000), 0)[:, None]
    lower, upper = np.full((1, 1), a), np.full((1, 1), b)
    if way == "exact":
        z = draws.exact_normal(draws.uniform(state, [0]), lower, upper)
    else:
        z = draws.gibbs_normal(state, [0], 1, lower, upper)
    assert z.min() >= a
    assert z.max() <= b
    assert stats.kstest(z.ravel(), stats.truncnorm(a, b).cdf).pvalue > 1e-3


def test_one_sweep_of_the_gibbs_sampler_is_visibly_biased(monkeypatch):
    monkeypatch.setattr(draws, "GIBBS_SWEEPS", 1)
    state = draws.stream(1, np.arange(20_000), 0)[:, None]
    z = draws.gibbs_normal(state, [0], 1, np.full((1, 1), -3.0), np.full((1, 1), 3.0))
    assert stats.kstest(z.ravel(), stats.truncnorm(-3, 3).cdf).pvalue < 1e-6
