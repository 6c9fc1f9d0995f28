import numpy as np
import pytest
from scipy.spatial.distance import cdist

from counterbalance.methods import NRAS, OUPS, SSO, PeerFallbackWarning
from counterbalance.methods.model_guided import (
    RadialNetwork,
    next_in_propensity,
    stochastic_sensitivity,
    untrained_network,
)


def test_oups_takes_the_next_lower_scores_and_at_the_end_those_before():
    scores = np.array([0.9, 0.1, 0.5, 0.7])  # in order: rows 0, 3, 2, 1
    np.testing.assert_array_equal(next_in_propensity(scores, 2, 2), [[3, 2], [2, 3]])


def test_oups_matches_rows_by_propensity_and_not_by_distance():
    # Both classes are the same at y = 0 and y = 1000, so propensity depends on x alone and
    # falls as 5, 5, 1, 1, 0, 0, -2: each row is matched with the next of these.
    minority = [[0.0, 0.0], [0.0, 1000.0], [5.0, 0.0], [5.0, 1000.0]]
    majority = [[x, y] for x in (-4.0, -3.0, -2.0, 1.0) for y in (0.0, 1000.0)]
    X, y = np.array(minority + majority), np.repeat([1, 0], [4, 8])
    sampler = OUPS(n_neighbors=1, sampling_strategy={1: 204}, random_state=0)
    new = sampler.fit_resample(X, y)[0][12:]
    x, at_five, at_zero = new[:, 0], new[:, 0] == 5, new[:, 0] == 0
    assert (at_five | at_zero | ((x > 1) & (x < 5)) | ((x > -2) & (x < 0))).all()
    # The nearest in propensity may be a thousand away.
    for group in (at_five, at_zero):
        assert group.any()
        assert ((new[group, 1] > 0) & (new[group, 1] < 1000)).all()


def test_nras_removes_noise_keeps_the_order_and_gives_exact_numbers():
    rng = np.random.default_rng(0)
    ours = rng.normal(10, 1, (20, 2))
    X = np.vstack([ours[:7], [[0.0, 0.0]], rng.normal(0, 1, (80, 2)), ours[7:]])
    y = np.repeat([1, 0, 1], [8, 80, 13])
    X_new, y_new = NRAS(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [80, 80])
    np.testing.assert_array_equal(X_new[:100], np.delete(X, 7, axis=0))
    np.testing.assert_array_equal(y_new[:100], np.delete(y, 7))
    # Nothing was made from the noise row.
    assert (X_new[100:] > 5).all()


def test_nras_removes_nothing_if_all_rows_are_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(203, 2)), np.repeat([1, 0], [3, 200])
    with pytest.warns(PeerFallbackWarning, match="none of them was removed"):
        X_new, _ = NRAS(n_neighbors=2, threshold=1.0, random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(X_new[:203], X)


def test_new_rows_lie_in_the_neighbourhood_of_a_minority_row(blobs):
    X, y = blobs
    X_new, _ = SSO(q=0.1, random_state=0).fit_resample(X, y)
    scaled = X_new / X.std(axis=0)
    apart = cdist(scaled[len(y) :], scaled[: len(y)][y == 1], "chebyshev").min(axis=1)
    assert (apart <= 0.1 + 1e-9).all()


def test_rows_at_the_boundary_get_more_than_rows_far_from_it():
    rng = np.random.default_rng(0)
    near, far = rng.normal(2.0, 0.3, (30, 2)), rng.normal(12.0, 0.3, (30, 2))
    X = np.vstack([near, far, rng.normal(0, 1, (400, 2))])
    y = np.repeat([1, 0], [60, 400])
    X_new, _ = SSO(random_state=0).fit_resample(X, y)
    new = X_new[len(y) :]
    assert (new[:, 0] < 7).sum() > 2 * (new[:, 0] > 7).sum()


def test_new_rows_of_a_tight_group_stay_in_it():
    # The neighbourhood comes from the rows near by, not from the spread of the whole table.
    rng = np.random.default_rng(0)
    tight = rng.normal(5, 0.01, (30, 3))
    X = np.vstack([tight, rng.normal(0, 10, (200, 3))])
    y = np.repeat([1, 0], [30, 200])
    new = SSO(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert np.abs(new - 5).max() < 0.1


def test_no_seed_gets_nearly_all_new_rows():
    # One minority row deep in the majority is by far the most sensitive one.
    rng = np.random.default_rng(0)
    ours = np.vstack([rng.normal(6, 1, (39, 2)), [[0.0, 0.0]]])
    X = np.vstack([ours, rng.normal(0, 1, (400, 2))])
    y = np.repeat([1, 0], [40, 400])
    new = SSO(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert (np.linalg.norm(new, axis=1) < 1).mean() < 0.2


def test_a_row_among_its_own_duplicates_still_gets_a_neighbourhood():
    rng = np.random.default_rng(0)
    X = np.vstack([np.ones((20, 2)), rng.normal(0, 1, (60, 2))])
    y = np.repeat([1, 0], [20, 60])
    new = SSO(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert len(np.unique(new, axis=0)) == len(new)


def test_small_perturbations_give_a_third_of_the_squared_slope():
    # For small Q, f(x + d) - f(x) = g . d, and the mean of d_i squared is Q squared over 3.
    network = RadialNetwork(np.array([[0.0, 0.0]]), np.array([1.0]), np.array([2.0, 0.3]))
    x = np.array([[0.7, -0.4]])
    slope = -x * 2.0 * np.exp(-0.5 * (x**2).sum())
    q = 1e-3
    found = stochastic_sensitivity(network, x, np.full(2, q), 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(found, (slope**2).sum() * q**2 / 3, rtol=0.03)


def test_the_network_learns_two_clouds():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(3, 1, (30, 2)), rng.normal(0, 1, (300, 2))
    network = untrained_network(ours, theirs, 5, rng).fit(ours, theirs)
    assert network.output(np.array([[3.0, 3.0]]))[0] > 0.7
    assert network.output(np.array([[0.0, 0.0]]))[0] < 0.3
