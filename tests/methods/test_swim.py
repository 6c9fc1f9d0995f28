import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from counterbalance.methods import SWIM, PeerFallbackWarning
from counterbalance.methods.swim import radial_density


def test_new_rows_keep_the_mahalanobis_distance_of_a_minority_row_to_the_majority(blobs):
    X, y = blobs
    X = X @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 7.0]])
    X_new, _ = SWIM(random_state=0).fit_resample(X, y)
    majority = X[y == 0]
    mean, inverse = majority.mean(axis=0), np.linalg.inv(np.cov(majority, rowvar=False))
    seeds = np.array([mahalanobis(row, mean, inverse) for row in X[y == 1]])
    for row in X_new[len(y) :]:
        distance = mahalanobis(row, mean, inverse)
        assert np.abs(seeds - distance).min() < 1e-8


def test_new_rows_are_new_and_near_the_minority(blobs):
    X, y = blobs
    new = SWIM(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert len(np.unique(new, axis=0)) == len(new)
    assert np.abs(new.mean(axis=0) - X[y == 1].mean(axis=0)).max() < 0.3


def test_a_direction_without_majority_spread_keeps_the_seeds_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(100, 2)), np.repeat([7.0, 3.0], [10, 90])])
    y = np.repeat([1, 0], [10, 90])
    new = SWIM(random_state=0).fit_resample(X, y)[0][len(y) :]
    np.testing.assert_allclose(new[:, 2], 7.0)


def test_the_radial_density_is_a_sum_of_bumps():
    rows, majority = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])
    expected = np.exp(-25 / 8) + np.exp(-1 / 8)
    np.testing.assert_allclose(radial_density(rows, majority, 2.0), [expected])


def test_the_radial_variant_does_not_climb_the_majoritys_density(blobs):
    X, y = blobs
    new = SWIM(density="rbf", random_state=0).fit_resample(X, y)[0][len(y) :]
    majority = X[y == 0] / X[y == 0].std(axis=0)
    # In standardised features the summed variances are 3.
    width = np.sqrt(3) / 2
    at_minority = radial_density(X[y == 1] / X[y == 0].std(axis=0), majority, width)
    at_new = radial_density(new / X[y == 0].std(axis=0), majority, width)
    assert at_new.max() <= at_minority.max() * (1 + 1e-9)
    assert at_new.mean() < at_minority.mean() * 1.05


@pytest.mark.parametrize("features", [[1.0], [1.0, 0.0]], ids=["one feature", "one that varies"])
def test_warns_if_a_contour_is_two_points(features):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(3, 1, (20, 1)), rng.normal(0, 1, (60, 1))]) * features
    y = np.repeat([1, 0], [20, 60])
    with pytest.warns(PeerFallbackWarning, match="one direction"):
        SWIM(random_state=0).fit_resample(X, y)


def test_the_radial_variant_makes_new_rows_of_one_feature():
    rng = np.random.default_rng(0)
    X, y = np.vstack([rng.normal(3, 1, (20, 1)), rng.normal(0, 1, (60, 1))]), [1] * 20 + [0] * 60
    new = SWIM(density="rbf", random_state=0).fit_resample(X, y)[0][80:]
    assert not np.isin(new, X).any()
