import numpy as np
from scipy.spatial.distance import cdist

from counterbalance.methods import SSO
from counterbalance.methods.sso import (
    RadialNetwork,
    stochastic_sensitivity,
    trained_network,
    untrained_network,
)


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
    network = trained_network(untrained_network(ours, theirs, 5, rng), ours, theirs)
    assert network.output(np.array([[3.0, 3.0]]))[0] > 0.7
    assert network.output(np.array([[0.0, 0.0]]))[0] < 0.3
