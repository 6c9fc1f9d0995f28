import numpy as np

from counterbalance.methods.sensitivity import (
    RadialNetwork,
    stochastic_sensitivity,
    trained_network,
    untrained_network,
)


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
