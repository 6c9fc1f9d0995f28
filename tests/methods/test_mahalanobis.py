import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from counterbalance.methods import MDO, SWIM, PeerFallbackWarning
from counterbalance.methods.mahalanobis import radial_density


def test_new_rows_keep_the_mahalanobis_distance_of_a_row_to_the_class_mean():
    rng = np.random.default_rng(0)
    mix = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 3.0]])
    ours = rng.normal(size=(50, 3)) @ mix + 100  # far off: every row passes k1
    X = np.vstack([ours, rng.normal(size=(200, 3))])
    y = np.repeat([1, 0], [50, 200])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    mean, inverse = ours.mean(axis=0), np.linalg.inv(np.cov(ours, rowvar=False))
    seeds = np.array([mahalanobis(row, mean, inverse) for row in ours])
    for row in new:
        assert np.abs(seeds - mahalanobis(row, mean, inverse)).min() < 1e-8


def test_rows_among_other_classes_are_not_seeds():
    rng = np.random.default_rng(0)
    ours = rng.normal(size=(30, 2))
    lost = np.array([[50.0, 50.0]])
    X = np.vstack([ours, lost, lost + rng.normal(size=(100, 2))])
    y = np.repeat([1, 0], [31, 100])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    assert np.abs(new).max() < 10


def test_warns_if_no_row_passes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(303, 2)), np.repeat([1, 0], [3, 300])
    with pytest.warns(PeerFallbackWarning, match="all rows of the class are seeds"):
        _, y_new = MDO(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.bincount(y_new), [300, 300])


def test_the_class_keeps_its_covariance_with_ten_features():
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(10, 10))
    ours = rng.normal(size=(200, 10)) @ mix + 1000  # far off: every row is a seed
    X = np.vstack([ours, rng.normal(size=(5200, 10))])
    y = np.repeat([1, 0], [200, 5200])
    new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :]
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov(ours, rowvar=False)))
    variances = np.linalg.eigvalsh(whiten @ np.cov(new, rowvar=False) @ whiten.T)
    assert variances.min() > 0.9
    assert variances.max() < 1.1


@pytest.mark.parametrize("direction", [[1.0], [1.0, 2.0, 0.0]], ids=["one feature", "a line"])
def test_warns_if_the_ellipse_is_two_points(direction):
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(9, 1, (20, 1)), rng.normal(0, 1, (60, 1))
    X, y = np.vstack([ours, theirs]) * direction, np.repeat([1, 0], [20, 60])
    with pytest.warns(PeerFallbackWarning, match="one direction"):
        new = MDO(random_state=0).fit_resample(X, y)[0][len(y) :, 0]
    expected = np.concatenate([ours[:, 0], 2 * ours[:, 0].mean() - ours[:, 0]])
    assert np.abs(new[:, None] - expected).min(axis=1).max() < 1e-9


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
